"""IDDPG and MADDPG: deterministic policy gradients with a critic per agent, or one for the group."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico.training.learner import Decision, average, without_gradient
from dico.training.offpolicy import OffPolicyLearner
from dico.training.optimiser import polyak_update_


class DDPG(OffPolicyLearner):
    """Deterministic policies, clamped to the action box, with Gaussian exploration noise and a target critic."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.noise = torch.full((), self.config.noise[0], device=self.low.device)

    def begin_batch(self, frames: int) -> None:
        """The noise falls linearly with the frames, from batch to batch."""
        first, last = self.config.noise
        self.noise.fill_(last + (first - last) * max(0.0, 1 - frames / self.config.noise_frames))

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """The policies' actions with noise."""
        mean = self.executed(self.policy(obs))
        action = (mean + self.noise * self.rng.normal(*mean.shape[1:])).clamp(self.low, self.high)
        return Decision(action, action, torch.zeros_like(action[..., 0]))

    def update(
        self,
        obs: Tensor,
        next_obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        recent: Tensor | None = None,
    ) -> None:
        """One step of critic and actor, then of the target critic."""
        self.improve((self.actor_adam, self.critic_adam), obs, next_obs, action, reward, done, recent=recent)
        polyak_update_(self.target_critic, self.critic, self.config.polyak)

    def loss(
        self,
        obs: Tensor,
        next_obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        offsets: Tensor | None,
        recent: Tensor | None = None,
    ) -> tuple[Float[Tensor, " members"], Float[Tensor, " members"]]:
        """The actor's and the critic's losses together, each with a gradient for its own parameters alone."""
        next_params, kept = self.act_next(next_obs, offsets)
        params, snd_hat = self.act_and_estimate(obs, offsets, recent=recent, kept=kept)
        actor_loss = self.merged(self.actor_loss(obs, params), params)
        return actor_loss + self.critic_loss(obs, next_obs, action, reward, done, next_params), snd_hat

    @torch.no_grad()
    def act_next(self, next_obs: Tensor, offsets: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The policies' outputs at the next observations, and the estimate that was made there, if one was.

        The original computes its targets with gradients enabled: there they renew the estimate, before the actor does.
        """
        if self.config.estimate_on != "both":
            return self.policy(next_obs), None
        return self.act_and_estimate(next_obs, offsets)

    def actor_loss(self, obs: Tensor, params: Tensor) -> Float[Tensor, " members"]:
        r""":math:`-E\,Q(s,\pi(s))` of each member."""
        action = self.executed(params)
        return -average(without_gradient(self.critic, torch.cat((obs, action), -1)))

    def critic_loss(
        self, obs: Tensor, next_obs: Tensor, action: Tensor, reward: Tensor, done: Tensor, next_params: Tensor
    ) -> Float[Tensor, " members"]:
        r""":math:`E(Q(s,a)-r-\gamma(1-d)Q'(s',\pi(s')))^2` of each member, Q' the target critic."""
        with torch.no_grad():
            next_action = self.executed(next_params)
            next_value = self.target_critic(torch.cat((next_obs, next_action), -1))
        error = self.critic(torch.cat((obs, action), -1)) - self.target(reward, done, next_value)
        return average(error.square())
