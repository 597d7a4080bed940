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
from dico.tasks import MappedTask, map_state, of_group
from dico.tasks.navigation import SPAWN, Navigation
from dico.tasks.scene import TEAM
from dico.viz.limits import room
from dico.viz.page.encode import floats, quantise
from dico.viz.page.networks import encode_policy, parts_of
from dico.viz.page.scenes import encode_scene
from dico.viz.selection import Selection, choose, shown_of
from dico.viz.views import extent_around, legend

RESOLUTION = 60
"""Cells of a map along each side."""
START = 0
"""Seed of the start that all levels play from and that the maps show, as in the figures."""
BEYOND = 1.2
"""How far the slider goes beyond the trained diversity, at least."""
MOST_LEVELS = 24
"""Levels that have pictures, at most."""
CHECKED = 256
"""Observations at which the page's networks are held against the original ones."""


@dataclass(frozen=True)
class Pictures:
    """What a run has to show, and why not where it has nothing."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    live: tuple[Member, ...] = ()
    """Members whose networks the page can hold, the most wanted first."""
    thinned: tuple[str, ...] = ()
    """What was left out so that the page stays small."""


@torch.no_grad()
def pictures(run: Run, best: str | None) -> Pictures:
    """Episodes and maps of the first seed of each level; they need a checkpoint."""
    try:
        every = levels(run)
        wanted = _some(every, best)
        selection = choose(run, wanted if len(wanted) < len(every) else ())
        values = _episodes(selection)
    except (ValueError, ImportError) as error:
        return Pictures(missing=dict.fromkeys(("episodes", "maps", "live"), f"Nothing to show: {error}."))
    values["taken"] = {"members": shown_of(run, selection.members), "frames": selection.frames}
    missing: dict[str, str] = {}
    task = selection.task
    if isinstance(task, MappedTask):
        values["maps"] = _maps(selection)
    else:
        missing["maps"] = (
            f"What an agent sees in {run.config['task']} does not follow from its position alone, so there is no map "
            "over positions; dico map draws one over any two observed numbers."
        )
    less = f"To keep the page small, maps, episodes and networks are of {len(wanted)} of {len(every)} levels"
    thinned = (f"{less}, evenly chosen, the best among them",) if len(wanted) < len(every) else ()
    known = isinstance(task, Navigation)  # the page's script has the physics of this one
    if known and parts_of(selection.policy):
        values["live"] = _surroundings(selection, task)
        return Pictures(values, missing, _most_wanted(selection, best), thinned)
    missing["live"] = (
        "The networks of this run are of a kind that the page cannot evaluate."
        if known
        else "The live part is for navigation and same-goal, whose physics the page knows."
    )
    return Pictures(values, missing, thinned=thinned)


def _some(every: Sequence[str], best: str | None) -> list[str]:
    """As many levels as have pictures, evenly chosen, first, last and best included.

    >>> _some(["0", "1", "free"], None), len(_some([str(k) for k in range(100)], "37"))
    (['0', '1', 'free'], 24)
    """
    if len(every) <= MOST_LEVELS:
        return list(every)
    chosen = {round(k * (len(every) - 1) / (MOST_LEVELS - 2)) for k in range(MOST_LEVELS - 1)}
    return [level for k, level in enumerate(every) if k in chosen or level == best]


def network(run: Run, member: Member) -> dict[str, Any]:
    """A member's policy as the page evaluates it."""
    policy = run.policy_of(member)
    width = policy.deviations.inputs  # pyright: ignore[reportAttributeAccessIssue]
    reach = 4 * SPAWN  # goals and agents can be dragged no farther apart
    obs = reach * (2 * torch.rand(CHECKED, width, generator=torch.Generator().manual_seed(0)) - 1)
    limit, trained = room(run), policy.constraint(policy.snd_hat).item()
    most = max(limit.value if limit else 1.0, BEYOND * trained)
    return {"level": level_of(run, member), "seed": member.seed, "reach": most, **encode_policy(policy, obs, most)}


def _most_wanted(selection: Selection, best: str | None) -> tuple[Member, ...]:
    """The extremes, with and without free, and the best; then the others."""
    members = selection.members
    controlled = [member for member in members if member.constraint != "free"]
    favourite = [member for member in members if level_of(selection.run, member) == best]
    return tuple(dict.fromkeys([members[0], members[-1], *controlled[-1:], *favourite, *members]))


def _episodes(selection: Selection) -> dict[str, Any]:
    """An episode of each level, in one view that holds them all, what the shapes are, and the map underneath."""
    recording = selection.record(START)
    scenes = [selection.scene(recording, k) for k in range(len(selection.members))]
    extent = extent_around(scenes)
    group = selection.task.groups[selection.controlled]
    episodes = [
        {
            "level": level_of(selection.run, member),
            "seed": member.seed,
            "rewards": floats(of_group(group, recording.reward[k, : recording.length(k), 0]).mean(-1).numpy()),
            "ended": recording.length(k) < selection.task.horizon,
            **encode_scene(scenes[k], extent),
        }
        for k, member in enumerate(selection.members)
    ]
    lasts = selection.task.position_alone
    under = _fields(selection, extent) if lasts and extent != scenes[0].extent else None
    return {"episodes": episodes, "key": legend(selection.task, scenes[0]), "lasts": lasts, "under": under}


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
    size = {"rows": RESOLUTION, "columns": RESOLUTION, "extent": extent}
    return {**size, "most": most, "panels": panels, "unscaled": unscaled}


def _surroundings(selection: Selection, task: Navigation) -> dict[str, Any]:
    start = selection.start(START)
    return {
        "start": _pairs(start.position),
        "goals": _pairs(start.goal[: task.distinct_goals]),
        "extent": task.scene(start).extent,
        "colours": TEAM,
        "networks": [],
        "absent": [],
    }


def _pairs(places: Float[Tensor, "n 2"]) -> list[list[float]]:
    return [[round(value, 4) for value in place] for place in places.tolist()]
