"""A run in pictures, as JSON for the page: an episode and a map of each level, and what surrounds the live networks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico.runs import Member, Run
from dico.tasks import MappedTask, map_state
from dico.tasks.navigation import SPAWN, Navigation
from dico.tasks.scene import TEAM
from dico.viz.cast import Cast, choose
from dico.viz.page.encode import floats, quantised
from dico.viz.page.networks import encode_policy, parts_of
from dico.viz.page.numbers import maximum
from dico.viz.page.scenes import encode_scene

RESOLUTION = 60
"""Cells of a map along each side."""
START = 0
"""Seed of the start that all levels play from and that the maps show, as in the figures."""
CHECKED = 256
"""Observations at which the page's networks are held against the original ones."""


@dataclass(frozen=True)
class Pictures:
    """What a run has to show, and why not where it has nothing."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    live: tuple[Member, ...] = ()
    """Members whose networks the page can hold, the most wanted first."""


@torch.no_grad()
def pictures(run: Run, best: str | None) -> Pictures:
    """Episodes and maps of the first seed of each level; they need a checkpoint."""
    try:
        cast = choose(run)
        episodes = _episodes(cast)
    except (ValueError, ImportError) as error:
        return Pictures(missing=dict.fromkeys(("episodes", "maps", "live"), f"Nothing to show: {error}."))
    values: dict[str, Any] = {"episodes": episodes}
    missing: dict[str, str] = {}
    task = cast.task
    if isinstance(task, MappedTask):
        values["maps"] = _maps(cast)
    else:
        missing["maps"] = (
            f"What an agent sees in {run.config['task']} does not follow from its position alone, so there is no map "
            "over positions; dico map draws one over any two observed numbers."
        )
    if isinstance(task, Navigation) and parts_of(cast.policy):
        values["live"] = _surroundings(cast, task)
        return Pictures(values, missing, _most_wanted(cast.members, best))
    missing["live"] = (
        "The networks of this run are of a kind that the page cannot evaluate."
        if isinstance(task, Navigation)
        else "The live part is for navigation and same-goal, whose physics the page knows."
    )
    return Pictures(values, missing)


def network(run: Run, member: Member) -> dict[str, Any]:
    """A member's policy as the page evaluates it."""
    policy = run.policy(member.constraint, member.seed)
    width = policy.deviations.inputs  # pyright: ignore[reportAttributeAccessIssue]
    reach = 4 * SPAWN  # goals and agents can be dragged no farther apart
    obs = reach * (2 * torch.rand(CHECKED, width, generator=torch.Generator().manual_seed(0)) - 1)
    return {"level": member.constraint, "seed": member.seed, **encode_policy(policy, obs, maximum(run) or 0.0)}


def _most_wanted(members: Sequence[Member], best: str | None) -> tuple[Member, ...]:
    """The extremes, with and without free, and the best; then the others."""
    controlled = [member for member in members if member.constraint != "free"]
    favourite = [member for member in members if member.constraint == best]
    return tuple(dict.fromkeys([members[0], members[-1], *controlled[-1:], *favourite, *members]))


def _episodes(cast: Cast) -> list[dict[str, Any]]:
    recording = cast.record(START)
    team = list(cast.task.groups[cast.controlled].agents)
    return [
        {
            "level": member.constraint,
            "seed": member.seed,
            "rewards": floats(recording.reward[k, : recording.length(k), 0, team].mean(-1).numpy()),
            "ended": recording.length(k) < cast.task.horizon,
            **encode_scene(cast.scene(recording, k)),
        }
        for k, member in enumerate(cast.members)
    ]


def _maps(cast: Cast) -> dict[str, Any]:
    start = cast.start(START)
    fields = cast.fields(start, resolution=RESOLUTION)
    scene = cast.task.scene(map_state(lambda tensor: tensor[None], start))
    panels = [
        {"level": member.constraint, "mean": each.snd.mean().item(), "values": quantised(each.snd.double().numpy())}
        for member, each in zip(cast.members, fields, strict=True)
    ]
    return {
        "rows": RESOLUTION, "columns": RESOLUTION, "extent": scene.extent,
        "most": max(each.snd.max().item() for each in fields),
        "panels": panels, "scene": encode_scene(scene),
        "lasts": isinstance(cast.task, Navigation),  # goals stay where they are, and nothing else is seen
    }  # fmt: skip


def _surroundings(cast: Cast, task: Navigation) -> dict[str, Any]:
    start = cast.start(START)
    return {
        "start": _pairs(start.position),
        "goals": _pairs(start.goal[: task.distinct_goals]),
        "extent": task.scene(start).extent,
        "colours": TEAM,
        "most": maximum(cast.run) or 1.0,
        "networks": [],
        "absent": [],
    }


def _pairs(places: Float[Tensor, "n 2"]) -> list[list[float]]:
    return [[round(value, 4) for value in place] for place in places.tolist()]
