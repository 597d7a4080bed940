"""What several claims say of rewards: which level ends higher, and which learns earlier."""

from collections.abc import Sequence
from itertools import pairwise

from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, every, greater

REWARD = "reward per step"
LEARNED = 0.9
"""A level has learned when it has this share of the final reward it is held against."""


def in_order(sweep: Sweep, best_first: Sequence[str]) -> Verdict:
    """The claim that every level ends above the next."""
    return every([
        greater(sweep.final("reward", more), sweep.final("reward", less), REWARD, f"{more} over {less}")
        for more, less in pairwise(best_first)
    ])  # fmt: skip


def earlier(sweep: Sweep, first: str, later: str, reward: float) -> Verdict:
    """The claim that a level has learned, up to :data:`LEARNED` of a reward, before another has."""
    slow, fast = (sweep.reached(level, LEARNED * reward) for level in (later, first))
    return greater(slow, fast, "frames earlier", f"{first} before {later}", sweep.spacing)
