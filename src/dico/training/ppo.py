"""IPPO and MAPPO: proximal policy optimisation with a critic per agent, or one for the group."""

import math
from functools import partial
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dico._measuring import take
from dico.metrics import METRICS
from dico.squashed import gaussian_log_prob, squash
from dico.training.config import Config
from dico.training.learner import Batch, Decision, Learner, Weight, average

MOST_PADDING = 0.05
"""A pass's last minibatch is filled up with frames that weigh nothing, if they are at most this share of the batch.

Of another size than the others, it would have to be compiled and captured apart, which takes about as long again. In
eager mode it is filled up too: all stages do the same.
"""


def padding(config: Config, rows: int) -> int:
    """How many frames fill up the last minibatch of ``rows``: all that it lacks, or none.

    >>> padding(Config(minibatch=4096), 60_000), padding(Config(minibatch=4096), 6000)
    (1440, 0)
    """
    missing = -rows % min(config.minibatch, rows)
    return missing if METRICS[config.metric].of_means and missing <= MOST_PADDING * rows else 0


class PPO(Learner):
    """Clipped PPO on tanh-squashed Gaussians.

    Probabilities are of the Gaussian sample before squashing: the squashing's Jacobian is the same for old and new
    policy, so it cancels in their ratio.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.critic = self._critic(self.team.obs_dim, (self.members,))
        self.critic_adam = self._adam(self.critic, self.config.lr, self.config.adam_eps)
        self.batch: Batch | None = None

    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """Sample."""
        mean, std = self.policy(obs).chunk(2, -1)
        raw = mean + std * self.rng.normal(*mean.shape[1:])
        return Decision(squash(raw, self.low, self.high), raw, gaussian_log_prob(raw, mean, std))

    def learn(self, batch: Batch) -> None:
        """Several passes over the batch in minibatches."""
        if self.batch is not batch:
            self._settle(batch)
        self._estimate()
        for _ in range(self.config.epochs):
            order = self.rng.permutation(self.rows)
            self.order.copy_(torch.cat((order, order[:, : self.padding]), 1))
            self.cursor.zero_()
            for update in self._updates:
                update()

    def _settle(self, batch: Batch) -> None:
        """Take a batch's memory as that of all further ones."""
        self.batch = batch
        self.advantage, self.value_target = torch.zeros_like(batch.reward), torch.zeros_like(batch.reward)
        self.rows, device = batch.done[0].numel(), batch.done.device
        self.padding = padding(self.config, self.rows)
        self.order = torch.zeros(self.members, self.rows + self.padding, dtype=torch.int64, device=device)
        self.cursor = torch.zeros((), dtype=torch.int64, device=device)
        self._estimate = self.stage.procedure(self._advantages, list)
        size = min(self.config.minibatch, self.rows)
        wholes, rest = divmod(self.order.shape[1], size)
        self._whole = self.stage.procedure(partial(self._minibatch, size), self._touched)
        self._updates = wholes * [self._whole]
        if rest:
            self._updates.append(self.stage.procedure(partial(self._minibatch, rest), self._touched))

    @torch.no_grad()
    def _advantages(self) -> None:
        batch = cast(Batch, self.batch)
        value, next_value = self._values(batch.obs), self._values(batch.next_obs)
        done = batch.done[..., None]
        advantage = gae(batch.reward, value, next_value, done, self.config.gamma, self.config.gae_lambda)
        self.advantage.copy_(advantage)
        self.value_target.copy_(advantage + value)

    def _values(self, obs: Float[Tensor, "members steps envs n o"]) -> Float[Tensor, "members steps envs n"]:
        """About a minibatch of frames at a time, so that it takes no more memory than an update."""
        steps = max(1, self.config.minibatch // obs.shape[2])
        return torch.cat([self.critic(part) for part in obs.split(steps, 1)], 1)

    def _minibatch(self, size: int) -> None:
        batch = cast(Batch, self.batch)
        place = (self.cursor + torch.arange(size, device=self.cursor.device)) % self.order.shape[1]
        index = self.order.index_select(1, place)
        frames = (batch.obs, batch.raw, batch.log_prob, self.advantage, self.value_target)
        weight = place < self.rows if self.padding else None
        self.update(*(take(x.flatten(1, 2), index) for x in frames), weight=weight)
        self.cursor += size

    def _touched(self) -> list[Tensor]:
        return [*self.tensors().values(), self.cursor]

    def update(
        self,
        obs: Float[Tensor, "members rows n o"],
        raw: Float[Tensor, "members rows n a"],
        log_prob: Float[Tensor, "members rows n"],
        advantage: Float[Tensor, "members rows n"],
        value_target: Float[Tensor, "members rows n"],
        weight: Weight = None,
    ) -> None:
        """One step on a minibatch, whose frames count alike, or as much as they weigh."""
        optimisers = (self.actor_adam, self.critic_adam)
        self.improve(optimisers, obs, raw, log_prob, advantage, value_target, weight=weight)

    def loss(
        self,
        obs: Tensor,
        raw: Tensor,
        log_prob: Tensor,
        advantage: Tensor,
        value_target: Tensor,
        offsets: Tensor | None,
        weight: Weight = None,
    ) -> tuple[Float[Tensor, " members"], Float[Tensor, " members"]]:
        """The actor's and the critic's losses together, which share no parameter; and the diversity estimate."""
        params, snd_hat = self.act_and_estimate(obs, offsets, weight)
        actor_loss = self.merged(self.actor_loss(params, raw, log_prob, advantage, weight), params, weight)
        return actor_loss + self.critic_loss(obs, value_target, weight), snd_hat

    def actor_loss(
        self, params: Tensor, raw: Tensor, log_prob: Tensor, advantage: Tensor, weight: Weight = None
    ) -> Float[Tensor, " members"]:
        r""":math:`-E\min(r A, \mathrm{clip}(r, 1-\epsilon, 1+\epsilon) A)` of each member, r the probability ratio."""
        mean, std = params.chunk(2, -1)
        log_ratio = gaussian_log_prob(raw, mean, std) - log_prob
        clip = self.config.clip
        # clipped before the exponential, which may overflow
        clipped = log_ratio.clamp(math.log1p(-clip), math.log1p(clip))
        gain = torch.minimum(log_ratio.exp() * advantage, clipped.exp() * advantage)
        entropy = std.log().sum(-1) if self.config.entropy else torch.zeros_like(gain)
        return -average(gain + self.config.entropy * entropy, weight)

    def critic_loss(self, obs: Tensor, value_target: Tensor, weight: Weight = None) -> Float[Tensor, " members"]:
        """Mean squared error of each member's values."""
        return average((self.critic(obs) - value_target).square(), weight)

    def modules(self) -> dict[str, nn.Module]:
        """All networks by name."""
        return {"policy": self.policy, "critic": self.critic}

    def optimisers(self):
        """All optimisers by name."""
        return super().optimisers() | {"critic": self.critic_adam}


def gae(
    reward: Float[Tensor, "members steps envs n"],
    value: Float[Tensor, "members steps envs n"],
    next_value: Float[Tensor, "members steps envs n"],
    done: Bool[Tensor, "members steps envs 1"],
    gamma: float,
    lam: float,
) -> Float[Tensor, "members steps envs n"]:
    r"""Generalised advantages :math:`A_t=\delta_t+\gamma\lambda(1-d_t)A_{t+1}`.

    :math:`\delta_t=r_t+\gamma(1-d_t)V(s_{t+1})-V(s_t)`.

    >>> one = torch.ones(1, 3, 1, 1)
    >>> gae(one, 0 * one, 0 * one, torch.zeros(1, 3, 1, 1, dtype=torch.bool), 0.5, 1.0).flatten()
    tensor([1.7500, 1.5000, 1.0000])
    """
    on = (~done).to(reward.dtype)
    delta = reward + gamma * on * next_value - value
    advantage = torch.zeros_like(delta)
    running = torch.zeros_like(delta[:, 0])
    for t in reversed(range(reward.shape[1])):
        running = delta[:, t] + gamma * lam * on[:, t] * running
        advantage[:, t] = running
    return advantage
