"""What the decision plot is drawn against: the desired diversity, or a number in which members differ instead."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dico.analysis import LevelSummary, bounds_of, group_fields
from dico.runs import Run
from dico.schedules import is_scheduled
from dico.viz.labels import field_title

WIDE = 10.0
"""Numbers whose greatest is at least so many times the least stand on a logarithmic axis."""


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of a decision plot."""

    field: str
    """The desired diversity (``constraint``) or a number of the members."""
    title: str
    logarithmic: bool = False

    @property
    def diversity(self) -> bool:
        """Whether it is the desired diversity, which the action box limits."""
        return self.field == "constraint"

    def place(self, level: LevelSummary) -> tuple[float, float, float]:
        """Where a level stands, and from where to where it reaches.

        Along the desired diversity, one with bounds reaches from one to the other, a missing bound is where the
        measured diversity landed, and free and schedules stand where they landed, with their interval.
        """
        if not self.diversity:
            value = float(level.values[self.field])
            return value, value, value
        landed = float(level.snd.centre)
        if self.lands(level):
            low, high = float(level.snd.low), float(level.snd.high)
            return (landed, low, high) if np.isfinite(low) else (landed, landed, landed)
        low, high = bounds_of(level.desired)
        if low == high:
            return low, low, low
        high = max(low, landed) if high == np.inf else high
        return float(np.clip(landed, low, high)), low, high

    def exact(self, level: LevelSummary) -> bool:
        """Whether a level asks for one value, which is where it stands."""
        return not self.diversity or (len(set(bounds_of(level.desired))) == 1 and not self.lands(level))

    def lands(self, level: LevelSummary) -> bool:
        """Whether a level stands where its diversity landed, having asked for none, or for another at each time."""
        return self.diversity and (level.desired == "free" or is_scheduled(level.desired))

    def series(self, level: LevelSummary) -> str:
        """What a level has in common with those that a line joins it to: all but what the axis shows."""
        return ", ".join(f"{name}={value}" for name, value in level.values.items() if name != self.field)


def axis_of(runs: Sequence[Run]) -> Axis:
    """The desired diversity where members are grouped by it and differ in it, else the first of their other fields.

    >>> axis_of([run]).title, axis_of([run.group_by("seed")])
    ('desired SND', Axis(field='seed', title='seed', logarithmic=False))
    """
    members, fields = [member for run in runs for member in run.members], group_fields(runs[0])
    others = [field for field in fields if field != "constraint"]
    if not others or ("constraint" in fields and len({member.constraint for member in members}) > 1):
        return Axis("constraint", field_title(runs[0], "constraint"))
    values = [float(getattr(member, others[0])) for member in members]
    wide = min(values) > 0 and max(values) >= WIDE * min(values)
    return Axis(others[0], field_title(runs[0], others[0]), wide)
