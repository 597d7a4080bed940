"""A run in pictures, as JSON for the page: an episode and a map of each level, and what surrounds the live networks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico.analysis import level_of, levels
from dico.analysis.fields import ROLLOUT, Extent, Field, extent_of, middle_of
from dico.runs import Member, Run
from dico.runs.episodes import Recording, play
from dico.tasks import Group, MappedTask, map_state, of_group
from dico.viz.kept import KeptSelection, kept_selection
from dico.viz.page.encode import floats, quantise
from dico.viz.page.live import observations, playable, surroundings, wanted
from dico.viz.page.scenes import encode_scene
from dico.viz.selection import Selection, choose, shown_of
from dico.viz.views import extent_around, legend

RESOLUTION = 60
"""Cells of a map along each side."""
SLICED = (0, 1)
"""The observed numbers of a map where there is none over positions, as in the figures."""
DOTS = 200
"""Observations shown over such a map, of each level, about so many."""
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
def pictures(run: Run, best: str | None, extent: Extent | None = None) -> Pictures:
    """Episodes and maps of the first seed of each level; they need a checkpoint, or what a summary keeps of one.

    Episodes show no less than ``extent``.
    """
    try:
        every = levels(run)
        chosen = _some(every, best)
        kept = kept_selection(run) if run.newest is None else None
        selection = kept or choose(run, chosen if len(chosen) < len(every) else ())
        recording = selection.record(START)
        values = _episodes(selection, recording, extent)
    except (ValueError, ImportError) as error:
        return Pictures(missing=dict.fromkeys(("episodes", "maps", "live"), f"Nothing to show: {error}."))
    values["taken"] = {"members": shown_of(run, selection.members), "frames": selection.frames}
    missing: dict[str, str] = {}
    reason = NO_NETWORKS if kept else playable(selection)
    if isinstance(selection.task, MappedTask):
        values["maps"] = _maps(selection)
    elif not kept and selection.task.groups[selection.controlled].obs_dim > max(SLICED):
        values["maps"] = _slices(selection)
    else:
        missing["maps"] = (
            f"What an agent sees in {run.config['task']} does not follow from its position alone, so there is no map "
            "over positions; dico map draws one over any two observed numbers of a run folder."
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


def alike(runs: Sequence[Run], best: Sequence[str | None]) -> list[Pictures]:
    """The pictures of several runs, whose episodes show one part of the world at one scale."""
    found = [pictures(run, level) for run, level in zip(runs, best, strict=True)]
    extents = [tuple(episode["extent"]) for each in found for episode in each.values.get("episodes", [])]
    if len(set(extents)) < 2:
        return found
    whole = united(extents)
    told = [{tuple(episode["extent"]) for episode in each.values.get("episodes", [])} for each in found]
    return [
        each if own <= {whole} else pictures(run, level, whole)
        for run, level, each, own in zip(runs, best, found, told, strict=True)
    ]


def united(extents: Sequence[Extent]) -> Extent:
    """What holds them all.

    >>> united([(-1, 1, -1, 1), (0, 2, 0, 1)])
    (-1, 2, -1, 1)
    """
    left, right, bottom, top = zip(*extents, strict=True)
    return min(left), max(right), min(bottom), max(top)


def _episodes(selection: Selection, recording: Recording, least: Extent | None) -> dict[str, Any]:
    """An episode of each level, in one view that holds them all, what the shapes are, and the map underneath."""
    scenes = [selection.scene(recording, k) for k in range(len(selection.members))]
    extent = extent_around(scenes)
    extent = extent if least is None else united([extent, least])
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


def _slices(selection: Selection) -> dict[str, Any]:
    """Each level's diversity over two observed numbers, as the figure of the map has it, and what was seen of them."""
    played = play(selection.task, selection.policies, ROLLOUT, START, deterministic=True)
    recorded = zip(played.obs[selection.controlled], played.running, strict=True)
    seen = [obs[running].flatten(0, 1) for obs, running in recorded]
    together, chosen = torch.cat(seen), list(SLICED)
    fields = selection.slices(middle_of(together), SLICED, extent_of(together, SLICED), RESOLUTION)
    group = selection.task.groups[selection.controlled]
    names = selection.task.observation_names(group)
    found = _of_fields(selection, fields)
    for panel, own in zip(found["panels"], seen, strict=True):
        some = torch.randperm(len(own), generator=torch.Generator().manual_seed(START))[:DOTS]
        panel["dots"] = floats(own[some][:, chosen].flatten().numpy())
    return {**found, "scene": None, "key": [], "axes": [names[k] for k in SLICED], "episodes": ROLLOUT}


def _fields(selection: Selection, extent: Extent) -> dict[str, Any]:
    """Each level's diversity over what is shown, at the start; and that of the unscaled deviations, where known."""
    return _of_fields(selection, selection.fields(selection.start(START), extent, resolution=RESOLUTION))


def _of_fields(selection: Selection, fields: Sequence[Field]) -> dict[str, Any]:
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
