"""Who differs from whom: the behavioural distance of every two agents, at any time of the training."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from dico.analysis import controlled_group, diverged, frames, level_of, of_level, sample_sizes
from dico.analysis.alignment import align_agents, renumber, square
from dico.runs import Run, RunError
from dico.viz.maps import colour_bar
from dico.viz.own_axes import not_of_run, of_run
from dico.viz.selection import one_of_each, shown_of
from dico.viz.style import MAP, caption, level_panels, level_title, seeds_in_words, so_far, use_style, what

DISTANCE = "mean W₂ distance"
"""What the colours mean."""
NUMBERED = 6
"""Up to so many agents, each distance is written out."""


@of_run
def matrices(run: Run) -> Float[np.ndarray, "members iterations n n"]:
    """The symmetric matrix of mean W2 distances in the controlled group, of each member after each iteration.

    Its agents are in the order of the group's ``agents``, and numbered within the group.

    >>> matrices(run).shape
    (8, 2, 2, 2)
    """
    frames(run)  # says so if there are no metrics at all
    if not any("distances" in row for row in run.rows()):
        raise RunError(f"{run.folder} has no distances: they are kept for teams of 2 to 16 agents, by newer versions")
    return square(run.metric("distances", controlled_group(run)).numpy())


def mean_matrix(every: Float[np.ndarray, "seeds n n"]) -> Float[np.ndarray, "n n"]:
    """The mean over seeds, whose agents are numbered by chance: brought together are those that behave alike.

    A seed without distances yet is left out, unless none has any.

    >>> mean_matrix(square(np.array([[1.0, 5.0, 5.0], [5.0, 5.0, 1.0]]))).tolist()
    [[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [5.0, 5.0, 0.0]]
    """
    known = every[np.isfinite(every).all((1, 2))]
    if not len(known):
        return every[0]
    return renumber(known[:, None], align_agents(known)).mean(0)[0]


def distance_scale(shown: Sequence[Float[np.ndarray, "..."]]) -> Normalize:
    """One colour scale for several matrices, from 0."""
    highest = max((float(np.nanmax(each)) for each in shown if np.isfinite(each).any()), default=0.0)
    return Normalize(0.0, highest if highest > 1e-6 else 1.0)


@not_of_run("axes and a matrix", "draw_distances(run)")
def plot_distances(axes: Axes, matrix: Float[np.ndarray, "n n"], scale: Normalize | None = None) -> Axes:
    """A heat map of the distances between agents, with the numbers in it; by default on a colour scale of its own.

    Args:
        axes: to draw into.
        matrix: a distance for every two agents.
        scale: of the colours; by default the plot's own.

    Returns:
        The axes.

    >>> from dico.viz.style import new_figure
    >>> axes = plot_distances(new_figure(3, 3).subplots(), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> [text.get_text() for text in axes.texts]
    ['0.00', '0.50', '0.50', '0.00']
    """
    n = len(matrix)
    axes.imshow(matrix, cmap=MAP, norm=distance_scale([matrix]) if scale is None else scale)
    axes.set_xticks(range(n))
    axes.set_yticks(range(n))
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if n <= NUMBERED:
        for i, j in np.ndindex(n, n):
            axes.text(j, i, "", ha="center", va="center", fontsize=8)
    return renew_distances(axes, matrix)


def renew_distances(axes: Axes, matrix: Float[np.ndarray, "n n"]) -> Axes:
    """Show another matrix in the same picture."""
    (image,) = axes.images
    image.set_data(matrix)
    bright = 0.6 * cast(float, image.norm.vmax)
    for text, value in zip(axes.texts, matrix.flatten(), strict=False):
        text.set_text(f"{value:.2f}" if np.isfinite(value) else "none")
        text.set_color("black" if value > bright else "white")
    return axes


@of_run
def draw_distances(run: Run, seed: int | None = None) -> Figure:
    """Who differs from whom at the end of each level: the mean over seeds, as on the page, or one seed.

    Args:
        run: a run, as ``dico.load`` gives it.
        seed: of the one to show; by default the mean over all.

    Returns:
        The figure, with a caption.
    """
    members, every = one_of_each(run, (), seed), matrices(run)[:, -1]
    shown = {level_of(run, member): every[member.index] for member in members}
    if seed is None:
        sound = ~diverged(run)
        shown = {level: mean_matrix(every[of_level(run, level) & sound]) for level in shown}
    of_one = seed is not None or max(sample_sizes(run)) == 1
    whose = shown_of(run, members) if of_one else f"{seeds_in_words(run)}, mean with agents that behave alike together"
    scale = distance_scale(list(shown.values()))
    with use_style():
        figure, axes = level_panels(len(shown), label=0.5)
        for each, (level, matrix) in zip(axes, shown.items(), strict=True):
            plot_distances(each, matrix, scale)
            each.set_title(level_title(run, level))
            each.set_xlabel("agent")
        axes[0].set_ylabel("agent")
        colour_bar(figure, axes, DISTANCE)
        caption(figure, f"{what(run)}, {whose}, {so_far(run)}")
        return figure
