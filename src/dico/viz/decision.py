"""Which level to choose: final reward against desired diversity, with the largest SND of the action box as a limit.

Where members differ in another number and not in desired diversity, it is drawn against that number.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.ticker import NullLocator

from dico.analysis import Answer, LevelSummary, align, answer_of, best_in_words, final, of_level, summary
from dico.runs import Run
from dico.viz.axis import Axis, axis_of
from dico.viz.colours import level_colours, run_colour
from dico.viz.labels import level_in_words, level_label, levels_title, run_names
from dico.viz.limits import limit_is_near, max_snd_limit
from dico.viz.own_axes import on_axes, several
from dico.viz.style import FAINT, INK, lost, plain_numbers

ALIKE = "#ecdfae"
"""Behind the levels that cannot be told from the best."""
MOST_LETTERS = 55
"""Of a line of text as wide as the axes."""
MOST_LINES = 3
"""Of text above the axes, one for each of several runs."""
SAME_PLACE = 0.005
"""Points nearer than this share of the whole range hide each other."""
NAME_ROOM = 9
"""Height of a line's name, in points."""
FROM_ZERO = 0.5
"""The axis begins at no diversity unless the least level stands beyond this share of it."""
TICKS_APART = 0.08
"""Share of the axis that the numbers at its ticks are apart, at least."""


def decision_legend(axes: Axes, runs: Run | Sequence[Run]) -> Legend:
    """What tells levels apart, or several runs, beside the axes."""
    every = several(runs)
    legend = axes.legend(title=levels_title(every[0]) if len(every) == 1 else "run", loc="upper left",
                         bbox_to_anchor=(1.01, 1.0), alignment="left")  # fmt: skip
    for marker in legend.get_lines():
        if marker.get_marker() in ("o", "D"):
            marker.set_markersize(7)  # those that surround others are larger in the plot
    return legend


@on_axes(decision_legend)
def plot_decision(axes: Axes, runs: Run | Sequence[Run], stat: str = "mean") -> Axes:
    """Final reward of each level with its interval and seeds, the best level, and the maximum-SND limit if it is near.

    One run has a colour for each level, several have one each.

    A level is called best, and has a ring, only if it is told apart from all others
    (:func:`dico.analysis.best_in_words`, of means). Else the text tells which cannot be told apart, and of one run
    these stand on pale discs, if others do not.

    A level with a value stands at that value, one with bounds spans them, and free stands where its diversity landed.
    Where one number varies and the desired diversity does not, levels stand at that number, and there is no limit.

    Args:
        axes: to draw into; without any, the plot has a figure of its own, with a legend.
        runs: a run, or several to compare.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.

    Returns:
        The axes.
    """
    runs = align(several(runs))
    along = axis_of(runs)
    axes.set_xlabel(along.title)
    axes.set_ylabel("final reward per step")
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    names = run_names(runs)
    every = [summary(run, stat) for run in runs]
    ended = [[level for level in own if level.seeds] for own in every]
    for number, (name, own) in enumerate(zip(names, ended, strict=True)):
        if len(runs) == 1:
            _plot_lines(axes, along, own, FAINT, None)
            colours = level_colours([level.level for level in every[0]])
            _plot_seeds(axes, along, runs[0], own, colours)
            _plot_levels(axes, along, own, colours)
            _name_diverged(axes, along, every[0])
        else:
            colour = run_colour(number)
            _plot_seeds(axes, along, runs[number], own, dict.fromkeys((level.level for level in own), colour))
            _plot_lines(axes, along, own, colour, f" {name}" if name.startswith("_") else name)  # else no legend has it
            _plot_levels(axes, along, own, dict.fromkeys((level.level for level in own), colour), labelled=False)
    axes.margins(y=0.18)
    if along.diversity:
        _plot_limit(axes, runs[0])
    else:
        _spread(axes, along, [along.place(level)[0] for own in every for level in own])
    found = [answer_of(run) if stat == "mean" else None for run in runs]
    _tell(axes, along, ended, found, names)
    if not any(ended):
        axes.text(0.5, 0.5, "all members diverged", transform=axes.transAxes, ha="center", va="center", color=FAINT)
        axes.set_yticks([])
    return axes


def _plot_seeds(axes: Axes, along: Axis, run: Run, ended: Sequence[LevelSummary], colours: dict[str, str]) -> None:
    """A dot for the reward of each seed, where its level stands."""
    rewards = final(run, "reward")
    for level in ended:
        own = rewards[of_level(run, level.level)]
        own = own[np.isfinite(own)]
        if len(own) > 1:
            axes.plot(np.full(len(own), along.place(level)[0]), own, "o", markersize=2.6, markeredgewidth=0,
                      color=colours[level.level], alpha=0.6, zorder=2.4)  # fmt: skip


def _plot_lines(axes: Axes, along: Axis, ended: Sequence[LevelSummary], colour: str, label: str | None) -> None:
    """Through the levels that have a value: one line, or one for each of what differs besides.

    Where lines have a label, it is that of a run, and what differs besides stands at their ends.
    """
    series: dict[str, list[LevelSummary]] = {}
    for level in ended:
        if along.exact(level):
            series.setdefault(along.series(level), []).append(level)
    ordered = sorted(series, key=lambda name: float(series[name][-1].reward.centre), reverse=True)
    for k, name in enumerate(ordered):
        x, y = zip(*((along.place(level)[0], float(level.reward.centre)) for level in series[name]), strict=True)
        axes.plot(x, y, color=colour, linewidth=1, alpha=0.7, zorder=2)
        if label and len(series) > 1:
            above = NAME_ROOM * ((len(series) - 1) / 2 - k)  # lines may end in one place
            axes.annotate(name, (x[-1], y[-1]), xytext=(7, above), textcoords="offset points", va="center",
                          fontsize=7.5, color=colour)  # fmt: skip
    axes.plot([], [], color=colour, linewidth=1, alpha=0.7, label=label)


def _plot_levels(
    axes: Axes, along: Axis, ended: Sequence[LevelSummary], colours: dict[str, str], *, labelled: bool = True
) -> None:
    """A marker for each level; where several stand in one place, the first are larger and surround the last."""
    places = [along.place(level)[0] for level in ended]
    across = np.log10(places) if along.logarithmic else places
    hidden = _beneath([(float(x), float(level.reward.centre)) for x, level in zip(across, ended, strict=True)])
    for level, deep in zip(ended, hidden, strict=True):
        x, left, right = along.place(level)
        y, low, high = (float(part) for part in (level.reward.centre, level.reward.low, level.reward.high))
        colour, free = colours[level.level], along.lands(level)
        axes.hlines(y, left, right, color=colour, linewidth=1.4, alpha=0.7, zorder=2.5)
        if np.isfinite(low):
            axes.errorbar(x, y, [[y - low], [high - y]], color=colour, linewidth=1.4, capsize=2.5, zorder=2.5)
        label = _label(level, along) if labelled else None
        axes.plot(x, y, marker="D" if free else "o", markersize=(6 if free else 7) + 5 * deep, color=colour,
                  linestyle="none", markeredgecolor="white", gid=level.level, zorder=3.2 - 0.01 * deep,
                  label=label)  # fmt: skip


def _beneath(points: Sequence[tuple[float, float]]) -> list[int]:
    """How many later points stand where each one stands, as far as one can see.

    >>> _beneath([(0.0, 1.0), (0.3, 2.0), (0.3, 2.0), (1.0, 3.0)])
    [0, 1, 0, 0]
    """
    spread = np.ptp(points, axis=0) if points else np.zeros(2)
    near = SAME_PLACE * np.where(spread > 0, spread, 1.0)
    return [
        sum(bool((np.abs(np.subtract(point, other)) <= near).all()) for other in points[k + 1 :])
        for k, point in enumerate(points)
    ]


def _name_diverged(axes: Axes, along: Axis, every: Sequence[LevelSummary]) -> None:
    """Levels of which no member is left are in the legend alone."""
    colours = level_colours([level.level for level in every])
    for level in every:
        if not level.seeds:
            axes.plot([], [], marker="x", color=colours[level.level], linestyle="none", label=_label(level, along))


def _label(level: LevelSummary, along: Axis) -> str:
    landed = f" (landed at {float(level.snd.centre):.2f})" if along.lands(level) and level.seeds else ""
    return f"{level_label(level.level)}{landed}{lost(level.diverged, level.seeds + level.diverged)}"


def _tell(
    axes: Axes,
    along: Axis,
    ended: Sequence[Sequence[LevelSummary]],
    found: Sequence[Answer | None],
    names: Sequence[str],
) -> None:
    """A line of text for each run above the axes, where no whisker crosses it; rings, or discs under what is alike."""
    told = [(name, best_in_words(each, level_in_words)) for name, each in zip(names, found, strict=True) if each]
    lines = [text if len(found) == 1 else f"{name}: {text}" for name, text in told]
    if len({text for _, text in told}) == 1 and len(told) == len(found) > 1:  # of all of them the same
        lines = [f"each run: {told[0][1]}"]
    short = len(lines) <= MOST_LINES and all(len(line) <= MOST_LETTERS for line in lines)
    if len(found) == 1 or short:
        axes.set_title("\n".join(lines), loc="left", color=INK, weight="bold")
    for own, each in zip(ended, found, strict=True):
        for level in own:
            if each is None:
                break
            x, y = along.place(level)[0], float(level.reward.centre)
            if each.best == level.level:
                axes.plot(x, y, marker="o", markersize=13, markerfacecolor="none", markeredgecolor=INK, gid="best",
                          zorder=3.5)  # fmt: skip
            if len(found) == 1 and set_apart(each) and level.level in each.alike:
                axes.plot(x, y, marker="o", markersize=17, markeredgewidth=0, color=ALIKE, gid="alike", zorder=1.1)


def set_apart(found: Answer | None) -> bool:
    """Whether several levels cannot be told from the best, and others can."""
    return found is not None and len(found.alike) > 1 and found.outcome != "not separable"


def _share(axes: Axes, x: float) -> float:
    """Where a value stands along the axis, from 0 to 1."""
    left, right = axes.get_xlim()
    scale = axes.xaxis.get_transform().transform
    return float((scale(x) - scale(left)) / (scale(right) - scale(left)))


def _spread(axes: Axes, along: Axis, values: Sequence[float]) -> None:
    """An axis of numbers with ticks at those that levels have, as far as there is room for them."""
    low, high = min(values), max(values)
    if along.logarithmic:
        axes.set_xscale("log")
        room = (high / low) ** 0.12
        axes.set_xlim(low / room, high * room)
    else:
        room = 0.12 * (high - low) or 0.5 * abs(high) or 1.0
        axes.set_xlim(low - room, high + room)
    ticks: list[float] = []
    for value in sorted(set(values)):
        if not ticks or _share(axes, value) - _share(axes, ticks[-1]) >= TICKS_APART:
            ticks.append(value)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def _plot_limit(axes: Axes, run: Run) -> None:
    limit = max_snd_limit(run)
    farthest = float(axes.dataLim.x1) if np.isfinite(axes.dataLim.x1) else 0.0
    shown = limit is not None and limit_is_near(limit.value, farthest)
    right = max(1.06 * farthest, 1.12 * limit.value if limit is not None and shown else 0.0) or 1.0
    least = float(axes.dataLim.x0) if np.isfinite(axes.dataLim.x0) else 0.0
    far = least > FROM_ZERO * right
    axes.set_xlim(least - 0.15 * (right - least) if far else -0.04 * right, right)  # from none on, if that is near
    if limit is None or not shown:
        return
    axes.axvspan(limit.value, right, facecolor="#f0f0f0", edgecolor="#d0d0d0", hatch="///", linewidth=0, zorder=0)
    found = f"{limit.value:.3g}" if limit.exact else f"{limit.value:.3g} to {limit.upper_bound:.3g}"
    axes.axvline(limit.value, color=INK, linewidth=1.4, zorder=1, gid="limit",
                 label=f"largest SND in\nthe action box: {found}")  # fmt: skip
