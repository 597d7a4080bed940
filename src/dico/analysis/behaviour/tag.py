"""Tag: how the red agents surround the green one, and what they earn against the others' (sec:tag)."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dico.analysis.behaviour.playing import Policies, of_members
from dico.analysis.measured import diverged
from dico.metrics import pairwise_w2
from dico.runs import Run
from dico.runs.episodes import play, record
from dico.tasks import of_group

TAG: dict[str, str] = {
    "red_distance": "distance between red agents",
    "red_angle": "degrees between red agents as the green one sees them",
    "cross_play": "reward of the red agents in each step, against the green one of each member",
}
"""What is measured in tag."""
SHARE = 4
"""Of the episodes asked for, one in so many is played against each green agent: there are many of them."""


def tag(run: Run, episodes: int, seed: int) -> dict[str, Float[np.ndarray, "members *rest"]]:
    """What :data:`TAG` names, of each member, in cross-play against each; actions are stochastic."""
    task = run.task()

    def measure(policies: Policies) -> dict[str, Float[Tensor, ""]]:
        recording = record(task, policies, episodes, seed, deterministic=False)
        red, green = recording.states.position[0, 1:].tensor_split([-1], -2)
        return {"red_distance": pairwise_w2(red).mean(), "red_angle": seen_angles(green[..., 0, :], red).mean()}

    found = of_members(run, [name for name in TAG if name != "cross_play"], measure)
    return found | {"cross_play": cross_play(run, episodes=max(1, episodes // SHARE), seed=seed)}


def cross_play(run: Run, *, episodes: int = 100, seed: int = 0) -> Float[np.ndarray, "members members"]:
    """Mean reward in each step of each member's red agents (rows) against each member's green one (columns).

    Actions are stochastic, starts and noise the same for all. NaN where either diverged.
    """
    task, count = run.task(), len(run.members)
    red, green = task.groups
    sound = np.flatnonzero(~diverged(run)).tolist()
    earned = np.full((count, count), np.nan)
    for shift in range(len(sound)):  # all members at once, each against the one so many places on
        against = sound[shift:] + sound[:shift]
        policies = [run.policies(red.name, sound), run.policies(green.name, against)]
        played = play(task, policies, episodes, seed, deterministic=False)
        reward = of_group(red, played.reward).mean(-1) * played.running
        earned[sound, against] = (reward.sum((1, 2)) / played.running.sum((1, 2))).numpy()
    return earned


def seen_angles(eye: Float[Tensor, "*batch 2"], position: Float[Tensor, "*batch n 2"]) -> Float[Tensor, "*batch pairs"]:
    """Degrees, 0 to 180, between the directions in which every pair of positions is seen.

    >>> seen_angles(torch.zeros(2), torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([90.])
    """
    seen, n = position - eye[..., None, :], position.shape[-2]
    i, j = torch.triu_indices(n, n, 1)
    first, second = seen[..., i, :], seen[..., j, :]
    across = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    return torch.rad2deg(torch.atan2(across.abs(), (first * second).sum(-1)))
