"""Tasks of your own: any object with a task's functions, by the name of what makes it."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

FUNCTIONS = ("groups", "horizon", "n_agents", "action_low", "action_high", "reset", "step", "observe", "scene")
"""What a task must have; see :class:`dico.tasks.Task`."""


def own(name: str, **options: Any) -> Any:
    """The task that ``module:function`` makes of the options; the function may be a class.

    >>> own("dico.tasks.navigation:Navigation", n_agents=3).n_agents
    3
    """
    module, _, function = name.partition(":")
    with _working_directory_first():
        try:
            make = importlib.import_module(module)
            for part in function.split("."):
                make = getattr(make, part)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"task {name!r} cannot be imported ({error}): it must be module:function, found from here or on "
                "PYTHONPATH"
            ) from error
    if not callable(make):
        raise ValueError(f"task {name!r} must be a function or a class that makes a task, got {make!r}")
    try:
        task = make(**options)
    except TypeError as error:
        raise ValueError(f"task {name!r} cannot be made of {options or 'no options'} ({error})") from error
    missing = [each for each in FUNCTIONS if not hasattr(task, each)]
    if missing:
        raise ValueError(f"task {name!r} must make an object with {', '.join(FUNCTIONS)}; it lacks {missing[0]}")
    return task


def options_of(task: Any) -> tuple[str, ...]:
    """The settings of a task that differ from its defaults, as name=value.

    >>> from dico.tasks import make
    >>> options_of(make("navigation", n_agents=3))
    ('n_agents=3',)
    """
    kind = type(task).__qualname__
    if not is_dataclass(task):
        raise ValueError(f"task must be a name or a dataclass, got {kind}: name what makes it, as module:function")
    default = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(task)
        if field.init
    }
    changed = {name: getattr(task, name) for name in default if getattr(task, name) != default[name]}
    try:
        return tuple(f"{name}={json.dumps(value)}" for name, value in changed.items())
    except TypeError as error:
        raise ValueError(f"{kind} has a setting that JSON has no text for ({error})") from None


def name_of(kind: type) -> str:
    """What imports a class again: module:class; of a script, the module is its file.

    >>> name_of(Path).endswith(":Path")
    True
    """
    module = kind.__module__
    if module == "__main__":
        module = Path(getattr(sys.modules["__main__"], "__file__", None) or module).stem  # a notebook has no file
    return f"{module}:{kind.__qualname__}"


@contextmanager
def _working_directory_first() -> Iterator[None]:
    """Modules beside the user are found, as `python` itself would."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
