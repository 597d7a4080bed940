"""The action-space loss as an optimiser step of its own."""

import torch
from benchmarl.experiment import ExperimentConfig
from torch import Tensor

from dico.adapters.benchmarl.model import Dico
from dico.losses import action_space_loss


class ActionSpaceStep:
    """The original's way: after each training step, one of its own on the same frames, which leaves the estimate."""

    def __init__(self, model: Dico, config: ExperimentConfig):
        self.model, self.config = model, config
        own = model.settings
        self.adam = torch.optim.Adam(model.policy.parameters(), lr=own.action_loss_lr, eps=own.action_loss_eps)

    def __call__(self, obs: Tensor) -> Tensor:
        """Step once, and give the loss before, in a pass whose estimate has a gradient and is not committed."""
        policy = self.model.policy
        if self.model.settings.action_loss_rows == "own":
            params, _ = policy.forward_and_estimate(obs)
        else:
            params = policy.everyone(obs, policy.estimate(obs))
        loss = action_space_loss(self.model.means(params), *self.model.box).square().mean()
        (self.model.settings.action_loss_weight * loss).backward()
        parameters = self.adam.param_groups[0]["params"]
        if self.config.clip_grad_val is not None:
            clip = torch.nn.utils.clip_grad_norm_ if self.config.clip_grad_norm else torch.nn.utils.clip_grad_value_
            clip(parameters, self.config.clip_grad_val)
        self.adam.step()
        self.adam.zero_grad()
        return loss.detach()
