"""Runs against each other: how much more one has than another at each level that both trained, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from dico.analysis.measured import final, outcomes
from dico.analysis.members import controlled_metric, levels, of_level
from dico.analysis.statistics import FEWEST, Interval, difference
from dico.runs import Run

CONFIDENCE = 0.95
"""That all intervals of a quantity hold at once."""


@dataclass(frozen=True)
class Difference:
    """How two runs differ at one level, over the last tenth of the iterations."""

    level: str
    first: int
    second: int
    """Which of the runs: what is told is the second's minus the first's."""
    seeds: tuple[int, int]
    """Members of the first and of the second that count."""
    values: Mapping[str, Interval]
    """By what was measured; without an interval where either has fewer than three seeds."""
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Values of each quantity that are numbers, where they are not as many as the seeds."""
    diverged: tuple[int, int] = (0, 0)
    """Members of the first and of the second that do not count, for they diverged."""

    def verdict(self, name: str) -> str:
        """``higher``, ``lower``, ``not told apart``; or why there is no interval.

        That is ``diverged`` where too few seeds are left of those that there were, ``too few seeds`` or ``no scatter``.

        >>> values = {"reward": Interval(2.0, 1.0, 3.0), "snd": Interval(1.0, np.nan, np.nan)}
        >>> found = Difference("0.3", 0, 1, (3, 2), values)
        >>> found.verdict("reward"), found.verdict("snd")
        ('higher', 'too few seeds')
        >>> Difference("0.3", 0, 1, (3, 3), values, {"snd": (3, 1)}).verdict("snd")
        'too few seeds'
        """
        found = self.values[name]
        if not np.isfinite(found.low):
            counts = self.counts.get(name, self.seeds)
            few = [lost for count, lost in zip(counts, self.diverged, strict=True) if count < FEWEST]
            return "diverged" if any(few) else "too few seeds" if few else "no scatter"
        return "higher" if found.low > 0 else "lower" if found.high < 0 else "not told apart"


def compared(runs: Sequence[Run]) -> list[str]:
    """What runs are compared by: reward, the controlled metric, and what all of them tell of episodes.

    >>> compared([run, run])
    ['reward', 'snd', 'return', 'success', 'coverage']
    """
    told = [name for name in outcomes(runs[0]) if all(name in outcomes(run) for run in runs)]
    return ["reward", controlled_metric(runs[0]), *told]


def differences(runs: Sequence[Run]) -> list[Difference]:
    r"""Every two of several runs (as ``align`` gives them) at every level that both have, in order of the levels.

    Intervals are Welch's. A table of many invites to pick the one that stands out, so they are as wide as it takes for
    all intervals of a quantity to hold at once: each has a confidence of :math:`1-0.05/k`, with k of them (Bonferroni).

    Args:
        runs: two or more.

    Returns:
        A row for each level and two runs.

    >>> [(each.level, each.values["reward"].effect) for each in differences([run, run])]
    [('0', 0.0), ('0.3', 0.0), ('1', 0.0), ('free', 0.0)]
    """
    names = compared(runs)
    finals = [{name: final(run, name) for name in names} for run in runs]
    pairs = [
        (level, first, second)
        for level in levels(*runs)
        for first, second in combinations(range(len(runs)), 2)
        if level in levels(runs[first]) and level in levels(runs[second])
    ]
    confidence = 1 - (1 - CONFIDENCE) / max(len(pairs), 1)

    def of(number: int, level: str, name: str) -> np.ndarray:
        values = finals[number][name][of_level(runs[number], level)]
        return values[np.isfinite(values)]

    def found(level: str, first: int, second: int) -> Difference:
        sizes = {name: (len(of(first, level, name)), len(of(second, level, name))) for name in names}
        values = {name: difference(of(second, level, name), of(first, level, name), confidence=confidence)
                  for name in names}  # fmt: skip
        others = {name: size for name, size in sizes.items() if size != sizes["reward"]}
        members = [int(of_level(runs[number], level).sum()) for number in (first, second)]
        lost = (members[0] - sizes["reward"][0], members[1] - sizes["reward"][1])
        return Difference(level, first, second, sizes["reward"], values, others, lost)

    return [found(*pair) for pair in pairs]
