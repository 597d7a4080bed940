"""Tasks of your own: any object with a task's functions, by the name of what makes it."""

import json
import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import torch

from dico._checks import check_positive
from dico._named import imported
from dico.random import Random
from dico.tasks.base import check_groups
from dico.tasks.scene import Scene

FUNCTIONS = ("groups", "horizon", "n_agents", "action_low", "action_high", "reset", "step", "observe", "scene")
"""What a task must have; see :class:`dico.tasks.Task`."""


def own(name: str, **options: Any) -> Any:
    """The task that ``module:function`` makes of the options; the function may be a class.

    >>> own("dico.tasks.navigation:Navigation", n_agents=3).n_agents
    3
    """
    make = imported("task", name)
    if not callable(make):
        raise ValueError(f"task {name!r} must be a function or a class that makes a task, got {make!r}")
    try:
        task = make(**options)
    except ValueError:
        raise
    except Exception as error:  # it is a user's
        raise ValueError(f"task {name!r} cannot be made of {options or 'no options'} ({error})") from error
    missing = [each for each in FUNCTIONS if not hasattr(task, each)]
    if missing:
        raise ValueError(f"task {name!r} must make an object with {', '.join(FUNCTIONS)}; it lacks {missing[0]}")
    _try(name, task)
    return task


def _try(name: str, task: Any) -> None:
    """One step in three environments of two members: what a task gives must be of the shapes that it says."""
    batch, agents = (2, 3), task.n_agents
    try:
        check_groups(task)
        state = task.reset(batch[1], Random(range(batch[0])))
        following, reward, done = task.step(state, torch.zeros(*batch, agents, len(task.action_low)))
        for each in (state, following):
            seen = task.observe(each)
            expected = [(*batch, len(group.agents), group.obs_dim) for group in task.groups]
            _check_shapes("observe", [tuple(obs.shape) for obs in seen], expected)
        _check_shapes("step's rewards", tuple(reward.shape), (*batch, agents))
        _check_shapes("step's done", (tuple(done.shape), done.dtype), (batch, torch.bool))
        check_positive("horizon", task.horizon)
        scene = task.scene(state)
        if not isinstance(scene, Scene):
            raise ValueError(f"scene must give a dico.tasks.Scene, got {scene!r}")
    except Exception as error:
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"task {name!r} does not work: {said.partition(chr(10))[0]}") from error


def _check_shapes(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"{what} must have shape {expected} for two members and three environments, got {found}")


def options_of(task: Any) -> tuple[str, ...]:
    """The settings of a task that differ from its defaults, as name=value.

    >>> from dico.tasks import make
    >>> options_of(make("navigation", n_agents=3))
    ('n_agents=3',)
    """
    kind = getattr(task, "__qualname__", type(task).__qualname__)
    if not is_dataclass(task) or isinstance(task, type):
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
