"""Cross-play: every level's red agents against every level's green one, which tells how good each of them is."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dico.analysis import level_of, levels
from dico.runs import Run
from dico.viz.labels import levels_title
from dico.viz.maps import colour_bar
from dico.viz.style import MAP, caption, new_figure, seeds_in_words, so_far, use_style, what


def by_level(run: Run, earned: Float[np.ndarray, "members members"]) -> Float[np.ndarray, "levels levels"]:
    """Means over the seeds of both sides; members that diverged, NaN, are left out."""
    own = np.array([levels(run).index(level_of(run, member)) for member in run.members])
    chosen = np.arange(len(levels(run)))
    return np.array([[np.nanmean(earned[np.ix_(own == red, own == green)]) for green in chosen] for red in chosen])


def plot_cross_play(axes: Axes, run: Run, earned: Float[np.ndarray, "members members"]) -> Axes:
    """A heat map of the red agents' reward with the numbers in it."""
    shown, names = by_level(run, earned), levels(run)
    axes.imshow(shown, cmap=MAP)
    bright = np.nanmin(shown) + 0.6 * np.ptp(shown[np.isfinite(shown)])
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.grid(False)
    for (row, column), value in np.ndenumerate(shown):
        colour = "black" if value > bright else "white"
        axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=colour)
    axes.set_xlabel(f"green agent of {levels_title(run)}")
    axes.set_ylabel(f"red agents of {levels_title(run)}")
    return axes


def draw_cross_play(run: Run, earned: Float[np.ndarray, "members members"]) -> Figure:
    """The heat map, captioned."""
    with use_style():
        figure = new_figure(4.6, 3.6)
        axes = plot_cross_play(figure.subplots(), run, earned)
        colour_bar(figure, [axes], "reward of the red agents per step")
        caption(figure, ", ".join([what(run), seeds_in_words(run), so_far(run), "fresh episodes, stochastic actions"]))
        return figure
