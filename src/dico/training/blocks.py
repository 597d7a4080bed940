"""A population larger than the device's memory: its members take turns there, a block at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dico._checks import check_positive
from dico.runs import RunError
from dico.training.config import Config
from dico.training.memory import Plan, free_bytes
from dico.training.offpolicy import OffPolicyLearner
from dico.training.population import Population
from dico.training.staging import Stage


class Blocks(Population):
    """A population that lives in the host's memory; in each iteration one block after another goes to the device.

    Blocks are of one size, so that what was compiled and captured for the first serves them all: the last is filled up
    with copies of a member, whose results are dropped.

    >>> config = Config(frames=80, envs=4, frames_per_batch=40, epochs=1, minibatch=40, hidden=(8,), seeds=1)
    >>> [row["constraint"] for row in Blocks(config, Stage("eager"), block=3).iterate()]
    ['0', '0.3', '1', 'free']
    """

    def __init__(self, config: Config, stage: Stage, block: int):
        super().__init__(config, Stage("eager", "cpu", stage.precision))
        count = -(-len(self.members) // block)
        self.block = -(-len(self.members) // count)
        self.stage = stage
        self.resident = Population(config, stage, members=range(self.block))

    def iterate(self) -> list[dict[str, Any]]:
        """Collect, learn, measure, block by block: one row for each member and group."""
        start = time.perf_counter()
        rows = []
        own, seated = _everything(self), _everything(self.resident)
        # what all members share must not advance before the last block has had its turn
        common = {name: own[name].clone() for name in own if own[name].shape == seated[name].shape}
        for first in range(0, len(self.members), self.block):
            here = slice(first, min(first + self.block, len(self.members)))
            self._seat(here, own | common, seated)
            rows += self.resident.iterate()
            self._fetch(here, own, seated)
        with torch.no_grad():
            for name in common:
                own[name].copy_(seated[name])
        self.iteration += 1
        return self._in_order(rows, time.perf_counter() - start)

    @torch.no_grad()
    def _seat(self, here: slice, own: dict[str, Tensor], seated: dict[str, Tensor]) -> None:
        """Bring a block's members to the device."""
        size = here.stop - here.start
        for name, seat in seated.items():
            if own[name].shape == seat.shape:
                seat.copy_(own[name])
            else:
                seat[:size].copy_(own[name][here])
                seat[size:].copy_(own[name][here.stop - 1 : here.stop].expand_as(seat[size:]))
        for mine, learner in _replaying(self, self.resident):
            filled = min(int(mine.count), self.config.replay)
            for name, seat in learner.replay_buffer.items():
                seat[:size, :filled].copy_(mine.replay_buffer[name][here, :filled])
        resident = self.resident
        resident.iteration = self.iteration
        resident.indices = [min(here.start + place, here.stop - 1) for place in range(self.block)]
        resident.members = [self.members[index] for index in resident.indices]

    @torch.no_grad()
    def _fetch(self, here: slice, own: dict[str, Tensor], seated: dict[str, Tensor]) -> None:
        """Take a block's members back to the host; of the replayed frames only the new ones."""
        size = here.stop - here.start
        for name, seat in seated.items():
            if own[name].shape != seat.shape:
                own[name][here].copy_(seat[:size])
        for mine, learner in _replaying(self, self.resident):
            new = (int(mine.count) + torch.arange(self.config.frames_per_batch)) % self.config.replay
            for name, seat in learner.replay_buffer.items():
                mine.replay_buffer[name][here, new] = seat[:size, new.to(seat.device)].to(
                    mine.replay_buffer[name].device
                )

    def _in_order(self, rows: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
        """As an undivided population gives them; a filled-up block repeats a member, of which the first counts."""
        groups = [learner.team.name for learner in self.learners]
        named = {(row.get("group", groups[0]), row["member"]): row for row in reversed(rows)}
        return [named[group, index] | {"seconds": seconds} for group in groups for index in self.indices]


def make_population(config: Config, stage: Stage, block: int | None = None) -> Population:
    """The population of a configuration, with ``block`` members on the device at once, or as many as fit."""
    members = len(config.members)
    if block is None:
        free = free_bytes(stage.device)
        block = members if free is None else Plan.of(config).fitting(free)
    check_positive("block", block)
    return Population(config, stage) if block >= members else Blocks(config, stage, block)


def members_at_once(population: Population) -> int:
    """Members that are on the device at a time."""
    return population.block if isinstance(population, Blocks) else len(population.members)


@contextmanager
def enough_memory(device: torch.device, members: int, command: str) -> Iterator[None]:
    """Say what to do if there is not."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        fewer = f"with fewer at a time: {command} --block {members // 2}"
        smaller = "with fewer --envs, or a smaller --minibatch or --replay, in a new run"
        who = "one member" if members == 1 else f"{members} members at once"
        raise RunError(
            f"{device} ran out of memory with {who}: free some, or go on {fewer if members > 1 else smaller}"
        ) from error


def memory_messages(population: Population) -> list[str]:
    """What a user should know of the device's memory."""
    messages = []
    if population.stage.device.type != "cpu":
        messages.append(f"planned memory of the device: {Plan.of(population.config)}")
    if isinstance(population, Blocks):
        messages.append(
            f"{len(population.members)} members take turns on {population.stage.device}, {population.block} at a time; "
            "those that wait are in the host's memory"
        )
    return messages


def _everything(population: Population) -> dict[str, Tensor]:
    """All tensors that differ between members or from one iteration to the next, but for the replayed frames."""
    keys = {f"{learner.team.name}.keys": learner.rng.keys for learner in population.learners}
    return population.tensors() | keys | {"rollout.keys": population.rollout.rng.keys}


def _replaying(*populations: Population) -> list[tuple[OffPolicyLearner, ...]]:
    """The learners that replay, side by side."""
    matched = zip(*(population.learners for population in populations), strict=True)
    return [learners for learners in matched if isinstance(learners[0], OffPolicyLearner)]  # pyright: ignore
