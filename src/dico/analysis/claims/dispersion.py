"""Dispersion: diversity finds the assignment of agents to food (sec:dispersion, app:dispersion)."""

from dico.analysis.claims.registry import claim
from dico.analysis.claims.rewards import earlier, in_order
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, every, greater
from dico.analysis.members import FREE

DIVERSE = "6"


@claim("order", "6 beats free, which beats 0.", "sec:dispersion", "dispersion")
def order(sweep: Sweep) -> Verdict:
    """Final rewards."""
    return in_order(sweep, (DIVERSE, FREE, "0"))


@claim(
    "6 is earlier", "6 reaches nine tenths of free's final reward earlier than free.", "sec:dispersion", "dispersion"
)
def six_first(sweep: Sweep) -> Verdict:
    """Frames until then."""
    return earlier(sweep, DIVERSE, FREE, sweep.mean_final("reward", FREE))


@claim("assignment", "At 6 more agents go to food of their own than at 0 and free.", "app:dispersion", "dispersion")
def assignment(sweep: Sweep) -> Verdict:
    """Different targets among the agents of an episode, as a share of the agents, more than at 0 and than free."""
    six, measure = sweep.behaviour("distinct_food", DIVERSE), "share of agents with a target of their own"
    return every([
        greater(six, sweep.behaviour("distinct_food", level), measure, f"6 over {level}") for level in ("0", FREE)
    ])  # fmt: skip
