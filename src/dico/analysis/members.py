"""Which members belong together: those of a level, of the group and the metric that are controlled."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool

from dico._checks import check_choice
from dico.constraints import order, parse_constraint
from dico.runs import Run


def bounds_of(level: str) -> tuple[float, float]:
    """Least and greatest diversity that a constraint allows.

    >>> bounds_of("0.3"), bounds_of(">=0.3"), bounds_of("free")
    ((0.3, 0.3), (0.3, inf), (0.0, inf))
    """
    constraint = parse_constraint(level)
    return constraint.lo.item(), constraint.hi.item()


def levels(run: Run) -> list[str]:
    """The constraints of a run, in order of diversity, free last.

    >>> levels(run)
    ['0', '0.3', '1', 'free']
    """
    return in_order(member.constraint for member in run.members)


def in_order(constraints: Iterable[str]) -> list[str]:
    """Constraints, each once, in order of diversity, free last.

    >>> in_order(["free", "1", ">=0.3", "0", "1"])
    ['0', '>=0.3', '1', 'free']
    """
    return sorted(set(constraints), key=order)


def of_level(run: Run, level: str) -> Bool[np.ndarray, " members"]:
    """Which members have a constraint."""
    check_choice("level", level, levels(run))
    return np.array([member.constraint == level for member in run.members])


def controlled_metric(run: Run) -> str:
    """The metric whose desired values the levels are: SND unless the run says otherwise."""
    return run.config.get("metric", "snd")


def controlled_group(run: Run) -> str:
    """The group whose diversity is controlled: the first of several agents unless the run says otherwise."""
    teams = [group["name"] for group in run.groups if group["n_agents"] > 1]
    return next(iter(run.config.get("controlled") or teams), run.groups[0]["name"])
