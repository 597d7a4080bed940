"""The plan: which members go together into a piece, where it is trained, and the memory that it takes there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from dico.members import NUMBERS, Member
from dico.runs import RunError
from dico.schedules import is_seeking
from dico.training.config import Config
from dico.training.memory import FILLED, Plan, free_bytes


@dataclass(frozen=True)
class Room:
    """What pieces can be trained on: so many at a time, each with this memory, if that is known."""

    where: str
    """In words."""
    at_once: int
    """Pieces that train at the same time."""
    memory: int | None = None
    """Bytes that each of them has."""
    cuda: bool = False
    """Whether it is a CUDA device's memory, of which CUDA itself takes some."""


def bound_together(config: Config) -> list[list[Member]]:
    """The members that must stay together: single ones, or those of a seed whose levels seek, or that share a dial.

    >>> [[member.name for member in unit] for unit in bound_together(Config(snd=("0", "1"), seeds=2, dial=True))]
    [['snd=0,seed=0', 'snd=1,seed=0'], ['snd=0,seed=1', 'snd=1,seed=1']]
    """
    units: dict[Any, list[Member]] = {}
    for member in config.members:
        coupled = config.dial or is_seeking(member.constraint)
        key = (member.seed, *(getattr(member, name) for name in NUMBERS)) if coupled else (member.index,)
        units.setdefault((coupled, *key), []).append(member)
    return list(units.values())


def cut(config: Config, at_once: int, most: int | None) -> list[tuple[int, ...]]:
    """Members by piece: as many pieces as train at once, or more if one may have at most so many members.

    Pieces are as even as what is bound together allows, and a piece has members that follow each other: mostly the
    seeds of a level.

    >>> cut(Config(snd=("0", "1"), seeds=5), at_once=3, most=None)
    [(0, 1, 2, 3), (4, 5, 6), (7, 8, 9)]
    >>> cut(Config(snd=("seek:0", "seek:1"), seeds=3), at_once=2, most=None)
    [(0, 1, 3, 4), (2, 5)]
    """
    units = bound_together(config)
    largest = max(map(len, units))
    if most is not None and most < largest:
        raise RunError(f"{largest} members depend on each other and stay together: a block of {most} is too small")
    n_members = sum(map(len, units))
    pieces = max(at_once, 1 if most is None else -(-n_members // most))
    while True:
        found = _even(units, min(pieces, len(units)))
        if most is None or max(map(len, found)) <= most:
            return found
        pieces += 1


def halves(config: Config, members: Sequence[int]) -> list[tuple[int, ...]]:
    """A piece's members in two, or as they are if they must stay together."""
    own = [unit for unit in bound_together(config) if unit[0].index in set(members)]
    return _even(own, min(2, len(own)))


def members_that_fit(config: Config, room: Room) -> int | None:
    """How many members a piece may have by its memory; None if nobody knows."""
    if room.memory is None:
        return None
    plan = Plan.of(config)
    return plan.fitting(room.memory) if room.cuda else max(1, int(FILLED * room.memory // plan.member))


def device_memory(device: str, sharing: int = 1) -> int | None:
    """What a device has left for each of so many processes; of the processor, what the host has."""
    if torch.device(device).type == "cpu":
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // sharing
    free = free_bytes(torch.device(device))
    return None if free is None else free // sharing


def _even(units: Sequence[Sequence[Member]], pieces: int) -> list[tuple[int, ...]]:
    size, more = divmod(len(units), pieces)
    ends = [k * size + min(k, more) for k in range(pieces + 1)]
    return [tuple(sorted(member.index for unit in units[a:b] for member in unit)) for a, b in pairwise(ends)]
