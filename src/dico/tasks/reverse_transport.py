"""Reverse transport: agents inside a hollow package push it to a goal (sec:rev_transport)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import check_number
from dico.random import Random
from dico.tasks.base import Group, Task, clamp_actions, xy
from dico.tasks.physics import (
    WALL,
    move,
    nearest_wall_point,
    repulsion,
    sphere_contacts,
    touches_box,
    worlds_first,
    worlds_last,
)
from dico.tasks.scene import GREEN, RED, Box, Scene, discs, square

SPAWN = 1.0
"""Package and goal start with both coordinates in ``[-SPAWN, SPAWN]``; motion is unbounded."""
AGENT_RADIUS = 0.03
GOAL_RADIUS = 0.09
STRENGTH = 0.5
"""Force of a full action."""
PROGRESS = 100.0
"""Reward for each unit of length the package comes nearer to the goal."""
SUBSTEPS = 5
STIFFNESS = 500.0
MARGIN = 6e-3


@dataclass(frozen=True)
class ReverseTransportState:
    """Where everything is."""

    position: Float[Tensor, "*batch agents 2"]
    velocity: Float[Tensor, "*batch agents 2"]
    package: Float[Tensor, "*batch 2"]
    package_velocity: Float[Tensor, "*batch 2"]
    goal: Float[Tensor, "*batch 2"]


@dataclass(frozen=True, kw_only=True)
class ReverseTransport(Task[ReverseTransportState]):
    r"""Agents push a heavy package, which does not turn, from inside; all are paid for its progress.

    The reward of every agent is :math:`100\,(\|p_t-g\|-\|p_{t+1}-g\|)`, and 0 in a step that ends on the goal. An agent
    observes its position and velocity, the package's velocity, where the package is from it and from the goal.

    >>> task = ReverseTransport()
    >>> state = task.reset(8, Random([0]))
    >>> state, rewards, done = task.step(state, torch.zeros(1, 8, 4, 2))
    >>> (observation,) = task.observe(state)
    >>> observation.shape, rewards.shape, done.shape
    (torch.Size([1, 8, 4, 10]), torch.Size([1, 8, 4]), torch.Size([1, 8]))
    """

    name: ClassVar[str] = "reverse-transport"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "0.1", "1.2", "free")
    success_words: ClassVar[str] = "share of episodes in which the package is delivered"

    n_agents: int = 4
    """Agents, all inside the package."""
    package_length: float = 0.6
    """Size of the package along x."""
    package_width: float = 0.6
    """Size of the package along y."""
    package_mass: float = 50.0
    """An agent's mass is 1."""
    horizon: int = 200
    """Steps in an episode."""

    def __post_init__(self):
        check_number("n_agents", self.n_agents, 1, whole=True)
        check_number("package_length", self.package_length, 4 * AGENT_RADIUS, 10)
        check_number("package_width", self.package_width, 4 * AGENT_RADIUS, 10)
        check_number("package_mass", self.package_mass, 1e-3, 1e6)
        check_number("horizon", self.horizon, 1, whole=True)

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group."""
        return (Group("agents", tuple(range(self.n_agents)), 10),)

    @property
    def half(self) -> tuple[float, float]:
        """Half the package's size along each axis."""
        return self.package_length / 2, self.package_width / 2

    def observation_names(self, group: Group) -> tuple[str, ...]:  # noqa: ARG002
        """Of the agent, and of the package."""
        return xy("position", "velocity", "velocity of package", "to package", "of package from goal")

    def reset(self, n: int, rng: Random) -> ReverseTransportState:
        """Package and goal anywhere, agents anywhere inside the package, all at rest."""
        package, goal = rng.uniform(2, n, 2, low=-SPAWN, high=SPAWN).unbind(-3)
        inside = [rng.uniform(n, self.n_agents, low=AGENT_RADIUS - h, high=h - AGENT_RADIUS) for h in self.half]
        position = package[..., None, :] + torch.stack(inside, -1)
        package, goal = package.contiguous(), goal.contiguous()
        return ReverseTransportState(position, torch.zeros_like(position), package, torch.zeros_like(package), goal)

    def step(
        self, state: ReverseTransportState, actions: Float[Tensor, "*batch agents 2"]
    ) -> tuple[ReverseTransportState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """Forces and contacts move agents and package; the episode ends when package and goal overlap."""
        body = torch.arange(self.n_agents + 1, device=actions.device)[:, None]  # the package is the last
        before, goal = worlds_last(state.package[..., None, :]), worlds_last(state.goal[..., None, :])
        position, velocity = move(
            torch.cat([worlds_last(state.position), before], 1),
            torch.cat([worlds_last(state.velocity), worlds_last(state.package_velocity[..., None, :])], 1),
            torch.cat([worlds_last(clamp_actions(actions, state.position)) * STRENGTH, torch.zeros_like(before)], 1),
            substeps=SUBSTEPS,
            contacts=self._contacts,
            mass=torch.where(body < self.n_agents, 1.0, self.package_mass),
        )
        batch = actions.shape[:-2]
        done = touches_box(goal, GOAL_RADIUS, position[:, -1:], self.half).reshape(batch)
        after = ReverseTransportState(
            worlds_first(position[:, :-1], batch),
            worlds_first(velocity[:, :-1], batch),
            worlds_first(position[:, -1:], batch)[..., 0, :],
            worlds_first(velocity[:, -1:], batch)[..., 0, :],
            state.goal,
        )
        progress = _to_go(state) - _to_go(after)
        reward = torch.where(done, 0.0, progress * PROGRESS)
        return after, reward[..., None].expand(*actions.shape[:-1]).contiguous(), done

    def success(self, state: ReverseTransportState) -> Bool[Tensor, "*batch"]:
        """Whether the package is on the goal."""
        return touches_box(state.goal.movedim(-1, 0), GOAL_RADIUS, state.package.movedim(-1, 0), self.half)

    def observe(self, state: ReverseTransportState) -> tuple[Float[Tensor, "*batch agents obs"]]:
        """Own position and velocity, and the package's velocity, place, and place from the goal."""
        package = state.package[..., None, :]
        seen = [
            state.position,
            state.velocity,
            state.package_velocity[..., None, :].expand_as(state.position),
            package - state.position,
            (package - state.goal[..., None, :]).expand_as(state.position),
        ]
        return (torch.cat(seen, -1),)

    def scene(self, state: ReverseTransportState) -> Scene:
        """A box for the package, discs for the agents, a ring for the goal."""
        goal = discs("goal", state.goal[..., None, :], GOAL_RADIUS, (GREEN,), filled=False)
        agents = discs("agent", state.position, AGENT_RADIUS)
        package = Box(
            role="package", colour=RED, centre=state.package, length=self.package_length, width=self.package_width
        )
        return Scene(extent=square(SPAWN + max(self.half)), circles=goal + agents, boxes=(package,))

    def _contacts(self, position: Float[Tensor, "2 bodies worlds"]) -> Float[Tensor, "2 bodies worlds"]:
        """Agents push each other and the walls; the package, last of the bodies, gets what its walls get."""
        agents, package = position[:, :-1], position[:, -1:]
        among = sphere_contacts(agents, agents, 2 * AGENT_RADIUS, STIFFNESS, MARGIN)
        wall = nearest_wall_point(agents, package, self.half)
        from_wall = repulsion(agents - wall, AGENT_RADIUS + WALL, STIFFNESS, MARGIN)
        return torch.cat([among + from_wall, -from_wall.sum(1, keepdim=True)], 1)


def _to_go(state: ReverseTransportState) -> Float[Tensor, "*batch"]:
    return torch.linalg.vector_norm(state.package - state.goal, dim=-1)
