"""What the run folder says of each member after a batch."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico._measuring import MAX_DISTANCES, spaced
from dico._pairs import upper
from dico.boxes import over_the_box
from dico.losses import action_space_loss
from dico.metrics import METRICS, behavioural_distances, snd
from dico.training.experience import Batch, average
from dico.training.learner import Learner


@torch.no_grad()
def measure(learner: Learner, batch: Batch, iteration: int = 0) -> dict[str, Float[Tensor, "members *pairs"]]:
    """Each member's numbers by column; ``distances`` is the one with several.

    Diversity is measured three times: ``snd`` on the newest batch, ``snd_train`` on what the estimate is made of, and
    ``snd_acted`` on the newest batch with the means brought into the action box, as agents execute them. Under
    analytical control also over the box: ``snd_box``, which is exact in theory and some percent off as measured, by
    points that each ``iteration`` draws anew, and in ``outside`` the share of observations outside it. ``desired`` is
    what the controlled metric should have been: the value, or the nearest one within bounds.
    """
    obs = batch.obs.flatten(1, 2)
    obs = obs[:, spaced(obs.shape[1], learner.team.n_agents, obs.device)]
    policy, low, high = learner.policy, learner.low, learner.high
    everyone = policy.everyone(obs)
    own = everyone.unflatten(1, obs.shape[1:3]).diagonal(dim1=2, dim2=3).movedim(-1, 2)  # each agent's at its own row
    controlled, trained_on = learner.settings.metric, learner.estimated_on(obs)
    measured = METRICS[controlled].fn(everyone)
    return {
        "reward": average(batch.reward),
        "snd": measured if controlled == "snd" else snd(everyone),
        controlled: measured,
        "desired": learner.constraint(measured.double()),
        "snd_train": snd(everyone if trained_on is obs else policy.everyone(trained_on)),
        "snd_acted": snd(learner.executed(everyone)),
        "snd_hat": policy.snd_hat.clone(),
        "scale": policy.scale(),
        "action_bound_violation": average(action_space_loss(learner.mean(own), low, high)),
        "action_bound_violation_all": average(action_space_loss(learner.mean(everyone), low, high)),
        **over_the_box(policy, obs, iteration),
        **_distances(everyone),
    }


def _distances(everyone: Float[Tensor, "members rows n d"]) -> dict[str, Float[Tensor, "members pairs"]]:
    """How differently each two agents behave, in the order of ``pairwise_w2``."""
    if not 2 <= everyone.shape[-2] <= MAX_DISTANCES:
        return {}
    return {"distances": upper(behavioural_distances(everyone))}
