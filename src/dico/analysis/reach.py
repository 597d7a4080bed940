"""Desired diversities that executed actions cannot have, for the action box has no room for them."""

from collections.abc import Iterable, Sequence

from dico.analysis.members import bounds_of, in_order
from dico.bounds import max_snd
from dico.kinds import KINDS


def reach_in_words(
    constraints: Iterable[str], n_agents: int, low: Sequence[float], high: Sequence[float], kind: str
) -> str:
    """What to know of desired values of SND beyond what fits into the action box; nothing if there are none.

    ``kind`` is that of the policies: what is beyond the box is clamped of deterministic ones, and of stochastic ones
    goes through a tanh.

    >>> reach_in_words(["0", "5", ">=4"], 2, [-1, -1], [1, 1], "shared_std")
    'executed actions can have an SND of at most 2.83: the desired >=4, 5 is of means before the tanh'
    >>> reach_in_words(["0", "5"], 2, [-1, -1], [1, 1], "deterministic")
    'executed actions can have an SND of at most 2.83: the desired 5 is of means that lie outside the action box'
    >>> reach_in_words(["1", "free"], 2, [-1, -1], [1, 1], "shared_std")
    ''
    """
    if n_agents < 2:
        return ""
    most = max_snd(n_agents, low, high).upper_bound
    beyond = ", ".join(each for each in in_order(constraints) if most < bounds_of(each)[0])
    if not beyond:
        return ""
    means = "before the tanh" if KINDS[kind].width > 1 else "that lie outside the action box"
    return f"executed actions can have an SND of at most {most:.3g}: the desired {beyond} is of means {means}"
