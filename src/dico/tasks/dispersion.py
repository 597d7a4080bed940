"""Dispersion: agents start together and eat food spread around them (sec:dispersion)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import check_number, check_switch
from dico.random import Random
from dico.tasks.base import Group, Task, clamp_actions, xy
from dico.tasks.physics import move
from dico.tasks.scene import GREY, Legend, Scene, bounds, discs, square

BOUND = 1.0
"""Both coordinates of everything stay in ``[-BOUND, BOUND]``."""
AGENT_RADIUS = 0.035


@dataclass(frozen=True)
class DispersionState:
    """Where everything is, and what was eaten."""

    position: Float[Tensor, "*batch agents 2"]
    velocity: Float[Tensor, "*batch agents 2"]
    food: Float[Tensor, "*batch food 2"]
    eaten: Bool[Tensor, "*batch food"]


@dataclass(frozen=True, kw_only=True)
class Dispersion(Task[DispersionState]):
    r"""As many agents as food; an agent that touches food eats it.

    An agent observes, for each food, its relative position and 1 if it was eaten, and nothing else.

    >>> task = Dispersion()
    >>> state = task.reset(8, Random([0]))
    >>> state, rewards, done = task.step(state, torch.zeros(1, 8, 4, 2))
    >>> (observation,) = task.observe(state)
    >>> observation.shape, rewards.shape, done.shape
    (torch.Size([1, 8, 4, 12]), torch.Size([1, 8, 4]), torch.Size([1, 8]))
    """

    name: ClassVar[str] = "dispersion"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "free", "6")
    legend: ClassVar[Legend] = Legend(hidden="eaten")
    success_words: ClassVar[str] = "share of episodes in which all food is eaten"
    coverage_words: ClassVar[str] = "share of the food that is eaten"

    n_agents: int = 4
    """Agents, and food."""
    share_reward: bool = True
    """Each food pays 1 to every agent (the paper's text); if not, 1 in all, split among the agents that touch it."""
    food_radius: float = 0.08
    """Food is eaten by an agent whose edge touches its edge."""
    horizon: int = 100
    """Steps in an episode."""

    def __post_init__(self):
        check_number("n_agents", self.n_agents, 1, whole=True)
        check_switch("share_reward", self.share_reward)
        check_number("food_radius", self.food_radius, 1e-3, BOUND)
        check_number("horizon", self.horizon, 1, whole=True)

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group, which sees all food."""
        return (Group("agents", tuple(range(self.n_agents)), 3 * self.n_agents),)

    def obs_box(self, group: Group) -> tuple[tuple[float, ...], tuple[float, ...]]:  # noqa: ARG002
        """All that can be seen: food as far off as the world is wide, eaten or not."""
        return (-2 * BOUND, -2 * BOUND, 0.0) * self.n_agents, (2 * BOUND, 2 * BOUND, 1.0) * self.n_agents

    def observation_names(self, group: Group) -> tuple[str, ...]:  # noqa: ARG002
        """Where each food is, and whether it was eaten."""
        foods = (f"food {k + 1}" for k in range(self.n_agents))
        return tuple(name for food in foods for name in (*xy(f"to {food}"), f"{food} eaten"))

    def reset(self, n: int, rng: Random) -> DispersionState:
        """Agents at the centre, at rest; food anywhere."""
        food = rng.uniform(n, self.n_agents, 2, low=-BOUND, high=BOUND)
        still = torch.zeros_like(food)
        return DispersionState(still, still.clone(), food, torch.zeros_like(food[..., 0], dtype=torch.bool))

    def step(
        self, state: DispersionState, actions: Float[Tensor, "*batch agents 2"]
    ) -> tuple[DispersionState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """Forces move the agents, who eat what they touch; the episode ends when all is eaten."""
        position, velocity = move(state.position, state.velocity, clamp_actions(actions, state.position), bound=BOUND)
        apart = position[..., :, None, :] - state.food[..., None, :, :]  # (*batch, agents, food, 2)
        touching = torch.linalg.vector_norm(apart, dim=-1) < AGENT_RADIUS + self.food_radius
        bite = touching & ~state.eaten[..., None, :]
        if self.share_reward:
            rewards = bite.any(-2).sum(-1, keepdim=True).to(position.dtype).expand(*bite.shape[:-1]).contiguous()
        else:
            rewards = (bite / bite.sum(-2, keepdim=True).clamp_min(1)).sum(-1)
        eaten = state.eaten | bite.any(-2)
        return DispersionState(position, velocity, state.food, eaten), rewards, eaten.all(-1)

    def success(self, state: DispersionState) -> Bool[Tensor, "*batch"]:
        """Whether all food was eaten."""
        return state.eaten.all(-1)

    def coverage(self, state: DispersionState) -> Float[Tensor, "*batch"]:
        """Share of the food that was eaten."""
        return state.eaten.to(state.position.dtype).mean(-1)

    def observe(self, state: DispersionState) -> tuple[Float[Tensor, "*batch agents obs"]]:
        """For each food: where it is from the agent, and 1 if it was eaten."""
        apart = state.food[..., None, :, :] - state.position[..., :, None, :]
        eaten = state.eaten.to(apart.dtype)[..., None, :, None].expand(*apart.shape[:-1], 1)
        return (torch.cat([apart, eaten], -1).flatten(-2),)

    def scene(self, state: DispersionState) -> Scene:
        """Discs for agents and for the food that is left."""
        food = discs("food", state.food, self.food_radius, (GREY,))
        food = tuple(replace(each, visible=~eaten) for each, eaten in zip(food, state.eaten.unbind(-1), strict=True))
        agents = discs("agent", state.position, AGENT_RADIUS)
        world = bounds(BOUND, state.position)
        return Scene(extent=square(BOUND + 2 * AGENT_RADIUS), circles=food + agents, boxes=(world,))
