"""What may happen to a team after its training: a task in which one agent fails, sees badly or is weak."""

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
    """A task like another, but for what a subclass changes of one agent's actions or observations."""

    def __init__(self, task: Task, agent: int):
        self.task, self.n_agents, self.horizon = task, task.n_agents, task.horizon
        self.agent = agent

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


class Weak(Faulty):
    """Of one agent's action half is carried out."""

    share = WEAK

    def step(self, state: Any, actions: Tensor) -> tuple[Any, Tensor, Tensor]:
        """With the action that there is strength for."""
        affected = (torch.arange(self.n_agents) == self.agent)[:, None]
        return self.task.step(state, torch.where(affected, self.share * actions, actions))


class Failed(Weak):
    """One agent does nothing: its action is zero."""

    share = 0.0


class Noisy(Faulty):
    r"""One agent sees :math:`o + \epsilon`, :math:`\epsilon\sim N(0, 0.2^2)`, the same noise for every policy."""

    def __init__(self, task: Task, agent: int, seed: int):
        super().__init__(task, agent)
        self.rng = Random([seed], STREAM)

    def observe(self, state: Any) -> tuple[Tensor, ...]:
        """With noise on every number that it sees."""
        return tuple(map(self._blur, self.groups, self.task.observe(state)))

    def _blur(self, group: Group, obs: Tensor) -> Tensor:
        if self.agent not in group.agents:
            return obs
        affected = (torch.tensor(group.agents) == self.agent)[:, None]
        return obs + affected * NOISE * self.rng.normal(*obs.shape[1:])
