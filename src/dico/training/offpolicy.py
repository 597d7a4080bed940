"""What DDPG, TD3 and SAC share: experience replay, target networks and many updates for each batch."""

import copy
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dico._measuring import take
from dico.training.experience import Batch, Comparison, across
from dico.training.learner import Learner
from dico.training.optimiser import PopulationAdam


@dataclass(frozen=True)
class ReplayBatch(Batch):
    """With what was done."""

    action: Float[Tensor, "members steps envs n a"]
    """In the action box."""


@dataclass(frozen=True)
class ReplayMinibatch:
    """Frames of the replay buffer, each member's own."""

    obs: Float[Tensor, "members rows n o"]
    next_obs: Float[Tensor, "members rows n o"]
    action: Float[Tensor, "members rows n a"]
    reward: Float[Tensor, "members rows n"]
    done: Float[Tensor, "members rows"]
    how: Comparison


Sampled = TypeVar("Sampled", bound=ReplayMinibatch)
"""The minibatch of an algorithm."""


class OffPolicyLearner(Learner[ReplayBatch], Generic[Sampled]):
    """A learner that draws from a replay buffer, with critics of actions that target networks follow."""

    ON_POLICY = False
    BATCH = ReplayBatch
    READS = (*Learner.READS, "gamma")
    CRITICS: ClassVar[tuple[int, ...]] = ()
    """How many critics a member has, if not one: a dimension of their parameters after the members."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        size, device = (self.n_members, self.settings.replay), self.low.device
        self.replay_buffer = {name: torch.zeros(*size, *shape, device=device) for name, shape in self.shapes().items()}
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.critic = self.critic_network(self.team.obs_dim + len(self.team.low), *self.CRITICS)
        self.critic_adam = self.adam(self.critic.parameters())
        self.target_critic = copy.deepcopy(self.critic).requires_grad_(requires_grad=False)
        self._sample = self.stage.function(self.sample)
        self._sample_and_update = self.stage.procedure(lambda: self.update(self._sample()), self._touched)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """With actions."""
        return super().shapes() | {"action": (self.team.n_agents, len(self.team.low))}

    def learn(self, batch: ReplayBatch) -> None:
        """Store the batch, then update on random frames."""
        self.store(batch)
        for _ in range(self.settings.updates):
            self._sample_and_update()

    @abstractmethod
    def update(self, minibatch: Sampled) -> None:
        """One step on sampled frames."""

    def store(self, batch: ReplayBatch) -> None:
        """Write the batch over the oldest frames."""
        rows = batch.done.flatten(1, 2).shape[1]
        at = (self.count + torch.arange(rows, device=self.count.device)) % self.settings.replay
        for name, stored in self.replay_buffer.items():
            stored[:, at] = getattr(batch, name).flatten(1, 2).to(stored.dtype)
        self.count += rows

    @abstractmethod
    def sample(self) -> Sampled:
        """Random frames, each member's own, and what else an update needs."""

    def sampled_frames(self) -> dict[str, Any]:
        """The fields that all minibatches have; where the estimate is made on it, with frames of the newest batch."""
        rows = self.settings.batch
        index, newest = self.draw(rows), None
        if self.settings.estimate_on == "newest":
            batch = torch.full_like(self.count, self.settings.frames_per_batch)
            newest = self._newest(self.rng.integers(batch, rows))
        drawn = {name: take(stored, index) for name, stored in self.replay_buffer.items()}
        return {**drawn, "how": self.compare(drawn["obs"], newest=newest)}

    def draw(self, rows: int) -> Int[Tensor, "members rows"]:
        """Uniform among the frames stored so far."""
        filled = self.count.clamp(max=self.settings.replay)
        return self.rng.integers(filled, rows)

    def estimated_on(self, newest: Float[Tensor, "members rows n o"]) -> Float[Tensor, "members rows n o"]:
        """Frames of the replay buffer, evenly spaced, unless the estimate is made on the newest."""
        if self.settings.estimate_on == "newest":
            return newest
        rows = newest.shape[1]
        filled = self.count.clamp(max=self.settings.replay)
        spread = self.replay_buffer["obs"][:, torch.arange(rows, device=filled.device) * filled // rows]
        return torch.where(filled > 0, spread, newest)  # a group that never learns stores nothing

    def td_target(
        self, reward: Float[Tensor, "members rows n"], done: Float[Tensor, "members rows"], next_value: Tensor
    ) -> Float[Tensor, "members rows n"]:
        r""":math:`r+\gamma(1-d)V(s')`."""
        return reward + across(self.numbers["gamma"], reward) * (1 - done[..., None]) * next_value

    def _newest(self, index: Int[Tensor, "members rows"]) -> Float[Tensor, "members rows n o"]:
        """Observations of the newest batch, by how many frames they are from its end."""
        return take(self.replay_buffer["obs"], (self.count - 1 - index) % self.settings.replay)

    def _touched(self) -> list[Tensor]:
        return list(self.tensors().values())

    def modules(self) -> dict[str, nn.Module]:
        """All networks by name."""
        return {"policy": self.policy, "critic": self.critic, "target_critic": self.target_critic}

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return super().optimisers() | {"critic": self.critic_adam}

    def buffers(self) -> dict[str, Tensor]:
        """The number of frames ever stored; the frames themselves are saved apart."""
        return super().buffers() | {"count": self.count}
