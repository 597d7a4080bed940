"""A population larger than the device's memory: its members take turns there, a block at a time."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dico._checks import check_positive
from dico._errors import is_out_of_memory
from dico.runs import RunError
from dico.training.config import Config
from dico.training.memory import Plan, free_bytes
from dico.training.offpolicy import OffPolicyLearner
from dico.training.population import Counted, Population
from dico.training.staging import Stage

COMMON = re.compile(r"[^.]+\.(rng\.counter|count|policy\.((obs_)?(low|high)|coordinates)|adam\.\w+\.count)")
"""Names of tensors that all members have in common; all others begin with a dimension of members."""


class Blocks(Counted):
    """A population that lives in the host's memory; in each iteration one block after another goes to the device.

    Blocks are of one size, so that what was compiled and captured for the first serves them all: the last is filled up
    with copies of a member, whose results are dropped.

    >>> config = Config(frames=80, envs=4, frames_per_batch=40, epochs=1, minibatch=40, hidden=(8,), seeds=1)
    >>> [row["constraint"] for row in Blocks(config, Stage("eager"), block=3).iterate()]
    ['0', '0.3', '1', 'free']
    """

    def __init__(self, config: Config, stage: Stage, block: int):
        self.config, self.stage = config, stage
        self.host = Population(config, Stage("eager", "cpu", stage.precision))
        self.members, self.learners, self.tensors = self.host.members, self.host.learners, self.host.tensors
        turns = -(-len(self.members) // block)
        self.at_once = -(-len(self.members) // turns)
        self.resident = Population(config, stage, indices=range(self.at_once))

    def iterate(self) -> list[dict[str, Any]]:
        """Collect, learn, measure, block by block: one row for each member and group."""
        start = time.perf_counter()
        rows = []
        own = self.tensors() | self.host.constants()
        seated = self.resident.tensors() | self.resident.constants()
        # what all members share must not advance before the last block has had its turn
        common = {name: value.clone() for name, value in own.items() if is_common(name)}
        for first in range(0, len(self.members), self.at_once):
            here = slice(first, min(first + self.at_once, len(self.members)))
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
            if is_common(name):
                seat.copy_(own[name])
            else:
                seat[:size].copy_(own[name][here])
                seat[size:].copy_(own[name][here.stop - 1 : here.stop].expand_as(seat[size:]))
        for mine, learner in self._replaying():
            filled = min(int(mine.count), self.config.replay)
            for name, seat in learner.replay_buffer.items():
                seat[:size, :filled].copy_(mine.replay_buffer[name][here, :filled])
        self.resident.iteration = self.iteration
        self.resident.members = [self.members[min(here.start + k, here.stop - 1)] for k in range(self.at_once)]

    @torch.no_grad()
    def _fetch(self, here: slice, own: dict[str, Tensor], seated: dict[str, Tensor]) -> None:
        """Take a block's members back to the host; of the replay buffers only the new frames."""
        size = here.stop - here.start
        for name, seat in seated.items():
            if not is_common(name):
                own[name][here].copy_(seat[:size])
        for mine, learner in self._replaying():
            new = (int(mine.count) + torch.arange(self.config.frames_per_batch)) % self.config.replay
            for name, seat in learner.replay_buffer.items():
                home = mine.replay_buffer[name]
                home[here, new] = seat[:size, new.to(seat.device)].to(home.device)

    def _replaying(self) -> list[tuple[OffPolicyLearner, OffPolicyLearner]]:
        """Learners with a replay buffer: of all members, and of those on the device."""
        both = zip(self.host.learners, self.resident.learners, strict=True)
        return [(a, b) for a, b in both if isinstance(a, OffPolicyLearner) and isinstance(b, OffPolicyLearner)]

    def _in_order(self, rows: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
        """As an undivided population gives them; a filled-up block repeats a member, of which the first counts."""
        groups = [learner.team.name for learner in self.learners]
        named = {(row.get("group", groups[0]), row["member"]): row for row in reversed(rows)}
        return [named[group, member.index] | {"seconds": seconds} for group in groups for member in self.members]


AnyPopulation = Population | Blocks
"""What a session trains."""


def is_common(name: str) -> bool:
    """Whether all members have a tensor in common."""
    return COMMON.fullmatch(name) is not None


def make_population(config: Config, stage: Stage, block: int | None = None) -> AnyPopulation:
    """The population of a configuration, with ``block`` members on the device at once, or as many as fit."""
    n_members = len(config.members)
    if block is None:
        free = free_bytes(stage.device)
        block = n_members if free is None else Plan.of(config).fitting(free)
    check_positive("block", block)
    if config.dial and block < n_members:
        raise RunError(f"the levels of a dial cannot take turns: all {n_members} members must be on the device at once")
    return Population(config, stage) if block >= n_members else Blocks(config, stage, block)


@contextmanager
def enough_memory(device: torch.device, at_once: int, command: str) -> Iterator[None]:
    """Say what to do if there is not."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        fewer = f"with fewer at a time: {command} --block {at_once // 2}"
        smaller = "with fewer --envs, or a smaller --minibatch or --replay, in a new run"
        who = "one member" if at_once == 1 else f"{at_once} members at once"
        raise RunError(
            f"{device} ran out of memory with {who}: free some, or go on {fewer if at_once > 1 else smaller}"
        ) from error


def memory_messages(population: AnyPopulation) -> list[str]:
    """What a user should know of the device's memory."""
    messages = []
    if population.stage.device.type != "cpu":
        messages.append(f"planned memory of the device: {Plan.of(population.config)}")
    if population.at_once < len(population.members):
        messages.append(
            f"{len(population.members)} members take turns on {population.stage.device}, {population.at_once} at a "
            "time; those that wait are in the host's memory"
        )
    return messages
