"""What a map of diversity looks like: where it is high, and how smooth it is."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico.analysis.fields import diversity_field
from dico.policy import DiCo
from dico.tasks import Task, map_state
from dico.tasks.navigation import SPAWN
from dico.tasks.scene import square

STARTS = 20
"""A member's map is looked at for so many starts."""
RESOLUTION = 30
"""Cells along each side, over the square where agents start and not beyond."""


def maps_of(
    policy: DiCo, task: Task, starts: Any
) -> tuple[Float[Tensor, "starts rows columns"], Float[Tensor, "rows columns 2"]]:
    r""":math:`\mathrm{SND}_o` over the spawn square for each of the states ``(1, starts, ...)``, and where cells are.

    >>> from dico.random import Random
    >>> from dico.tasks import make
    >>> task, policy = make("navigation"), DiCo.mlp(2, 4, 2, 0.3, hidden=(8,), members=(1,))
    >>> snd, points = maps_of(policy, task, task.reset(4, Random([0])))
    >>> snd.shape, points.shape
    (torch.Size([4, 30, 30]), torch.Size([30, 30, 2]))
    """
    states = [map_state(lambda tensor, k=k: tensor[:, k], starts) for k in range(len(task.observe(starts)[0][0]))]
    fields = [diversity_field(policy, task, state, square(SPAWN), RESOLUTION) for state in states]
    points = torch.stack(torch.meshgrid(fields[0].x, fields[0].y, indexing="xy"), -1)
    return torch.cat([field.snd for field in fields]), points


def log_ratio(
    values: Float[Tensor, "*batch rows columns"],
    above: Bool[Tensor, "*batch rows columns"],
    below: Bool[Tensor, "*batch rows columns"],
) -> Float[Tensor, "*batch"]:
    """Logarithm of the mean over some cells, divided by that over others; NaN where there are none.

    >>> first = torch.tensor([[True, False]])
    >>> log_ratio(torch.tensor([[2.0, 1.0]]), first, ~first)
    tensor(0.6931)
    """
    return (_mean_where(values, above) / _mean_where(values, below)).log()


def roughness(values: Float[Tensor, "*batch rows columns"]) -> Float[Tensor, "*batch"]:
    """Mean difference of neighbouring cells, divided by the standard deviation of all: small where a map is smooth.

    >>> roughness(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor(2.)
    """
    differences = torch.cat([values.diff(dim=-1).flatten(-2), values.diff(dim=-2).flatten(-2)], -1)
    return differences.abs().mean(-1) / values.flatten(-2).std(-1, correction=0)


def _mean_where(
    values: Float[Tensor, "*batch rows columns"], where: Bool[Tensor, "*batch rows columns"]
) -> Float[Tensor, "*batch"]:
    return (values * where).sum((-2, -1)) / where.sum((-2, -1))
