"""A run in pictures, as JSON for the page: an episode and a map of each level, and the live networks' surroundings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico import analysis
from dico.episodes import Recording, record
from dico.policy import DiCo
from dico.runs import Member, Run
from dico.tasks import MappedTask, Task, map_state
from dico.tasks.navigation import SPAWN, Navigation
from dico.tasks.scene import TEAM
from dico.viz.fields import diversity_field
from dico.viz.page.encode import floats, quantised
from dico.viz.page.networks import encode_policy, is_encodable
from dico.viz.page.numbers import maximum
from dico.viz.page.scenes import encode_scene

RESOLUTION = 60
"""Cells of a map along each side."""
START = 0
"""Seed of the start that all levels play from, and that the maps show."""
CHECKED = 256
"""Observations at which the page's networks are held against the original ones."""


@dataclass(frozen=True)
class Pictures:
    """What a run has to show, and why not where it has nothing."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    live: tuple[Member, ...] = ()
    """Members whose networks the page can hold, the most wanted first."""


def pictures(run: Run, best: str | None) -> Pictures:
    """Episodes and maps of the first seed of each level; they need a checkpoint."""
    try:
        task = run.task()
        members = _first_seeds(run)
        chosen = [member.index for member in members]
        policies = [run.policies(group["name"], chosen) for group in run.groups]
        recording = record(task, policies, episodes=1, seed=START, deterministic=True)
    except (ValueError, ImportError) as error:
        return Pictures(missing=dict.fromkeys(("episodes", "maps", "live"), f"Nothing to show: {error}."))
    names = [group["name"] for group in run.groups]
    controlled = names.index(analysis.controlled_group(run))
    start = map_state(lambda tensor: tensor[0, 0, 0], recording.states)
    values: dict[str, Any] = {"episodes": _episodes(task, recording, members, task.groups[controlled].agents)}
    missing: dict[str, str] = {}
    if isinstance(task, MappedTask):
        values["maps"] = _maps(task, policies[0], start, members)
    else:
        missing["maps"] = (
            f"What an agent sees in {task.name} is no function of its position alone, so there is no map over positions; "
            "dico map draws one over any two observed numbers."
        )
    if isinstance(task, Navigation) and is_encodable(policies[0]):
        values["live"] = _surroundings(run, task, start)
        return Pictures(values, missing, _most_wanted(members, best))
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


def _first_seeds(run: Run) -> list[Member]:
    """Of each level the first member that did not diverge, in order of diversity."""
    gone = analysis.diverged(run)
    sound = [member for member in run.members if not gone[member.index]]
    if not sound:
        raise ValueError("every member diverged")
    by_level = {level: [m for m in sound if m.constraint == level] for level in analysis.levels(run)}
    return [min(members, key=lambda m: m.seed) for members in by_level.values() if members]


def _most_wanted(members: Sequence[Member], best: str | None) -> tuple[Member, ...]:
    """The extremes and the best, then the others."""
    first = [members[0], members[-1], *(member for member in members if member.constraint == best)]
    return tuple(dict.fromkeys([*first, *members]))


def _episodes(
    task: Task, recording: Recording, members: Sequence[Member], team: Sequence[int]
) -> list[dict[str, Any]]:
    episodes = []
    for k, member in enumerate(members):
        length = recording.length(k)
        states = map_state(lambda tensor, k=k, length=length: tensor[k, : length + 1, 0], recording.states)
        rewards = recording.reward[k, :length, 0, list(team)].mean(-1)
        episodes.append(
            {
                "level": member.constraint,
                "seed": member.seed,
                "rewards": floats(rewards.numpy()),
                "ended": length < task.horizon,
                **encode_scene(task.scene(states)),
            }
        )
    return episodes


def _maps(task: MappedTask, policies: DiCo, start: Any, members: Sequence[Member]) -> dict[str, Any]:
    field = diversity_field(policies, task, start, resolution=RESOLUTION)
    one = map_state(lambda tensor: tensor[None], start)
    panels = [
        {"level": member.constraint, "mean": snd.mean().item(), "values": quantised(snd.double().numpy())}
        for member, snd in zip(members, field.snd, strict=True)
    ]
    return {
        "rows": RESOLUTION, "columns": RESOLUTION, "extent": field.extent, "most": field.snd.max().item(),
        "panels": panels, "scene": {**encode_scene(task.scene(one)), "rewards": ""},
        "lasts": isinstance(task, Navigation),  # goals stay where they are, and nothing else is seen
    }  # fmt: skip


def _surroundings(run: Run, task: Navigation, start: Any) -> dict[str, Any]:
    return {
        "start": _pairs(start.position),
        "goals": _pairs(start.goal[: task.distinct_goals]),
        "extent": task.scene(start).extent,
        "colours": TEAM,
        "most": maximum(run) or 1.0,
        "networks": [],
        "absent": [],
    }


def _pairs(places: Float[Tensor, "n 2"]) -> list[list[float]]:
    return [[round(value, 4) for value in place] for place in places.tolist()]
