"""Who is in a picture: one trained member for each level, on the same episode or the same map."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico.analysis import controlled_group, diverged, levels
from dico.constraints import parse_constraint
from dico.episodes import STREAM, Recording, into_box, record
from dico.policy import DiCo
from dico.random import Random
from dico.runs import Member, Run, RunError
from dico.tasks import Task, map_state
from dico.tasks.scene import Scene
from dico.viz.fields import Extent, Field, diversity_field, slice_field


@dataclass(frozen=True)
class Cast:
    """One member for each level, with its newest policies."""

    run: Run
    task: Task
    members: tuple[Member, ...]
    policies: tuple[DiCo, ...]
    """Of each of the task's groups, the members in a leading dimension."""

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
        """Each member's diversity over positions (:func:`~dico.viz.fields.diversity_field`)."""
        return diversity_field(self.policy, self.task, state, extent, resolution).apart()

    def slices(self, obs: Tensor, coordinates: tuple[int, int], extent: Extent, resolution: int = 60) -> list[Field]:
        """Each member's diversity over two observed numbers (:func:`~dico.viz.fields.slice_field`)."""
        return slice_field(self.policy, obs, coordinates, extent, resolution).apart()

    def actions(self, field: Field) -> Float[Tensor, "rows columns n a"]:
        """What each agent would do in each cell of a field."""
        return into_box(
            self.policy, field.mean, torch.tensor(self.task.action_low), torch.tensor(self.task.action_high)
        )

    def start(self, seed: int) -> Any:
        """The state in which an episode of that seed starts."""
        return map_state(lambda tensor: tensor[0, 0], self.task.reset(1, Random([seed], STREAM)))


def choose(run: Run, wanted: Sequence[str | float] = (), seed: int | None = None) -> Cast:
    """One member of each level, or of the levels wanted; by default those of the run's first seed."""
    members = one_of_each(run, wanted, seed)
    task, indices = run.task(), [member.index for member in members]
    return Cast(run, task, members, tuple(run.policies(group.name, indices) for group in task.groups))


def one_of_each(run: Run, wanted: Sequence[str | float] = (), seed: int | None = None) -> tuple[Member, ...]:
    """A member of each level, or of the levels wanted, and of one seed; those that diverged are left out."""
    seed = min(member.seed for member in run.members) if seed is None else seed
    chosen = [parse_constraint(str(level)).texts()[0] for level in wanted] or levels(run)
    members = [run.member(level, seed) for level in chosen]
    gone = diverged(run)
    for member in members:
        if gone[member.index]:
            warnings.warn(f"snd {member.constraint} with seed {seed} diverged and is left out", stacklevel=2)
    left = tuple(member for member in members if not gone[member.index])
    if not left:
        raise RunError(f"all members of {run.folder} with seed {seed} diverged: choose another seed")
    return left
