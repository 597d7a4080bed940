"""Dispersion: whether agents go for different food (sec:dispersion)."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dico.analysis.behaviour.playing import Policies, at_end, mean_steps, of_members
from dico.runs import Run
from dico.runs.episodes import record
from dico.tasks.dispersion import AGENT_RADIUS, Dispersion

DISPERSION: dict[str, str] = {
    "distinct_food": "number of different food that agents go for, for each agent",
    "food_eaten": "share of the food that is eaten",
    "steps": "mean length of an episode",
}
"""What is measured in dispersion."""


def dispersion(run: Run, episodes: int, seed: int) -> dict[str, Float[np.ndarray, " members"]]:
    """What :data:`DISPERSION` names, of each member."""
    task = run.task()
    assert isinstance(task, Dispersion)

    def measure(policies: Policies) -> dict[str, Float[Tensor, ""]]:
        recording = record(task, policies, episodes, seed, deterministic=True)
        states, running = recording.states, recording.running[0]
        targets = food_targets(states.position[0, 1:], states.food[0, 0], running, AGENT_RADIUS + task.food_radius)
        return {
            "distinct_food": distinct(targets, task.n_agents).float().mean() / task.n_agents,
            "food_eaten": at_end(states.eaten[0], running).float().mean(),
            "steps": mean_steps(running),
        }

    return of_members(run, DISPERSION, measure)


def food_targets(
    position: Float[Tensor, "steps episodes agents 2"],
    food: Float[Tensor, "episodes food 2"],
    running: Bool[Tensor, "steps episodes"],
    reach: float,
) -> Int[Tensor, "episodes agents"]:
    """The food that each agent goes for: the first that it touches, or if it touches none, that it comes nearest to.

    ``position`` is where each step led. Of food that is touched in one step the nearest counts, whoever ate it.

    >>> position = torch.tensor([[0.4, 0.0], [0.9, 0.0], [0.1, 0.0]])[:, None, None]
    >>> food_targets(position, torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]), torch.ones(3, 1, dtype=torch.bool), reach=0.2)
    tensor([[1]])
    """
    distance = torch.linalg.vector_norm(position[..., None, :] - food[:, None], dim=-1)
    distance = distance.where(running[..., None, None], torch.inf)  # (steps, episodes, agents, food)
    nearest, which = distance.min(-1)
    touching = nearest < reach
    moment = torch.where(touching.any(0), touching.int().argmax(0), nearest.argmin(0))
    return which.gather(0, moment[None])[0]


def distinct(targets: Int[Tensor, "*batch agents"], choices: int) -> Int[Tensor, "*batch"]:
    """How many different targets there are, out of ``0 .. choices - 1``.

    >>> distinct(torch.tensor([[0, 1, 1], [2, 2, 2]]), choices=3)
    tensor([2, 1])
    """
    return torch.nn.functional.one_hot(targets, choices).amax(-2).sum(-1)
