"""How much diversity the action box has room for."""

from collections.abc import Mapping
from typing import Any

from dico.analysis import bounds_of, controlled_group, controlled_metric, in_order
from dico.bounds import MaxSND, max_snd
from dico.kinds import KINDS
from dico.runs import Run


def room(run: Run) -> MaxSND | None:
    """The largest SND of actions in the box; None where another metric is controlled, or an agent is alone.

    >>> limit = room(run)
    >>> round(limit.value, 3), limit.exact
    (2.828, True)
    """
    group = _group(run)
    if controlled_metric(run) != "snd" or group["n_agents"] < 2:
        return None
    return max_snd(group["n_agents"], group["low"], group["high"])


def max_snd_limit(run: Run) -> MaxSND | None:
    """The largest SND that a team can execute, where SND is of what is executed: for deterministic policies.

    That of stochastic ones is of means before a tanh, which have no bounds.

    >>> max_snd_limit(run)  # of tanh-squashed Gaussians
    """
    return room(run) if KINDS[_group(run)["kind"]].width == 1 else None


def beyond(run: Run) -> str:
    """What to know of levels that executed actions cannot have; nothing if there are none.

    >>> beyond(run)
    ''
    """
    limit = room(run)
    if limit is None:
        return ""
    levels = in_order(member.constraint for member in run.members)
    unreachable = ", ".join(each for each in levels if limit.upper_bound < bounds_of(each)[0])
    if not unreachable:
        return ""
    largest = f"the largest SND in the action box, {limit.upper_bound:.3g}"
    if KINDS[_group(run)["kind"]].width > 1:
        return f"desired {unreachable} is of means before the tanh; executed actions differ by less than {largest}"
    return f"desired {unreachable} is beyond {largest}: means lie outside it, and executed actions differ less"


def _group(run: Run) -> Mapping[str, Any]:
    return next(each for each in run.groups if each["name"] == controlled_group(run))
