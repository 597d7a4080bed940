"""How the levels of a run ended, which was best, and whether runs can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dico.analysis.measured import diverged, final, final_mean
from dico.analysis.members import controlled_metric, desired_of, group_fields, levels, of_level
from dico.analysis.statistics import Band, aggregate
from dico.analysis.tracking import tracking_error
from dico.runs import Run, RunError
from dico.tasks import Task, from_folder


@dataclass(frozen=True)
class LevelSummary:
    """How the members of one level ended, over the last tenth of the iterations."""

    level: str
    values: Mapping[str, Any]
    """Of each field that members are grouped by: the desired diversity as a text, and numbers."""
    desired: str
    """The desired diversity of all its members, as a text; free if they differ in it."""
    seeds: int
    """Members that count."""
    diverged: int
    """Members left out."""
    reward: Band
    snd: Band
    tracking_error: Band
    """NaN where no member desires anything, as free does not."""


def summary(run: Run, stat: str = "mean") -> list[LevelSummary]:
    """How each level ended, in order.

    Args:
        run: with metrics.
        stat: ``mean`` or ``iqm``, as in :func:`aggregate`.

    Returns:
        A row for each level.

    >>> [(level.level, level.seeds, level.reward.has_interval) for level in summary(run)]
    [('0', 2, False), ('0.3', 2, False), ('1', 2, False), ('free', 2, False)]
    """
    gone = diverged(run)
    reward, measured, error = final(run, "reward"), final(run, controlled_metric(run)), final_mean(tracking_error(run))
    return [
        LevelSummary(
            level, _values(run, chosen), desired_of(level, run),
            int((chosen & ~gone).sum()), int((chosen & gone).sum()),
            *(aggregate(values[chosen], stat) for values in (reward, measured, error)),
        )
        for level in levels(run)
        for chosen in [of_level(run, level)]
    ]  # fmt: skip


def best_level(run: Run, stat: str = "mean") -> str | None:
    """The level of the greatest final reward; None if every member diverged."""
    ended = [level for level in summary(run, stat) if level.seeds]
    return max(ended, key=lambda level: float(level.reward.centre)).level if ended else None


def check_comparable(runs: Sequence[Run]) -> None:
    """Runs in one comparison must be of one task, with the same settings, and of one controlled metric.

    A setting that is written out is the same as one that is left at that value.
    """
    if not runs:
        raise ValueError("runs must hold at least one run, got none")
    for name, of, text in (("task", _task, _task_text), ("controlled metric", controlled_metric, controlled_metric)):
        first, *others = (of(run) for run in runs)
        if any(each != first for each in others):
            each = ", ".join(f"{run.folder}: {text(run)}" for run in runs)
            raise RunError(f"runs in one comparison must have the same {name}, got {each}")


def _values(run: Run, chosen: np.ndarray) -> dict[str, Any]:
    """What the members of a level have in common."""
    return {field: getattr(run.members[int(np.argmax(chosen))], field) for field in group_fields(run)}


def _task(run: Run) -> Task | str:
    """The task with all its settings, whether or not the run's episodes can be played; its text if it is not known."""
    try:
        return from_folder(run.config["task"], run.config.get("task_options", ()))
    except (ValueError, TypeError, ImportError):
        return _task_text(run)


def _task_text(run: Run) -> str:
    return " ".join([run.config["task"], *sorted(run.config.get("task_options", ()))])
