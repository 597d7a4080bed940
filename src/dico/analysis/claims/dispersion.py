"""Dispersion: diversity finds the assignment of agents to food (sec:dispersion, app:dispersion)."""

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, every, greater
from dico.analysis.members import FREE

DIVERSE = "6"


@claim("order", "6 beats free, which beats 0.", "sec:dispersion", "dispersion")
def order(sweep: Sweep) -> Verdict:
    """Final rewards."""
    six, free, none = (sweep.final("reward", level) for level in (DIVERSE, FREE, "0"))
    return every([
        greater(six, free, "reward per step", "6 over free"), greater(free, none, "reward per step", "free over 0"),
    ])  # fmt: skip


@claim("6 is earlier", "6 reaches free's final reward earlier than free.", "sec:dispersion", "dispersion")
def earlier(sweep: Sweep) -> Verdict:
    """Frames until the mean final reward of free."""
    threshold = float(np.nanmean(sweep.final("reward", FREE)))
    return greater(sweep.reached(FREE, threshold), sweep.reached(DIVERSE, threshold), "frames earlier", "6 before free")


@claim("assignment", "At 6 agents go to different food.", "app:dispersion", "dispersion")
def assignment(sweep: Sweep) -> Verdict:
    """Different targets among the agents of an episode, as a share of the agents, more than at 0 and than free."""
    six, measure = sweep.behaviour("distinct_food", DIVERSE), "share of agents with a target of their own"
    return every([
        greater(six, sweep.behaviour("distinct_food", level), measure, f"6 over {level}") for level in ("0", FREE)
    ])  # fmt: skip
