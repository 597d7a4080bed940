"""Which diversity to choose: final reward against desired diversity, with the action box's limit as a wall."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from dico.analysis import LevelSummary, bounds_of, summary
from dico.runs import Run
from dico.tasks.scene import TEAM
from dico.viz.colours import level_colours
from dico.viz.labels import level_label, metric_name
from dico.viz.limits import wall
from dico.viz.style import FAINT, INK, lost


def plot_decision(axes: Axes, runs: Sequence[Run], stat: str = "mean") -> Axes:
    """Final reward of each level, its interval, the best level, and the wall; several runs have a colour each.

    A level with a value stands at that value, one with bounds spans them, and free stands where its diversity landed.
    """
    axes.set_xlabel(f"desired {metric_name(runs[0])}")
    axes.set_ylabel("final reward per step")
    ended = [[level for level in summary(run, stat) if level.seeds] for run in runs]
    for number, (run, own) in enumerate(zip(runs, ended, strict=True)):
        if len(runs) == 1:
            _plot_line(axes, own, FAINT, None)
            _plot_levels(axes, own, level_colours([level.level for level in own]))
        else:
            colour = TEAM[number % len(TEAM)]
            _plot_line(axes, own, colour, run.folder.resolve().name)
            _plot_levels(axes, own, dict.fromkeys((level.level for level in own), colour), labelled=False)
    axes.margins(y=0.18)
    _plot_wall(axes, runs[0])
    if any(ended):
        _mark_best(axes, max((level for own in ended for level in own), key=lambda level: float(level.reward.centre)))
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
    return float(np.clip(landed, low, high)), low, high


def _plot_line(axes: Axes, ended: Sequence[LevelSummary], colour: str, label: str | None) -> None:
    """Through the levels that have a value."""
    exact = [level for level in ended if len(set(bounds_of(level.level))) == 1]
    x, y = [place(level)[0] for level in exact], [float(level.reward.centre) for level in exact]
    axes.plot(x, y, color=colour, linewidth=1, alpha=0.7, zorder=2, label=label)


def _plot_levels(axes: Axes, ended: Sequence[LevelSummary], colours: dict[str, str], *, labelled: bool = True) -> None:
    for level in ended:
        x, left, right = place(level)
        y, low, high = (float(part) for part in (level.reward.centre, level.reward.low, level.reward.high))
        colour, free = colours[level.level], level.level == "free"
        axes.hlines(y, left, right, color=colour, linewidth=1.4, alpha=0.7, zorder=2.5)
        if np.isfinite(low):
            axes.errorbar(x, y, [[y - low], [high - y]], color=colour, linewidth=1.4, capsize=2.5, zorder=2.5)
        label = _label(level) if labelled else None
        axes.plot(x, y, marker="D" if free else "o", markersize=6 if free else 7, color=colour, linestyle="none",
                  markeredgecolor="white", gid=level.level, zorder=3, label=label)  # fmt: skip


def _label(level: LevelSummary) -> str:
    landed = f" (landed at {float(level.snd.centre):.2f})" if level.level == "free" else ""
    return f"{level_label(level.level)}{landed}{lost(level.diverged, level.seeds + level.diverged)}"


def _mark_best(axes: Axes, best: LevelSummary) -> None:
    x, y = place(best)[0], float(best.reward.centre)
    axes.plot(x, y, marker="o", markersize=13, markerfacecolor="none", markeredgecolor=INK, gid="best", zorder=3.5)
    top = float(np.fmax(y, best.reward.high))
    left, right = axes.get_xlim()
    side = "left" if x < 0.9 * left + 0.1 * right else "right" if x > 0.15 * left + 0.85 * right else "center"
    axes.annotate(f"best: {level_label(best.level)}", (x, top), xytext=(0, 9), textcoords="offset points", ha=side,
                  va="bottom", color=INK, weight="bold", zorder=4)  # fmt: skip


def _plot_wall(axes: Axes, run: Run) -> None:
    limit = wall(run)
    if limit is None:
        axes.margins(x=0.08)
        return
    farthest = axes.dataLim.x1 if np.isfinite(axes.dataLim.x1) else 0.0
    right = max(limit.value * 1.12, farthest * 1.06, 1e-3)
    axes.set_xlim(-0.08 * right, right)
    axes.axvspan(limit.value, right, facecolor="#f0f0f0", edgecolor="#d0d0d0", hatch="///", linewidth=0, zorder=0)
    axes.axvline(limit.value, color=INK, linewidth=1.4, zorder=1, gid="wall")
    found = f"{limit.value:.3g}" if limit.exact else f"{limit.value:.3g} to {limit.upper_bound:.3g}"
    axes.annotate(f"largest SND in the action box: {found}", (limit.value, 0.5), xycoords=("data", "axes fraction"),
                  xytext=(-4, 0), textcoords="offset points", rotation=90, ha="right", va="center", fontsize=7.5,
                  color=FAINT)  # fmt: skip
