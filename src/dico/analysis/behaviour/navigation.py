"""Navigation, to goals of one's own or to the same: where agents end, and where they are diverse (sec:case_study)."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from dico.analysis.behaviour.maps import STARTS, log_ratio, maps_of, roughness
from dico.analysis.behaviour.playing import Policies, at_end, of_members
from dico.analysis.ranks import rank_correlation
from dico.metrics import pairwise_w2, snd_at
from dico.runs import Run
from dico.runs.episodes import Recording, record
from dico.tasks import map_state
from dico.tasks.navigation import AGENT_RADIUS

NAVIGATION: dict[str, str] = {
    "midpoint": "distance from the middle of the goals at the end: 0 settled there, 1 as far as the goals",
    "goals_reached": "share of agents on their goals at the end",
    "map_correlation": "rank correlation of the map with the ideal one",
    "map_ratio": "logarithm of the diversity between the goals over that where they lie in one direction",
    "map_roughness": "difference of neighbouring cells over the map's standard deviation",
}
"""What is measured in navigation."""
SAME_GOAL: dict[str, str] = {
    "away_to_near": "logarithm of the diversity away from the goal over that near it",
    "goals_reached": "share of agents on the goal at the end",
    "one_reaches": "share of episodes that end with exactly one agent on the goal",
}
"""What is measured where all have the same goal."""
BETWEEN, ALIKE = 90.0, 45.0
"""Degrees that the directions to the goals are apart: more between the goals, less where all lie in one direction."""
AWAY, NEAR = 0.75, 0.25
"""Distances from the goal."""


def navigation(run: Run, episodes: int, seed: int) -> dict[str, Float[np.ndarray, " members"]]:
    """What :data:`NAVIGATION` names, of each member."""
    task = run.task()

    def measure(policies: Policies) -> dict[str, Float[Tensor, ""]]:
        recording = record(task, policies, episodes, seed, deterministic=True)
        position, goal = _ends(recording)
        starts = _starts(recording)
        snd, points = maps_of(policies[0], task, starts)
        directions = goal_directions(points, starts.goal[0])
        apart = mean_angle(directions)
        return {
            "midpoint": midpoint(position, goal),
            "goals_reached": on_goal(position, goal).float().mean(),
            "map_correlation": rank_correlation(snd.flatten(1), snd_at(directions).flatten(1)).nanmean(),
            "map_ratio": log_ratio(snd, apart > BETWEEN, apart < ALIKE).nanmean(),
            "map_roughness": roughness(snd).nanmean(),
        }

    return of_members(run, NAVIGATION, measure)


def same_goal(run: Run, episodes: int, seed: int) -> dict[str, Float[np.ndarray, " members"]]:
    """What :data:`SAME_GOAL` names, of each member."""
    task = run.task()

    def measure(policies: Policies) -> dict[str, Float[Tensor, ""]]:
        recording = record(task, policies, episodes, seed, deterministic=True)
        there = on_goal(*_ends(recording))
        starts = _starts(recording)
        snd, points = maps_of(policies[0], task, starts)
        distance = torch.linalg.vector_norm(points - starts.goal[0, :, 0, None, None], dim=-1)
        return {
            "away_to_near": log_ratio(snd, distance > AWAY, distance < NEAR).nanmean(),
            "goals_reached": there.float().mean(),
            "one_reaches": (there.sum(-1) == 1).float().mean(),
        }

    return of_members(run, SAME_GOAL, measure)


def midpoint(
    position: Float[Tensor, "episodes agents 2"], goal: Float[Tensor, "episodes agents 2"]
) -> Float[Tensor, ""]:
    """How far agents are from the middle of the goals, divided by how far the goals are, both on average.

    >>> goal = torch.tensor([[[-1.0, 0.0], [1.0, 0.0]]])
    >>> midpoint(torch.zeros(1, 2, 2), goal), midpoint(goal, goal)
    (tensor(0.), tensor(1.))
    """
    middle = goal.mean(-2, keepdim=True)
    agents, goals = (torch.linalg.vector_norm(each - middle, dim=-1).mean() for each in (position, goal))
    return agents / goals


def on_goal(
    position: Float[Tensor, "*batch agents 2"], goal: Float[Tensor, "*batch agents 2"]
) -> Bool[Tensor, "*batch agents"]:
    """Whether each agent is as near its goal as lets an episode end.

    >>> on_goal(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.05, 0.0], [0.0, 0.0]]))
    tensor([ True, False])
    """
    return torch.linalg.vector_norm(position - goal, dim=-1) < AGENT_RADIUS


def goal_directions(
    points: Float[Tensor, "rows columns 2"], goal: Float[Tensor, "starts goals 2"]
) -> Float[Tensor, "starts rows columns goals 2"]:
    r"""Unit vectors :math:`u_k` from every point to each goal: what agents would ideally do there.

    So ``snd_at`` of them, the mean of :math:`\|u_k-u_l\|` over pairs of goals, is the ideal map: 2 between two goals,
    and 0 where both lie in one direction.
    """
    return normalize(goal[:, None, None] - points[..., None, :], dim=-1)


def mean_angle(directions: Float[Tensor, "*batch goals 2"]) -> Float[Tensor, "*batch"]:
    """Degrees between unit vectors, 0 to 180, on average over pairs.

    >>> mean_angle(torch.tensor([[1.0, 0.0], [0.0, 1.0]])).round()
    tensor(90.)
    """
    return torch.rad2deg(2 * (pairwise_w2(directions) / 2).clamp(max=1).arcsin()).mean(-1)


def _ends(recording: Recording) -> tuple[Float[Tensor, "episodes agents 2"], Float[Tensor, "episodes agents 2"]]:
    """Where agents and goals are when the episodes end."""
    states, running = recording.states, recording.running[0]
    return at_end(states.position[0], running), at_end(states.goal[0], running)


def _starts(recording: Recording) -> Any:
    """Of the first episodes."""
    return map_state(lambda tensor: tensor[:, 0, :STARTS], recording.states)
