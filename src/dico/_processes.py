"""Processes of Python that run this dico, and import nothing that only lies about in the working directory.

``python -m`` looks there first: whoever stands in a stranger's folder would run the modules that it holds.
"""

import os
import sys
from pathlib import Path

PACKAGES = str(Path(__file__).parents[1])
"""The folder that this dico is in."""


def python(module: str, *words: str) -> list[str]:
    """The command line that runs a module.

    >>> python("dico", "tasks")[1:]
    ['-P', '-m', 'dico', 'tasks']
    """
    return [sys.executable, "-P", "-m", module, *words]


def same_dico() -> dict[str, str]:
    """The environment of this process, in which the same dico is found."""
    paths = [PACKAGES, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
