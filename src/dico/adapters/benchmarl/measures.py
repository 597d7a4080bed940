"""How diverse a group is, and how near to what is desired."""

from typing import Any

import torch
from torch import Tensor

from dico.adapters.benchmarl.model import Dico
from dico.losses import action_space_loss
from dico.metrics import behavioural_distances, snd

MEASURED_FRAMES = 4096
"""Diversity is measured on up to so many frames of each batch, evenly spaced."""
MAX_DISTANCES = 16
"""Distances of each two agents are kept for teams of up to so many."""


@torch.no_grad()
def diversity(model: Dico, obs: Tensor) -> dict[str, float]:
    """SND at some observations ``(*batch, n, o)`` and, where it is another, the metric under control.

    For a controlled group also what was desired, which for bounds is the nearest value within them, and the tracking
    error: the relative distance from it, or the absolute one where no diversity is desired.
    """
    policy, name = model.policy, model.settings.metric
    everyone = policy.everyone(obs)
    measured = policy.metric.fn(everyone)
    values = {"snd": snd(everyone), name: measured}
    if model.controlled:
        desired = policy.constraint(measured)
        apart = (measured - desired).abs()
        error = torch.where(desired > 0, apart / desired.clamp_min(torch.finfo(desired.dtype).tiny), apart)
        values |= {f"desired_{name}": desired, f"{name}_error": error}
    return {key: value.item() for key, value in values.items()}


@torch.no_grad()
def state(model: Dico, obs: Tensor) -> dict[str, Any]:
    """The estimate, the scale it gives, means outside the action box, and the distances of each two agents."""
    policy, n = model.policy, model.n_agents
    values: dict[str, Any] = {
        "snd_hat": policy.snd_hat.item(),
        "scale": policy.scale().item(),
        "overflow": action_space_loss(model.means(obs), *model.box).mean().item(),
    }
    if 2 <= n <= MAX_DISTANCES:
        i, j = torch.triu_indices(n, n, 1, device=obs.device)
        values["distances"] = behavioural_distances(policy.everyone(obs))[i, j].tolist()
    return values


def spaced(obs: Tensor) -> Tensor:
    """Frames of a batch ``(*batch, n, o)``, evenly spaced.

    >>> spaced(torch.zeros(60, 100, 2, 4)).shape
    torch.Size([3000, 2, 4])
    """
    frames = obs.flatten(0, -3)
    return frames[:: -(-len(frames) // MEASURED_FRAMES)]
