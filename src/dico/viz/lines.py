"""What figures of curves are made of: a line and a band for each level, a line at a limit, axes from zero on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from dico.analysis import Band, aggregate, curves, frames, level_of, levels, of_level, range_of
from dico.bounds import MaxSND
from dico.runs import Member, Run
from dico.viz.colours import level_colours, level_patterns
from dico.viz.limits import limit_is_near
from dico.viz.style import DIVERGED, FAINT, INK, in_thousands, plain_numbers

NOTHING = 0.01
"""Greatest value of an axis on which all is zero."""


def plot_band(axes: Axes, x: np.ndarray, band: Band, own: np.ndarray, seeds: bool, **line: Any) -> None:
    """A line with its band, and the ``own`` values of each seed if asked for, or if they are too few for a band."""
    colour, mark = line["color"], {"marker": "o", "markersize": 4} if len(x) == 1 else {}
    axes.plot(x, band.centre, zorder=3, **line, **mark)
    if band.has_interval and len(x) > 1:
        axes.fill_between(x, band.low, band.high, color=colour, alpha=0.18, linewidth=0, zorder=2)
    elif band.has_interval:
        axes.vlines(x, band.low, band.high, color=colour, alpha=0.5, zorder=2)
    if seeds or not band.has_interval:
        for seed in own:
            axes.plot(x, seed, color=colour, linewidth=0.6, alpha=0.6, zorder=2.5, **mark)


def plot_levels(
    axes: Axes,
    run: Run,
    metric: str,
    stat: str,
    seeds: bool,
    *,
    values: Float[np.ndarray, "members iterations"] | None = None,
    shown: Callable[[Member], bool] = lambda _: True,
) -> Axes:
    """A line and a band for each level, of a column or of other ``values``."""
    values = curves(run, metric) if values is None else values
    x, label = in_thousands(frames(run)[: values.shape[1]])  # a run in training may be longer by now
    axes.set_xlabel(label)
    plain_numbers(axes.yaxis)
    colours, patterns = level_colours(levels(run)), level_patterns(levels(run))
    wanted = [member for member in run.members if shown(member)]
    for level in levels(run):
        if not any(level_of(run, member) == level for member in wanted):
            continue
        own = values[of_level(run, level)]
        band, colour = aggregate(own, stat).within(*range_of(metric)), colours[level]
        pattern = (0, patterns[level]) if patterns[level] else "-"
        plot_band(axes, x, band, own, seeds, color=colour, linestyle=pattern, gid=level)
    axes.margins(x=0.01)
    if wanted and not np.isfinite(values[[member.index for member in wanted]]).any():
        axes.text(0.5, 0.5, DIVERGED, transform=axes.transAxes, ha="center", va="center", color=FAINT)
        axes.set_xlim(0, x[-1])
        axes.set_yticks([])
    return axes


def from_zero(axes: Axes) -> Axes:
    """From just below zero up, so that a line at zero is seen; where all is zero, up to a hundredth."""
    highest = axes.dataLim.y1
    top = axes.get_ylim()[1] if np.isfinite(highest) and highest > 0 else NOTHING
    axes.set_ylim(-0.03 * top, top)
    return axes


def plot_limit(axes: Axes, limit: MaxSND | None) -> Axes:
    """A line at the largest SND in the action box, if it leaves the curves their room."""
    top = float(axes.dataLim.y1)
    if limit is not None and np.isfinite(top) and limit_is_near(limit.upper_bound, top):
        axes.axhline(limit.upper_bound, color=INK, linewidth=1.1, zorder=1.2)
        axes.annotate(f"largest in the action box: {limit.upper_bound:.3g}", (0.02, limit.upper_bound), (0, 3),
                      axes.get_yaxis_transform(), "offset points", fontsize=7, color=INK, va="bottom", gid="limit",
                      zorder=4, bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5})  # fmt: skip
        axes.set_ylim(top=max(axes.get_ylim()[1], 1.1 * limit.upper_bound))
    return axes


def as_percent(value: float, _: object) -> str:
    """What stands at a tick of shares."""
    return f"{100 * value:.6g} %"
