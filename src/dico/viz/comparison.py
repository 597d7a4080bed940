"""Runs beside each other: their curves at each level, and how much they differ, a colour for each run."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dico.analysis import (
    Difference,
    aggregate,
    align,
    check_comparable,
    compared,
    controlled_metric,
    curves,
    differences,
    frames,
    levels,
    of_level,
)
from dico.runs import Run
from dico.viz.colours import run_colour
from dico.viz.labels import level_label, levels_title, listed, metric_name, run_names, unequal_lengths
from dico.viz.lines import plot_band
from dico.viz.own_axes import on_axes, several
from dico.viz.style import (
    DIVERGED,
    FAINT,
    INK,
    caption,
    in_thousands,
    label_edges,
    level_panels,
    level_title,
    new_figure,
    plain_numbers,
    seeds_in_words,
    statistic,
    use_style,
    what,
)

SHOWN = ("return", "success")
"""What episodes came to, beside reward and diversity, where all runs tell."""
APART = 0.22
"""From one run to the next within the row of a level, in inches."""
FILLED = 0.8
"""What runs take of a row's height, at most."""


@on_axes()
def plot_difference(axes: Axes, runs: Run | Sequence[Run], name: str = "reward") -> Axes:
    """How much more each run has than the first of something that was measured, at each level that both have.

    Intervals are those of :func:`dico.analysis.differences`, which hold all at once; there is none from fewer than
    three seeds.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        runs: two or more; the others are compared with the first.
        name: what was measured: reward, return, snd, ...

    Returns:
        The axes.
    """
    if isinstance(runs, Run) or len(runs) < 2:
        raise ValueError("plot_difference takes two runs or more, [run, other], got one")
    runs = align(runs)
    return _plot(axes, [each for each in differences(runs) if each.first == 0], len(runs), name)


def draw_differences(runs: Run | Sequence[Run]) -> Figure | None:
    """Each run against the first: reward, diversity, return, success; a row for each level, None if none is shared.

    Args:
        runs: two or more; the others are compared with the first.

    Returns:
        The figure; None if the runs share no level.
    """
    if isinstance(runs, Run) or len(runs) < 2:
        raise ValueError("draw_differences takes two runs or more, [run, other], got one")
    check_comparable(runs)
    runs = align(runs)
    found = [each for each in differences(runs) if each.first == 0]
    if not found:
        return None
    titles = {"reward": "reward per step", controlled_metric(runs[0]): f"measured {metric_name(runs[0])}"}
    names = [name for name in compared(runs) if name in titles or name in SHOWN]
    first, *others = run_names(runs)
    rows = len({each.level for each in found})
    with use_style():
        figure = new_figure(1.2 + 1.9 * len(names), 1.1 + rows * max(0.26, APART * (len(runs) - 1)))
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False).flat, names, strict=True):
            _plot(axes, found, len(runs), name)
            axes.set_title(titles.get(name, name))
            axes.label_outer()
        figure.axes[0].set_ylabel(levels_title(runs[0]))
        drawn = {each.second for each in found for name in names if np.isfinite(each.values[name].effect)}
        for number in sorted(drawn):
            label = f"{others[number - 1]} - {first}"
            figure.axes[-1].plot([], [], "o-", color=run_colour(number), label=label)
        if drawn:
            figure.legend(loc="outside right upper", alignment="left")
        every = "95 % intervals that hold all at once (Welch, Bonferroni)"
        lengths = unequal_lengths(runs)
        ends = [f"each run at its own end: {lengths}"] if lengths else []
        caption(figure, ", ".join([what(runs[0]), _seeds(runs), "last tenth of the iterations", *ends, every]))
        return figure


def draw_compared_curves(runs: Run | Sequence[Run], stat: str = "mean", *, seeds: bool = False) -> Figure:
    """Reward against frames of all runs together, a panel for each level of any, on one scale.

    Args:
        runs: a run, or several to compare.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The figure, with a caption.
    """
    check_comparable(runs := several(runs))
    runs = align(runs)
    every = levels(*runs)
    with use_style():
        figure, panels = level_panels(len(every), legend=1.4, label=0.5, aspect=0.85)
        longest = max(frames(run)[-1] for run in runs)
        unit = in_thousands(frames(runs[0]), longest)[1].replace(" of each member", "")  # panels are narrow
        for axes, level in zip(panels, every, strict=True):
            for number, run in enumerate(runs):
                if level in levels(run):
                    _plot_run(axes, run, level, number, longest, stat, seeds)
            axes.set_title(level_title(runs[0], level))
            if not any(np.isfinite(line.get_ydata()).any() for line in axes.get_lines()):
                axes.text(0.5, 0.5, DIVERGED, transform=axes.transAxes, ha="center", va="center", color=FAINT)
        _share_scales(panels, [in_thousands(frames(run), longest)[0] for run in runs])
        for axes in panels:
            axes.set_xlabel(unit)
            axes.set_ylabel("reward per step")
        label_edges(panels)
        for number, name in enumerate(run_names(runs)):
            panels[-1].plot([], [], color=run_colour(number), label=f" {name}" if name.startswith("_") else name)
        figure.legend(title="run", loc="outside right upper", alignment="left")
        caption(figure, ", ".join([what(runs[0]), _seeds(runs), statistic(runs, stat)]))
        return figure


def _share_scales(panels: Sequence[Axes], along: Sequence[np.ndarray]) -> None:
    """One range of frames for all panels, that of all runs, and one of values, of the panels that have some."""
    first, last = min(x[0] for x in along), max(x[-1] for x in along)
    room = 0.01 * (last - first) or 0.05 * last
    filled = [axes.get_ylim() for axes in panels if not axes.texts]
    for axes in panels:
        axes.set_xlim(first - room, last + room)
        plain_numbers(axes.yaxis)
        if filled:
            axes.set_ylim(min(low for low, _ in filled), max(high for _, high in filled))
        else:
            axes.set_yticks([])


def _plot(axes: Axes, found: Sequence[Difference], runs: int, name: str) -> Axes:
    shown = list(dict.fromkeys(each.level for each in found))
    apart = min(APART, FILLED / max(runs - 1, 1))  # a row of many runs is taller, and no run leaves its own
    for each in found:
        one = each.values[name]
        row = -shown.index(each.level) - apart * (each.second - runs / 2)
        colour = run_colour(each.second)
        if np.isfinite(one.low):
            axes.plot([one.low, one.high], [row, row], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=2)
        told = each.verdict(name) in ("higher", "lower")
        axes.plot(one.effect, row, "o", color=colour, markerfacecolor=colour if told else "white", markersize=5,
                  gid=f"{each.level} {each.second}", zorder=3)  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    axes.set_yticks([-k for k in range(len(shown))], [level_label(level) for level in shown])
    axes.set_ylim(-len(shown) + 0.4, 0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    plain_numbers(axes.xaxis)
    axes.set_xlabel("difference")
    axes.spines["left"].set_color(FAINT)
    return axes


def _plot_run(axes: Axes, run: Run, level: str, number: int, longest: float, stat: str, seeds: bool) -> None:
    """A line of a run, in the unit of all: that of the longest."""
    values = curves(run, "reward")
    x, own = in_thousands(frames(run)[: values.shape[1]], longest)[0], values[of_level(run, level)]
    plot_band(axes, x, aggregate(own, stat), own, seeds, color=run_colour(number), gid=f"{level} {number}")


def _seeds(runs: Sequence[Run]) -> str:
    """How many seeds the runs have: once, if it is the same of all."""
    return listed(list(dict.fromkeys(map(seeds_in_words, runs))))
