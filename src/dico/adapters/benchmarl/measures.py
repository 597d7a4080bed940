"""How diverse a group is, and how near to what is desired."""

from typing import Any

import torch
from jaxtyping import Float
from tensordict import TensorDictBase
from torch import Tensor

from dico._measuring import MAX_DISTANCES, spaced
from dico._pairs import upper
from dico.adapters.benchmarl.model import Dico
from dico.boxes import over_the_box
from dico.losses import action_space_loss
from dico.metrics import behavioural_distances, snd


def observations_of(model: Dico, batch: TensorDictBase) -> Float[Tensor, "frames n o"]:
    """What a group saw in some frames of a batch, evenly spaced: as many as the population trainer measures."""
    frames = model.observations(batch).flatten(0, -3)
    return frames[spaced(len(frames), model.n_agents, frames.device)].to(model.policy.snd_hat.device)


@torch.no_grad()
def diversity(model: Dico, everyone: Float[Tensor, "rows n d"]) -> dict[str, float]:
    """SND of everyone's behaviour at some observations and, where it is another, the metric under control.

    For a controlled group also what was desired, which for bounds is the nearest value within them, and the tracking
    error: the relative distance from it, or the absolute one where no diversity is desired.
    """
    policy, name = model.policy, model.settings.metric
    measured = policy.metric.fn(everyone)
    values = {"snd": snd(everyone), name: measured}
    if model.controlled:
        desired = policy.constraint(measured)
        apart = (measured - desired).abs()
        error = torch.where(desired > 0, apart / desired.clamp_min(torch.finfo(desired.dtype).tiny), apart)
        values |= {f"desired_{name}": desired, f"{name}_error": error}
    return {key: value.item() for key, value in values.items()}


@torch.no_grad()
def state(
    model: Dico, obs: Float[Tensor, "frames n o"], everyone: Float[Tensor, "rows n d"], iteration: int
) -> dict[str, Any]:
    """The estimate, the scale it gives, means outside the action box, and the distances of each two agents.

    Under analytical control also the diversity over the box, and the share of observations outside it.
    """
    policy, n = model.policy, model.n_agents
    values: dict[str, Any] = {
        "snd_hat": policy.snd_hat.item(),
        "scale": policy.scale().item(),
        "action_bound_violation": action_space_loss(model.means(policy(obs)), *model.box).mean().item(),
        "action_bound_violation_all": action_space_loss(model.means(everyone), *model.box).mean().item(),
        **{name: value.item() for name, value in over_the_box(policy, obs, iteration).items()},
    }
    if 2 <= n <= MAX_DISTANCES:
        values["distances"] = upper(behavioural_distances(everyone)).tolist()
    return values
