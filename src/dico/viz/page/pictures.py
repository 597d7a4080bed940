"""A run in pictures, as JSON for the page: an episode and a map of each level, and what surrounds the live networks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico.analysis import level_of, levels
from dico.analysis.fields import Extent
from dico.runs import Member, Run
from dico.runs.episodes import Recording
from dico.tasks import Group, MappedTask, map_state, of_group
from dico.viz.kept import KeptSelection, kept_selection
from dico.viz.page.encode import floats, quantise
from dico.viz.page.live import observations, playable, surroundings, wanted
from dico.viz.page.scenes import encode_scene
from dico.viz.selection import Selection, choose, shown_of
from dico.viz.views import extent_around, legend

RESOLUTION = 60
"""Cells of a map along each side."""
START = 0
"""Seed of the start that all levels play from and that the maps show, as in the figures."""
NO_NETWORKS = (
    "This page was made from a summary, which keeps no networks: the live part needs the run folder. Train it again by "
    "the command below, and dico report writes it."
)
MOST_LEVELS = 24
"""Levels that have pictures, at most."""


@dataclass(frozen=True)
class Pictures:
    """What a run has to show, and why not where it has nothing."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    live: tuple[Member, ...] = ()
    """Members whose networks the page can hold, the most wanted first."""
    seen: tuple[Float[Tensor, "rows _"], ...] = ()
    """Of each group, observations as the live part may meet them."""
    thinned: tuple[str, ...] = ()
    """What was left out so that the page stays small."""


@torch.no_grad()
def pictures(run: Run, best: str | None) -> Pictures:
    """Episodes and maps of the first seed of each level; they need a checkpoint, or what a summary keeps of one."""
    try:
        every = levels(run)
        chosen = _some(every, best)
        kept = kept_selection(run) if run.newest is None else None
        selection = kept or choose(run, chosen if len(chosen) < len(every) else ())
        recording = selection.record(START)
        values = _episodes(selection, recording)
    except (ValueError, ImportError) as error:
        return Pictures(missing=dict.fromkeys(("episodes", "maps", "live"), f"Nothing to show: {error}."))
    values["taken"] = {"members": shown_of(run, selection.members), "frames": selection.frames}
    missing: dict[str, str] = {}
    reason = NO_NETWORKS if kept else playable(selection)
    if isinstance(selection.task, MappedTask):
        values["maps"] = _maps(selection)
    else:
        instead = (
            "dico map draws one over any two observed numbers of a run folder"
            if reason
            else "the live part has one of what an agent would see, and slices over any two observed numbers"
        )
        missing["maps"] = (
            f"What an agent sees in {run.config['task']} does not follow from its position alone, so there is no map "
            f"over positions; {instead}."
        )
    less = f"To keep the page small, maps, episodes and networks are of {len(chosen)} of {len(every)} levels"
    thinned = (f"{less}, evenly chosen, the one of the highest mean among them",) if len(chosen) < len(every) else ()
    if reason:
        return Pictures(values, missing | {"live": reason}, thinned=thinned)
    values["live"] = surroundings(selection, recording, START)
    seen = tuple(observations(selection, recording))
    return Pictures(values, missing, wanted(selection, best), seen, thinned)


def _some(every: Sequence[str], best: str | None) -> list[str]:
    """As many levels as have pictures, evenly chosen, first, last and best included.

    >>> _some(["0", "1", "free"], None), len(_some([str(k) for k in range(100)], "37"))
    (['0', '1', 'free'], 24)
    """
    if len(every) <= MOST_LEVELS:
        return list(every)
    chosen = {round(k * (len(every) - 1) / (MOST_LEVELS - 2)) for k in range(MOST_LEVELS - 1)}
    return [level for k, level in enumerate(every) if k in chosen or level == best]


def _episodes(selection: Selection, recording: Recording) -> dict[str, Any]:
    """An episode of each level, in one view that holds them all, what the shapes are, and the map underneath."""
    scenes = [selection.scene(recording, k) for k in range(len(selection.members))]
    extent = extent_around(scenes)
    group = selection.task.groups[selection.controlled]
    episodes = [
        {
            "level": level_of(selection.run, member),
            "seed": member.seed,
            "rewards": _rewards(recording, group, k),
            "ended": recording.length(k) < selection.task.horizon,
            **encode_scene(scenes[k], extent),
        }
        for k, member in enumerate(selection.members)
    ]
    lasts = selection.task.position_alone
    wider = lasts and extent != scenes[0].extent and not isinstance(selection, KeptSelection)
    under = _fields(selection, extent) if wider else None
    return {"episodes": episodes, "key": legend(selection.task, scenes[0]), "lasts": lasts, "under": under}


def _rewards(recording: Recording, group: Group, member: int) -> str | None:
    """What the controlled group earned in each step; None where that was not kept."""
    earned = recording.reward[member, : recording.length(member), 0]
    return floats(of_group(group, earned).mean(-1).numpy()) if earned.numel() else None


def _maps(selection: Selection) -> dict[str, Any]:
    scene = selection.task.scene(map_state(lambda tensor: tensor[None], selection.start(START)))
    return {
        **_fields(selection, scene.extent),
        "scene": encode_scene(scene),
        "key": legend(selection.task, scene, over_map=True),
    }


def _fields(selection: Selection, extent: Extent) -> dict[str, Any]:
    """Each level's diversity over what is shown, at the start; and that of the unscaled deviations, where known."""
    fields = selection.fields(selection.start(START), extent, resolution=RESOLUTION)
    known = [before for each in fields if (before := each.before_scaling()) is not None]
    panels, unscaled = (
        [
            {
                "level": level_of(selection.run, member),
                "mean": each.snd.mean().item(),
                "most": each.snd.max().item(),
                "values": quantise(each.snd.double().numpy()),
            }
            for member, each in zip(selection.members, some, strict=False)
        ]
        for some in (fields, known)
    )
    most = max(panel["most"] for panel in panels)
    rows, columns = fields[0].snd.shape  # a summary keeps those of its own, whatever is asked for
    size = {"rows": rows, "columns": columns, "extent": fields[0].extent}
    return {**size, "most": most, "panels": panels, "unscaled": unscaled}
