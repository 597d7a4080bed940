"""What a user names as ``module:function``: a task, a metric, a schedule."""

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NOT_FOUND = (ImportError, AttributeError, SyntaxError, TypeError, ValueError)
"""Errors whose messages say by themselves why nothing is found by a name."""
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_name(text: str) -> bool:
    """Whether a text can be ``module:function``.

    >>> is_name("my_project.mine:rising"), is_name("seek:0.3"), is_name("cos:0->1@2e6")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def short_name(text: str) -> str:
    """A level's text without the packages that the module of a function is in.

    >>> short_name("my_project.mine:rising"), short_name("my_project.mine:rising, tau=0.1"), short_name("0.3")
    ('mine:rising', 'mine:rising, tau=0.1', '0.3')
    """
    first, comma, others = text.partition(",")
    module, _, function = first.partition(":")
    return f"{module.rpartition('.')[2]}:{function}{comma}{others}" if is_name(first) else text


def imported(what: str, name: str) -> Any:
    """What ``module:function`` names, found from the working directory or on PYTHONPATH; ``what`` is for the error.

    >>> imported("metric", "statistics:fmean")([1, 2])
    1.5
    """
    module, _, function = name.partition(":")
    with _working_directory_first():
        try:
            found = getattr(_module(module, function), function.partition(".")[0])
            for part in function.split(".")[1:]:
                found = getattr(_check_class(found), part)
        except (Exception, SystemExit) as error:  # a module may do anything when it is imported
            said = error if isinstance(error, NOT_FOUND) else repr(error)
            raise ValueError(
                f"{what} {name!r} cannot be imported ({said}): it must be module:function, found from here or on "
                "PYTHONPATH"
            ) from error
    return found


def _check_class(found: Any) -> type:
    """What dots lead into: classes, and not the modules that a module has imported."""
    if not isinstance(found, type):
        raise TypeError(f"dots lead into classes alone, and {found!r} is none")
    return found


def _module(name: str, function: str) -> Any:
    """A module by its name; of the script that is running, the one that runs, not a second copy of it."""
    script = sys.modules["__main__"]
    running = Path(getattr(script, "__file__", None) or "").stem == name
    return script if running and hasattr(script, function.partition(".")[0]) else importlib.import_module(name)


@contextmanager
def _working_directory_first() -> Iterator[None]:
    """Modules beside the user are found, as `python` itself would."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
