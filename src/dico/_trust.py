"""Code that a run folder names is not run unless the user has named it too: a folder may come from a stranger."""

import inspect
import os
from typing import Any

FAMILIES = ("mpe2", "pettingzoo")
"""Packages of environments that a folder may name without being trusted."""
TRUST = "DICO_TRUST"
"""The environment variable with what is trusted, separated by commas; processes inherit it.

A module or a package stands for what is its own; ``module:function`` for what it names, wherever that comes from.
"""


def trust(module: str) -> None:
    """From now on, in this process and those that it starts, folders may name what is in a module or a package.

    What is named on a command line or in a configuration of your own is trusted by that.
    """
    if not is_trusted(module):
        os.environ[TRUST] = _and(module)


def is_trusted(module: str) -> bool:
    """Whether a module, or a package that it is in, is.

    >>> trust("my_project")
    >>> is_trusted("my_project.tasks"), is_trusted("my_projects"), is_trusted("os")
    (True, False, False)
    """
    parts = module.split(".")
    return any(".".join(parts[:k]) in _trusted() for k in range(1, len(parts) + 1))


def trust_named(name: str) -> None:
    """Trust ``module:function``, which the user has named: its module, and what it is, also if only imported there."""
    trust(name.partition(":")[0])
    if name not in _trusted():
        os.environ[TRUST] = _and(name)


def check_trusted(what: str, name: str) -> None:
    """An error if ``module:function`` is of a module that nobody named."""
    module = name.partition(":")[0]
    if not is_trusted(module):
        raise ValueError(
            f"{what} {name!r} is code of its own, which is not run for being named in a folder: if you trust it, set "
            f"{TRUST}={_and(module)}, or call dico.tasks.trust({module!r})"
        )


def check_of_trusted(what: str, name: str, found: Any) -> None:
    """An error if ``module:function`` has found what a trusted module has only imported, as ``os.system``.

    Modules of one package are one another's own: an environment is often imported from beside where it is named.

    >>> import shutil
    >>> check_of_trusted("task", "my_project:rmtree", shutil.rmtree)
    Traceback (most recent call last):
    ValueError: task 'my_project:rmtree' is of shutil, which my_project has only imported: if you trust it, set...
    """
    if not (inspect.isroutine(found) or inspect.isclass(found)) or name in _trusted():
        return  # a value of the module's own making, or what the user himself has named
    module, home = name.partition(":")[0], getattr(found, "__module__", None) or "another module"
    own = (module.partition(".")[0], "__main__", "dico", *FAMILIES)  # a script names itself by its file
    if home.partition(".")[0] not in own and not is_trusted(home):
        raise ValueError(
            f"{what} {name!r} is of {home}, which {module} has only imported: if you trust it, set {TRUST}={_and(home)}"
        )


def _trusted() -> list[str]:
    return [name for name in (each.strip() for each in os.environ.get(TRUST, "").split(",")) if name]


def _and(name: str) -> str:
    """What is trusted already, and a name: what the variable has to be."""
    return ",".join((*_trusted(), name))
