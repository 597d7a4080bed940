"""Code that a run folder names is not run unless the user has named it too: a folder may come from a stranger."""

import inspect
import os
from typing import Any

FAMILIES = ("mpe2", "pettingzoo")
"""Packages of environments that a folder may name without being trusted."""
TRUST = "DICO_TRUST"
"""The environment variable with the modules that are trusted, separated by commas; processes inherit it."""


def trust(module: str) -> None:
    """From now on, in this process and those that it starts, folders may name what is in a module or a package.

    What is named on a command line or in a configuration of your own is trusted by that.
    """
    if not is_trusted(module):
        os.environ[TRUST] = ",".join(filter(None, (os.environ.get(TRUST, ""), module)))


def is_trusted(module: str) -> bool:
    """Whether a module, or a package that it is in, is.

    >>> trust("my_project")
    >>> is_trusted("my_project.tasks"), is_trusted("my_projects"), is_trusted("os")
    (True, False, False)
    """
    named = {each.strip() for each in os.environ.get(TRUST, "").split(",")}
    parts = module.split(".")
    return any(".".join(parts[:k]) in named for k in range(1, len(parts) + 1))


def check_trusted(what: str, name: str) -> None:
    """An error if ``module:function`` is of a module that nobody named."""
    module = name.partition(":")[0]
    if not is_trusted(module):
        raise ValueError(
            f"{what} {name!r} is code of its own, which is not run for being named in a folder: if you trust it, set "
            f"{TRUST}={module}, or call dico.tasks.trust({module!r})"
        )


def check_of_trusted(what: str, name: str, found: Any) -> None:
    """An error if ``module:function`` has found what a trusted module has only imported, as ``os.system``.

    >>> import shutil
    >>> check_of_trusted("task", "mine:rmtree", shutil.rmtree)
    Traceback (most recent call last):
    ValueError: task 'mine:rmtree' is of shutil, which mine has only imported: if you trust it, set DICO_TRUST=shutil
    """
    if not (inspect.isroutine(found) or inspect.isclass(found)):
        return  # a value of the module's own making
    module, home = name.partition(":")[0], getattr(found, "__module__", None) or "another module"
    known = (module, "__main__", "dico", *FAMILIES)  # a script names itself by its file
    if not is_trusted(home) and not any(f"{home}.".startswith(f"{each}.") for each in known):
        raise ValueError(
            f"{what} {name!r} is of {home}, which {module} has only imported: if you trust it, set {TRUST}={home}"
        )
