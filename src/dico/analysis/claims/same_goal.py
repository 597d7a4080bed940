"""One goal for all: diversity is a burden, and is put away from the goal (app:case_study)."""

from itertools import pairwise

import numpy as np
import torch

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import MissingError, Sweep, scatter
from dico.analysis.claims.verdict import Verdict, every, greater, positive
from dico.analysis.members import FREE, bounds_of
from dico.analysis.ranks import rank_correlation

LEARNED = 0.9
"""A level has learned when it has this share of free's final reward."""


@claim("reward falls", "Reward falls with the desired SND; homogeneous agents are best.", "app:case_study", "same-goal")
def falls(sweep: Sweep) -> Verdict:
    """Every level is beaten by the one before."""
    return every([
        greater(sweep.final("reward", less), sweep.final("reward", more), "reward per step", f"{less} over {more}")
        for less, more in pairwise(_levels(sweep))
    ])  # fmt: skip


@claim("stability falls", "Training is less stable the more diversity is desired.", "app:case_study", "same-goal")
def spread(sweep: Sweep) -> Verdict:
    """How a member's reward scatters about its mean over batches, in the last half, ranked with the desired SND."""
    chosen = _levels(sweep)
    late = [scatter(_late(sweep.curves("reward", level)), sweep.window) for level in chosen]
    seeds = min(map(len, late))
    by_seed = torch.tensor(np.stack([own[:seeds] for own in late], 1))
    desired = torch.tensor([bounds_of(level)[0] for level in chosen], dtype=torch.float64)
    ranked = rank_correlation(desired.expand_as(by_seed), by_seed).numpy()
    return positive(ranked, "rank correlation of scatter with desired SND")


@claim(
    "low levels learn faster",
    "Agents constrained to little diversity learn faster than unconstrained ones.",
    "app:case_study",
    "same-goal",
)
def faster(sweep: Sweep) -> Verdict:
    """Frames until 0.9 of free's final reward."""
    threshold = LEARNED * sweep.mean_final("reward", FREE)
    free = sweep.reached(FREE, threshold)
    return every([
        greater(
            free, sweep.reached(level, threshold), "frames earlier", f"{level} before free", sweep.spacing
        )
        for level in ("0", "0.1")
    ])  # fmt: skip


@claim(
    "maps",
    "Diversity is lower near the goal than away from it.",
    "app:case_study",
    "same-goal",
)
def maps(sweep: Sweep) -> Verdict:
    """Diversity away from the goal over diversity near it, as a logarithm, at every level above 0."""
    return every([
        positive(sweep.behaviour("away_to_near", level), "log of diversity away over near the goal", f"at {level}")
        for level in _levels(sweep)
        if bounds_of(level)[0] > 0
    ])  # fmt: skip


def _levels(sweep: Sweep) -> list[str]:
    if len(sweep.constrained) < 2:
        raise MissingError(f"{sweep.source} has fewer than two constrained levels")
    return sweep.constrained


def _late(curves: np.ndarray) -> np.ndarray:
    """The last half."""
    return curves[:, curves.shape[1] // 2 :]
