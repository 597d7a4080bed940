"""Dispersion: diversity finds the assignment of agents to food (sec:dispersion, app:dispersion)."""

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, every, greater
from dico.analysis.members import FREE

DIVERSE = "6"
LEARNED = 0.9
"""Share of free's final reward that is to be reached."""


@claim("order", "6 beats free, which beats 0.", "sec:dispersion", "dispersion")
def order(sweep: Sweep) -> Verdict:
    """Final rewards."""
    six, free, none = (sweep.final("reward", level) for level in (DIVERSE, FREE, "0"))
    return every([
        greater(six, free, "reward per step", "6 over free"), greater(free, none, "reward per step", "free over 0"),
    ])  # fmt: skip


@claim(
    "6 is earlier", "6 reaches nine tenths of free's final reward earlier than free.", "sec:dispersion", "dispersion"
)
def earlier(sweep: Sweep) -> Verdict:
    """Frames until then."""
    threshold = LEARNED * sweep.mean_final("reward", FREE)
    six, free = sweep.reached(DIVERSE, threshold), sweep.reached(FREE, threshold)
    return greater(free, six, "frames earlier", "6 before free", sweep.spacing)


@claim("assignment", "At 6 more agents go to food of their own than at 0 and free.", "app:dispersion", "dispersion")
def assignment(sweep: Sweep) -> Verdict:
    """Different targets among the agents of an episode, as a share of the agents, more than at 0 and than free."""
    six, measure = sweep.behaviour("distinct_food", DIVERSE), "share of agents with a target of their own"
    return every([
        greater(six, sweep.behaviour("distinct_food", level), measure, f"6 over {level}") for level in ("0", FREE)
    ])  # fmt: skip
