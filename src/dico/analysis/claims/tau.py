"""The soft update: smaller tau, less variance and more overshoot (app:tau_comparison)."""

from collections.abc import Callable

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import MissingError, Sweep, scatter
from dico.analysis.claims.verdict import Verdict, positive
from dico.analysis.members import bounds_of, desired_of
from dico.analysis.ranks import rank_correlations
from dico.members import parse_level


@claim("variance", "With a smaller tau the measured SND varies less.", "app:tau_comparison", "tau")
def variance(sweep: Sweep) -> Verdict:
    """How SND scatters about its mean over batches in the first half, ranked with tau in each seed."""
    return positive(_ranked(sweep, _scatter), "rank correlation of scatter with tau")


@claim("overshoot", "With a smaller tau the measured SND overshoots more.", "app:tau_comparison", "tau")
def overshoot(sweep: Sweep) -> Verdict:
    """The greatest mean of SND over batches, ranked against tau in each seed."""
    return positive(-_ranked(sweep, _overshoot), "rank correlation of overshoot with -tau")


def _ranked(sweep: Sweep, measure: Callable[[Sweep, str], np.ndarray]) -> np.ndarray:
    """Of each seed, the rank correlation of a measure with tau."""
    desired = {member.constraint for run in sweep.runs for member in run.members}
    if len(desired) > 1 or not bounds_of(min(desired))[0] > 0:
        raise MissingError("a comparison of tau needs one desired SND above 0 for all")
    taus = [float(parse_level(level)["tau"]) for level in sweep.levels]
    return rank_correlations(taus, [measure(sweep, level) for level in sweep.levels])


def _scatter(sweep: Sweep, level: str) -> np.ndarray:
    snd = sweep.curves("snd", level)
    return scatter(snd[:, : snd.shape[1] // 2], sweep.window)


def _overshoot(sweep: Sweep, level: str) -> np.ndarray:
    desired = bounds_of(desired_of(level, *sweep.runs))[0]
    return sweep.smooth("snd", level).max(1) / desired - 1
