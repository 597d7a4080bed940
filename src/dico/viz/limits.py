"""How much diversity the action box has room for."""

from dico.analysis import controlled_group, controlled_metric
from dico.bounds import MaxSND, max_snd
from dico.runs import Run


def wall(run: Run) -> MaxSND | None:
    """The largest SND that fits the action box; None where another metric is controlled, or an agent is alone.

    >>> limit = wall(run)
    >>> round(limit.value, 3), limit.exact
    (2.828, True)
    """
    group = next(each for each in run.groups if each["name"] == controlled_group(run))
    if controlled_metric(run) != "snd" or group["n_agents"] < 2:
        return None
    return max_snd(group["n_agents"], group["low"], group["high"])
