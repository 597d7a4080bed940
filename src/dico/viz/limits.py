"""How much diversity the action box has room for."""

from collections.abc import Mapping
from typing import Any

from dico.analysis import controlled_group, controlled_metric, reach_in_words
from dico.bounds import MaxSND, max_snd
from dico.kinds import KINDS
from dico.runs import Run

NEAR = 2.5
"""The limit is drawn if it is at most so many times as far as the farthest level: else levels would be crowded."""


def room(run: Run) -> MaxSND | None:
    """The largest SND of actions in the box; None where another metric is controlled, or an agent is alone.

    >>> limit = room(run)
    >>> round(limit.value, 3), limit.exact
    (2.828, True)
    """
    return executed_limit(run) if controlled_metric(run) == "snd" else None


def executed_limit(run: Run) -> MaxSND | None:
    """The largest SND that executed actions can have, of policies of any kind; None of a lone agent.

    >>> round(executed_limit(run).value, 3)
    2.828
    """
    group = _group(run)
    return max_snd(group["n_agents"], group["low"], group["high"]) if group["n_agents"] > 1 else None


def max_snd_limit(run: Run) -> MaxSND | None:
    """The largest SND that a team can execute, where SND is of what is executed: for deterministic policies.

    That of stochastic ones is of means before a tanh, which have no bounds.

    >>> max_snd_limit(run)  # of tanh-squashed Gaussians
    """
    return room(run) if KINDS[_group(run)["kind"]].width == 1 else None


def limit_is_near(limit: float, farthest: float) -> bool:
    """Whether an axis that reaches to the limit would leave the levels their room.

    >>> limit_is_near(2.8, 1.5), limit_is_near(2.8, 0.3), limit_is_near(2.8, 0.0)
    (True, False, True)
    """
    return limit <= NEAR * farthest or farthest == 0


def beyond(run: Run) -> str:
    """What to know of levels that executed actions cannot have; nothing if there are none.

    >>> beyond(run)
    ''
    """
    if room(run) is None:
        return ""
    group, desired = _group(run), (member.constraint for member in run.members)
    return reach_in_words(desired, group["n_agents"], group["low"], group["high"], group["kind"])


def _group(run: Run) -> Mapping[str, Any]:
    return next(each for each in run.groups if each["name"] == controlled_group(run))
