"""Statistics over run folders: levels, aggregates over seeds, tracking error.

Only the controlled group counts, which is the first of several agents unless the run says otherwise. A member that
diverged is left out of every aggregate, and counted.
"""

from dico.analysis.comparison import LevelSummary, best_level, check_comparable, summary
from dico.analysis.differences import Difference, compared, differences
from dico.analysis.exchange import marl_eval, rliable_curves, rliable_scores
from dico.analysis.gain import Answer, answer, answer_of, best_in_words, sentences
from dico.analysis.measured import curves, diverged, final, frames, outcomes, range_of, wall_seconds
from dico.analysis.members import (
    align,
    bounds_of,
    controlled_group,
    controlled_metric,
    desired_of,
    group_fields,
    in_order,
    level_of,
    levels,
    of_level,
    over_box,
    sample_name,
    sample_sizes,
)
from dico.analysis.reach import reach_in_words
from dico.analysis.statistics import STATISTICS, Band, aggregate, interquartile_mean
from dico.analysis.tracking import relative_error, scheduled_values, tracking_error

__all__ = [
    "STATISTICS", "Answer", "Band", "Difference", "LevelSummary", "aggregate", "align", "answer", "answer_of",
    "best_in_words", "best_level", "bounds_of", "check_comparable", "compared", "controlled_group",
    "controlled_metric", "curves", "desired_of", "differences", "diverged", "final", "frames", "group_fields",
    "in_order", "interquartile_mean", "level_of", "levels", "marl_eval", "of_level", "outcomes", "over_box",
    "range_of", "reach_in_words", "relative_error", "rliable_curves", "rliable_scores", "sample_name",
    "sample_sizes", "scheduled_values", "sentences", "summary", "tracking_error", "wall_seconds",
]  # fmt: skip
