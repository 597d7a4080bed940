"""The paper's tasks as pure functions of tensors; behind the same functions, VMAS and PettingZoo."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import fields
from typing import Any

from dico._checks import check_choice, pairs
from dico._named import imported
from dico._trust import FAMILIES, check_of_trusted, check_trusted, trust, trust_named
from dico.tasks.base import (
    OUTCOMES,
    Group,
    MappedTask,
    Task,
    check_groups,
    is_over_steps,
    join_groups,
    map_state,
    of_group,
    outcomes_of,
    where_done,
)
from dico.tasks.dispersion import Dispersion
from dico.tasks.navigation import Navigation, SameGoal
from dico.tasks.own import name_of, options_of, own
from dico.tasks.pettingzoo import PARALLEL, PREFIX, pettingzoo
from dico.tasks.reverse_transport import ReverseTransport
from dico.tasks.sampling import Sampling
from dico.tasks.scene import Legend, Scene
from dico.tasks.tag import Tag
from dico.tasks.vmas import WRAPPED, vmas

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Navigation, SameGoal, Dispersion, Sampling, Tag, ReverseTransport)
}
"""The paper's tasks by name."""

__all__ = [
    "OUTCOMES",
    "TASKS",
    "Group",
    "Legend",
    "MappedTask",
    "Scene",
    "Task",
    "check_groups",
    "check_known",
    "check_name",
    "describe",
    "from_folder",
    "from_settings",
    "imported",
    "is_over_steps",
    "is_wrapped",
    "join_groups",
    "make",
    "map_state",
    "of_group",
    "outcomes_of",
    "own",
    "pettingzoo",
    "trust",
    "vmas",
    "where_done",
]


def make(name: str, **options: Any) -> Task:
    """A task of :data:`TASKS` by name, with other settings than the paper's where given.

    >>> make("dispersion", n_agents=5)
    Dispersion(n_agents=5, share_reward=True, food_radius=0.08, horizon=100)
    >>> make("disperson")
    Traceback (most recent call last):
    ValueError: task must be one of 'navigation', ..., got 'disperson'; did you mean 'dispersion'?
    """
    task = TASKS[check_choice("task", name, TASKS)]
    known = [field.name for field in fields(task)]  # pyright: ignore[reportArgumentType]
    for option in options:
        check_choice(f"option of {name!r}", option, known)
    return task(**options)


def from_settings(name: str, options: Sequence[str] = ()) -> Task:
    """A task as a configuration names it, its options as name=value.

    The name is one of :data:`TASKS`, ``vmas:SCENARIO``, ``pettingzoo:MODULE``, or ``module:function`` for your own.

    >>> from_settings("tag", ["n_agents=4"]).n_red
    3
    """
    if name.startswith(PREFIX) and not _is_of_family(name):
        trust_named(_environment(name))
    elif _is_own(name):
        trust_named(name)
    return _made(name, options)


def _made(name: str, options: Sequence[str]) -> Task:
    settings = pairs("task_options", tuple(options))
    if name.startswith(WRAPPED):
        return vmas(name.removeprefix(WRAPPED), **settings)
    if name.startswith(PREFIX):
        return pettingzoo(name.removeprefix(PREFIX), **settings)
    return own(name, **settings) if ":" in check_name(name) else make(name, **settings)


def from_folder(name: str, options: Sequence[str] = ()) -> Task:
    """A task as a run folder names it: your own must be trusted (:func:`trust`), for the folder may be a stranger's.

    >>> from_folder("os:system", ["command=true"])
    Traceback (most recent call last):
    ValueError: task 'os:system' is code of its own, which is not run for being named in a folder: if you trust it...
    """
    _check_module(name)
    return _made(name, options)


def check_known(name: str) -> None:
    """An error if a folder names a task that is neither dico's, nor VMAS's or PettingZoo's, nor trusted.

    What is known so may be made by :func:`from_settings`.
    """
    _check_module(name)
    if name.startswith(PREFIX) and not _is_of_family(name):
        with redirect_stdout(io.StringIO()):  # packages of games greet
            check_of_trusted("environment", _environment(name), imported("environment", _environment(name)))


def _check_module(name: str) -> None:
    """The same, without a look at what an environment of PettingZoo is: the process that makes it looks."""
    if name.startswith(PREFIX):
        if not _is_of_family(name):
            check_trusted("task", name.removeprefix(PREFIX))
    elif _is_own(name):
        check_trusted("task", name)
        check_of_trusted("task", name, imported("task", name))


def check_name(name: str) -> str:
    """A task's name, if it can be one; whether your own is there is seen when it is made."""
    return name if ":" in name else check_choice("task", name, TASKS)


def describe(task: Any) -> tuple[str, tuple[str, ...]]:
    """The name and the options that make a task again.

    >>> describe(make("navigation", n_agents=3))
    ('navigation', ('n_agents=3',))
    """
    kind = type(task)
    name = getattr(kind, "name", "")
    return name if TASKS.get(name) is kind else name_of(kind), options_of(task)


def is_wrapped(name: str) -> bool:
    """Whether a task's name is that of a VMAS scenario or a PettingZoo environment.

    >>> is_wrapped("vmas:balance"), is_wrapped("navigation")
    (True, False)
    """
    return name.startswith((WRAPPED, PREFIX))


def _is_own(name: str) -> bool:
    """Whether it is ``module:function``."""
    return ":" in name and not is_wrapped(name)


def _environment(name: str) -> str:
    """The ``module:function`` that makes an environment of PettingZoo."""
    module, _, function = name.removeprefix(PREFIX).partition(":")
    return f"{module}:{function or PARALLEL}"


def _is_of_family(name: str) -> bool:
    """Whether it is an environment of a package that a folder may name."""
    module = name.removeprefix(PREFIX)
    return ":" not in module and module.partition(".")[0] in FAMILIES
