"""Our tasks as parallel environments of PettingZoo, for others to train on: ``parallel_env("navigation")``."""

import json
from typing import Any

import torch
from torch import Tensor

try:
    import numpy as np
    from gymnasium import spaces
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as missing:
    raise ImportError(
        f'dico.adapters.pettingzoo needs {missing.name}: pip install "dico-marl[pettingzoo]"'
    ) from missing

from dico.random import Random  # which need numpy too
from dico.tasks import Task, check_groups, from_settings


class TaskEnv(ParallelEnv[str, np.ndarray, np.ndarray]):
    """One copy of a task. Agents are called ``GROUP_i``; all of them stay to the end.

    An episode terminates if the task ends of itself, and is truncated at its horizon. Actions outside the box are
    clamped. ``infos`` has nothing.
    """

    render_mode = None

    def __init__(self, task: Task):
        self.task, self.groups = task, check_groups(task)
        names = [(f"{group.name}_{i}", agent, group) for group in self.groups for i, agent in enumerate(group.agents)]
        self.place = {name: agent for name, agent, _ in names}
        """Of each agent, its index among all."""
        self.possible_agents = sorted(self.place, key=self.place.__getitem__)
        self.agents: list[str] = []
        low, high = (np.array(corner, dtype=np.float32) for corner in (task.action_low, task.action_high))
        self.action_spaces = {name: spaces.Box(low, high, dtype=np.float32) for name in self.possible_agents}
        self.observation_spaces = {
            name: spaces.Box(-np.inf, np.inf, (group.obs_dim,), dtype=np.float32) for name, _, group in names
        }
        self.metadata = {"render_modes": [], "name": getattr(task, "name", "dico")}
        self.rng, self.state_now, self.time = Random([0]), None, 0

    def observation_space(self, agent: str) -> spaces.Space:
        """What an agent sees: a vector."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """What an agent does: the task's box."""
        return self.action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """A fresh episode; without a seed, the next of the last seed's."""
        if seed is not None:
            self.rng = Random([seed])
        self.state_now, self.time, self.agents = self.task.reset(1, self.rng), 0, list(self.possible_agents)
        return self._seen(), {name: {} for name in self.agents}

    def step(self, actions: dict[str, np.ndarray]) -> tuple[dict[str, Any], ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One step: what is seen, rewards, terminations, truncations and infos, by agent."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        chosen = np.stack([np.asarray(actions[name], dtype=np.float32) for name in self.agents])
        self.state_now, rewards, done = self.task.step(self.state_now, torch.from_numpy(chosen)[None, None])
        self.time += 1
        names, ended, over = self.agents, bool(done), self.time >= self.task.horizon
        earned = {name: float(rewards[0, 0, self.place[name]]) for name in names}
        seen = self._seen()
        if ended or over:
            self.agents = []
        return (
            seen, earned, dict.fromkeys(names, ended), dict.fromkeys(names, over and not ended), {n: {} for n in names},
        )  # fmt: skip

    def state(self) -> np.ndarray:
        """What all agents see, one after the other."""
        return np.concatenate(list(self._seen().values()))

    def render(self) -> None:
        """Nothing: ``dico video`` draws runs."""

    def close(self) -> None:
        """Nothing is held."""

    def _seen(self) -> dict[str, np.ndarray]:
        observed: tuple[Tensor, ...] = self.task.observe(self.state_now)
        rows = {
            agent: obs[0, 0, i].numpy()
            for group, obs in zip(self.groups, observed, strict=True)
            for i, agent in enumerate(group.agents)
        }
        return {name: rows[self.place[name]].astype(np.float32) for name in self.possible_agents}


def parallel_env(task: str | Task = "navigation", **options: Any) -> TaskEnv:
    """A task as a parallel environment: one of :data:`dico.tasks.TASKS` with its options, any other name, or an object.

    >>> env = parallel_env("navigation", n_agents=3)
    >>> seen, _ = env.reset(seed=0)
    >>> print(*env.agents, seen["agents_0"].shape)
    agents_0 agents_1 agents_2 (6,)
    """
    if not isinstance(task, str):
        if options:
            raise ValueError(f"options must be left out for a task given as an object, got {options}")
        return TaskEnv(task)
    return TaskEnv(from_settings(task, [f"{name}={json.dumps(value)}" for name, value in options.items()]))
