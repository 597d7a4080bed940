"""Maps and slices as figures: diversity over positions or over two observed numbers, a panel for each level."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dico.analysis import level_of
from dico.analysis.fields import ROLLOUT, Field, as_mapped, check_coordinates, extent_of, middle_of
from dico.runs import Run, RunError
from dico.runs.episodes import play
from dico.viz.kept import selection_of
from dico.viz.maps import colour_bar, map_scale, plot_map, plot_slice
from dico.viz.selection import Selection
from dico.viz.style import caption, columns_of, label_edges, level_panels, level_title, paired_panels, use_style, who
from dico.viz.views import legend

SND, F, SND_O = "SND", "f", "SND\u2092"
"""What maps are of; under analytical control f, and what the deviations have before they are scaled to it."""


def draw_map(
    selection: Selection | Run,
    state_seed: int = 0,
    *,
    resolution: int = 100,
    arrows: bool = False,
    own_scale: bool = False,
) -> Figure:
    """Diversity at every position, a panel for each level.

    All have one colour scale, so that levels are compared, or each its own, so that the shape of each is seen. Under
    analytical control it is f, and below it stands the diversity of the unscaled deviations (eq:finn_pi); each row says
    which.

    Args:
        selection: a run, or members of one that ``dico.viz.choose`` gives.
        state_seed: of the start that is drawn.
        resolution: cells along each side.
        arrows: add what each agent would do, its mean actions.
        own_scale: give every panel its own colours.

    Returns:
        The figure, with a caption.
    """
    selection = selection_of(selection)
    as_mapped(selection.task)
    state = selection.start(state_seed)
    fields, group = selection.fields(state, resolution=resolution), selection.task.groups[selection.controlled]
    with use_style():
        figure, axes, below = _map_panels(fields)
        together = map_scale(fields)
        scales = [map_scale([field]) if own_scale else together for field in fields]
        for each, field, scale in zip(axes, fields, scales, strict=True):
            plot_map(
                each, field, selection.task, state, scale, selection.actions(field) if arrows else None, group.agents
            )
        for each, field in zip(below, _before_scaling(fields), strict=True):
            plot_map(each, field, selection.task, state)
        _name_rows(axes, below)
        key = [
            *_finish(figure, axes, selection, f"{F if below else SND} at each position", fields if own_scale else None),
            *_below(below),
            *legend(selection.task, selection.task.scene(state), over_map=True),
            *(["arrows: mean actions"] if arrows else []),
        ]
        caption(figure, ", ".join([*who(selection), f"start {state_seed}", *key]))
        return figure


def draw_slice(
    selection: Selection | Run,
    coordinates: tuple[int, int] = (0, 1),
    state_seed: int = 0,
    *,
    resolution: int = 100,
    own_scale: bool = False,
) -> Figure:
    """Diversity over two observed numbers around a rollout of each level, all other numbers held.

    All have one colour scale, or each its own, as in :func:`draw_map`.

    Args:
        selection: a run, or members of one that ``dico.viz.choose`` gives.
        coordinates: which two of the observed numbers.
        state_seed: of the start that is drawn.
        resolution: cells along each side.
        own_scale: give every panel its own colours.

    Returns:
        The figure, with a caption.
    """
    selection = selection_of(selection)
    if not selection.policies:
        raise RunError(selection.run.source.no_checkpoint())
    check_coordinates(coordinates, selection.task.groups[selection.controlled].obs_dim)
    played = play(selection.task, selection.policies, ROLLOUT, state_seed, deterministic=True)
    seen = [
        obs[running].flatten(0, 1)
        for obs, running in zip(played.obs[selection.controlled], played.running, strict=True)
    ]
    together = torch.cat(seen)
    fields = selection.slices(middle_of(together), coordinates, extent_of(together, coordinates), resolution)
    with use_style():
        figure, axes, below = _map_panels(fields, label=0.5)
        scale = None if own_scale else map_scale(fields)
        for each, field, own in zip(axes, fields, seen, strict=True):
            plot_slice(each, field, coordinates, own, scale)
        for each, field, own in zip(below, _before_scaling(fields), seen, strict=bool(below)):
            plot_slice(each, field, coordinates, own)
        for each in (*axes, *below):
            each.set_xlabel(_observed(selection, coordinates[0]))
            each.set_ylabel(_observed(selection, coordinates[1]))
            if below:
                each.label_outer()
        if not below:
            label_edges(axes)
        _name_rows(axes, below)
        own = _finish(figure, axes, selection, f"{F if below else SND} at each point", fields if own_scale else None)
        dots = f"dots: seen in {ROLLOUT} episodes"
        caption(figure, ", ".join([*who(selection), *own, *_below(below), dots, "all other observations held"]))
        return figure


def _map_panels(fields: Sequence[Field], label: float = 0.3) -> tuple[Figure, list[Axes], list[Axes]]:
    """A panel for each field, and one below it for the unscaled deviations where they are known."""
    before = _before_scaling(fields)
    if not before:
        return *level_panels(len(fields), label=label), []
    figure, axes, below = paired_panels(len(fields), label=label)
    for each, field in zip(below, before, strict=True):
        each.set_title(f"{SND_O}: 0 to {map_scale([field]).vmax:.2g}")
    return figure, axes, below


def _name_rows(above: Sequence[Axes], below: Sequence[Axes]) -> None:
    """What is drawn, in front of each row of a figure that has both."""
    for row, name in ((above, f"{F}: {SND_O} of the policies"), (below, f"{SND_O} of the deviations")):
        for each in row[:: columns_of(len(row))] if below else ():
            each.set_ylabel("\n".join(filter(None, (name, each.get_ylabel()))))


def _before_scaling(fields: Sequence[Field]) -> list[Field]:
    """Of the unscaled deviations, where they are known."""
    return [before for field in fields if (before := field.before_scaling()) is not None]


def _below(below: Sequence[Axes]) -> list[str]:
    """What the lower panels are, in words."""
    return [f"{SND_O} of the deviations: before they are scaled to f"] if below else []


def _observed(selection: Selection, coordinate: int) -> str:
    """An observed number as its task calls it, or by its place."""
    name = selection.task.observation_names(selection.task.groups[selection.controlled])[coordinate]
    return f"observation {coordinate}" if name == f"observation {coordinate + 1}" else name


def _finish(
    figure: Figure, axes: Sequence[Axes], selection: Selection, what: str, own: Sequence[Field] | None
) -> list[str]:
    """Titles and the colours' meaning: a bar, or where each field has its own scale, that in the titles; and words."""
    if own is not None:
        _title(axes, selection, [f": 0 to {map_scale([field]).vmax:.2g}" if field.snd.max() > 0 else ": 0"
                                 for field in own])  # fmt: skip
        return ["colours from 0 to the number above each"]
    _title(axes, selection, [""] * len(axes))
    colour_bar(figure, axes, what)
    return []


def _title(axes: Sequence[Axes], selection: Selection, notes: Sequence[str]) -> None:
    for each, member, note in zip(axes, selection.members, notes, strict=True):
        each.set_title(level_title(selection.run, level_of(selection.run, member)) + note)
