"""Collecting experience: all environments of all members step together."""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dico._measuring import take
from dico.random import Random
from dico.tasks import Task, check_groups, join_groups, map_state, of_group, where_done
from dico.training.experience import Batch
from dico.training.learner import Learner
from dico.training.outcomes import Outcomes
from dico.training.staging import Stage

STARTS_PER_ENV = 8
"""Fresh starts drawn ahead of each batch, per environment; if more episodes end in one batch, starts are used again."""


class Rollout:
    """The environments of a population, and how far into its episode each one is.

    Everything stays in place in memory, so that a step can be replayed as a CUDA graph.
    """

    def __init__(self, task: Task, envs: int, seeds: Sequence[int], stream: int, stage: Stage):
        self.task, self.envs = task, envs
        self.stage = stage if getattr(task, "compiles", True) else stage.eager
        self.groups = check_groups(task)
        self.rng = Random(seeds, stream, stage.device)
        self.state: Any = task.reset(envs, self.rng)
        self.clock = torch.zeros(len(seeds), envs, dtype=torch.int64, device=stage.device)
        self.outcomes = Outcomes(task, self.groups, len(seeds), envs, self.state, stage.device)
        self.starts: Any = None
        self.used = torch.zeros_like(self.clock[:, :1])
        self.time = torch.zeros_like(self.clock[0, :1])
        self.learners: Sequence[Learner] = ()
        self.batches: list[Batch] = []

    @torch.no_grad()
    def collect(self, learners: Sequence[Learner], steps: int, frames: int) -> list[Batch]:
        """``steps`` steps of every environment; ``frames`` have been collected before.

        One batch per group, in memory that the next call writes over.
        """
        starts = self.task.reset(STARTS_PER_ENV * self.envs, self.rng)
        if learners is not self.learners or self.batches[0].done.shape[1] != steps:
            self._settle(learners, steps, starts)
        copy_(self.starts, starts)
        self.used.zero_()
        self.time.zero_()
        self.outcomes.begin_batch(steps)
        for learner in learners:
            learner.begin_batch(frames)
        for _ in range(steps):
            self._step()
        return self.batches

    def _settle(self, learners: Sequence[Learner], steps: int, starts: Any) -> None:
        """Take the memory that all further batches come in."""
        self.learners, self.starts = learners, starts
        self.batches = [learner.empty_batch(steps, self.envs) for learner in learners]
        self._advanced = self.stage.function(self._advance)
        self._step = self.stage.procedure(self._step_in_place, self._changed)

    @torch.no_grad()
    def _step_in_place(self) -> None:
        """One step of every environment, written at the present time of the batches."""
        earned, sums = self.outcomes.earned, self.outcomes.sums
        state, clock, used, counted, records = self._advanced(
            self.state, self.clock, self.used, (earned, sums), self.starts
        )
        for batch, record in zip(self.batches, records, strict=True):
            for name, value in record.items():
                getattr(batch, name).index_copy_(1, self.time, value.unsqueeze(1))
        copy_(self.state, state)
        self.clock.copy_(clock)
        self.used.copy_(used)
        for mine, new in zip((earned, sums), counted, strict=True):
            mine.copy_(new)
        self.time += 1
        self.time %= self.batches[0].done.shape[1]

    def _advance(
        self, state: Any, clock: Tensor, used: Tensor, counted: tuple[Tensor, Tensor], starts: Any
    ) -> tuple[Any, Tensor, Tensor, tuple[Tensor, Tensor], list[dict[str, Tensor]]]:
        observed = self.task.observe(state)
        decisions = [learner.act(obs) for learner, obs in zip(self.learners, observed, strict=True)]
        state, rewards, ended = self.task.step(state, join_groups(self.groups, [each.action for each in decisions]))
        following = self.task.observe(state)
        clock = clock + 1
        done = ended | (clock >= self.task.horizon)
        counted = self.outcomes.step(*counted, state, rewards, done)
        records = [
            {"obs": obs, "next_obs": next_obs, **decision.remembered, "reward": of_group(group, rewards), "done": done}
            for group, obs, next_obs, decision in zip(self.groups, observed, following, decisions, strict=True)
        ]
        turn = (used + done.cumsum(1) - 1).clamp_min(0) % (STARTS_PER_ENV * self.envs)
        fresh = map_state(partial(take, index=turn), starts)
        clock = torch.where(done, 0, clock)
        return where_done(done, fresh, state), clock, used + done.sum(1, keepdim=True), counted, records

    def _changed(self) -> list[Tensor]:
        counters = [learner.rng.counter for learner in self.learners]
        return [*self.tensors().values(), self.used, self.time, self.outcomes.sums, *counters]

    def tensors(self) -> dict[str, Tensor]:
        """Its state by name, for a checkpoint."""
        parts = {f"state.{name}": part for name, part in tensors_of(self.state).items()}
        return parts | {"clock": self.clock, "earned": self.outcomes.earned, "rng.counter": self.rng.counter}


def tensors_of(state: Any) -> dict[str, Tensor]:
    """The tensors of a state by name; a field may be a tensor or a tuple of them."""
    named = {}
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, tuple):
            named |= {f"{field.name}.{index}": part for index, part in enumerate(value)}
        else:
            named[field.name] = value
    return named


def copy_(target: Any, source: Any) -> None:
    """Write one state over another of the same shapes."""
    for mine, new in zip(tensors_of(target).values(), tensors_of(source).values(), strict=True):
        mine.copy_(new)
