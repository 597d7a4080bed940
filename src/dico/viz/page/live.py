"""The live part's data: the task as the page's script plays it, and members' networks to play it with."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico.analysis import bounds_of, controlled_group, desired_of, diverged, group_fields, level_of, levels
from dico.runs import Member, Run
from dico.runs.episodes import Recording
from dico.schedules import is_scheduled
from dico.tasks import Group, Task
from dico.tasks.dispersion import Dispersion
from dico.tasks.navigation import Navigation, SameGoal
from dico.tasks.reverse_transport import ReverseTransport
from dico.tasks.sampling import Sampling
from dico.tasks.tag import Tag
from dico.viz.limits import room
from dico.viz.page.networks import TOLERANCE, encode_policy, parts_of
from dico.viz.selection import Selection

KNOWN = (Navigation, SameGoal, Dispersion, Sampling, Tag, ReverseTransport)
"""The tasks whose physics the page's script has; not classes derived from them, which may do otherwise."""
BEYOND = 1.2
"""How far the slider goes beyond the trained diversity, at least."""
CHECKED = 256
"""Observations at which the page's networks are held against the original ones."""
WIDER = 0.25
"""How much wider than what was seen in an episode the page lets observations be, at either end."""
NARROWEST = 0.1
"""Half of the least range of an observed number."""


def playable(selection: Selection) -> str | None:
    """Why the page cannot play the run; None if it can."""
    if type(selection.task) not in KNOWN:
        names = ", ".join(task.name for task in KNOWN)
        return f"The live part is for the tasks whose physics the page knows: {names}."
    if not all(parts_of(policy) for policy in selection.policies):
        return "The networks of this run are of a kind that the page cannot evaluate."
    return None


def surroundings(selection: Selection, recording: Recording, start: int) -> dict[str, Any]:
    """All but the networks: the task, its groups and what they observe, what things look like, where to begin."""
    task = selection.task
    scene = task.scene(selection.start(start))
    goals = {"distinct_goals": task.distinct_goals} if isinstance(task, Navigation) else {}
    ranges = [_range(task, group, seen) for group, seen in zip(task.groups, recording.obs, strict=True)]
    return {
        "task": task.name,
        "settings": {**asdict(task), **goals},  # pyright: ignore[reportArgumentType]
        "groups": [
            {
                "name": group.name,
                "agents": group.agents,
                "names": task.observation_names(group),
                "low": low.tolist(),
                "high": high.tolist(),
            }
            for group, (low, high) in zip(task.groups, ranges, strict=True)
        ],
        "controlled": selection.controlled,
        "extent": scene.extent,
        "start": start,
        "looks": {
            f"{shape.role} {shape.label}": {"colour": shape.colour, "filled": shape.filled, **_size(shape)}
            for shape in (*scene.circles, *scene.boxes)
        },
        "members": len(selection.run.members),
        "networks": [],
        "absent": [],
    }


def observations(selection: Selection, recording: Recording) -> list[Float[Tensor, "rows _"]]:
    """Of each group, observations as the page may meet them: as far as things can be dragged."""
    found = []
    for group, seen in zip(selection.task.groups, recording.obs, strict=True):
        low, high = _range(selection.task, group, seen)
        share = torch.rand(CHECKED, group.obs_dim, generator=torch.Generator().manual_seed(0))
        found.append(low + share * (high - low))
    return found


def wanted(selection: Selection, best: str | None) -> tuple[Member, ...]:
    """Members whose networks the page may hold, the most wanted first: of each level the one that is shown, and of
    these the extremes, with and without free, and the best; then the others. A dial is one for each seed.
    """
    run, shown = selection.run, selection.members
    gone, order = diverged(run), levels(run)
    controlled = [member for member in shown if member.constraint != "free"]
    favourite = [member for member in shown if level_of(run, member) == best]
    sound = [member for member in run.members if not gone[member.index]]
    others = sorted(sound, key=lambda member: (member.seed, order.index(level_of(run, member))))
    found = list(dict.fromkeys([shown[0], shown[-1], *controlled[-1:], *favourite, *shown, *others]))
    return tuple({_networks_of(run, member): member for member in reversed(found)}.values())[::-1]


def network(
    run: Run, member: Member, seen: Sequence[Float[Tensor, "rows _"]], tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """A member's policies as the page evaluates them, one for each group, where ``seen`` has their observations."""
    policies = []
    controlled, reach = controlled_group(run), 1.0
    for group, obs in zip(run.groups, seen, strict=True):
        policy, own = run.policy_of(member, group["name"]), group["name"] == controlled
        dial = run.dial(member.seed, group["name"], **_varied(run, member)) if own and run.config.get("dial") else None
        limit = room(run) if own else None
        trained = dial.levels[-1] if dial else float(policy.constraint(policy.snd_hat))
        most = max(limit.value if limit else 1.0, BEYOND * trained)
        reach = most if own else reach
        policies.append(encode_policy(policy, obs, most, dial, tolerance))
    level = level_of(run, member)
    return {"level": level, "value": _value(run, level), "seed": member.seed, "reach": reach, "policies": policies}


def _networks_of(run: Run, member: Member) -> Any:
    """What members have in common that have the same networks."""
    return (member.seed, tuple(_varied(run, member).items())) if run.config.get("dial") else member


def _varied(run: Run, member: Member) -> Mapping[str, float]:
    """The numbers, other than the desired diversity and the seed, in which members differ."""
    return {name: getattr(member, name) for name in group_fields(run) if name not in ("constraint", "seed")}


def _value(run: Run, level: str) -> float | None:
    """The one diversity that a level desires, where levels differ in nothing else."""
    desired = desired_of(level, run)
    if group_fields(run) != ("constraint",) or desired == "free" or is_scheduled(desired):
        return None
    least, most = bounds_of(desired)
    return least if least == most else None


def _range(task: Task, group: Group, seen: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the greatest of each observed number: all that there can be, or what was seen and a little more."""
    rows = seen.reshape(-1, seen.shape[-1])
    low, high = rows.amin(0), rows.amax(0)
    if box := task.obs_box(group):
        low, high = torch.minimum(low, torch.tensor(box[0])), torch.maximum(high, torch.tensor(box[1]))
    more = (WIDER * (high - low)).clamp_min(NARROWEST - (high - low).clamp_max(2 * NARROWEST) / 2)
    return low - more, high + more


def _size(shape: Any) -> dict[str, float]:
    return {name: value for name in ("radius", "length", "width") if (value := getattr(shape, name, None)) is not None}
