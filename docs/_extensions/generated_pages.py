"""What the pages of settings and commands say is read from the code: fields, defaults, and the sentence under each.

``{settings} dico.training.options:SessionOptions`` is a table of a dataclass's fields, ``{options}`` the same as they
are written on the command line, ``{presets}`` one of all settings of a training with the values of each preset,
``{commands}`` a section for each command, and
``{code} dico/policy.py:DiCo.scale`` the source of a function or method without its docstring.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import get_type_hints

from dico.commands import COMMANDS
from dico.commands._scale import ScaleOptions
from dico.experiments import preset
from dico.experiments.presets import PRESETS
from dico.training.config import Config
from dico.training.options import SessionOptions
from dico.training.settings import Settings

PLACE = re.compile(r"^\{(settings|options|presets|commands|code)\}(?: (\S+))?$", re.MULTILINE)
SOURCE = Path(__file__).parents[2] / "src"
SHARED = {
    Config: "the [settings of a training](configuration.md)",
    SessionOptions: "those of [where and how fast](configuration.md#where-and-how-fast)",
    ScaleOptions: "those of [many devices and machines](scale.md#options)",
}
"""What several commands take, and where it is told."""


def read_source(app, docname, content):
    writers = {"settings": settings, "options": options, "presets": presets, "commands": commands, "code": code}
    content[0] = PLACE.sub(lambda found: writers[found[1]](found[2]), content[0])


def read_again(app, env, added, changed, removed):
    """Pages that are read from the code, which may be another than when they were last built."""
    return [name for name in env.found_docs if PLACE.search(Path(env.doc2path(name)).read_text("utf-8"))]


def sentences(cls):
    """What stands under each field of a dataclass and of those it is made from."""
    said = {}
    for each in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(each):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0].body
        for node, following in pairwise(body):
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
            ):
                said[node.target.id] = inspect.cleandoc(following.value.value)
    return said


def row(*cells):
    return "| " + " | ".join(str(cell).replace("\n", " ").replace("|", "\\|") for cell in cells) + " |"


def value(given):
    match given:
        case ():
            return "none"
        case None:
            return ""
        case tuple():
            return "`" + " ".join(map(str, given)) + "`"
        case _:
            return f"`{given:,}`" if isinstance(given, int) and not isinstance(given, bool) else f"`{given}`"


def table(fields, said, prefix=""):
    lines = [row("name", "what it is", "default"), "|---|---|---|"]
    for field in fields:
        missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        name = f"{prefix}{field.name.replace('_', '-')}" if prefix else field.name
        lines.append(row(f"`{name}`", said[field.name], "" if missing else value(default)))
    return "\n".join(lines)


def settings(path, prefix=""):
    module, _, name = path.partition(":")
    cls = getattr(import_module(module), name)
    return table(dataclasses.fields(cls), sentences(cls), prefix)


def options(path):
    return settings(path, "--")


def presets(_):
    made, said = {name: preset(name, "navigation") for name in PRESETS}, sentences(Settings)
    lines = [row("setting", "what it is", *(f"`{name}`" for name in PRESETS)), "|---|---|" + "---|" * len(PRESETS)]
    for field in dataclasses.fields(Settings):
        first, *others = [value(getattr(config, field.name)) for config in made.values()]
        differing = [each if each != first else "" for each in others]
        lines.append(row(f"`{field.name}`", said[field.name], first, *differing))
    return "\n".join(lines)


def commands(_):
    """A section for each command; what several of them take has a page of its own."""
    return "\n\n".join(part for name, does in COMMANDS.items() for part in (f"## `dico {name}`", does, *command(name)))


def command(name):
    """What a command takes: what it is asked of, then what has a page of its own, then its own options."""
    taken = import_module(f"dico.commands.{name}").Options
    kinds, said = get_type_hints(taken), sentences(taken)
    own = [field for field in dataclasses.fields(taken) if field.name in said]
    shared = [kinds[field.name] for field in dataclasses.fields(taken) if field.name not in said]
    asked = [(field, said) for field in own if is_asked(field)]
    asked += [(field, sentences(cls)) for cls in shared for field in dataclasses.fields(cls) if is_asked(field)]
    if asked:
        yield "\n".join(f"- `{field.name.upper()}`: {words[field.name]}" for field, words in asked)
    if shared:
        yield f"Its options are {', '.join(SHARED[cls] for cls in shared)}, with dashes for underscores, and:"
    if named := [field for field in own if not is_asked(field)]:
        yield table(named, said, "--")


def is_asked(field):
    return "Positional" in str(field.type)


def code(path):
    file, _, names = path.partition(":")
    text = (SOURCE / file).read_text("utf-8")
    node = ast.parse(text)
    for name in names.split("."):
        node = next(each for each in node.body if getattr(each, "name", None) == name)
    lines, first = text.splitlines(), node.body[0]
    said = range(first.lineno - 1, first.end_lineno) if ast.get_docstring(node) is not None else ()
    kept = [lines[k] for k in range(node.lineno - 1, node.end_lineno) if k not in said]
    return f"```{{code-block}} python\n:caption: src/{file}\n\n" + textwrap.dedent("\n".join(kept)) + "\n```"


def setup(app):
    app.connect("env-get-outdated", read_again)
    app.connect("source-read", read_source, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
