"""Where a team is diverse: SND at every place of a task, or at every value of two observed numbers."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico._checks import check_positive
from dico.analytical import AnalyticalDiCo
from dico.metrics import snd_at
from dico.policy import DiCo
from dico.tasks import TASKS, MappedTask, Task

ROWS_AT_ONCE = 1 << 16
"""Observations sent through the networks at once, all members together."""
ROLLOUT = 20
"""Episodes whose observations surround a map over two observed numbers."""
Extent = tuple[float, float, float, float]
"""Least x, greatest x, least y, greatest y."""


@dataclass(frozen=True)
class Field:
    """Diversity over a rectangle; row 0 is at the least y, and values belong to the middles of cells."""

    snd: Float[Tensor, "*members rows columns"]
    r""":math:`\mathrm{SND}_o` (sec:case_study); under analytical control this is f (eq:finn_f)."""
    mean: Float[Tensor, "*members rows columns n a"]
    """Each agent's mean action."""
    x: Float[Tensor, " columns"]
    """Where the columns are."""
    y: Float[Tensor, " rows"]
    """Where the rows are."""
    extent: Extent
    unscaled: Float[Tensor, "*members rows columns"] | None = None
    r"""Under analytical control, :math:`\mathrm{SND}_o` of the deviations (eq:sndhat_continuous)."""

    def apart(self) -> list["Field"]:
        """The field of each member."""
        before = [None] * len(self.snd) if self.unscaled is None else self.unscaled
        return [
            replace(self, snd=snd, mean=mean, unscaled=unscaled)
            for snd, mean, unscaled in zip(self.snd, self.mean, before, strict=True)
        ]

    def before_scaling(self) -> "Field | None":
        """The field of the unscaled deviations, where it is known."""
        return None if self.unscaled is None else replace(self, snd=self.unscaled, unscaled=None)


@torch.no_grad()
def diversity_field(policy: DiCo, task: Task, state: Any, extent: Extent | None = None, resolution: int = 60) -> Field:
    r"""What SND would be at each position of an agent: :math:`\mathrm{SND}_{o(x, y)}` of the first group.

    ``state`` is one state, the same for all of the policy's members, or one for each of them; ``extent`` is by default
    what the task's scene shows. ``resolution`` is the number of cells along each side.

    >>> from dico.random import Random
    >>> from dico.tasks import make
    >>> task, policy = make("navigation"), DiCo.mlp(2, 4, 2, 0.3, hidden=(8,), members=(3,))
    >>> diversity_field(policy, task, task.reset(1, Random([0])), resolution=10).snd.shape
    torch.Size([3, 10, 10])
    """
    mapped = as_mapped(task)
    extent = task.scene(state).extent if extent is None else extent
    x, y = grid(extent, resolution)
    return field_of(policy, seen_on_grid(mapped, state, policy.members, x, y), x, y, extent)


def seen_on_grid(
    task: MappedTask, state: Any, members: tuple[int, ...], x: Float[Tensor, " columns"], y: Float[Tensor, " rows"]
) -> Float[Tensor, "*members points o"]:
    """What an agent would see at every point of a grid, for each member; the points of a row are together."""
    batch = task.observe(state)[0].shape[:-2]
    if batch.numel() != 1 and batch != members:
        raise ValueError(f"state must be one, or one for each of members={members}, got a batch of {tuple(batch)}")
    points = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1).flatten(0, 1)
    obs = task.observation_at(state, points.expand(*batch, -1, 2))
    return obs if batch == members else obs.reshape(obs.shape[-2:]).expand(*members, *obs.shape[-2:])


@torch.no_grad()
def slice_field(
    policy: DiCo, obs_row: Float[Tensor, " o"], coordinates: tuple[int, int], extent: Extent, resolution: int = 60
) -> Field:
    """SND where two of the observed numbers vary over ``extent`` and all others are as in ``obs_row``.

    >>> policy = DiCo.mlp(4, 12, 2, 0.3, hidden=(8,))
    >>> slice_field(policy, torch.zeros(12), (0, 1), (-1, 1, -1, 1), resolution=10).mean.shape
    torch.Size([10, 10, 4, 2])
    """
    check_coordinates(coordinates, obs_row.shape[-1])
    x, y = grid(extent, resolution)
    across, up = torch.meshgrid(x, y, indexing="xy")
    obs = obs_row.repeat(len(x) * len(y), 1)
    obs[:, coordinates[0]], obs[:, coordinates[1]] = across.flatten(), up.flatten()
    return field_of(policy, obs.expand(*policy.members, *obs.shape), x, y, extent)


@torch.no_grad()
def field_of(
    policy: DiCo,
    obs: Float[Tensor, "*members points o"],
    x: Float[Tensor, " columns"],
    y: Float[Tensor, " rows"],
    extent: Extent,
) -> Field:
    """The field of observations made on a grid; in parts, so that the largest populations fit in memory."""
    at_once = max(1, ROWS_AT_ONCE // max(1, obs.shape[:-2].numel()))
    rows_at_once = obs.split(at_once, -2)
    parts = [policy.everyone(part) for part in rows_at_once]
    snd = torch.cat([snd_at(part) for part in parts], -1)
    mean = torch.cat([part.chunk(policy.kind.width, -1)[0] for part in parts], -3)
    rows, unscaled = (len(y), len(x)), None
    if isinstance(policy, AnalyticalDiCo):
        unscaled = torch.cat([policy.unscaled(part) for part in rows_at_once], -1).unflatten(-1, rows)
    return Field(snd.unflatten(-1, rows), mean.unflatten(-3, rows), x, y, extent, unscaled)


def grid(extent: Extent, resolution: int) -> tuple[Float[Tensor, " columns"], Float[Tensor, " rows"]]:
    """The middles of as many cells along each side of a rectangle.

    >>> grid((0, 1, 0, 4), 2)
    (tensor([0.2500, 0.7500]), tensor([1., 3.]))
    """
    check_positive("resolution", resolution)
    left, right, bottom, top = extent
    middles = (torch.arange(resolution) + 0.5) / resolution
    return left + (right - left) * middles, bottom + (top - bottom) * middles


def as_mapped(task: Task) -> MappedTask:
    """The task, if its observations are a function of the position: a map over positions needs that."""
    if isinstance(task, MappedTask):
        return task
    mapped = ", ".join(known for known, each in TASKS.items() if issubclass(each, MappedTask))
    raise ValueError(
        f"{task.name} has no map over positions ({mapped} have): choose two of its {task.obs_dim} observed numbers "
        f"instead (--coordinates 0 1)"
    )


def check_coordinates(coordinates: tuple[int, int], obs_dim: int) -> None:
    """Two different indices of an observation."""
    first, second = coordinates
    if first == second or not all(0 <= k < obs_dim for k in coordinates):
        raise ValueError(f"coordinates must be two different whole numbers from 0 to {obs_dim - 1}, got {coordinates}")


def extent_of(seen: Float[Tensor, "rows o"], coordinates: tuple[int, int]) -> Extent:
    """What two observed numbers ranged over, with a little room; the outermost hundredth is left out."""
    ends = []
    for k in coordinates:
        low, high = torch.quantile(seen[:, k], torch.tensor([0.01, 0.99], dtype=seen.dtype)).tolist()
        room = 0.1 * (high - low) or 0.5
        ends += [low - room, high + room]
    return ends[0], ends[1], ends[2], ends[3]


def middle_of(seen: Float[Tensor, "rows o"]) -> Float[Tensor, " o"]:
    """The observation nearest to the mean of all, each number in units of its spread: one that really occurred."""
    standard = (seen - seen.mean(0)) / seen.std(0).clamp_min(1e-6)
    return seen[standard.square().sum(1).argmin()]
