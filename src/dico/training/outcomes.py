"""What episodes come to while a batch is collected: returns, and how much of the task was done."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico.tasks import Group, Task, is_over_steps, of_group, outcomes_of


class Outcomes:
    """Counts of each member, over the episodes that end in a batch.

    A return is of a whole episode, also if that began in an earlier batch: what each running one has earned so far is
    carried along, and saved with a checkpoint.
    """

    def __init__(self, task: Task, groups: Sequence[Group], members: int, envs: int, state: Any, device: torch.device):
        self.task, self.groups = task, groups
        self.told = list(outcomes_of(task, state))
        self.names = ["episodes", *(f"return of {group.name}" for group in groups), *self.told]
        self.earned = torch.zeros(members, envs, len(groups), device=device)
        """Of the running episodes so far, an agent's on average, for each group."""
        self.sums = torch.zeros(members, len(self.names), device=device)
        """Over the batch so far, by ``names``."""
        self.steps = 0

    def begin_batch(self, steps: int) -> None:
        """Count anew."""
        self.sums.zero_()
        self.steps = steps

    def step(
        self,
        earned: Float[Tensor, "members envs groups"],
        sums: Float[Tensor, "members names"],
        state: Any,
        rewards: Float[Tensor, "members envs agents"],
        done: Bool[Tensor, "members envs"],
    ) -> tuple[Tensor, Tensor]:
        """``earned`` and ``sums`` after a step that led to ``state``."""
        earned = earned + torch.stack([of_group(group, rewards).mean(-1) for group in self.groups], -1)
        ended = done.to(earned.dtype)
        counted = [ended, *torch.where(done[..., None], earned, 0.0).unbind(-1)]
        for name, value in outcomes_of(self.task, state).items():
            counted.append(value if is_over_steps(self.task, name) else torch.where(done, value, 0.0))
        return torch.where(done[..., None], 0.0, earned), sums + torch.stack(counted, -1).sum(1)

    def columns(self, group: str) -> dict[str, list[float | None]]:
        """Of each member: an agent's mean return in a group, and what the task says; None where no episode ended."""
        sums = dict(zip(self.names, self.sums.T.tolist(), strict=True))
        frames = [float(self.steps * self.earned.shape[1])] * len(self.sums)
        found = {"return": _means(sums[f"return of {group}"], sums["episodes"])}
        for name in self.told:
            found[name] = _means(sums[name], frames if is_over_steps(self.task, name) else sums["episodes"])
        return found


def _means(sums: list[float], counts: list[float]) -> list[float | None]:
    """Where anything was counted.

    >>> _means([3.0, 0.0], [2.0, 0.0])
    [1.5, None]
    """
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]
