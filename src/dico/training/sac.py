"""ISAC and MASAC: soft actor-critic with two critics per agent, or two for the group."""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico.squashed import squash, squashed_log_prob
from dico.training.learner import Decision, average, without_gradient
from dico.training.offpolicy import OffPolicyLearner
from dico.training.optimiser import PopulationAdam, polyak_update_


class SAC(OffPolicyLearner):
    """Tanh-squashed Gaussians, the lesser of two critics, and an entropy weight tuned to a target entropy."""

    CRITICS = (2,)

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        start = torch.full((self.n_members,), math.log(self.config.alpha), device=self.low.device)
        self.log_alpha = nn.Parameter(start)
        self.alpha_adam = PopulationAdam([self.log_alpha], self.config.lr, self.config.adam_eps)
        self.target_entropy = -float(
            len(self.team.low)
        )  # of each agent's policy: log-probabilities are each agent's own

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """Sample."""
        params = self.policy(obs)
        action, log_prob = self.reparametrise(params, self.rng.normal(*self.mean(params).shape[1:]))
        return Decision(action, action, log_prob)

    def reparametrise(self, params: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions in the box with a gradient, and their log-probabilities, for standard-normal noise."""
        mean, std = params.chunk(2, -1)
        raw = mean + std * noise
        return squash(raw, self.low, self.high), squashed_log_prob(raw, mean, std, self.low, self.high)

    def update(
        self,
        obs: Tensor,
        next_obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        recent: Tensor | None = None,
    ) -> None:
        """One step of actor, critics and entropy weight, then of the target critics."""
        noise, next_noise = (self.rng.normal(*action.shape[1:]) for _ in range(2))
        optimisers = (self.actor_adam, self.critic_adam, self.alpha_adam)
        self.improve(optimisers, obs, next_obs, action, reward, done, noise, next_noise, recent=recent)
        polyak_update_(self.target_critic, self.critic, self.config.polyak)

    def loss(
        self,
        obs: Tensor,
        next_obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        noise: Tensor,
        next_noise: Tensor,
        offsets: Tensor | None,
        recent: Tensor | None = None,
    ) -> tuple[Float[Tensor, " members"], Float[Tensor, " members"]]:
        """The losses of actor, critics and entropy weight together, each with a gradient for its own alone."""
        params, snd_hat = self.act_and_estimate(obs, offsets, recent=recent)
        new_action, log_prob = self.reparametrise(params, noise)
        actor_loss = self.merged(self.actor_loss(obs, new_action, log_prob), params)
        with torch.no_grad():
            next_action, next_log_prob = self.reparametrise(self.policy(next_obs), next_noise)
        critic_loss = self.critic_loss(obs, action, reward, done, next_obs, next_action, next_log_prob)
        return actor_loss + critic_loss + self.alpha_loss(log_prob.detach()), snd_hat

    def actor_loss(self, obs: Tensor, action: Tensor, log_prob: Tensor) -> Float[Tensor, " members"]:
        r""":math:`E[\alpha\log\pi(a|s)-\min_j Q_j(s,a)]` of each member."""
        value = self._values(partial(without_gradient, self.critic), obs, action).amin(1)
        alpha = self.log_alpha.detach().exp()[:, None, None]
        return average(alpha * log_prob - value)

    def critic_loss(
        self,
        obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        next_obs: Tensor,
        next_action: Tensor,
        next_log_prob: Tensor,
    ) -> Float[Tensor, " members"]:
        r""":math:`\sum_j E(Q_j(s,a)-r-\gamma(1-d)(\min_j Q'_j(s',a')-\alpha\log\pi(a'|s')))^2` of each member."""
        with torch.no_grad():
            alpha = self.log_alpha.exp()[:, None, None]
            next_value = self._values(self.target_critic, next_obs, next_action).amin(1) - alpha * next_log_prob
            target = self.target(reward, done, next_value)
        error = self._values(self.critic, obs, action) - target[:, None]
        return average(error.square().sum(1))

    def alpha_loss(self, log_prob: Float[Tensor, "members rows n"]) -> Float[Tensor, " members"]:
        r""":math:`-\log\alpha\,E[\log\pi(a|s)+\bar H]` of each member."""
        return -self.log_alpha * average(log_prob + self.target_entropy)

    def _values(
        self, critic: Callable[[Tensor], Tensor], obs: Tensor, action: Tensor
    ) -> Float[Tensor, "members critics rows n"]:
        x = torch.cat((obs, action), -1)
        return critic(x[:, None].expand(-1, *self.CRITICS, *[-1] * (x.ndim - 1)))

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return super().optimisers() | {"alpha": self.alpha_adam}

    def buffers(self) -> dict[str, Tensor]:
        """The entropy weight besides."""
        return super().buffers() | {"log_alpha": self.log_alpha.data}
