"""Navigation: each agent goes to a goal of its own, or all go to the same one (sec:case_study)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import check_number
from dico.random import Random
from dico.tasks.base import Group, MappedTask, clamp_actions, xy
from dico.tasks.physics import move
from dico.tasks.scene import GREY, Line, Scene, discs, square

SPAWN = 1.0
"""Everything starts with both coordinates in ``[-SPAWN, SPAWN]``; motion is unbounded."""
SEPARATION = 0.25
"""Least distance between any two things at the start."""
AGENT_RADIUS = 0.1
"""The episode ends when every agent is this near its goal."""
GOAL_RADIUS = 0.05
"""The final reward is paid when every agent is this near its goal."""
SUBSTEPS = 2
MAX_CANDIDATES = 64
MISS = 1e-9
"""How rarely a free place may fail to be found, while the places are not crowded."""


@dataclass(frozen=True)
class NavigationState:
    """Where everything is."""

    position: Float[Tensor, "*batch agents 2"]
    velocity: Float[Tensor, "*batch agents 2"]
    goal: Float[Tensor, "*batch agents 2"]


@dataclass(frozen=True, kw_only=True)
class Navigation(MappedTask[NavigationState]):
    r"""Agents go to a goal each; they see all goals, and pass through each other.

    An agent's reward is its progress, :math:`\|x_t-g\|-\|x_{t+1}-g\|`, and ``final_reward`` while all are on their
    goals. It observes its position relative to each goal, :math:`x-g_1, \ldots, x-g_n`, and nothing else.

    >>> task = Navigation()
    >>> state = task.reset(8, Random([0]))
    >>> state, rewards, done = task.step(state, torch.zeros(1, 8, 2, 2))
    >>> (observation,) = task.observe(state)
    >>> observation.shape, rewards.shape, done.shape
    (torch.Size([1, 8, 2, 4]), torch.Size([1, 8, 2]), torch.Size([1, 8]))
    """

    name: ClassVar[str] = "navigation"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "0.1", "0.3", "0.4", "0.5", "1", "free")
    position_alone: ClassVar[bool] = True
    success_words: ClassVar[str] = "share of episodes in which all agents reach their goals"
    coverage_words: ClassVar[str] = "share of agents that are at their goals in the end"

    n_agents: int = 2
    """Agents, each with a goal."""
    final_reward: float = 0.01
    """Paid to each agent in every step that ends with all agents on their goals."""
    horizon: int = 100
    """Steps in an episode."""

    def __post_init__(self):
        check_number("n_agents", self.n_agents, 1, whole=True)
        check_number("final_reward", self.final_reward, -1e6, 1e6)
        check_number("horizon", self.horizon, 1, whole=True)

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group, which sees every goal."""
        return (Group("agents", tuple(range(self.n_agents)), 2 * self.n_agents),)

    def obs_box(self, group: Group) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """What is seen from anywhere in the spawn area; agents that have learned rarely leave it."""
        return (-2 * SPAWN,) * group.obs_dim, (2 * SPAWN,) * group.obs_dim

    def observation_names(self, group: Group) -> tuple[str, ...]:  # noqa: ARG002
        """Where the agent is from each goal."""
        return xy(*(f"from goal {k + 1}" for k in range(self.n_agents)))

    @property
    def distinct_goals(self) -> int:
        """How many goals there are."""
        return self.n_agents

    def reset(self, n: int, rng: Random) -> NavigationState:
        """Agents and goals at random places, no two too near each other, at rest."""
        places = spread_out(n, self.n_agents + self.distinct_goals, rng)
        position, goal = places.split([self.n_agents, self.distinct_goals], -2)
        goal = goal.expand_as(position).contiguous()
        return NavigationState(position.contiguous(), torch.zeros_like(position), goal)

    def step(
        self, state: NavigationState, actions: Float[Tensor, "*batch agents 2"]
    ) -> tuple[NavigationState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """Forces move the agents; the episode ends when every agent is near its goal."""
        position, velocity = move(
            state.position, state.velocity, clamp_actions(actions, state.position), substeps=SUBSTEPS
        )
        before = torch.linalg.vector_norm(state.position - state.goal, dim=-1)
        after = torch.linalg.vector_norm(position - state.goal, dim=-1)
        farthest = after.amax(-1)
        final = (farthest < GOAL_RADIUS) * self.final_reward
        rewards = before - after + final[..., None]
        return NavigationState(position, velocity, state.goal), rewards, farthest < AGENT_RADIUS

    def success(self, state: NavigationState) -> Bool[Tensor, "*batch"]:
        """Whether every agent is near its goal."""
        return self._arrived(state).all(-1)

    def coverage(self, state: NavigationState) -> Float[Tensor, "*batch"]:
        """Share of agents that are near their goals."""
        return self._arrived(state).to(state.position.dtype).mean(-1)

    def _arrived(self, state: NavigationState) -> Bool[Tensor, "*batch agents"]:
        return torch.linalg.vector_norm(state.position - state.goal, dim=-1) < AGENT_RADIUS

    def observe(self, state: NavigationState) -> tuple[Float[Tensor, "*batch agents obs"]]:
        """Each agent's position relative to every goal."""
        return (self.observation_at(state, state.position),)

    def observation_at(
        self, state: NavigationState, position: Float[Tensor, "*batch points 2"]
    ) -> Float[Tensor, "*batch points obs"]:
        """Each point's position relative to every goal."""
        return (position[..., :, None, :] - state.goal[..., None, :, :]).flatten(-2)

    def scene(self, state: NavigationState) -> Scene:
        """Discs for agents, rings for goals, and which is whose."""
        goals = discs("goal", state.goal, GOAL_RADIUS, filled=False)
        agents = discs("agent", state.position, AGENT_RADIUS)
        links = tuple(
            Line(role="link", label=agent.label, colour=GREY, start=agent.centre, end=goal.centre)
            for agent, goal in zip(agents, goals, strict=True)
        )
        return Scene(extent=square(SPAWN + 2 * AGENT_RADIUS), circles=goals + agents, lines=links)


@dataclass(frozen=True, kw_only=True)
class SameGoal(Navigation):
    """Navigation where all agents go to one goal: the best policies are equal.

    The observation still has an entry for each agent's goal; they are equal.

    >>> goal = SameGoal(n_agents=3).reset(1, Random([0])).goal
    >>> bool((goal == goal[..., :1, :]).all())
    True
    """

    name: ClassVar[str] = "same-goal"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "0.1", "0.3", "0.4", "0.5", "1", "free")

    @property
    def distinct_goals(self) -> int:
        """One goal for all."""
        return 1


def spread_out(n: int, things: int, rng: Random) -> Float[Tensor, "*batch things 2"]:
    """Uniform places in the spawn area, each at least ``SEPARATION`` from those before it.

    Each thing takes the first free one of several candidates, so that nothing waits on a tensor's value. They are as
    many as leave a chance of ``MISS`` that none is free, at most ``MAX_CANDIDATES``; if none is, as can happen in a
    crowd, the thing takes the candidate farthest from the others.

    >>> places = spread_out(100, 4, Random([0]))
    >>> bool(torch.pdist(places[0, 0]).min() >= SEPARATION)
    True
    """
    places = rng.uniform(n, 1, 2, low=-SPAWN, high=SPAWN)
    for placed in range(1, things):
        count = _candidates(placed)
        candidates = rng.uniform(n, count, 2, low=-SPAWN, high=SPAWN)
        gap = torch.linalg.vector_norm(candidates[..., :, None, :] - places[..., None, :, :], dim=-1).amin(-1)
        # the first free candidate scores highest; among the taken ones, the farthest
        score = torch.where(gap >= SEPARATION, torch.arange(2 * count, count, -1, device=gap.device), gap)
        chosen = score.argmax(-1)[..., None, None].expand(*score.shape[:-1], 1, 2)
        places = torch.cat([places, candidates.gather(-2, chosen)], -2)
    return places


def _candidates(placed: int) -> int:
    """Enough that all are taken with a chance of at most ``MISS``."""
    taken = placed * math.pi * SEPARATION**2 / (2 * SPAWN) ** 2
    if taken >= 1:
        return MAX_CANDIDATES
    return min(math.ceil(math.log(MISS) / math.log(taken)), MAX_CANDIDATES)
