"""The soft update: smaller tau, less variance and more overshoot (app:tau_comparison)."""

from collections.abc import Callable

import numpy as np
import torch

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import Sweep, running_mean
from dico.analysis.claims.verdict import Verdict, positive
from dico.analysis.members import bounds_of, desired_of
from dico.analysis.ranks import rank_correlation
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
    measured = [measure(sweep, level) for level in sweep.levels]
    seeds = min(map(len, measured))
    by_seed = torch.tensor(np.stack([own[:seeds] for own in measured], 1))
    taus = torch.tensor([float(parse_level(level)["tau"]) for level in sweep.levels], dtype=torch.float64)
    return rank_correlation(taus.expand_as(by_seed), by_seed).numpy()


def _scatter(sweep: Sweep, level: str) -> np.ndarray:
    snd = sweep.curves("snd", level)
    early = snd[:, : snd.shape[1] // 2]
    window = min(sweep.window, early.shape[1])
    middle = early[:, window // 2 : window // 2 + early.shape[1] - window + 1]
    return (middle - running_mean(early, window)).std(1)


def _overshoot(sweep: Sweep, level: str) -> np.ndarray:
    desired = bounds_of(desired_of(level, *sweep.runs))[0]
    return sweep.smooth("snd", level).max(1) / desired - 1
