"""Code that a run folder names is not run unless the user has named it too: a folder may come from a stranger."""

import os

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
