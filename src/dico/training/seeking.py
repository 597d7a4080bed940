"""Desired diversities that follow the slope of the reward: members of a seed at neighbouring levels are the probes."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from dico.members import NUMBERS
from dico.schedules import is_seeking
from dico.training.blocks import AnyPopulation

SURE = 2.0
"""Standard errors that a slope must be apart from 0 for a whole step."""
NEEDED = {"desired", "constraint", "seed", "reward"}
"""What a line must tell; of a file that was changed some may lack it."""
Probes = dict[int, dict[int, Mapping[str, Any]]]
"""Rows of members that climb together, by member and iteration."""


class Move(NamedTuple):
    """What a window of batches tells."""

    slope: float
    """Of the reward over the desired diversity."""
    error: float
    """Its standard error over the batches."""
    step: float
    """By how much all levels change."""


class Seeker:
    r"""Moves the levels ``seek:x`` uphill: extremum seeking, with members as the probes in place of a dither.

    Members alike in all but their level climb together. Their levels :math:`x_k=c+d_k` keep their distances
    :math:`d_k` from the centre :math:`c`, and each batch has a slope by least squares,

    .. math:: s_t = \sum_k d_k r_{k,t} \Big/ \sum_k d_k^2, \qquad
        c \leftarrow c + \eta\,\mathrm{clip}\Big(\frac{\bar s}{2\,\mathrm{se}(s)}, -1, 1\Big)

    after every window of batches: at most the step :math:`\eta`, less where the slope is not clear, and no level falls
    below 0. What all probes learn meanwhile cancels in a slope. It is all in the rows, so a resumed run reads there
    what came before.
    """

    def __init__(self, population: AnyPopulation):
        self.population = population
        self.seeks = any(is_seeking(member.constraint) for member in population.members)
        self.seen: list[Mapping[str, Any]] = []
        """Rows of seeking members since the last move."""

    def look(self, rows: Sequence[dict[str, Any]]) -> None:
        """Take note of an iteration; at the end of a window move the levels, and say in the rows by how much."""
        if not self.seeks:
            return
        config, mine = self.population.config, [row for row in rows if _seeks(row)]
        self.seen += mine
        if self.population.iteration % config.seek_window:
            return
        for (group, *_), probes in _together(self.seen).items():
            move = uphill(probes, config.seek_step)
            if move is not None:
                self._move(group, probes, move, mine)
        self.seen = []

    def recall(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take note of what a run that is resumed had seen since its last move."""
        done = self.population.iteration
        last = done - done % self.population.config.seek_window
        self.seen = [row for row in rows if last < row["iteration"] <= done and _seeks(row)]

    def _move(self, group: str, probes: Probes, move: Move, now: Sequence[dict[str, Any]]) -> None:
        learners = {learner.team.name: learner for learner in self.population.learners}
        constraint = learners[group or next(iter(learners))].constraint
        for row in now:
            if row.get("group", "") == group and row["member"] in probes and _known(row["desired"]):
                for bound in (constraint.lo, constraint.hi):
                    bound[row["member"]] = row["desired"] + move.step
                row |= {"slope": move.slope, "slope_error": move.error, "moved": move.step}


def uphill(probes: Probes, most: float) -> Move | None:
    """How far to move, from the rewards of some batches; None where fewer than two probes or batches have numbers.

    >>> rows = {k: {t: {"desired": 0.1 * k, "reward": 0.3 * k + 5 * t} for t in range(4)} for k in range(3)}
    >>> [round(part, 6) for part in uphill(rows, most=0.05)]
    [3.0, 0.0, 0.05]
    """
    sound = [own for own in probes.values() if all(_known(row["reward"], row["desired"]) for row in own.values())]
    levels = [next(reversed(own.values()))["desired"] for own in sound]
    batches = sorted(set.intersection(*map(set, sound))) if sound else []  # of a damaged file some may be lost
    if len(set(levels)) < 2 or len(batches) < 2:
        return None
    offsets = [level - fmean(levels) for level in levels]
    spread = sum(offset**2 for offset in offsets)
    slopes = [
        sum(offset * own[t]["reward"] for offset, own in zip(offsets, sound, strict=True)) / spread for t in batches
    ]
    slope, error = fmean(slopes), stdev(slopes) / math.sqrt(len(slopes))
    certainty = slope / (SURE * error) if error > 1e-12 * abs(slope) else math.copysign(1.0, slope)
    return Move(slope, error, max(most * min(max(certainty, -1.0), 1.0), -min(levels)))


def _together(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], Probes]:
    """Rows of members that climb together: of one group of agents, one seed, and the same of all numbers that vary."""
    found: dict[tuple[Any, ...], Probes] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        key = row.get("group", ""), row["seed"], *(row.get(name) for name in NUMBERS)
        found[key][row["member"]][row["iteration"]] = row
    return found


def _seeks(row: Mapping[str, Any]) -> bool:
    return row.keys() >= NEEDED and is_seeking(row["constraint"])


def _known(*values: float | None) -> bool:
    return all(value is not None and math.isfinite(value) for value in values)
