"""Which diversity to choose: final reward against desired diversity, with the action box's limit as a wall."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from dico.analysis import LevelSummary, best_level, bounds_of, controlled_group, controlled_metric, summary
from dico.bounds import MaxSND, max_snd
from dico.runs import Run
from dico.tasks.scene import TEAM
from dico.viz.colours import level_colours
from dico.viz.style import FAINT, INK, level_label, metric_name


def wall(run: Run) -> MaxSND | None:
    """The largest SND that fits the action box; None if another metric is controlled."""
    if controlled_metric(run) != "snd":
        return None
    group = next(each for each in run.groups if each["name"] == controlled_group(run))
    return max_snd(group["n_agents"], group["low"], group["high"])


def plot_decision(axes: Axes, runs: Sequence[Run], stat: str = "mean") -> Axes:
    """Final reward of each level of each run, intervals, the best level, and the wall.

    A level with a value stands at that value, one with bounds spans them, and free stands where its diversity landed.
    """
    name = metric_name(runs[0])
    axes.set_xlabel(f"desired {name}")
    axes.set_ylabel("final reward per step")
    for number, run in enumerate(runs):
        _plot_run(axes, run, stat, None if len(runs) == 1 else TEAM[number % len(TEAM)])
    _plot_wall(axes, runs[0])
    axes.margins(y=0.18)
    return axes


def place(level: LevelSummary) -> tuple[float, float, float]:
    """Where a level stands along the axis of diversity, and from where to where it reaches.

    A missing bound is where the measured diversity landed.
    """
    landed = float(level.snd.centre)
    if level.level == "free":
        low, high = float(level.snd.low), float(level.snd.high)
        return (landed, low, high) if np.isfinite(low) else (landed, landed, landed)
    low, high = bounds_of(level.level)
    high = max(low, landed) if high == np.inf else high
    return (low, low, high) if low == high else (float(np.clip(landed, low, high)), low, high)


def _plot_run(axes: Axes, run: Run, stat: str, colour: str | None) -> None:
    ended = [level for level in summary(run, stat) if level.seeds]
    colours = level_colours([level.level for level in ended])
    exact = [level for level in ended if len(set(bounds_of(level.level))) == 1]
    points = [(place(level)[0], float(level.reward.centre)) for level in exact]
    axes.plot(
        *zip(*points, strict=True) if points else ((), ()), color=colour or FAINT, linewidth=1, alpha=0.6, zorder=2
    )
    best = best_level(run, stat)
    for level in ended:
        x, left, right = place(level)
        y, low, high = (float(part) for part in (level.reward.centre, level.reward.low, level.reward.high))
        own = colour or colours[level.level]
        free = level.level == "free"
        axes.hlines(y, left, right, color=own, linewidth=1.4, alpha=0.7, zorder=2.5)
        if np.isfinite(low):
            axes.vlines(x, low, high, color=own, linewidth=1.4, zorder=2.5)
        marker = "D" if free else "o"
        axes.plot(x, y, marker=marker, markersize=6 if free else 7, color=own, markeredgecolor="white", gid=level.level,
                  linestyle="none", zorder=3, label=_label(run, level, colour is not None))  # fmt: skip
        if level.level == best:
            axes.plot(x, y, marker="o", markersize=13, markerfacecolor="none", markeredgecolor=INK, zorder=3.5)
            axes.annotate(f"best: {level_label(level.level)}", (x, y), xytext=(0, 11), textcoords="offset points",
                          ha="center", va="bottom", color=INK, weight="bold", zorder=4)  # fmt: skip


def _label(run: Run, level: LevelSummary, several: bool) -> str:
    if several:
        return f"_{run.folder.name}"
    landed = f" (landed at {float(level.snd.centre):.2f})" if level.level == "free" else ""
    return f"{level_label(level.level)}{landed}"


def _plot_wall(axes: Axes, run: Run) -> None:
    limit = wall(run)
    if limit is None:
        axes.margins(x=0.08)
        return
    right = max(limit.value * 1.12, axes.dataLim.x1 * 1.06)
    axes.set_xlim(-0.03 * right, right)
    sign = "" if limit.exact else "≥ "
    axes.axvspan(limit.value, right, facecolor="#f0f0f0", edgecolor="#d0d0d0", hatch="///", linewidth=0, zorder=0)
    axes.axvline(limit.value, color=INK, linewidth=1.4, zorder=1, gid="wall")
    axes.annotate(f"largest SND in the action box: {sign}{limit.value:.3g}", (limit.value, 0.5),
                  xycoords=("data", "axes fraction"), xytext=(-4, 0), textcoords="offset points", rotation=90,
                  ha="right", va="center", fontsize=7.5, color=FAINT)  # fmt: skip
