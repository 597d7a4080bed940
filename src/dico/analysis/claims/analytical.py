"""Analytical control on navigation: a diversity guaranteed over the whole box, with either density (app:finn)."""

from itertools import pairwise

from dico.analysis.claims.registry import Judge, claim
from dico.analysis.claims.rewards import in_order
from dico.analysis.claims.sweep import MissingError, Sweep
from dico.analysis.claims.verdict import Verdict, below, every, greater, positive
from dico.analysis.members import bounds_of
from dico.analysis.statistics import mean_interval
from dico.analysis.tracking import relative_error

EXPERIMENTS = ("analytical", "analytical-finn")
EXACT = 0.05
"""How far the diversity over the box may be from the desired one as measured, relative to that. In theory it is not at
all; by 4096 points in each batch it scatters by some thousandths, and by some percent where a FINN has narrow peaks."""


def rises(sweep: Sweep) -> Verdict:
    """Every level beats the one before."""
    return in_order(sweep, _levels(sweep)[::-1])


def exact(sweep: Sweep) -> Verdict:
    """The worst mean over batches of each member, at any time of the training."""
    return every([
        below(mean_interval(relative_error(sweep.smooth("snd", level), level).max(1)), EXACT,
              "greatest relative error of a seed", f"at {level}")
        for level in _levels(sweep)
    ])  # fmt: skip


def ordered(sweep: Sweep) -> Verdict:
    """Diversity on rollouts in the end, of each two neighbouring levels."""
    return every([
        greater(sweep.final("measured", more), sweep.final("measured", less), "measured SND", f"{more} over {less}")
        for more, less in pairwise(_levels(sweep)[::-1])
    ])  # fmt: skip


def maps(sweep: Sweep) -> Verdict:
    """Between the goals against where they lie in one direction, at every level above 0."""
    return every([
        positive(sweep.behaviour("map_ratio", level), "logarithm of the ratio of diversities", f"at {level}")
        for level in _levels(sweep)
        if bounds_of(level)[0] > 0
    ])  # fmt: skip


CLAIMED: dict[str, tuple[str, Judge]] = {
    "reward rises": ("Reward rises with the desired SND.", rises),
    "exact over the box": (
        "The SND over the whole box is within 5 % of the desired one, as a mean over 20 batches, all through the "
        "training.",
        exact,
    ),
    "measured SND in order": ("A higher desired SND has a higher measured SND on rollouts.", ordered),
    "maps": ("The space between the goals is where diversity is placed.", maps),
}
"""What is said of both densities."""

for _experiment in EXPERIMENTS:
    for _name, (_says, _judge) in CLAIMED.items():
        claim(_name, _says, "app:finn", _experiment)(_judge)


def _levels(sweep: Sweep) -> list[str]:
    """Those that desire something, in order."""
    if len(sweep.constrained) < 2:
        raise MissingError(f"{sweep.source} has fewer than two levels that desire something")
    return sweep.constrained
