"""IPPO and MAPPO: proximal policy optimisation with a critic per agent, or one for the group."""

from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dico._measuring import take
from dico.metrics import METRICS
from dico.squashed import gaussian_log_prob, squash
from dico.training.experience import Batch, Comparison, Decision, Losses, across, average
from dico.training.learner import Learner
from dico.training.optimiser import PopulationAdam
from dico.training.settings import Settings

MOST_PADDING = 0.05
"""An epoch's last minibatch is padded with frames of zero weight, if they are at most this share of the batch.

Of another size than the others, it would have to be compiled and captured apart, which takes about as long again. In
eager mode it is padded too: all stages do the same.
"""


def padding(settings: Settings, rows: int) -> int:
    """How many frames pad the last minibatch of ``rows``: all that it lacks, or none.

    >>> padding(Settings(minibatch=4096), 60_000), padding(Settings(minibatch=4096), 6000)
    (1440, 0)
    """
    missing = -rows % min(settings.minibatch, rows)
    return missing if METRICS[settings.metric].of_means and missing <= MOST_PADDING * rows else 0


@dataclass(frozen=True)
class PPOBatch(Batch):
    """With what was drawn, and how probable it was."""

    sample: Float[Tensor, "members steps envs n a"]
    """Of the Gaussian, before squashing."""
    log_prob: Float[Tensor, "members steps envs n"]
    """Of the sample, summed over action components."""


@dataclass(frozen=True)
class PPOMinibatch:
    """Frames of a batch, each member's own."""

    obs: Float[Tensor, "members rows n o"]
    sample: Float[Tensor, "members rows n a"]
    log_prob: Float[Tensor, "members rows n"]
    advantage: Float[Tensor, "members rows n"]
    value_target: Float[Tensor, "members rows n"]
    how: Comparison
    """Frames that pad a minibatch weigh nothing there."""


class PPO(Learner[PPOBatch]):
    """Clipped PPO on tanh-squashed Gaussians.

    Probabilities are of the Gaussian sample before squashing: the squashing's Jacobian is the same for old and new
    policy, so it cancels in their ratio.
    """

    KINDS = ("shared_std", "agent_std", "agent_std_paper")
    ON_POLICY = True
    BATCH = PPOBatch
    READS = (*Learner.READS, "gamma", "gae_lambda", "clip", "entropy")
    CRITIC_PASSES = 1

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.critic = self.critic_network(self.team.obs_dim)
        self.critic_adam = self.adam(self.critic.parameters())
        self.with_entropy = self.settings.entropy > 0 or "entropy" in self.settings.varied
        self._losses = self.stage.function(self.losses)
        self.batch: PPOBatch | None = None

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """Sample."""
        mean, std = self.policy(obs).chunk(2, -1)
        sample = mean + std * self.rng.normal(*mean.shape[1:])
        log_prob = gaussian_log_prob(sample, mean, std)
        return Decision(squash(sample, self.low, self.high), {"sample": sample, "log_prob": log_prob})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """With samples and their probabilities."""
        n, a = self.team.n_agents, len(self.team.low)
        return super().shapes() | {"sample": (n, a), "log_prob": (n,)}

    def learn(self, batch: PPOBatch) -> None:
        """Several epochs over the batch in minibatches."""
        if self.batch is not batch:
            self._settle(batch)
        self._estimate_advantages()
        for _ in range(self.settings.epochs):
            order = self.rng.permutation(self.rows)
            self.order.copy_(torch.cat((order, order[:, : self.padding]), 1))
            self.cursor.zero_()
            for take_and_update in self._updates:
                take_and_update()

    def update(self, minibatch: PPOMinibatch) -> None:
        """One step of actor and critic, the new estimate, then a step on the action-space loss where it is separate."""
        losses = self._losses(minibatch)
        self.descend(losses.actor + losses.critic, self.actor_adam, self.critic_adam)
        self.policy.commit_(losses.snd_hat)
        self.step_action_loss(minibatch.obs, minibatch.how)

    def losses(self, minibatch: PPOMinibatch) -> Losses:
        """Of actor and critic, which share no parameter."""
        weight = minibatch.how.weight
        params, snd_hat = self.act_and_estimate(minibatch.obs, minibatch.how)
        actor_loss = self.add_action_loss(self.actor_loss(params, minibatch), params, weight)
        return Losses(actor_loss, self.critic_loss(minibatch), snd_hat)

    def actor_loss(self, params: Tensor, minibatch: PPOMinibatch) -> Float[Tensor, " members"]:
        r""":math:`-E\min(r A, \mathrm{clip}(r, 1-\epsilon, 1+\epsilon) A)` of each member, r the probability ratio."""
        mean, std = params.chunk(2, -1)
        log_ratio = gaussian_log_prob(minibatch.sample, mean, std) - minibatch.log_prob
        # clipped before the exponential, which may overflow
        clip = across(self.numbers["clip"], log_ratio)
        clipped = log_ratio.clamp(torch.log1p(-clip), torch.log1p(clip))
        gain = torch.minimum(log_ratio.exp() * minibatch.advantage, clipped.exp() * minibatch.advantage)
        if self.with_entropy:
            gain = gain + across(self.numbers["entropy"], gain) * std.log().sum(-1)
        return -average(gain, minibatch.how.weight)

    def critic_loss(self, minibatch: PPOMinibatch) -> Float[Tensor, " members"]:
        """Mean squared error of each member's values."""
        error = self.critic(minibatch.obs) - minibatch.value_target
        return average(error.square(), minibatch.how.weight)

    # how minibatches come about

    def _settle(self, batch: PPOBatch) -> None:
        """Take a batch's memory as that of all further ones."""
        self.batch = batch
        self.advantage, self.value_target = torch.zeros_like(batch.reward), torch.zeros_like(batch.reward)
        self.rows, device = batch.done[0].numel(), batch.done.device
        self.padding = padding(self.settings, self.rows)
        self.order = torch.zeros(self.n_members, self.rows + self.padding, dtype=torch.int64, device=device)
        self.cursor = torch.zeros((), dtype=torch.int64, device=device)
        self._estimate_advantages = self.stage.procedure(self._advantages, list)
        size = min(self.settings.minibatch, self.rows)
        wholes, rest = divmod(self.order.shape[1], size)
        self._updates = wholes * [self.stage.procedure(partial(self._take_and_update, size), self._touched)]
        if rest:
            self._updates.append(self.stage.procedure(partial(self._take_and_update, rest), self._touched))

    @torch.no_grad()
    def _advantages(self) -> None:
        batch = cast(PPOBatch, self.batch)
        value, next_value = self._state_values(batch.obs), self._state_values(batch.next_obs)
        gamma, lam = (across(self.numbers[name], value) for name in ("gamma", "gae_lambda"))
        advantage = gae(batch.reward, value, next_value, batch.done[..., None], gamma, lam)
        self.advantage.copy_(advantage)
        self.value_target.copy_(advantage + value)

    def _state_values(self, obs: Float[Tensor, "members steps envs n o"]) -> Float[Tensor, "members steps envs n"]:
        """About a minibatch of frames at a time, so that it takes no more memory than an update."""
        steps = max(1, self.settings.minibatch // obs.shape[2])
        return torch.cat([self.critic(part) for part in obs.split(steps, 1)], 1)

    def _take_and_update(self, size: int) -> None:
        batch = cast(PPOBatch, self.batch)
        place = (self.cursor + torch.arange(size, device=self.cursor.device)) % self.order.shape[1]
        index = self.order.index_select(1, place)
        frames = (batch.obs, batch.sample, batch.log_prob, self.advantage, self.value_target)
        obs, *rest = (take(values.flatten(1, 2), index) for values in frames)
        weight = place < self.rows if self.padding else None
        self.update(PPOMinibatch(obs, *rest, how=self.compare(obs, weight)))
        self.cursor += size

    def _touched(self) -> list[Tensor]:
        return [*self.tensors().values(), self.cursor]

    # what it is made of

    def modules(self) -> dict[str, nn.Module]:
        """All networks by name."""
        return {"policy": self.policy, "critic": self.critic}

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return super().optimisers() | {"critic": self.critic_adam}


def gae(
    reward: Float[Tensor, "members steps envs n"],
    value: Float[Tensor, "members steps envs n"],
    next_value: Float[Tensor, "members steps envs n"],
    done: Bool[Tensor, "members steps envs 1"],
    gamma: float | Tensor,
    lam: float | Tensor,
) -> Float[Tensor, "members steps envs n"]:
    r"""Generalised advantages :math:`A_t=\delta_t+\gamma\lambda(1-d_t)A_{t+1}`.

    :math:`\delta_t=r_t+\gamma(1-d_t)V(s_{t+1})-V(s_t)`.

    >>> one = torch.ones(1, 3, 1, 1)
    >>> gae(one, 0 * one, 0 * one, torch.zeros(1, 3, 1, 1, dtype=torch.bool), 0.5, 1.0).flatten()
    tensor([1.7500, 1.5000, 1.0000])
    """
    on = (~done).to(reward.dtype)
    delta = reward + gamma * on * next_value - value
    decay = gamma * lam * on
    advantage = torch.zeros_like(delta)
    running = torch.zeros_like(delta[:, 0])
    for t in reversed(range(reward.shape[1])):
        running = delta[:, t] + decay[:, t] * running
        advantage[:, t] = running
    return advantage
