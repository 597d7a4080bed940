"""Collecting experience: all environments of all members step together."""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dico.random import Random
from dico.tasks import Task, map_state, where_done
from dico.train.learner import Batch, Learner, take

STARTS_PER_ENV = 8
"""Fresh starts drawn ahead of each batch, per environment; if more episodes end in one batch, starts are used again."""


class Rollout:
    """The environments of a population, and how far into its episode each one is."""

    def __init__(self, task: Task, envs: int, seeds: Sequence[int], stream: int, device: torch.device):
        self.task, self.envs = task, envs
        self.rng = Random(seeds, stream, device)
        self.state: Any = task.reset(envs, self.rng)
        self.clock = torch.zeros(len(seeds), envs, dtype=torch.int64, device=device)

    @torch.no_grad()
    def collect(self, learners: Sequence[Learner], steps: int, frames: int) -> list[Batch]:
        """``steps`` steps of every environment; ``frames`` have been collected before. One batch per group."""
        starts = self.task.reset(STARTS_PER_ENV * self.envs, self.rng)
        used = torch.zeros_like(self.clock[:, :1])
        history: list[list[tuple[Tensor, ...]]] = [[] for _ in learners]
        observed = self.task.observe(self.state)
        for _ in range(steps):
            decisions = [learner.act(obs, frames) for learner, obs in zip(learners, observed, strict=True)]
            state, rewards, ended = self.task.step(self.state, torch.cat([d.action for d in decisions], -2))
            following = self.task.observe(state)
            self.clock += 1
            done = ended | (self.clock >= self.task.horizon)
            first = 0
            for record, obs, next_obs, decision in zip(history, observed, following, decisions, strict=True):
                last = first + obs.shape[-2]
                record.append((obs, next_obs, decision.raw, decision.log_prob, rewards[..., first:last], done))
                first = last
            turn = (used + done.cumsum(1) - 1).clamp_min(0) % (STARTS_PER_ENV * self.envs)
            fresh = map_state(partial(take, index=turn), starts)
            self.state = where_done(done, fresh, state)
            self.clock = torch.where(done, 0, self.clock)
            used = used + done.sum(1, keepdim=True)
            observed = self.task.observe(self.state)
        return [Batch(*(torch.stack(column, 1) for column in zip(*record, strict=True))) for record in history]

    def tensors(self) -> dict[str, Tensor]:
        """Its state by name, for a checkpoint."""
        named = {"clock": self.clock, "rng.counter": self.rng.counter}
        for field in fields(self.state):
            value = getattr(self.state, field.name)
            if isinstance(value, tuple):
                named |= {f"state.{field.name}.{i}": each for i, each in enumerate(value)}
            else:
                named[f"state.{field.name}"] = value
        return named
