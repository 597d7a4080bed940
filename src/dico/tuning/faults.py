"""What may happen to a team after its training: a task in which an agent fails, sees badly or is weak."""

from typing import Any

import torch
from torch import Tensor

from dico.random import Random
from dico.tasks import Group, Scene, Task

NOISE = 0.2
"""Standard deviation of the noise on what agents see, in the task's own units."""
WEAK = 0.5
"""Share of an action that weak actuators carry out."""
STREAM = 2000
"""Keeps the noise apart from all other random numbers."""


class Faulty(Task[Any]):
    """A task like another, but for what a subclass changes of actions or observations."""

    def __init__(self, task: Task):
        self.task, self.n_agents, self.horizon = task, task.n_agents, task.horizon

    @property
    def groups(self) -> tuple[Group, ...]:
        """Those of the task."""
        return self.task.groups

    @property
    def action_low(self) -> tuple[float, ...]:
        """That of the task."""
        return self.task.action_low

    @property
    def action_high(self) -> tuple[float, ...]:
        """That of the task."""
        return self.task.action_high

    def reset(self, n: int, rng: Random) -> Any:
        """As in the task."""
        return self.task.reset(n, rng)

    def step(self, state: Any, actions: Tensor) -> tuple[Any, Tensor, Tensor]:
        """As in the task."""
        return self.task.step(state, actions)

    def observe(self, state: Any) -> tuple[Tensor, ...]:
        """As in the task."""
        return self.task.observe(state)

    def scene(self, state: Any) -> Scene:
        """As in the task."""
        return self.task.scene(state)


class Failed(Faulty):
    """One agent does nothing: its action is zero."""

    def __init__(self, task: Task, agent: int):
        super().__init__(task)
        self.working = (torch.arange(task.n_agents) != agent)[:, None]

    def step(self, state: Any, actions: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Without the agent's action."""
        return self.task.step(state, actions * self.working)


class Weak(Faulty):
    """Every action is carried out by half."""

    def step(self, state: Any, actions: Tensor) -> tuple[Any, Tensor, Tensor]:
        """With the actions that there is strength for."""
        return self.task.step(state, actions * WEAK)


class Noisy(Faulty):
    r"""Agents see :math:`o + \epsilon`, :math:`\epsilon\sim N(0, 0.2^2)`, the same noise for all members."""

    def __init__(self, task: Task, members: int, seed: int):
        super().__init__(task)
        self.rng = Random([seed] * members, STREAM)

    def observe(self, state: Any) -> tuple[Tensor, ...]:
        """With noise on every number."""
        return tuple(obs + NOISE * self.rng.normal(*obs.shape[1:]) for obs in self.task.observe(state))
