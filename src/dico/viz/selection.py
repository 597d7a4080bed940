"""Selections of members for a picture: one trained member for each level, on the same episode or the same map."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico.acting import into_box
from dico.analysis import controlled_group, diverged, group_fields, level_of, levels, sample_name
from dico.analysis.fields import Extent, Field, diversity_field, slice_field
from dico.members import parse_level
from dico.policy import DiCo
from dico.random import Random
from dico.runs import Member, Run, RunError
from dico.runs.episodes import STREAM, Recording, record
from dico.tasks import Task, map_state
from dico.tasks.scene import Scene


@dataclass(frozen=True)
class Selection:
    """One member for each level, with its newest policies."""

    run: Run
    task: Task
    members: tuple[Member, ...]
    policies: tuple[DiCo, ...]
    """Of each of the task's groups, the members in a leading dimension."""
    frames: int
    """For how long the policies have trained: those of the checkpoint, which may be fewer than the metrics have."""

    @property
    def controlled(self) -> int:
        """Which of the groups is controlled."""
        return [group.name for group in self.task.groups].index(controlled_group(self.run))

    @property
    def policy(self) -> DiCo:
        """Of the controlled group."""
        return self.policies[self.controlled]

    def record(self, seed: int) -> Recording:
        """One episode of every member from the same start, acting by the mean."""
        return record(self.task, self.policies, episodes=1, seed=seed, deterministic=True)

    def scene(self, recording: Recording, member: int) -> Scene:
        """A member's episode as one scene whose batch is time, up to its end."""
        steps = recording.length(member) + 1
        return self.task.scene(map_state(lambda tensor: tensor[member, :steps, 0], recording.states))

    def fields(self, state: Any, extent: Extent | None = None, resolution: int = 60) -> list[Field]:
        """Each member's diversity over positions (:func:`~dico.analysis.fields.diversity_field`)."""
        return diversity_field(self.policy, self.task, state, extent, resolution).apart()

    def slices(self, obs: Tensor, coordinates: tuple[int, int], extent: Extent, resolution: int = 60) -> list[Field]:
        """Each member's diversity over two observed numbers (:func:`~dico.analysis.fields.slice_field`)."""
        return slice_field(self.policy, obs, coordinates, extent, resolution).apart()

    def actions(self, field: Field) -> Float[Tensor, "rows columns n a"]:
        """What each agent would do in each cell of a field."""
        low, high = torch.tensor(self.task.action_low), torch.tensor(self.task.action_high)
        return into_box(self.policy.kind, field.mean, low, high)

    def start(self, seed: int) -> Any:
        """The state in which an episode of that seed starts."""
        return map_state(lambda tensor: tensor[0, 0], self.task.reset(1, Random([seed], STREAM)))


def choose(run: Run, wanted: Sequence[str | float] = (), seed: int | None = None) -> Selection:
    """The members of :func:`one_of_each` with their policies."""
    members = one_of_each(run, wanted, seed)
    task, indices = run.task(), [member.index for member in members]
    policies = tuple(run.policies(group.name, indices) for group in task.groups)
    return Selection(run, task, members, policies, run.newest.frames if run.newest else 0)


def one_of_each(run: Run, wanted: Sequence[str | float] = (), seed: int | None = None) -> tuple[Member, ...]:
    """A member of each level, or of the levels wanted: of a seed, or else of the first that did not diverge.

    What is wanted names any fields, such as ``0.3``, ``tau=0.1`` or both with a comma, and means all levels that have
    them. A level that has none but diverged members is left out with a warning.

    >>> [member.name for member in one_of_each(run, ["free", "0.3"], seed=1)]
    ['snd=free,seed=1', 'snd=0.3,seed=1']
    """
    gone, members = diverged(run), []
    for level, own in _wanted_levels(run, wanted, seed).items():
        sound = sorted((member for member in own if not gone[member.index]), key=lambda member: member.seed)
        if not sound:
            called = f"snd {level}" if group_fields(run)[0] == "constraint" else level
            warnings.warn(f"{called} diverged and is left out", stacklevel=2)
        members += sound[:1]
    if not members:
        raise RunError(f"all members of {run.folder} that were asked for diverged: choose other levels or another seed")
    return tuple(members)


def _wanted_levels(run: Run, wanted: Sequence[str | float], seed: int | None) -> dict[str, list[Member]]:
    """The members to choose from, by their levels; an error says what there is if there are none."""
    found: dict[str, list[Member]] = {}
    for text in wanted or levels(run):
        fields: dict[str, Any] = {"seed": seed, **parse_level(str(text))}
        for member in run.select(fields.pop("constraint", None), **fields):
            found.setdefault(level_of(run, member), []).append(member)
    return found


def shown_of(run: Run, members: Sequence[Member]) -> str:
    """Which members of their levels are shown, in words: by seed, or where levels have several of a seed, by name.

    >>> shown_of(run, run.members[::2]), shown_of(run.group_by("seed"), run.members[:2])
    ('seed 0', 'members snd=0,seed=0; snd=0,seed=1')
    """
    if sample_name(run) == "seed":
        return seeds_of(members)
    return f"member{'s' if len(members) > 1 else ''} {'; '.join(member.name for member in members)}"


def seeds_of(members: Sequence[Member]) -> str:
    """Which seeds are shown, in words.

    >>> seeds_of([Member(0, "0", 3), Member(1, "free", 3)]), seeds_of([Member(0, "0", 3), Member(1, "free", 4)])
    ('seed 3', 'seeds 3, 4')
    """
    seeds = list(dict.fromkeys(member.seed for member in members))
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
