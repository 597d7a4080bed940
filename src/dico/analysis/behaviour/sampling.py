"""Sampling: whether agents spread out, and how much of the cells they visit in common (sec:sampling)."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico.analysis.behaviour.playing import Policies, of_members
from dico.runs import Run
from dico.runs.episodes import record
from dico.tasks.sampling import CELLS, cell_of

SAMPLING: dict[str, str] = {
    "overlap": "share of the cells visited that several agents visit, without the one where all start",
    "covered": "number of different cells visited",
    "smallest_angle": "degrees between the two agents whose first actions are most alike",
}
"""What is measured in sampling."""


def sampling(run: Run, episodes: int, seed: int) -> dict[str, Float[np.ndarray, " members"]]:
    """What :data:`SAMPLING` names, of each member."""
    task = run.task()

    def measure(policies: Policies) -> dict[str, Float[Tensor, ""]]:
        recording = record(task, policies, episodes, seed, deterministic=True)
        position = recording.states.position[0]
        visited = visits(position[1:])
        return {
            "overlap": overlap(visited & ~visits(position[:1])).nanmean(),
            "covered": visited.any(-2).sum(-1).float().mean(),
            "smallest_angle": smallest_angle(recording.actions[0, 0]).mean(),
        }

    return of_members(run, SAMPLING, measure)


def visits(position: Float[Tensor, "moments episodes agents 2"]) -> Bool[Tensor, "episodes agents cells"]:
    """Which cells each agent was in at any moment.

    >>> visits(torch.tensor([[0.01, 0.01], [0.02, 0.02], [0.06, 0.01]])[:, None, None]).sum()
    tensor(2)
    """
    column, row = cell_of(position)
    cells = (column * CELLS + row).movedim(0, -1)
    return torch.zeros(*cells.shape[:-1], CELLS**2, dtype=torch.bool).scatter(-1, cells, True)


def overlap(visited: Bool[Tensor, "*batch agents cells"]) -> Float[Tensor, "*batch"]:
    """Of the cells that were visited, the share that two or more agents visited; NaN where none was.

    >>> overlap(torch.tensor([[True, True, False], [True, False, False]]))
    tensor(0.5000)
    """
    agents = visited.sum(-2)
    return (agents > 1).sum(-1) / (agents > 0).sum(-1)


def smallest_angle(actions: Float[Tensor, "*batch agents 2"]) -> Float[Tensor, "*batch"]:
    """The smallest of the angles between neighbouring directions, in degrees around the circle: 120 of three at best.

    >>> smallest_angle(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
    tensor(90.)
    """
    angle = torch.rad2deg(torch.atan2(actions[..., 1], actions[..., 0])).sort(-1).values
    around = torch.cat([angle, angle[..., :1] + 360], -1)
    return around.diff(dim=-1).amin(-1)
