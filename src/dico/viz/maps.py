"""Diversity maps: where a team is diverse, a panel for each level on one colour scale (fig:nav_case_study)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

from dico.analysis.fields import Field
from dico.tasks import Task, map_state
from dico.tasks.scene import TEAM
from dico.viz.own_axes import not_of_run
from dico.viz.scenes import Picture
from dico.viz.style import MAP
from dico.viz.views import array

ARROWS = 7
"""Arrows along each side of a map."""
DOTS = 500
"""Observations shown over a map, at most so many."""


def map_scale(fields: Sequence[Field]) -> Normalize:
    """One colour scale for several maps, from 0; the highest thousandth of the values is cut off."""
    highest = max(
        float(torch.quantile(each.snd.flatten()[:: max(1, each.snd.numel() >> 20)], 0.999)) for each in fields
    )
    return Normalize(0.0, highest if highest > 1e-6 else 1.0)


def colour_bar(figure: Figure, axes: Sequence[Axes], label: str) -> None:
    """The meaning of the first image's colours, to the right of all panels."""
    bar = figure.colorbar(axes[0].images[0], ax=list(axes), shrink=0.85, aspect=22, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def plot_field(axes: Axes, field: Field, scale: Normalize) -> AxesImage:
    """SND at every place, as colours."""
    return axes.imshow(
        array(field.snd), extent=field.extent, origin="lower", cmap=MAP, norm=scale, interpolation="bilinear", zorder=0
    )


def plot_arrows(
    axes: Axes, actions: Float[Tensor, "rows columns n 2"], field: Field, agents: Sequence[int] | None = None
) -> None:
    """What each agent would do at places of the map, in the agent's colour.

    ``agents`` are the indices of those whose actions they are, by default from 0 on. Their arrows stand around the
    place they are of, so that equal ones are parallel and do not hide each other.
    """
    rows, columns, n, _ = actions.shape
    up, across = (
        np.linspace(0, size - 1, 2 * min(ARROWS, size) + 1).round().astype(int)[1::2] for size in (rows, columns)
    )
    chosen = array(actions)[np.ix_(up, across)]
    x, y = np.meshgrid(array(field.x)[across], array(field.y)[up])
    spacing = (field.extent[1] - field.extent[0]) / len(across)
    length = max(float(np.linalg.norm(chosen, axis=-1).max()), 1e-9) / (0.55 * spacing)
    for k, agent in enumerate(range(n) if agents is None else agents):
        around = np.pi + 2 * np.pi * k / n
        aside = 0.2 * spacing * np.array([np.cos(around), np.sin(around)]) * (n > 1)
        axes.quiver(x + aside[0], y + aside[1], chosen[..., k, 0], chosen[..., k, 1],
                    color=TEAM[agent % len(TEAM)], angles="xy", scale_units="xy", scale=length, pivot="mid",
                    width=0.011, headwidth=3.2, headlength=3.4, headaxislength=3.1, edgecolor="white", linewidth=0.4,
                    zorder=3.5)  # fmt: skip


@not_of_run("axes, a field, a task and a state", "draw_map(run)")
def plot_map(
    axes: Axes,
    field: Field,
    task: Task,
    state: Any,
    scale: Normalize | None = None,
    actions: Float[Tensor, "rows columns n 2"] | None = None,
    agents: Sequence[int] | None = None,
) -> Axes:
    """A field with the scene of one state on top, and arrows of the ``actions`` where given.

    ``agents`` are the indices of those whose actions they are, by default from 0 on. The field is the first image of
    the axes; by default it has a colour scale of its own.

    Args:
        axes: to draw into.
        field: SND at every place.
        task: whose scene it is.
        state: what is drawn over the field.
        scale: of the colours; by default the plot's own.
        actions: of each agent in each cell, for arrows.
        agents: whose actions they are; by default from 0 on.

    Returns:
        The axes.

    >>> from dico.viz.selection import choose
    >>> from dico.viz.style import new_figure
    >>> selection = choose(run)
    >>> state = selection.start(seed=0)
    >>> axes = plot_map(new_figure(3, 3).subplots(), selection.fields(state, resolution=9)[0], selection.task, state)
    >>> axes.images[0].get_array().shape
    (9, 9)
    """
    plot_field(axes, field, map_scale([field]) if scale is None else scale)
    scene = task.scene(map_state(lambda tensor: tensor[None], state))  # one state as a time of one step
    Picture(axes, scene, over_map=True, extent=field.extent).show(0)
    if actions is not None:
        plot_arrows(axes, actions, field, agents)
    return axes


@not_of_run("axes, a field, two coordinates and what was seen", "draw_slice(run)")
def plot_slice(
    axes: Axes,
    field: Field,
    coordinates: tuple[int, int],
    seen: Float[Tensor, "rows o"],
    scale: Normalize | None = None,
) -> Axes:
    """A field over two observed numbers, with those that were seen in a recorded rollout.

    The field is the first image of the axes; by default it has a colour scale of its own.

    Args:
        axes: to draw into.
        field: SND at every place.
        coordinates: which two of the observed numbers.
        seen: observations, drawn as dots.
        scale: of the colours; by default the plot's own.

    Returns:
        The axes.
    """
    image = plot_field(axes, field, map_scale([field]) if scale is None else scale)
    image.set_interpolation("nearest")
    axes.set_aspect("auto")
    i, j = coordinates
    some = array(seen[torch.randperm(len(seen), generator=torch.Generator().manual_seed(0))[:DOTS]])
    axes.plot(some[:, i], some[:, j], ".", markersize=2, markeredgewidth=0, color="white", alpha=0.7, zorder=2)
    axes.set_xlim(*field.extent[:2])
    axes.set_ylim(*field.extent[2:])
    axes.set_xlabel(f"observation {i}")
    axes.set_ylabel(f"observation {j}")
    axes.grid(False)
    return axes
