"""Reverse transport: whether the package arrives, and when (sec:rev_transport)."""

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from dico.analysis.behaviour.playing import Policies, at_end, mean_steps, of_members
from dico.runs import Run
from dico.runs.episodes import record
from dico.tasks.physics import touches_box
from dico.tasks.reverse_transport import GOAL_RADIUS, ReverseTransport

REVERSE_TRANSPORT: dict[str, str] = {
    "delivered": "share of episodes in which the package reaches the goal",
    "steps": "mean length of an episode",
}
"""What is measured in reverse transport."""


def reverse_transport(run: Run, episodes: int, seed: int) -> dict[str, Float[np.ndarray, " members"]]:
    """What :data:`REVERSE_TRANSPORT` names, of each member."""
    task = run.task()
    assert isinstance(task, ReverseTransport)

    def measure(policies: Policies) -> dict[str, Float[Tensor, ""]]:
        recording = record(task, policies, episodes, seed, deterministic=True)
        states, running = recording.states, recording.running[0]
        package, goal = (at_end(each[0], running) for each in (states.package, states.goal))
        return {"delivered": is_delivered(package, goal, task.half).float().mean(), "steps": mean_steps(running)}

    return of_members(run, REVERSE_TRANSPORT, measure)


def is_delivered(
    package: Float[Tensor, "*batch 2"], goal: Float[Tensor, "*batch 2"], half: tuple[float, float]
) -> Bool[Tensor, "*batch"]:
    """Whether the package is where an episode ends of itself: on the goal.

    >>> import torch
    >>> is_delivered(torch.zeros(2, 2), torch.tensor([[0.35, 0.0], [0.5, 0.0]]), (0.3, 0.3))
    tensor([ True, False])
    """
    return touches_box(goal.movedim(-1, 0), GOAL_RADIUS, package.movedim(-1, 0), half)
