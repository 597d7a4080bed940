"""The history of a tuning: every level that was tried, with its seeds, from the first population to the last."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dico.viz.style import FAINT, INK, caption, new_figure, plain_numbers, use_style

EARLY, LATE = "#c6b8dd", "#4b0f8a"
"""Of the first population and the last."""


def draw_history(
    history: Sequence[Mapping[str, Any]], metric: str, about: str, *, target: tuple[float, float] | None = None
) -> Figure:
    """A figure of the trials that ``dico tune`` writes, with what it is ``about`` below."""
    with use_style():
        figure = new_figure(6.4, 3.6)
        plot_history(figure.subplots(), history, metric, target=target)
        caption(figure, f"{about}, dots: single seeds, lines: means of one population")
    return figure


def plot_history(
    axes: Axes, history: Sequence[Mapping[str, Any]], metric: str, *, target: tuple[float, float] | None = None
) -> Axes:
    """The metric against the desired diversity: dots for seeds, a line through the means of each population.

    A trial has ``population``, ``level``, ``values`` and ``measured``. Free agents stand, as diamonds, where their
    diversity landed. ``target`` is a value and what is tolerated on either side of it.
    """
    axes.set_xlabel("desired SND")
    axes.set_ylabel(metric)
    for axis in (axes.xaxis, axes.yaxis):
        plain_numbers(axis)
    if target is not None:
        value, tolerance = target
        axes.axhspan(value - tolerance, value + tolerance, color="#f3efe2", linewidth=0, zorder=0.5, gid="target")
        axes.axhline(
            value, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1, label=f"target {value:g} ± {tolerance:g}"
        )
    populations = sorted({trial["population"] for trial in history})
    for number in populations:
        own = [trial for trial in history if trial["population"] == number and _known(trial)]
        colour = _colour(number - populations[0], len(populations))
        exact = sorted((trial for trial in own if trial["level"] != "free"), key=lambda trial: trial["level"])
        axes.plot([trial["level"] for trial in exact], [np.mean(_known(trial)) for trial in exact], color=colour,
                  linewidth=1.4, marker="o", markersize=6, markeredgecolor="white", gid=f"population-{number}",
                  label=f"population {number}", zorder=3)  # fmt: skip
        for trial in own:
            x = trial["measured"] if trial["level"] == "free" else trial["level"]
            axes.plot([x] * len(_known(trial)), _known(trial), ".", color=colour, markersize=4, alpha=0.6, zorder=2)
            if trial["level"] == "free":
                axes.plot(x, np.mean(_known(trial)), marker="D", color=colour, markersize=6, markeredgecolor="white",
                          linestyle="none", gid=f"free-{number}", zorder=3)  # fmt: skip
    if any(trial["level"] == "free" and _known(trial) for trial in history):
        axes.plot([], [], marker="D", color=FAINT, linestyle="none", label="free, where it landed")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    return axes


def _known(trial: Mapping[str, Any]) -> list[float]:
    """Of seeds that did not diverge."""
    return [value for value in trial["values"] if value is not None and np.isfinite(value)]


def _colour(place: int, count: int) -> tuple[float, ...]:
    """The later, the darker."""
    share = place / (count - 1) if count > 1 else 1.0
    ends = [[int(text[k : k + 2], 16) / 255 for k in (1, 3, 5)] for text in (EARLY, LATE)]
    return tuple((1 - share) * a + share * b for a, b in zip(*ends, strict=True))
