"""Diversity is what was asked for (thm:scaling, sec:scaling), on every task."""

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import MissingError, Sweep, running_mean
from dico.analysis.claims.verdict import FAILS, HOLDS, Verdict
from dico.analysis.members import FREE, desired_of
from dico.analysis.statistics import mean_interval
from dico.analysis.tracking import relative_distance, relative_error
from dico.schedules import is_scheduled

MEASURE = "greatest relative error of a seed"
ALLOWED = 0.05
"""How far the measured diversity may be from the desired one, relative to that."""


@claim(
    "control",
    "Measured SND is within 5 % of the desired one, as a mean over 20 batches, for every constrained member all "
    "through the last half of the training.",
    "sec:case_study",
    None,
)
def control(sweep: Sweep) -> Verdict:
    """The effect is the mean over seeds of the worst error of a seed; one member beyond the bound is enough to fail."""
    worst = {level: _worst(sweep, level) for level in sweep.levels if _desires(sweep, level)}
    if not worst:
        raise MissingError(f"{sweep.source} has no member that desires some diversity")
    errors = np.concatenate(list(worst.values()))
    if np.isnan(errors).any():
        return Verdict(FAILS, np.nan, np.nan, np.nan, MEASURE, f"{np.isnan(errors).sum()} members diverged")
    level = max(worst, key=lambda level: worst[level].max())
    seeds = min(map(len, worst.values()))
    interval = mean_interval(np.max([values[:seeds] for values in worst.values()], 0))
    verdict = FAILS if errors.max() > ALLOWED else HOLDS
    why = f"worst: {100 * errors.max():.2g} % at {level}"
    return Verdict(verdict, interval.effect, interval.low, interval.high, MEASURE, why)


def _desires(sweep: Sweep, level: str) -> bool:
    return desired_of(level, *sweep.runs) != FREE


def _worst(sweep: Sweep, level: str) -> np.ndarray:
    """Each member's greatest error over the last half; NaN if it diverged. A schedule has a value for each time."""
    constraint = desired_of(level, *sweep.runs)
    measured = _late(sweep, "snd", level)
    if is_scheduled(constraint):
        return relative_distance(measured, _late(sweep, "desired", level)).max(1)
    return relative_error(measured, constraint).max(1)


def _late(sweep: Sweep, metric: str, level: str) -> np.ndarray:
    """Means over batches in the last half of the training."""
    values = sweep.curves(metric, level)
    half = values[:, values.shape[1] // 2 :]
    return running_mean(half, min(sweep.window, half.shape[1]))
