"""Metrics against frames, one colour for each level: reward, diversity, tracking error, action-bound violation.

Each is called with axes and a run, or with a run alone: it then has a figure of its own, with a legend.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from dico.analysis import (
    aggregate,
    bounds_of,
    controlled_metric,
    desired_of,
    diverged,
    frames,
    levels,
    of_level,
    outcomes,
    over_box,
    scheduled_values,
    tracking_error,
)
from dico.runs import Member, Run, RunError
from dico.schedules import is_scheduled
from dico.viz.colours import level_colours, level_patterns
from dico.viz.end_labels import label_ends, room_of_names
from dico.viz.labels import level_label, levels_title, metric_name
from dico.viz.limits import executed_limit, max_snd_limit
from dico.viz.lines import as_percent, from_zero, plot_levels, plot_limit
from dico.viz.own_axes import on_axes
from dico.viz.style import FAINT, in_thousands, lost

DASHED: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1.1}
THIN: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.6}
"""How desired values are drawn: dashed, or thin where dashes tell levels apart."""


def level_legend(axes: Axes, run: Run) -> None:
    """Which line is which level, beside the axes and beyond names at the lines' ends; who diverged is said there."""
    gone = diverged(run)
    for line in axes.get_lines():
        level = line.get_gid()
        if level is not None:
            own = of_level(run, level)
            line.set_label(level_label(level) + lost(int(gone[own].sum()), int(own.sum())))
    figure = axes.get_figure(root=True)
    assert figure is not None
    beyond = axes.transAxes + ScaledTranslation(room_of_names(axes) / 72, 0, figure.dpi_scale_trans)
    axes.legend(
        title=levels_title(run), loc="upper left", bbox_to_anchor=(1.01, 1.0), bbox_transform=beyond, alignment="left",
        handlelength=2.4,
    )  # fmt: skip


def named_legend(axes: Axes, run: Run) -> None:
    """The levels' names at the lines' ends, and a legend beyond."""
    level_legend(label_ends(axes), run)


@on_axes(named_legend)
def plot_reward(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """Mean reward per step of each batch; ``seeds`` adds every seed as a thin line.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    axes.set_title("Reward")
    axes.set_ylabel("reward per step")
    return plot_levels(axes, run, "reward", stat, seeds)


@on_axes(named_legend)
def plot_outcome(axes: Axes, run: Run, name: str = "return", stat: str = "mean", *, seeds: bool = False) -> Axes:
    """What the episodes came to that ended in each batch: return, success or coverage (:func:`dico.analysis.outcomes`).

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        name: return, success or coverage: one of :func:`dico.analysis.outcomes`.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.

    >>> plot_outcome(run, "success").get_ylabel()
    'share of episodes in which all agents reach their goals'
    """
    axes.set_title(name.capitalize())
    axes.set_ylabel(check_told(run, name))
    plotted = plot_levels(axes, run, name, stat, seeds)
    return plotted if name == "return" else from_zero(plotted)


@on_axes(named_legend)
def plot_diversity(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """Measured diversity, with dashed lines at the desired values; grey where several levels desire the same.

    Where levels are so many that their own lines are broken, these are thin instead.

    The line of a schedule is what its members desired of each batch, on average.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    axes.set_title("Diversity")
    axes.set_ylabel(f"measured {metric_name(run)}")
    _plot_desired(axes, run)
    return plot_limit(plot_levels(axes, run, controlled_metric(run), stat, seeds), max_snd_limit(run))


@on_axes(named_legend)
def plot_executed_diversity(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """SND of the mean actions as they are executed, and its limit, the largest SND in the action box, if it is near.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    if not tells_executed(run):
        raise RunError(f"{run.folder} has no SND of executed actions, which newer versions keep")
    axes.set_title("SND of executed actions")
    axes.set_ylabel("SND of executed actions")
    return plot_limit(plot_levels(axes, run, "snd_acted", stat, seeds), executed_limit(run))


@on_axes(named_legend)
def plot_box_diversity(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """Diversity over the box of analytical control (eq:snd_continuous), with dashed lines at the desired values.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    _check_boxed(run)
    axes.set_title("Diversity over the box")
    axes.set_ylabel("SND over the box")
    _plot_desired(axes, run)
    return plot_levels(axes, run, "snd_box", stat, seeds)


@on_axes(named_legend)
def plot_outside(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """The share of observations outside the box of analytical control, where nothing is guaranteed.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    _check_boxed(run)
    axes.set_title("Outside the box")
    axes.set_ylabel("share of observations")
    plotted = plot_levels(axes, run, "outside", stat, seeds)
    plotted.yaxis.set_major_formatter(as_percent)
    return from_zero(plotted)


@on_axes(level_legend)
def plot_tracking(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """How far the measured diversity is from the desired one, in per cent of that; free desires nothing.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    axes.set_title("Tracking error")
    axes.set_ylabel(f"|{'over the box' if over_box(run) else 'measured'} - desired| / desired")
    plotted = plot_levels(axes, run, "tracking", stat, seeds, values=tracking_error(run), shown=_desires)
    if not desires(run):
        axes.text(0.5, 0.5, "nothing desired", transform=axes.transAxes, ha="center", va="center", color=FAINT)
    plotted.yaxis.set_major_formatter(as_percent)
    return from_zero(plotted)


@on_axes(level_legend)
def plot_action_bound_violation(axes: Axes, run: Run, stat: str = "mean", *, seeds: bool = False) -> Axes:
    """How far the farthest agent's mean action lies outside the action box, on average.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The axes.
    """
    axes.set_title("Action-bound violation")
    axes.set_ylabel("distance outside the action box")
    return from_zero(plot_levels(axes, run, "action_bound_violation", stat, seeds))


def check_told(run: Run, name: str) -> str:
    """What an outcome is in words; an error if the run does not tell of it."""
    told = outcomes(run)
    if name not in told:
        raise RunError(f"{run.folder} has no {name}: of episodes it tells {', '.join(told) or 'nothing'}")
    return told[name]


def _check_boxed(run: Run) -> None:
    if not over_box(run):
        raise RunError(f"{run.folder} has no box of observations: train with --control analytical")


def desires(run: Run) -> bool:
    """Whether any member desires a diversity: free does not."""
    return any(map(_desires, run.members))


def tells_executed(run: Run) -> bool:
    """Whether the run has the diversity of executed actions."""
    return any(row.get("snd_acted") is not None for row in run.rows())


def patterned(run: Run) -> bool:
    """Whether levels are so many that the patterns of their lines tell them apart too."""
    return any(level_patterns(levels(run)).values())


def _plot_desired(axes: Axes, run: Run) -> None:
    """Dashed lines at what levels desire, grey where several desire the same; a schedule's is its members' mean."""
    colours, look = level_colours(levels(run)), THIN if patterned(run) else DASHED
    for bound, desiring in _desired_bounds(run).items():
        colour = colours[desiring[0]] if len(desiring) == 1 else FAINT
        axes.axhline(bound, color=colour, zorder=1.5, **look)
    x, desired = in_thousands(frames(run))[0], scheduled_values(run)
    for level in levels(run):
        own = desired[of_level(run, level)]
        if is_scheduled(desired_of(level, run)) and np.isfinite(own).any():
            axes.plot(x, aggregate(own, "mean").centre, color=colours[level], zorder=1.5, **look)


def _desires(member: Member) -> bool:
    return member.constraint != "free"


def _desired_bounds(run: Run) -> dict[float, list[str]]:
    """The values and bounds that levels desire, each with the levels that do."""
    found: dict[float, list[str]] = {}
    for level in levels(run):
        if is_scheduled(desired_of(level, run)):
            continue
        low, high = bounds_of(desired_of(level, run))
        for bound in {low, high}:
            if bound == high != np.inf or bound == low > 0:
                found.setdefault(bound, []).append(level)
    return found
