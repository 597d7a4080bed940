"""What the pages of settings and commands say is read from the code: fields, defaults, and the sentence under each.

``{settings} dico.training.options:SessionOptions`` is a table of a dataclass's fields, ``{presets}`` one of all
settings of a training with the values of each preset, ``{commands}`` a section for each command. An entry of a table of
contents that ends in a question mark is there if its page is.
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
from dico.training.options import SessionOptions
from dico.training.settings import Settings

PLACE = re.compile(r"^\{(settings|presets|commands)\}(?: (\S+))?$", re.MULTILINE)


OPTIONAL = re.compile(r"^([\w/-]+)\?\n", re.MULTILINE)
DOCS = Path(__file__).parents[1]


def read_source(app, docname, content):
    content[0] = OPTIONAL.sub(lambda found: f"{found[1]}\n" * (DOCS / f"{found[1]}.md").exists(), content[0])
    content[0] = PLACE.sub(
        lambda found: {"settings": settings, "presets": presets, "commands": commands}[found[1]](found[2]), content[0]
    )


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
    lines = [row("name", "default", "what it is"), "|---|---|---|"]
    for field in fields:
        missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        name = f"{prefix}{field.name.replace('_', '-')}" if prefix else field.name
        lines.append(row(f"`{name}`", "" if missing else value(default), said.get(field.name, "")))
    return "\n".join(lines)


def settings(path):
    module, _, name = path.partition(":")
    cls = getattr(import_module(module), name)
    return table(dataclasses.fields(cls), sentences(cls))


def presets(_):
    made, said = {name: preset(name, "navigation") for name in PRESETS}, sentences(Settings)
    lines = [row("setting", *(f"`{name}`" for name in PRESETS), "what it is"), "|---|" + "---|" * len(PRESETS) + "---|"]
    for field in dataclasses.fields(Settings):
        values = [value(getattr(config, field.name)) for config in made.values()]
        lines.append(
            row(
                f"`{field.name}`",
                values[0],
                *(each if each != values[0] else "" for each in values[1:]),
                said[field.name],
            )
        )
    return "\n".join(lines)


def commands(_):
    """A section for each command; settings of a training have a page of their own."""
    known = {field.name for cls in (Settings, SessionOptions) for field in dataclasses.fields(cls)}
    parts = []
    for name, does in COMMANDS.items():
        options = import_module(f"dico.commands.{name}").Options
        fields = dataclasses.fields(options)
        own = [field for field in fields if field.name not in known or len(known & {f.name for f in fields}) < 10]
        parts += [f"## `dico {name}`", does]
        if len(own) < len(fields):
            parts.append("It takes every [setting](configuration.md) of a training, with dashes for underscores, and:")
        positional = [field for field in own if "Positional" in str(field.type)]
        named = [field for field in own if field not in positional]
        if positional:
            parts.append("\n".join(f"- `{f.name.upper()}`: {sentences(options).get(f.name, '')}" for f in positional))
        if named:
            parts.append(table(named, sentences(options), "--"))
    return "\n\n".join(parts)


def setup(app):
    app.connect("source-read", read_source, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
