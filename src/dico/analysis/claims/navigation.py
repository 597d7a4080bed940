"""Navigation: diversity pays up to a point, and sits where the goals pull apart (sec:case_study, app:div_too_high)."""

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.rewards import REWARD, in_order
from dico.analysis.claims.sweep import MissingError, Sweep
from dico.analysis.claims.verdict import Verdict, below, every, greater, positive
from dico.analysis.members import FREE, bounds_of
from dico.analysis.statistics import mean_interval

RIGHT, TOO_MUCH = "1", "1.5"
AT_THE_MIDPOINT = 0.25
"""Distance to the goals' midpoint, in units of a goal's, within which agents have settled there."""


@claim("reward rises", "Reward rises with the desired SND, up to 1.", "sec:case_study", "navigation")
def rises(sweep: Sweep) -> Verdict:
    """Every level up to 1 beats the one before."""
    return in_order(sweep, _useful(sweep)[::-1])


@claim("1.5 is too much", "A desired SND of 1.5 ends below 1.", "app:div_too_high", "navigation")
def too_much(sweep: Sweep) -> Verdict:
    """Final rewards."""
    return greater(sweep.final("reward", RIGHT), sweep.final("reward", TOO_MUCH), REWARD, f"{RIGHT} over {TOO_MUCH}")


@claim(
    "1.5 is unstable",
    "At 1.5 learning is less stable than at 1: more of the best reward so far is lost again.",
    "app:div_too_high",
    "navigation",
)
def unstable(sweep: Sweep) -> Verdict:
    """How much of its own best reward a member loses at some time."""
    return greater(
        lost(sweep, TOO_MUCH), lost(sweep, RIGHT), "share of a member's best reward lost", f"{TOO_MUCH} over {RIGHT}"
    )


@claim("midpoint", "Homogeneous agents settle at the midpoint of the goals.", "sec:case_study", "navigation")
def midpoint(sweep: Sweep) -> Verdict:
    """Where the agents of level 0 are at the end of an episode."""
    interval = mean_interval(sweep.behaviour("midpoint", "0"))
    return below(interval, AT_THE_MIDPOINT, "distance to the midpoint, 1 being that of the goals")


@claim(
    "maps",
    "Diversity is higher where the goals lie in different directions than where they lie in one.",
    "sec:case_study",
    "navigation",
)
def maps(sweep: Sweep) -> Verdict:
    """Rank correlation of the map with how far the directions to the goals differ, at every level up to 1."""
    return every([
        positive(sweep.behaviour("map_correlation", level), "rank correlation with the ideal map", f"at {level}")
        for level in _useful(sweep)
        if bounds_of(level)[0] > 0
    ])  # fmt: skip


@claim(
    "free maps are less regular",
    "The maps of free agents are further from the ideal than those of agents constrained to 1.",
    "sec:case_study",
    "navigation",
)
def irregular(sweep: Sweep) -> Verdict:
    """Rank correlations with the ideal map."""
    return greater(
        sweep.behaviour("map_correlation", RIGHT), sweep.behaviour("map_correlation", FREE),
        "rank correlation with the ideal map", f"{RIGHT} over free",
    )  # fmt: skip


def lost(sweep: Sweep, level: str) -> np.ndarray:
    """The most that a member ever lost again of the best reward it had had, as means over batches, relative to that."""
    smooth = sweep.smooth("reward", level)
    best = np.maximum.accumulate(smooth, 1)
    return ((best - smooth) / np.maximum(np.abs(best).max(1, keepdims=True), 1e-12)).max(1)


def _useful(sweep: Sweep) -> list[str]:
    """The levels up to 1, in order."""
    found = [level for level in sweep.constrained if bounds_of(level)[1] <= 1]
    if len(found) < 2:
        raise MissingError(f"{sweep.source} has fewer than two levels up to 1")
    return found
