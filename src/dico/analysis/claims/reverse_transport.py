"""Reverse transport: little diversity learns faster (sec:rev_transport)."""

from dico.analysis.claims.registry import claim
from dico.analysis.claims.rewards import earlier
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, every
from dico.analysis.members import FREE

TOO_DIVERSE = "1.2"


@claim(
    "low levels are earlier",
    "0 and 0.1 reach the threshold reward before free.",
    "sec:rev_transport",
    "reverse-transport",
)
def low_first(sweep: Sweep) -> Verdict:
    """Frames until 0.9 of the best level's final reward."""
    return every([earlier(sweep, level, FREE, _best_reward(sweep)) for level in ("0", "0.1")])


@claim("1.2 is later", "Free reaches the threshold reward before 1.2.", "sec:rev_transport", "reverse-transport")
def free_before(sweep: Sweep) -> Verdict:
    """The same, of free and 1.2."""
    return earlier(sweep, FREE, TOO_DIVERSE, _best_reward(sweep))


def _best_reward(sweep: Sweep) -> float:
    return max(sweep.mean_final("reward", level) for level in sweep.levels)
