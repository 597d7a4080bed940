"""Diversity is what was asked for (thm:scaling, sec:scaling), on every task."""

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import MissingError, Sweep, running_mean
from dico.analysis.claims.verdict import FAILS, HOLDS, Verdict
from dico.analysis.members import bounds_of, desired_of
from dico.analysis.statistics import mean_interval
from dico.analysis.tracking import relative_error

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
    worst = {level: _worst(sweep, level) for level in sweep.levels if bounds_of(desired_of(level, *sweep.runs))[0] >= 0}
    worst = {level: errors for level, errors in worst.items() if np.isfinite(errors).any()}
    if not worst:
        raise MissingError(f"{sweep.source} has no member that desires some diversity")
    level = max(worst, key=lambda level: np.nanmax(worst[level]))
    seeds = min(len(errors) for errors in worst.values())
    interval = mean_interval(np.nanmax([errors[:seeds] for errors in worst.values()], 0))
    beyond = np.nanmax(worst[level]) > ALLOWED
    verdict = FAILS if beyond else HOLDS
    why = f"worst: {100 * np.nanmax(worst[level]):.2g} % at {level}"
    return Verdict(verdict, interval.effect, interval.low, interval.high, "greatest relative error of a seed", why)


def _worst(sweep: Sweep, level: str) -> np.ndarray:
    """Each member's greatest error over the last half; NaN for free."""
    desired = desired_of(level, *sweep.runs)
    low, high = bounds_of(desired)
    measured = sweep.curves("snd", level)
    if low == 0 and high == np.inf:
        return np.full(len(measured), np.nan)
    half = measured[:, measured.shape[1] // 2 :]
    return relative_error(running_mean(half, min(sweep.window, half.shape[1])), desired).max(1)
