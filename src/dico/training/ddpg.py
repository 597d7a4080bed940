"""IDDPG and MADDPG: deterministic policy gradients with a critic per agent, or one for the group."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from dico.training.experience import Decision, average, without_gradient
from dico.training.offpolicy import OffPolicyLearner, ReplayMinibatch, Sampled
from dico.training.optimiser import polyak_update_


class ActorLoss(NamedTuple):
    """Each member's loss on a minibatch, and the estimate that its policies were scaled with."""

    actor: Float[Tensor, " members"]
    snd_hat: Float[Tensor, " members"]


class DDPG(OffPolicyLearner[Sampled]):
    """Deterministic policies, clamped to the action box, with Gaussian exploration noise and a target critic."""

    KINDS = ("deterministic",)
    CRITIC_PASSES = 3

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.noise = torch.full((), self.settings.noise[0], device=self.low.device)
        self._act_next = self.stage.function(self.act_next)
        self._critic_loss = self.stage.function(self.critic_loss)
        self._act_and_judge = self.stage.function(self.act_and_judge)
        self.beside = self.stage.branch()

    def begin_batch(self, frames: int) -> None:
        """The noise falls linearly with the frames, from batch to batch."""
        first, last = self.settings.noise
        self.noise.fill_(last + (first - last) * max(0.0, 1 - frames / self.settings.noise_frames))

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """The policies' actions with noise."""
        mean = self.executed(self.policy(obs))
        action = (mean + self.noise * self.rng.normal(*mean.shape[1:])).clamp(self.low, self.high)
        return Decision(action, {"action": action})

    def sample(self) -> Sampled:
        """Random frames, each member's own."""
        return ReplayMinibatch(**self.sampled_frames())  # pyright: ignore[reportReturnType]

    def update(self, minibatch: Sampled) -> None:
        """One step of critic and actor, the new estimate, a step on a separate action-space loss, the target critic.

        The critic learns beside the actor: its networks are a chain of small products that leave a GPU idle.
        """
        next_params, current = self._act_next(minibatch)
        with self.beside:
            (critic_gradient,) = self.gradients(self._critic_loss(minibatch, next_params), self.critic_adam)
        actor_loss, snd_hat = self._act_and_judge(minibatch, current)
        (actor_gradient,) = self.gradients(actor_loss, self.actor_adam)
        with self.beside:  # now that the actor's loss has seen the critic as it was
            self.step(self.critic_adam, critic_gradient)
            polyak_update_(self.target_critic, self.critic, self.settings.polyak)
        self.step(self.actor_adam, actor_gradient)
        self.policy.commit_(snd_hat)
        self.step_action_loss(minibatch.obs, minibatch.how)
        self.beside.join()

    @torch.no_grad()
    def act_next(self, minibatch: Sampled) -> tuple[Tensor, Tensor | None]:
        """The policies' outputs at the next observations, and the estimate that was made there, if one was.

        The original computes its targets with gradients enabled: there they renew the estimate, before the actor does.
        """
        if self.settings.estimate_on != "both":
            return self.policy(minibatch.next_obs), None
        return self.act_and_estimate(minibatch.next_obs, minibatch.how)

    def act_and_judge(self, minibatch: Sampled, current: Tensor | None) -> ActorLoss:
        """The actor's loss, with the action-space loss where that is merged, and the new estimate."""
        params, snd_hat = self.act_and_estimate(minibatch.obs, minibatch.how, current)
        return ActorLoss(self.add_action_loss(self.actor_loss(minibatch.obs, params), params), snd_hat)

    def actor_loss(self, obs: Tensor, params: Tensor) -> Float[Tensor, " members"]:
        r""":math:`-E\,Q(s,\pi(s))` of each member."""
        action = self.executed(params)
        return -average(without_gradient(self.critic, torch.cat((obs, action), -1)))

    def critic_loss(self, minibatch: Sampled, next_params: Tensor) -> Float[Tensor, " members"]:
        r""":math:`E(Q(s,a)-r-\gamma(1-d)Q'(s',\pi(s')))^2` of each member, Q' the target critic."""
        with torch.no_grad():
            next_action = self.executed(next_params)
            next_value = self.target_critic(torch.cat((minibatch.next_obs, next_action), -1))
            target = self.td_target(minibatch.reward, minibatch.done, next_value)
        error = self.critic(torch.cat((minibatch.obs, minibatch.action), -1)) - target
        return average(error.square())
