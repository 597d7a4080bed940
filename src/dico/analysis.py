"""Statistics over run folders: levels, aggregates over seeds, tracking error.

Only the controlled group counts, which is the first of several agents unless the run says otherwise. A member that
diverged is left out of every aggregate, and counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from dico._checks import check_choice
from dico.constraints import parse_constraint
from dico.runs import Run, RunError
from dico.tasks import Task, from_settings

STATISTICS: dict[str, str] = {
    "mean": "mean and standard deviation",
    "iqm": "interquartile mean and 95 % bootstrap interval",
}
"""What each statistic is called under a figure."""
LAST = 0.1
"""A final value is the mean over this share of the iterations, the last ones."""
RESAMPLES = 2000
"""Bootstrap samples."""
BOOTSTRAP_NUMBERS = 4_000_000
"""Numbers drawn at once: longer curves are taken in parts."""


@dataclass(frozen=True)
class Band:
    """A statistic over seeds; where there are fewer than two values there is no interval: low and high are NaN."""

    centre: Float[np.ndarray, "*shape"]
    low: Float[np.ndarray, "*shape"]
    high: Float[np.ndarray, "*shape"]

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval anywhere."""
        return bool(np.isfinite(self.low).any())


@dataclass(frozen=True)
class LevelSummary:
    """How the seeds of one desired diversity ended, over the last tenth of the iterations."""

    level: str
    seeds: int
    """Members that count."""
    diverged: int
    """Members left out."""
    reward: Band
    snd: Band
    tracking_error: Band
    """NaN for free, which desires nothing."""


def bounds_of(level: str) -> tuple[float, float]:
    """Least and greatest diversity that a constraint allows.

    >>> bounds_of("0.3"), bounds_of(">=0.3"), bounds_of("free")
    ((0.3, 0.3), (0.3, inf), (0.0, inf))
    """
    constraint = parse_constraint(level)
    return constraint.lo.item(), constraint.hi.item()


def levels(run: Run) -> list[str]:
    """The constraints of a run, in order of diversity, free last.

    >>> levels(run)
    ['0', '0.3', '1', 'free']
    """
    return in_order(member.constraint for member in run.members)


def in_order(constraints: Iterable[str]) -> list[str]:
    """Constraints, each once, in order of diversity, free last.

    >>> in_order(["free", "1", ">=0.3", "0", "1"])
    ['0', '>=0.3', '1', 'free']
    """
    return sorted(set(constraints), key=_diversity)


def controlled_metric(run: Run) -> str:
    """The metric whose desired values the levels are: SND unless the run says otherwise."""
    return run.config.get("metric", "snd")


def controlled_group(run: Run) -> str:
    """The group whose diversity is controlled: the first of several agents unless the run says otherwise."""
    teams = [group["name"] for group in run.groups if group["n_agents"] > 1]
    return next(iter(run.config.get("controlled") or teams), run.groups[0]["name"])


def curves(run: Run, metric: str) -> Float[np.ndarray, "members iterations"]:
    """A metric of the controlled group, ``(members, iterations)``; a member that diverged is NaN throughout.

    >>> curves(run, "reward").shape
    (8, 2)
    """
    values = _read(run, metric)
    values[diverged(run)] = np.nan
    return values


def frames(run: Run) -> Float[np.ndarray, " iterations"]:
    """Environment steps of each member at the end of each iteration."""
    return np.fmax.reduce(_read(run, "frames"), axis=0)  # without NaN, if it can be


def diverged(run: Run) -> Bool[np.ndarray, " members"]:
    """Which members' numbers stopped being finite, in any group."""
    members = [row["member"] for row in run.rows() if row.get("diverged")]
    return np.isin(np.arange(len(run.members)), members)


def of_level(run: Run, level: str) -> Bool[np.ndarray, " members"]:
    """Which members have a constraint."""
    check_choice("level", level, levels(run))
    return np.array([member.constraint == level for member in run.members])


def aggregate(values: Float[np.ndarray, "seeds *shape"], stat: str = "mean") -> Band:
    """A statistic over seeds, the first dimension; NaN is a value that a seed does not have.

    ``mean`` is the mean and the sample standard deviation on either side. ``iqm`` is the interquartile mean (the values
    without the lowest and the highest quarter, rounded down) and the 95 % percentile interval of a bootstrap that is
    stratified: the seeds of a level are drawn among themselves, the same way every time.

    >>> band = aggregate(np.array([1.0, 2.0, 3.0, 10.0]), "iqm")
    >>> float(band.centre)
    2.5
    >>> aggregate(np.array([1.0])).has_interval
    False
    """
    check_choice("stat", stat, STATISTICS)
    values = np.asarray(values, dtype=float)
    flat = values.reshape(len(values), -1)
    count = np.isfinite(flat).sum(0)
    flat = np.where(np.isfinite(flat), flat, np.nan)
    if stat == "iqm":
        centre = interquartile_mean(flat)
        low, high = _bootstrap(flat)
    else:
        centre = _over(np.nansum(flat, 0), count)
        spread = np.sqrt(_over(np.nansum((flat - centre) ** 2, 0), count - 1))
        low, high = centre - spread, centre + spread
    alone = count < 2
    low, high = np.where(alone, np.nan, low), np.where(alone, np.nan, high)
    return Band(*(part.reshape(values.shape[1:]) for part in (centre, low, high)))


def interquartile_mean(values: Float[np.ndarray, "seeds *shape"]) -> Float[np.ndarray, "*shape"]:
    """The mean without the lowest and the highest quarter of the values, each rounded down; NaN is left out.

    >>> interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0, np.nan])).item()
    1.5
    """
    ordered = np.sort(values, axis=0)  # NaN comes last
    count = np.isfinite(values).sum(0)
    cut = count // 4
    rank = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    kept = (rank >= cut) & (rank < count - cut)
    return _over(np.where(kept, ordered, 0.0).sum(0), count - 2 * cut)


def final(run: Run, metric: str) -> Float[np.ndarray, " members"]:
    """Each member's mean over the last tenth of the iterations (at least one); NaN if it diverged."""
    return _last(curves(run, metric))


def tracking_error(run: Run) -> Float[np.ndarray, "members iterations"]:
    r"""How far the measured diversity is from the desired one, relative to that: :math:`|SND - SND_{des}| / SND_{des}`.

    Of a constraint with bounds it is how far the measured value lies outside, relative to the bound it missed. A
    desired 0 has nothing to be relative to, so there it is the measured value itself. Free desires nothing: NaN.
    """
    measured = curves(run, controlled_metric(run))
    error = np.full_like(measured, np.nan)
    for level in levels(run):
        if level != "free":
            chosen = of_level(run, level)
            error[chosen] = relative_error(measured[chosen], level)
    return error


def relative_error(measured: Float[np.ndarray, "*shape"], level: str) -> Float[np.ndarray, "*shape"]:
    """The error of :func:`tracking_error` for one constraint.

    >>> relative_error(np.array([0.2, 0.3, 0.6]), "0.2..0.5").round(4).tolist()
    [0.0, 0.0, 0.2]
    """
    low, high = bounds_of(level)
    desired = np.clip(measured, low, high)
    return np.abs(measured - desired) / np.where(desired > 0, desired, 1.0)


def summary(run: Run, stat: str = "mean") -> list[LevelSummary]:
    """How each level ended, in order of diversity.

    >>> [(level.level, level.seeds, level.reward.has_interval) for level in summary(run)]
    [('0', 2, True), ('0.3', 2, True), ('1', 2, True), ('free', 2, True)]
    """
    gone = diverged(run)
    reward, measured, error = final(run, "reward"), final(run, controlled_metric(run)), _last(tracking_error(run))
    return [
        LevelSummary(
            level, int((chosen & ~gone).sum()), int((chosen & gone).sum()),
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


def _read(run: Run, metric: str) -> Float[np.ndarray, "members iterations"]:
    values = run.metric(metric, controlled_group(run)).numpy()
    if not values.size:
        raise RunError(f"{run.folder} has no metrics yet: look again when its first iteration is done")
    return values


def _task(run: Run) -> Task | str:
    """The task with all its settings, whether or not the run's episodes can be played; its text if it is not known."""
    try:
        return from_settings(run.config["task"], run.config.get("task_options", ()))
    except (ValueError, TypeError, ImportError):
        return _task_text(run)


def _task_text(run: Run) -> str:
    return " ".join([run.config["task"], *sorted(run.config.get("task_options", ()))])


def _diversity(level: str) -> tuple[Any, ...]:
    """Free last; the others by their value, or their only bound, or the middle of two."""
    low, high = bounds_of(level)
    ends = [end for end in (low, high) if 0 < end < np.inf] or [0.0]
    return level == "free", sum(ends) / len(ends), low, high


def _last(values: Float[np.ndarray, "members iterations"]) -> Float[np.ndarray, " members"]:
    count = max(1, round(LAST * values.shape[1]))
    tail = values[:, -count:]
    return _over(np.nansum(tail, 1), np.isfinite(tail).sum(1))


def _over(total: Any, count: Any) -> np.ndarray:
    """A mean; NaN where there is nothing."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _bootstrap(values: Float[np.ndarray, "seeds columns"]) -> Float[np.ndarray, "2 columns"]:
    seeds, columns = values.shape
    drawn = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
    at_once = max(1, BOOTSTRAP_NUMBERS // drawn.size)
    parts = []
    for first in range(0, columns, at_once):
        part = values[:, first : first + at_once]
        means = interquartile_mean(np.moveaxis(part[drawn], 1, 0))
        parts.append(_percentiles(means))
    return np.concatenate(parts, 1) if parts else np.empty((2, 0))


def _percentiles(means: Float[np.ndarray, "samples columns"]) -> Float[np.ndarray, "2 columns"]:
    """The middle 95 %; NaN where no sample has a value."""
    known = np.isfinite(means).any(0)
    filled = np.where(known, means, 0.0)
    return np.where(known, np.nanpercentile(filled, (2.5, 97.5), axis=0), np.nan)
