"""Reverse transport: little diversity learns faster (sec:rev_transport)."""

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, every, greater
from dico.analysis.members import FREE

LEARNED = 0.9
"""A level has learned when it has this share of the best level's final reward."""
TOO_DIVERSE = "1.2"


@claim(
    "low levels are earlier",
    "0 and 0.1 reach the threshold reward before free.",
    "sec:rev_transport",
    "reverse-transport",
)
def low_first(sweep: Sweep) -> Verdict:
    """Frames until 0.9 of the best level's final reward."""
    threshold = _threshold(sweep)
    free = sweep.reached(FREE, threshold)
    return every([
        greater(
            free, sweep.reached(level, threshold), "frames earlier", f"{level} before free", sweep.spacing
        )
        for level in ("0", "0.1")
    ])  # fmt: skip


@claim("1.2 is later", "Free reaches the threshold reward before 1.2.", "sec:rev_transport", "reverse-transport")
def free_before(sweep: Sweep) -> Verdict:
    """The same, of free and 1.2."""
    threshold = _threshold(sweep)
    late = sweep.reached(TOO_DIVERSE, threshold)
    return greater(late, sweep.reached(FREE, threshold), "frames earlier", "free before 1.2", sweep.spacing)


def _threshold(sweep: Sweep) -> float:
    return LEARNED * max(sweep.mean_final("reward", level) for level in sweep.levels)
