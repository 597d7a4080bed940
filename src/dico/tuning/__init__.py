"""Which diversity a task needs: populations as evaluations, one after the other, in one folder.

:func:`~dico.tuning.target.meet` looks for the diversity at which a metric meets a target (alg:closed_loop),
:func:`~dico.tuning.halving.maximize` for that with the greatest metric, and says whether diversity pays.
"""

from dico.tuning.halving import Halving, maximize
from dico.tuning.metrics import METRICS, Metric, find_metric
from dico.tuning.target import PID, Target, meet
from dico.tuning.trials import Bench, Trial, Tuned, largest_diversity

__all__ = [
    "METRICS", "PID", "Bench", "Halving", "Metric", "Target", "Trial", "Tuned", "find_metric", "largest_diversity",
    "maximize", "meet",
]  # fmt: skip
