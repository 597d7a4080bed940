"""ITD3 and MATD3: DDPG with twin critics, a delayed actor and smoothed targets (Fujimoto et al., 2018).

There is no target actor, as there is none in BenchMARL's DDPG: the average of an agent's past deviations has another
diversity than the one that is controlled. So targets are computed with the present policies, and noise.
"""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from dico.training.critics import values_of
from dico.training.ddpg import DDPG
from dico.training.experience import average, without_gradient
from dico.training.offpolicy import ReplayBatch, ReplayMinibatch


@dataclass(frozen=True)
class TD3Minibatch(ReplayMinibatch):
    """With what smooths the targets."""

    noise: Float[Tensor, "members rows n a"]
    """On the next actions."""


class TD3(DDPG[TD3Minibatch]):
    """Two critics learn in every update, actor and target critics in every ``policy_delay``-th."""

    CRITICS = (2,)
    CRITIC_PASSES = 6

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._lone_critic_loss = self.stage.function(self.lone_critic_loss)
        self._sample_and_update_critic = self.stage.procedure(lambda: self.update_critic(self._sample()), self._touched)
        self.updates_before = 0

    def begin_batch(self, frames: int) -> None:
        """The exploration noise; and how many updates there have been, which says when the actor's turn is."""
        super().begin_batch(frames)
        self.updates_before = frames // self.settings.frames_per_batch * self.settings.updates

    def learn(self, batch: ReplayBatch) -> None:
        """Store the batch, then update on random frames."""
        self.store(batch)
        for number in range(self.updates_before + 1, self.updates_before + self.settings.updates + 1):
            if number % self.settings.policy_delay:
                self._sample_and_update_critic()
            else:
                self._sample_and_update()

    def sample(self) -> TD3Minibatch:
        """Random frames, each member's own, and noise for the targets."""
        frames, limit = self.sampled_frames(), self.settings.target_noise_clip
        noise = self.settings.target_noise * self.rng.normal(*frames["action"].shape[1:])
        return TD3Minibatch(**frames, noise=noise.clamp(-limit, limit))

    def update_critic(self, minibatch: TD3Minibatch) -> None:
        """One step of the critics alone."""
        self.descend(self._lone_critic_loss(minibatch), self.critic_adam)

    def lone_critic_loss(self, minibatch: TD3Minibatch) -> Float[Tensor, " members"]:
        """Of the critics, where no estimate is made."""
        with torch.no_grad():
            next_params = self.policy(minibatch.next_obs)
        return self.critic_loss(minibatch, next_params)

    def actor_loss(self, obs: Tensor, params: Tensor) -> Float[Tensor, " members"]:
        r""":math:`-E\,Q_1(s,\pi(s))` of each member."""
        critics = partial(without_gradient, self.critic)
        return -average(values_of(critics, self.CRITICS, obs, self.executed(params))[:, 0])

    def critic_loss(self, minibatch: TD3Minibatch, next_params: Tensor) -> Float[Tensor, " members"]:
        r""":math:`\sum_j E(Q_j(s,a)-r-\gamma(1-d)\min_j Q'_j(s',\pi(s')+\epsilon))^2` of each member."""
        with torch.no_grad():
            next_action = (self.executed(next_params) + minibatch.noise).clamp(self.low, self.high)
            next_values = values_of(self.target_critic, self.CRITICS, minibatch.next_obs, next_action)
            target = self.td_target(minibatch.reward, minibatch.done, next_values.amin(1))
        error = values_of(self.critic, self.CRITICS, minibatch.obs, minibatch.action) - target[:, None]
        return average(error.square().sum(1))
