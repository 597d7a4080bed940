"""What the pages of settings and commands say is read from the code: fields, defaults, and the sentence under each.

``{settings} dico.training.options:SessionOptions`` is a table of a dataclass's fields, ``{presets}`` one of all
settings of a training with the values of each preset, ``{commands}`` a section for each command, and
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

from dico.commands import COMMANDS
from dico.experiments import preset
from dico.experiments.presets import PRESETS
from dico.training.settings import Settings

PLACE = re.compile(r"^\{(settings|presets|commands|code)\}(?: (\S+))?$", re.MULTILINE)
SOURCE = Path(__file__).parents[2] / "src"


def read_source(app, docname, content):
    writers = {"settings": settings, "presets": presets, "commands": commands, "code": code}
    content[0] = PLACE.sub(lambda found: writers[found[1]](found[2]), content[0])


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


def settings(path):
    module, _, name = path.partition(":")
    cls = getattr(import_module(module), name)
    return table(dataclasses.fields(cls), sentences(cls))


def presets(_):
    made, said = {name: preset(name, "navigation") for name in PRESETS}, sentences(Settings)
    lines = [row("setting", "what it is", *(f"`{name}`" for name in PRESETS)), "|---|---|" + "---|" * len(PRESETS)]
    for field in dataclasses.fields(Settings):
        first, *others = [value(getattr(config, field.name)) for config in made.values()]
        differing = [each if each != first else "" for each in others]
        lines.append(row(f"`{field.name}`", said[field.name], first, *differing))
    return "\n".join(lines)


def commands(_):
    """A section for each command; what it takes of a training's settings has a page of its own."""
    parts = []
    for name, does in COMMANDS.items():
        options = import_module(f"dico.commands.{name}").Options
        said = sentences(options)
        own = [field for field in dataclasses.fields(options) if field.name in said]
        parts += [f"## `dico {name}`", does]
        if len(own) < len(dataclasses.fields(options)):
            parts.append("It takes the [settings](configuration.md) of a training, with dashes for underscores, and:")
        positional = [field for field in own if "Positional" in str(field.type)]
        named = [field for field in own if field not in positional]
        if positional:
            parts.append("\n".join(f"- `{field.name.upper()}`: {said[field.name]}" for field in positional))
        if named:
            parts.append(table(named, said, "--"))
    return "\n\n".join(parts)


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
    app.connect("source-read", read_source, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
