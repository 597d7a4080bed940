"""Sampling: diversity explores (sec:sampling, app:sampling)."""

from dico.analysis.claims.registry import claim
from dico.analysis.claims.rewards import in_order
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, above, every, greater
from dico.analysis.members import FREE
from dico.analysis.statistics import mean_interval

DIVERSE = "5"
APART = 105.0
"""Degrees that are near 120: halfway from the 90 which the paper gives for free agents."""


@claim("order", "5 beats free, which beats 0.", "sec:sampling", "sampling")
def order(sweep: Sweep) -> Verdict:
    """Final rewards."""
    return in_order(sweep, (DIVERSE, FREE, "0"))


@claim("fewer cells twice", "At 5 fewer cells are visited by several agents.", "app:sampling", "sampling")
def overlap(sweep: Sweep) -> Verdict:
    """Share of the visited cells that several agents visited, less than free's and than 0's."""
    five = sweep.behaviour("overlap", DIVERSE)
    return every([
        greater(sweep.behaviour("overlap", level), five, "share of cells visited by several", f"{level} over 5")
        for level in (FREE, "0")
    ])  # fmt: skip


@claim("directions", "At 5 the three agents set out in directions near 120 degrees apart.", "app:sampling", "sampling")
def directions(sweep: Sweep) -> Verdict:
    """The smallest angle between two agents' first actions: nearer to 120 degrees than to free's 90."""
    interval = mean_interval(sweep.behaviour("smallest_angle", DIVERSE))
    return above(interval, APART, "smallest angle at the start, degrees")
