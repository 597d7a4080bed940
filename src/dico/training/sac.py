"""ISAC and MASAC: soft actor-critic with two critics per agent, or two for the group."""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico.squashed import squash, squashed_log_prob
from dico.training.critics import values_of
from dico.training.experience import Decision, across, average, without_gradient
from dico.training.offpolicy import OffPolicyLearner, ReplayMinibatch
from dico.training.optimiser import PopulationAdam, polyak_update_


@dataclass(frozen=True)
class SACMinibatch(ReplayMinibatch):
    """With standard-normal noise for the actions that an update draws."""

    noise: Float[Tensor, "members rows n a"]
    next_noise: Float[Tensor, "members rows n a"]


class SACLosses(NamedTuple):
    """Each member's losses on a minibatch, each with a gradient for its own parameters alone, and the estimate."""

    actor: Float[Tensor, " members"]
    critic: Float[Tensor, " members"]
    temperature: Float[Tensor, " members"]
    snd_hat: Float[Tensor, " members"]


class SAC(OffPolicyLearner[SACMinibatch]):
    """Tanh-squashed Gaussians, the lesser of two critics, and a temperature tuned to a target entropy."""

    KINDS = ("shared_std", "agent_std", "agent_std_paper")
    CRITICS = (2,)
    CRITIC_PASSES = 6

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        start = torch.full((self.n_members,), math.log(self.settings.alpha), device=self.low.device)
        self.log_alpha = nn.Parameter(start)
        self.alpha_adam = self.adam([self.log_alpha])
        # of each agent's policy: log-probabilities are each agent's own
        self.target_entropy = -float(len(self.team.low))
        self._losses = self.stage.function(self.losses)

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """Sample."""
        params = self.policy(obs)
        action, _ = self.reparametrise(params, self.rng.normal(*self.mean(params).shape[1:]))
        return Decision(action, {"action": action})

    def reparametrise(self, params: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions in the box with a gradient, and their log-probabilities, for standard-normal noise."""
        mean, std = params.chunk(2, -1)
        sample = mean + std * noise
        return squash(sample, self.low, self.high), squashed_log_prob(sample, mean, std, self.low, self.high)

    def sample(self) -> SACMinibatch:
        """Random frames, each member's own, and noise."""
        frames = self.sampled_frames()
        noise, next_noise = (self.rng.normal(*frames["action"].shape[1:]) for _ in range(2))
        return SACMinibatch(**frames, noise=noise, next_noise=next_noise)

    def update(self, minibatch: SACMinibatch) -> None:
        """One step of actor, critics and temperature, the new estimate, the action-space loss, the target critics."""
        losses = self._losses(minibatch)
        total = losses.actor + losses.critic + losses.temperature
        self.descend(total, self.actor_adam, self.critic_adam, self.alpha_adam)
        self.policy.commit_(losses.snd_hat)
        self.step_action_loss(minibatch.obs, minibatch.how)
        polyak_update_(self.target_critic, self.critic, self.settings.polyak)

    def losses(self, minibatch: SACMinibatch) -> SACLosses:
        """Of actor, critics and temperature."""
        params, snd_hat = self.act_and_estimate(minibatch.obs, minibatch.how)
        action, log_prob = self.reparametrise(params, minibatch.noise)
        actor_loss = self.add_action_loss(self.actor_loss(minibatch.obs, action, log_prob), params)
        temperature_loss = self.temperature_loss(log_prob.detach())
        return SACLosses(actor_loss, self.critic_loss(minibatch), temperature_loss, snd_hat)

    def actor_loss(self, obs: Tensor, action: Tensor, log_prob: Tensor) -> Float[Tensor, " members"]:
        r""":math:`E[\alpha\log\pi(a|s)-\min_j Q_j(s,a)]` of each member."""
        value = values_of(partial(without_gradient, self.critic), self.CRITICS, obs, action).amin(1)
        return average(across(self.log_alpha.detach().exp(), log_prob) * log_prob - value)

    def critic_loss(self, minibatch: SACMinibatch) -> Float[Tensor, " members"]:
        r""":math:`\sum_j E(Q_j(s,a)-r-\gamma(1-d)(\min_j Q'_j(s',a')-\alpha\log\pi(a'|s')))^2` of each member."""
        with torch.no_grad():
            next_action, next_log_prob = self.reparametrise(self.policy(minibatch.next_obs), minibatch.next_noise)
            next_value = values_of(self.target_critic, self.CRITICS, minibatch.next_obs, next_action).amin(1)
            entropy = -across(self.log_alpha.exp(), next_log_prob) * next_log_prob
            target = self.td_target(minibatch.reward, minibatch.done, next_value + entropy)
        error = values_of(self.critic, self.CRITICS, minibatch.obs, minibatch.action) - target[:, None]
        return average(error.square().sum(1))

    def temperature_loss(self, log_prob: Float[Tensor, "members rows n"]) -> Float[Tensor, " members"]:
        r""":math:`-\log\alpha\,E[\log\pi(a|s)+\bar H]` of each member."""
        return -self.log_alpha * average(log_prob + self.target_entropy)

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return super().optimisers() | {"alpha": self.alpha_adam}

    def buffers(self) -> dict[str, Tensor]:
        """The temperature besides."""
        return super().buffers() | {"log_alpha": self.log_alpha.data}
