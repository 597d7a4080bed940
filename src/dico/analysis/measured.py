"""The numbers of a run as arrays, of the controlled group; a member that diverged has none."""

import numpy as np
from jaxtyping import Bool, Float

from dico._measuring import last
from dico.analysis.members import controlled_group
from dico.analysis.statistics import mean_of
from dico.runs import Run, RunError
from dico.tasks import OUTCOMES, TASKS, Task

SIGNED = ("reward", "return")
"""What may be negative."""
SHARES = (*OUTCOMES, "outside")
"""What is a share of a whole."""


def curves(run: Run, metric: str) -> Float[np.ndarray, "members iterations"]:
    """A metric of the controlled group.

    Args:
        run: with metrics.
        metric: a column of them.

    Returns:
        A row for each member; one that diverged is NaN throughout.

    >>> curves(run, "reward").shape
    (8, 2)
    """
    values = _read(run, metric)
    values[diverged(run)] = np.nan
    return values


def outcomes(run: Run) -> dict[str, str]:
    """What the run tells of whole episodes, by column: return, success, coverage; and what each of them is in words.

    >>> outcomes(run)["coverage"]
    'share of agents that are at their goals in the end'
    """
    group = controlled_group(run)
    told = {name for row in run.rows() if row.get("group", group) == group for name in row}
    task = TASKS.get(run.config["task"], Task)
    words = {"return": "return of an agent in an episode"}
    words |= {name: str(getattr(task, f"{name}_words")) for name in OUTCOMES}
    return {name: text for name, text in words.items() if name in told}


def range_of(metric: str) -> tuple[float, float]:
    """What a metric cannot be below and above: rewards may be anything, shares lie within 0 and 1.

    >>> range_of("reward"), range_of("success"), range_of("snd")
    ((-inf, inf), (0.0, 1.0), (0.0, inf))
    """
    if metric in SIGNED:
        return -np.inf, np.inf
    return 0.0, 1.0 if metric in SHARES else np.inf


def frames(run: Run) -> Float[np.ndarray, " iterations"]:
    """Environment steps of each member at the end of each iteration."""
    return np.fmax.reduce(_read(run, "frames"), axis=0)  # without NaN, if it can be


def behind(run: Run) -> Bool[np.ndarray, " members"]:
    """Who has no numbers of the newest iteration, though not diverged: of a piece that others are ahead of."""
    return ~np.isfinite(curves(run, "reward")[:, -1]) & ~diverged(run)


def diverged(run: Run) -> Bool[np.ndarray, " members"]:
    """Which members' numbers stopped being finite, in any group."""
    members = [row["member"] for row in run.rows() if row.get("diverged")]
    return np.isin(np.arange(len(run.members)), members)


def final(run: Run, metric: str) -> Float[np.ndarray, " members"]:
    """Each member's mean over the last tenth of the iterations (at least one).

    Args:
        run: with metrics.
        metric: a column of them.

    Returns:
        NaN for a member that diverged.
    """
    return final_mean(curves(run, metric))


def final_mean(values: Float[np.ndarray, "members iterations"]) -> Float[np.ndarray, " members"]:
    """Each row's mean over the last tenth of its numbers, which :func:`~dico._measuring.last` counts."""
    tail = values[:, -last(values.shape[1]) :]
    return mean_of(np.nansum(tail, 1), np.isfinite(tail).sum(1))


def wall_seconds(run: Run) -> float:
    """How long the iterations of a run took, all together; NaN if it does not say.

    Members that were trained together share the time of an iteration, and so do their groups: it counts once. Members
    that were trained one by one, as BenchMARL does it, have times of their own, which add up. Iterations that were lost
    to an interruption, and made again, are not in it.

    >>> wall_seconds(run) == sum(row["seconds"] for row in run.rows() if row["member"] == 0)
    True
    """
    times = {(row["iteration"], row["seconds"]) for row in run.rows() if row.get("seconds") is not None}
    return sum(seconds for _, seconds in sorted(times)) if times else np.nan


def _read(run: Run, metric: str) -> Float[np.ndarray, "members iterations"]:
    values = run.metric(metric, controlled_group(run)).numpy()
    if not values.size:
        raise RunError(run.source.no_metrics())
    return values
