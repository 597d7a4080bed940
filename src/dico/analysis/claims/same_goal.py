"""One goal for all: diversity is a burden, and is put away from the goal (app:case_study)."""

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.rewards import earlier, in_order
from dico.analysis.claims.sweep import MissingError, Sweep, scatter
from dico.analysis.claims.verdict import Verdict, every, positive
from dico.analysis.members import FREE, bounds_of
from dico.analysis.ranks import rank_correlations


@claim("reward falls", "Reward falls with the desired SND; homogeneous agents are best.", "app:case_study", "same-goal")
def falls(sweep: Sweep) -> Verdict:
    """Every level is beaten by the one before."""
    return in_order(sweep, _levels(sweep))


@claim("stability falls", "Training is less stable the more diversity is desired.", "app:case_study", "same-goal")
def spread(sweep: Sweep) -> Verdict:
    """How a member's reward scatters about its mean over batches, in the last half, ranked with the desired SND."""
    chosen = _levels(sweep)
    late = [scatter(_late(sweep.curves("reward", level)), sweep.window) for level in chosen]
    ranked = rank_correlations([bounds_of(level)[0] for level in chosen], late)
    return positive(ranked, "rank correlation of scatter with desired SND")


@claim(
    "low levels learn faster",
    "Agents constrained to little diversity learn faster than unconstrained ones.",
    "app:case_study",
    "same-goal",
)
def faster(sweep: Sweep) -> Verdict:
    """Frames until 0.9 of free's final reward."""
    reward = sweep.mean_final("reward", FREE)
    return every([earlier(sweep, level, FREE, reward) for level in ("0", "0.1")])


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
