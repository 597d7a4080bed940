"""Public names that are imported when they are first used, listed once.

A package imports them under ``if TYPE_CHECKING:``, where editors and type checkers find them. That list is read here
and is the table of what to import at run time, so that importing the package costs nothing and needs nothing.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def lazy(package: str, file: str, extra: str) -> tuple[dict[str, str], Callable[[str], object]]:
    """Where each of a package's names lives, and its ``__getattr__``, which finds the package's modules too.

    ``extra`` is what to install where something is missing.

    >>> import dico
    >>> lazy("dico", dico.__file__, "train")[0]["snd"]
    'dico.metrics'
    >>> dico.constraints.equal is dico.equal
    True
    """
    homes = homes_of(Path(file).read_text("utf-8"))

    def get(name: str) -> object:
        """A public name or a module, imported now."""
        home = homes.get(name, package)
        if home == package and (name.startswith("_") or find_spec(f"{package}.{name}") is None):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        except ModuleNotFoundError as missing:
            needed = (missing.name or "").partition(".")[0]
            text = f'{package}.{name} needs {needed}: pip install "dico-marl[{extra}]"'
            raise ImportError(text, name=needed) from missing
        setattr(sys.modules[package], name, value)  # from now on without a detour
        return value

    return homes, get


def homes_of(source: str) -> dict[str, str]:
    r"""What a module imports for type checkers only: names, and the modules they come from.

    >>> homes_of("if TYPE_CHECKING:\n    from dico.metrics import snd as snd\n    from dico import viz as viz")
    {'snd': 'dico.metrics', 'viz': 'dico'}
    """
    blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}
