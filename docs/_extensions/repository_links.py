"""Links to files of the repository: pages link to them by their paths, and the site has a page of each.

A page that says ``{include-page} ../CHANGELOG.md`` is that file of the repository.
"""

import html
import os
import re
from pathlib import Path

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
LINK = re.compile(r"(?<!!)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
INCLUDED = re.compile(r"^\{include-page\} (\S+)$", re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files beside docs/ that the site has as pages of its own."""


def read_source(app, docname, content):
    """Make links to files outside of docs/, and to folders, roles that the site can follow."""
    here, text = (DOCS / docname).parent, content[0]
    if included := INCLUDED.search(text):
        file = (here / included[1]).resolve()
        content[0] = follow_links(file.read_text("utf-8"), file.parent, here)
    else:
        content[0] = follow_links(text, here, here)


def follow_links(text, base, here):
    """Links of a text in the folder ``base``, to be shown by a page in the folder ``here``; code stays as it is."""

    def replace(found):
        words, path, anchor = found[1], found[2].replace("\\", ""), found[3] or ""
        target = (base / path).resolve()
        if target.is_dir() and (target / "README.md").exists() and target.is_relative_to(DOCS):
            target /= "README.md"
        if target.parent == ROOT and target.name in PAGES:
            target = DOCS / PAGES[target.name]
        if target.is_relative_to(DOCS) and target.is_file():
            return f"[{words}]({os.path.relpath(target, here)}{anchor})"
        if not target.exists() or not target.is_relative_to(ROOT):
            return found[0]
        mark, plain = "~" * ("`" in words), words.replace("`", "").replace("\\", "").replace("\n", " ")
        return f"{{source}}`{mark}{plain} <{target.relative_to(ROOT)}>`"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def source_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """A link to the page of a file or folder."""
    words, path = re.fullmatch(r"(.*) <(.*)>", text).groups()
    environment = inliner.document.settings.env
    linked = set(getattr(environment, "repository_linked", ())) | {path}
    environment.repository_linked = linked
    uri = "../" * environment.docname.count("/") + f"source/{path}.html"
    shown = nodes.literal(text=words[1:]) if words.startswith("~") else nodes.Text(words)
    return [nodes.reference("", "", shown, refuri=uri, internal=True)], []


def collect_pages(app):
    """A page of each file that is linked to, and of those in a folder that is."""
    waiting, seen = sorted(getattr(app.env, "repository_linked", ())), set()
    while waiting:
        path = waiting.pop()
        if path in seen or not (ROOT / path).exists():
            continue
        seen.add(path)
        if (ROOT / path).is_dir():
            inside = [each for each in sorted((ROOT / path).iterdir()) if shown(each)]
            waiting += [str(each.relative_to(ROOT)) for each in inside]
            body = "".join(
                f'<li><a href="{Path(path).name}/{e.name}.html"><code>{e.name}</code></a></li>' for e in inside
            )
            body = f"<ul>{body}</ul>"
        else:
            body = coloured(ROOT / path)
        yield (
            f"source/{path}",
            {"title": path, "body": f'<div class="source-page"><h1>{html.escape(path)}</h1>{body}</div>'},
            "page.html",
        )


def shown(path):
    return path.name != "__pycache__" and (
        path.is_dir() or path.suffix in (".py", ".json", ".yaml", ".js", ".css", ".html")
    )


def coloured(file):
    try:
        lexer = get_lexer_for_filename(file.name)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(file.read_text("utf-8"), lexer, HtmlFormatter(cssclass="highlight"))


def setup(app):
    app.add_role("source", source_role)
    app.connect("source-read", read_source)
    app.connect("html-collect-pages", collect_pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
