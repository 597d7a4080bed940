"""The page's files as one: styles, scripts and data inside a single HTML file that needs no network."""

import json
import re
from graphlib import TopologicalSorter
from importlib.resources import files
from typing import Any

IMPORT = re.compile(r'^import \{ (?P<names>[^}]+) \} from "\./(?P<module>\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:function|class|const) (?P<name>\w+))", re.MULTILINE)


def page(payload: dict[str, Any], title: str, about: str = "", **addresses: str | None) -> str:
    """The whole page; ``about`` is what a link to it shows below the title.

    ``addresses`` are those of the picture that it shows (``image``) and of the page itself (``url``), if known.

    >>> "<title>a &lt;b&gt;</title>" in page({}, "a <b>")
    True
    """
    parts = {
        "title": _text(title),
        "about": _text(about),
        "addresses": "\n".join(
            f'<meta property="og:{name}" content="{_text(address)}">' for name, address in addresses.items() if address
        ),
        "style": static("style.css"),
        "payload": json_in_html(payload),
        "worker": _script("worker"),
        "script": _script("main"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], static("index.html"))


def json_in_html(value: Any) -> str:
    r"""JSON that no text in it can end the script element that holds it.

    >>> json_in_html({"run": "</script>"})
    '{"run":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def link_modules(modules: dict[str, str]) -> str:
    """Modules, each after those it imports, as one script: each in a function of its own that returns its exports.

    >>> print(link_modules({"a": "export const one = 1;", "b": 'import { one } from "./a.js";'}))
    "use strict";
    const $a = (() => {
    const one = 1;
    return { one };
    })();
    const $b = (() => {
    const { one } = $a;
    return {  };
    })();
    """
    parts = ['"use strict";']
    for name, source in modules.items():
        exports = ", ".join(found["name"] for found in EXPORT.finditer(source))
        body = IMPORT.sub(r"const { \g<names> } = $\g<module>;", EXPORT.sub("", source)).strip()
        parts.append(f"const ${name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();")
    return "\n".join(parts)


def _script(entry: str) -> str:
    """A module and all that it needs, as one script."""
    return link_modules({name: static(f"{name}.js") for name in _modules(entry)})


def _modules(entry: str) -> list[str]:
    """A module and all that it imports, those first."""
    needs: dict[str, set[str]] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = {found["module"] for found in IMPORT.finditer(static(f"{name}.js"))}
            waiting.extend(needs[name])
    return list(TopologicalSorter({name: sorted(others) for name, others in needs.items()}).static_order())


def static(name: str) -> str:
    """One of the page's files."""
    return (files("dico.viz.page") / "static" / name).read_text("utf-8")


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
