"""Trajectory strips: an episode from left to right, a row for each level, all from the same start."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes

from dico.analysis.fields import Extent
from dico.tasks.scene import Scene
from dico.viz.own_axes import not_of_run
from dico.viz.scenes import Picture
from dico.viz.style import FAINT
from dico.viz.views import array, extent_around

PICTURES = 5
"""Pictures in a strip."""


def moments(lengths: Sequence[int], pictures: int = PICTURES) -> list[int]:
    """Steps to show, evenly spaced from the start to the end of the longest episode.

    >>> moments([100, 31], 5)
    [0, 25, 50, 75, 100]
    """
    return [round(step) for step in np.linspace(0, max(lengths), pictures)]


@not_of_run("a row of axes, a scene and steps", "draw_trajectories(run)")
def plot_strip(row: Iterable[Axes], scene: Scene, steps: Sequence[int], extent: Extent | None = None) -> list[Axes]:
    """One episode at the given steps, one in each axes of a row; after its end it stands still, and says so.

    The scene's batch is time; by default all that moves is shown.

    Args:
        row: axes, one for each step.
        scene: an episode, whose batch is time.
        steps: which to show.
        extent: what to show; by default all that moves.

    Returns:
        The axes.

    >>> from dico.viz.selection import choose
    >>> from dico.viz.style import new_figure
    >>> selection = choose(run, ["1"])
    >>> row = plot_strip(new_figure(6, 3).subplots(1, 2), selection.scene(selection.record(seed=0), 0), [0, 100])
    >>> len(row)
    2
    """
    extent = extent_around([scene]) if extent is None else extent
    length = len(array(scene.circles[0].centre)) - 1
    filled = list(row)
    for axes, step in zip(filled, steps, strict=True):
        Picture(axes, scene, extent=extent).show(min(step, length))
        if step > length:
            axes.set_xlabel(f"ended at step {length}", fontsize=7, color=FAINT, labelpad=2)
    return filled
