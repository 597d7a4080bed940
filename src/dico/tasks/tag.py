"""Tag: slower red agents chase a faster green one among obstacles (sec:tag)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import check_number
from dico.random import Random
from dico.tasks.base import Group, Task, clamp_actions, xy
from dico.tasks.physics import length, move, sphere_contacts, worlds_first, worlds_last
from dico.tasks.scene import BLACK, CHASERS, GREEN, Scene, bounds, discs, square

BOUND = 1.0
"""Both coordinates of every agent stay in ``[-BOUND, BOUND]``."""
OBSTACLES = 2
OBSTACLE_RADIUS = 0.2
OBSTACLE_BOUND = BOUND - 0.1
"""Obstacles start with both coordinates in ``[-OBSTACLE_BOUND, OBSTACLE_BOUND]``, and stay there."""
RADIUS = (0.075, 0.05)
"""Of a red agent and of the green one; so too below."""
STRENGTH = (3.0, 4.0)
"""Force of a full action."""
MAX_SPEED = (1.0, 1.3)
SUBSTEPS = 10
STIFFNESS = 500.0
MARGIN = 1e-3


@dataclass(frozen=True)
class TagState:
    """Where everything is."""

    position: Float[Tensor, "*batch agents 2"]
    velocity: Float[Tensor, "*batch agents 2"]
    obstacle: Float[Tensor, "*batch obstacles 2"]


@dataclass(frozen=True, kw_only=True)
class Tag(Task[TagState]):
    r"""Red agents are paid, together, for each step that one of them touches the green agent, who pays.

    The last agent is the green one. An agent observes its velocity, its position, where the obstacles are from it,
    where the other agents are from it, and, if red, the green one's velocity.

    >>> task = Tag()
    >>> state = task.reset(8, Random([0]))
    >>> state, rewards, done = task.step(state, torch.zeros(1, 8, 3, 2))
    >>> red, green = task.observe(state)
    >>> red.shape, green.shape, rewards.shape, done.shape
    (torch.Size([1, 8, 2, 14]), torch.Size([1, 8, 1, 12]), torch.Size([1, 8, 3]), torch.Size([1, 8]))
    """

    name: ClassVar[str] = "tag"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "0.3", "0.6", "free")
    success_over: ClassVar[str] = "steps"
    success_words: ClassVar[str] = "share of steps in which an adversary touches the green agent"

    n_agents: int = 3
    """Agents, all red but the last."""
    catch_reward: float = 10.0
    """For each red agent in touch with the green one, in each step: to every red agent, and from the green one."""
    horizon: int = 100
    """Steps in an episode."""

    def __post_init__(self):
        check_number("n_agents", self.n_agents, 2, whole=True)
        check_number("catch_reward", self.catch_reward, 0, 1e6)
        check_number("horizon", self.horizon, 1, whole=True)

    @property
    def n_red(self) -> int:
        """Red agents."""
        return self.n_agents - 1

    @property
    def groups(self) -> tuple[Group, ...]:
        """The red team, then the green agent."""
        own_and_obstacles = 4 + 2 * OBSTACLES
        return (
            Group("adversary", tuple(range(self.n_red)), own_and_obstacles + 2 * self.n_red + 2),
            Group("agent", (self.n_red,), own_and_obstacles + 2 * self.n_red),
        )

    def observation_names(self, group: Group) -> tuple[str, ...]:
        """Of the agent, of obstacles and of the other agents, a red one's teammates before the green one."""
        obstacles = (f"to obstacle {k + 1}" for k in range(OBSTACLES))
        if group == self.groups[-1]:
            return xy("velocity", "position", *obstacles, *(f"to red {k + 1}" for k in range(self.n_red)))
        team = (f"to teammate {k + 1}" for k in range(self.n_red - 1))
        return xy("velocity", "position", *obstacles, *team, "to green", "velocity of green")

    def success(self, state: TagState) -> Bool[Tensor, "*batch"]:
        """Whether a red agent touches the green one."""
        apart = torch.linalg.vector_norm(state.position[..., :-1, :] - state.position[..., -1:, :], dim=-1)
        return (apart < sum(RADIUS)).any(-1)

    def reset(self, n: int, rng: Random) -> TagState:
        """Agents and obstacles anywhere, at rest; they may overlap."""
        position = rng.uniform(n, self.n_agents, 2, low=-BOUND, high=BOUND)
        obstacle = rng.uniform(n, OBSTACLES, 2, low=-OBSTACLE_BOUND, high=OBSTACLE_BOUND)
        return TagState(position, torch.zeros_like(position), obstacle)

    def step(
        self, state: TagState, actions: Float[Tensor, "*batch agents 2"]
    ) -> tuple[TagState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """Forces and contacts move the agents; it never ends of itself."""
        radius = self._per_agent(RADIUS, actions)
        body_radius = torch.cat([radius, radius.new_full((OBSTACLES, 1), OBSTACLE_RADIUS)])
        reach = (radius + body_radius.mT)[..., None]
        obstacle = worlds_last(state.obstacle)

        def contacts(position: Tensor) -> Tensor:
            return sphere_contacts(position, torch.cat([position, obstacle], 1), reach, STIFFNESS, MARGIN)

        position, velocity = move(
            worlds_last(state.position),
            worlds_last(state.velocity),
            worlds_last(clamp_actions(actions, state.position)) * self._per_agent(STRENGTH, actions),
            substeps=SUBSTEPS,
            contacts=contacts,
            max_speed=self._per_agent(MAX_SPEED, actions),
            bound=BOUND,
        )
        batch = actions.shape[:-2]
        touching = length(position[:, :-1] - position[:, -1:]) < sum(RADIUS)
        catches = touching.sum(0).reshape(*batch, 1)
        rewards = catches * self._per_agent((self.catch_reward, -self.catch_reward), actions)[:, 0]
        done = torch.zeros_like(catches[..., 0], dtype=torch.bool)
        after = TagState(worlds_first(position, batch), worlds_first(velocity, batch), state.obstacle)
        return after, rewards, done

    def observe(self, state: TagState) -> tuple[Float[Tensor, "*batch red seen"], Float[Tensor, "*batch green less"]]:
        """What the red agents see, and what the green one sees."""
        own = torch.cat([state.velocity, state.position], -1)
        obstacles = _seen_from(state.position, state.obstacle).flatten(-2)
        index = torch.arange(self.n_agents - 1, device=own.device)
        others = index + (index >= torch.arange(self.n_agents, device=own.device)[:, None])  # all agents but oneself
        apart = _seen_from(state.position, state.position)
        team = apart.gather(-2, others[..., None].expand(*apart.shape[:-2], -1, 2)).flatten(-2)
        seen = torch.cat([own, obstacles, team], -1)
        green_velocity = state.velocity[..., -1:, :].expand(*seen.shape[:-2], self.n_red, 2)
        return torch.cat([seen[..., :-1, :], green_velocity], -1), seen[..., -1:, :]

    def scene(self, state: TagState) -> Scene:
        """Discs for the agents, the red team in warm colours, and for the obstacles."""
        obstacles = discs("obstacle", state.obstacle, OBSTACLE_RADIUS, (BLACK,))
        red = discs("adversary", state.position[..., :-1, :], RADIUS[0], CHASERS)
        green = discs("agent", state.position[..., -1:, :], RADIUS[1], (GREEN,))
        edge = BOUND + max(RADIUS)
        return Scene(extent=square(edge), circles=obstacles + red + green, boxes=(bounds(edge, state.position),))

    def _per_agent(self, values: tuple[float, float], like: Tensor) -> Float[Tensor, "agents 1"]:
        """One value for the red agents and one for the green, made on the device rather than copied to it."""
        agent = torch.arange(self.n_agents, device=like.device)[:, None]
        return torch.where(agent < self.n_red, *values).to(like.dtype)


def _seen_from(
    position: Float[Tensor, "*batch n 2"], others: Float[Tensor, "*batch m 2"]
) -> Float[Tensor, "*batch n m 2"]:
    return others[..., None, :, :] - position[..., :, None, :]
