"""The paper's claims as functions of runs, each with an uncertainty.

>>> judged = judge([run])
>>> sorted({each.claim for each in judged})[:2]
['control', 'navigation: 1.5 is too much']
"""

from dico.analysis.claims import (  # noqa: F401, I001 - each puts its claims on the list, in the paper's order
    control,
    navigation,
    same_goal,
    dispersion,
    sampling,
    tag,
    reverse_transport,
    tau,
    analytical,
)
from dico.analysis.claims.registry import CLAIMS, Judged, judge
from dico.analysis.claims.sweep import Sweep, sweeps
from dico.analysis.claims.verdict import FAILS, HOLDS, UNDECIDED, Verdict

__all__ = ["CLAIMS", "FAILS", "HOLDS", "UNDECIDED", "Judged", "Sweep", "Verdict", "judge", "sweeps"]
