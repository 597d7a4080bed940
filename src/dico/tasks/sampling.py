"""Sampling: agents start together and collect the values of cells, each cell once (sec:sampling)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dico._checks import check_number
from dico.random import Random
from dico.tasks.base import Group, MappedTask, clamp_actions, xy
from dico.tasks.physics import move
from dico.tasks.scene import Legend, Scene, bounds, discs, square

EDGE = 1.0
"""The cells tile ``[-EDGE, EDGE]`` squared."""
CELL = 0.05
"""Side of a cell."""
CELLS = 40
"""Cells along each side."""
AGENT_RADIUS = 0.025
BOUND = EDGE - AGENT_RADIUS
"""Both coordinates of an agent stay in ``[-BOUND, BOUND]``."""
AROUND = ("below left", "below", "below right", "left", "right", "above left", "above", "above right")
"""The cells around an agent, in the order in which it sees them."""


@dataclass(frozen=True)
class SamplingState:
    """Where the agents are, the distribution, and which cells were visited."""

    position: Float[Tensor, "*batch agents 2"]
    velocity: Float[Tensor, "*batch agents 2"]
    centre: Float[Tensor, "*batch 2"]
    """Mean of the Gaussian."""
    nearest: Float[Tensor, "*batch"]
    """Squared distance from the mean to the nearest corner of a cell, where the value is 1 (:func:`nearest_corner`)."""
    visited: Int[Tensor, "*batch columns"]
    """One number for each column of cells (one x), whose bit y is set once cell (x, y) was visited."""


@dataclass(frozen=True, kw_only=True)
class Sampling(MappedTask[SamplingState]):
    r"""Agents take the value at their place, unless the cell was visited before, and share it.

    The value at x is :math:`e^{-\|x-\mu\|^2/2c}`, c the covariance, divided by its greatest value at the corners of
    the cells. An agent observes its position and the values one cell away in the eight directions, row by row from
    the lower left; cells that were visited and places out of the world read 0.

    >>> task = Sampling()
    >>> state = task.reset(8, Random([0]))
    >>> state, rewards, done = task.step(state, torch.zeros(1, 8, 3, 2))
    >>> (observation,) = task.observe(state)
    >>> observation.shape, rewards.shape, done.shape
    (torch.Size([1, 8, 3, 10]), torch.Size([1, 8, 3]), torch.Size([1, 8]))
    """

    name: ClassVar[str] = "sampling"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "free", "5")
    legend: ClassVar[Legend] = Legend(value="value not yet taken", empty="visited cells")
    coverage_words: ClassVar[str] = "share of the cells that are visited"

    n_agents: int = 3
    """Agents."""
    covariance: float = 50.0
    """Of the Gaussian, in each coordinate; 50 is nearly uniform."""
    horizon: int = 100
    """Steps in an episode."""

    def __post_init__(self):
        check_number("n_agents", self.n_agents, 1, whole=True)
        check_number("covariance", self.covariance, 1e-3)
        check_number("horizon", self.horizon, 1, whole=True)

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group."""
        return (Group("agents", tuple(range(self.n_agents)), 10),)

    def obs_box(self, group: Group) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The whole world, and values of 0 to 1."""
        values = group.obs_dim - 2
        return (-BOUND,) * 2 + (0.0,) * values, (BOUND,) * 2 + (1.0,) * values

    def observation_names(self, group: Group) -> tuple[str, ...]:  # noqa: ARG002
        """Where the agent is, and what it would find around it."""
        return *xy("position"), *(f"value {where}" for where in AROUND)

    def reset(self, n: int, rng: Random) -> SamplingState:
        """Agents at the centre, at rest; the Gaussian's mean anywhere; nothing visited."""
        centre = rng.uniform(n, 2, low=-EDGE, high=EDGE)
        nearest = nearest_corner(centre)
        position = centre.new_zeros(*centre.shape[:-1], self.n_agents, 2)
        visited = torch.zeros(*centre.shape[:-1], CELLS, dtype=torch.int64, device=centre.device)
        return SamplingState(position, torch.zeros_like(position), centre, nearest, visited)

    def step(
        self, state: SamplingState, actions: Float[Tensor, "*batch agents 2"]
    ) -> tuple[SamplingState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """Forces move the agents, who sample where they end up; it never ends of itself."""
        position, velocity = move(state.position, state.velocity, clamp_actions(actions, state.position), bound=BOUND)
        column, row = cell_of(position)
        cell = column * CELLS + row
        agent = torch.arange(self.n_agents, device=cell.device)
        earlier = agent[:, None] > agent
        # of several agents in one cell the first takes it, as if they had moved one after the other
        beaten = ((cell[..., :, None] == cell[..., None, :]) & earlier).any(-1)
        first = ~(_was_visited(state.visited, column, row) | beaten)
        total = (self._value(state, position) * first).sum(-1, keepdim=True)
        # bits that were not set yet, each once: their sum is their union
        visited = state.visited.scatter_add(-1, column, _bit(row) * first)
        done = torch.zeros_like(state.nearest, dtype=torch.bool)
        after = SamplingState(position, velocity, state.centre, state.nearest, visited)
        return after, total.expand(*cell.shape).contiguous(), done

    def coverage(self, state: SamplingState) -> Float[Tensor, "*batch"]:
        """Share of the cells that were visited."""
        rows = torch.arange(CELLS, device=state.visited.device)
        return ((state.visited[..., None] >> rows) & 1).to(state.position.dtype).mean((-2, -1))

    def observe(self, state: SamplingState) -> tuple[Float[Tensor, "*batch agents obs"]]:
        """Each agent's position and the values around it."""
        return (self.observation_at(state, state.position),)

    def observation_at(
        self, state: SamplingState, position: Float[Tensor, "*batch points 2"]
    ) -> Float[Tensor, "*batch points obs"]:
        """Each point and the values around it."""
        around = torch.arange(8, device=position.device)
        around = around + (around >= 4)  # the square's cells 0 to 8 without 4, its centre
        offset = CELL * torch.stack([around % 3 - 1, around // 3 - 1], -1)
        points = (position[..., None, :] + offset).flatten(-3, -2)
        return torch.cat([position, self._left(state, points).unflatten(-1, (-1, 8))], -1)

    def scene(self, state: SamplingState) -> Scene:
        """The values left in the cells, and the agents on top."""
        agents = discs("agent", state.position, AGENT_RADIUS)
        along = (torch.arange(CELLS, device=state.centre.device) + 0.5) * CELL - EDGE
        middles = torch.stack(torch.meshgrid(along, along, indexing="xy"), -1).flatten(0, 1)
        points = middles.expand(*state.centre.shape[:-1], -1, 2)
        field = self._left(state, points).unflatten(-1, (CELLS, CELLS)).clamp(0, 1)
        return Scene(extent=square(EDGE), circles=agents, boxes=(bounds(EDGE, state.position),), field=field)

    def _left(self, state: SamplingState, position: Float[Tensor, "*batch p 2"]) -> Float[Tensor, "*batch p"]:
        """What an agent would collect at each point."""
        outside = (position.abs() > EDGE).any(-1)
        position = position.clamp(-BOUND, BOUND)
        taken = _was_visited(state.visited, *cell_of(position)) | outside
        return torch.where(taken, 0.0, self._value(state, position))

    def _value(self, state: SamplingState, position: Float[Tensor, "*batch p 2"]) -> Float[Tensor, "*batch p"]:
        squared = (position - state.centre[..., None, :]).square().sum(-1)
        return ((state.nearest[..., None] - squared) / (2 * self.covariance)).exp()


def nearest_corner(centre: Float[Tensor, "*batch 2"]) -> Float[Tensor, "*batch"]:
    """Squared distance to the nearest lower corner of a cell, of those where agents can stand.

    >>> round(nearest_corner(torch.tensor([0.05, 0.06])).item(), 6)
    0.0001
    """
    corners = (torch.arange(CELLS, device=centre.device) * CELL - EDGE).clamp_min(-BOUND)
    return (corners - centre[..., None]).square().amin(-1).sum(-1)


def cell_of(position: Float[Tensor, "*batch p 2"]) -> tuple[Int[Tensor, "*batch p"], Int[Tensor, "*batch p"]]:
    """Column and row of the cell each point is in; of some cell, where a member's position is no number any more."""
    column, row = (position / CELL + CELLS / 2).long().clamp(0, CELLS - 1).unbind(-1)
    return column, row


def _bit(row: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    return torch.ones_like(row) << row


def _was_visited(
    visited: Int[Tensor, "*batch columns"], column: Int[Tensor, "*batch p"], row: Int[Tensor, "*batch p"]
) -> Bool[Tensor, "*batch p"]:
    return (visited.gather(-1, column) & _bit(row)) != 0
