"""IDDPG and MADDPG: deterministic policy gradients with a critic per agent, or one for the group."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico.train.learner import Decision, average, without_gradient
from dico.train.offpolicy import OffPolicyLearner
from dico.train.optimiser import follow_


class DDPG(OffPolicyLearner):
    """Deterministic policies, clamped to the action box, with Gaussian exploration noise and a delayed critic."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.noise = torch.full((), self.config.noise[0], device=self.low.device)

    def begin_batch(self, frames: int) -> None:
        """The noise falls linearly with the frames, from batch to batch."""
        first, last = self.config.noise
        self.noise.fill_(last + (first - last) * max(0.0, 1 - frames / self.config.noise_frames))

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """The policies' actions with noise."""
        mean = self.policy(obs).clamp(self.low, self.high)
        action = (mean + self.noise * self.rng.normal(*mean.shape[1:])).clamp(self.low, self.high)
        return Decision(action, action, torch.zeros_like(action[..., 0]))

    def update(self, obs: Tensor, next_obs: Tensor, action: Tensor, reward: Tensor, done: Tensor) -> None:
        """One step of critic and actor, then of the delayed critic."""
        self.improve((self.actor_adam, self.critic_adam), obs, next_obs, action, reward, done)
        follow_(self.delayed, self.critic, self.config.polyak)

    def loss(
        self,
        obs: Tensor,
        next_obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        offsets: Tensor | None,
    ) -> tuple[Float[Tensor, " members"], Float[Tensor, " members"]]:
        """The actor's and the critic's losses together, each with a gradient for its own parameters alone."""
        params, snd_hat = self.act_and_estimate(obs, offsets)
        actor_loss = self.merged(self.actor_loss(obs, params), params)
        return actor_loss + self.critic_loss(obs, next_obs, action, reward, done), snd_hat

    def actor_loss(self, obs: Tensor, params: Tensor) -> Float[Tensor, " members"]:
        r""":math:`-E\,Q(s,\pi(s))` of each member."""
        action = params.clamp(self.low, self.high)
        return -average(without_gradient(self.critic, torch.cat((obs, action), -1)))

    def critic_loss(
        self, obs: Tensor, next_obs: Tensor, action: Tensor, reward: Tensor, done: Tensor
    ) -> Float[Tensor, " members"]:
        r""":math:`E(Q(s,a)-r-\gamma(1-d)Q'(s',\pi(s')))^2` of each member, Q' the delayed critic."""
        with torch.no_grad():
            next_action = self.policy(next_obs).clamp(self.low, self.high)
            next_value = self.delayed(torch.cat((next_obs, next_action), -1))
        error = self.critic(torch.cat((obs, action), -1)) - self.target(reward, done, next_value)
        return average(error.square())
