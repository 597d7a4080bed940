"""What DDPG and SAC share: experience replay and many updates for each batch."""

import copy
from abc import abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dico._measuring import take
from dico.training.learner import Batch, Learner
from dico.training.optimiser import PopulationAdam


class OffPolicyLearner(Learner):
    """A learner that draws from all it has kept, with a critic of actions that a delayed copy follows."""

    CRITICS: ClassVar[tuple[int, ...]] = ()
    """Leading dimensions of the critic's parameters, after the members."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        n, o, a = self.team.n_agents, self.team.obs_dim, len(self.team.low)
        shapes = {"obs": (n, o), "next_obs": (n, o), "raw": (n, a), "reward": (n,), "done": ()}
        size = (self.members, self.config.replay)
        self.kept = {name: torch.zeros(*size, *shape, device=self.low.device) for name, shape in shapes.items()}
        self.count = torch.zeros((), dtype=torch.int64, device=self.low.device)
        self.critic = self._critic(o + a, (self.members, *self.CRITICS))
        self.critic_adam = self._adam(self.critic, self.config.lr, self.config.adam_eps)
        self.delayed = copy.deepcopy(self.critic).requires_grad_(requires_grad=False)
        self._sample_and_update = self.stage.procedure(
            lambda: self.update(*self.sample()), lambda: self.tensors().values()
        )

    def learn(self, batch: Batch) -> None:
        """Keep the batch, then update on random frames."""
        self.keep(batch)
        for _ in range(self.config.updates):
            self._sample_and_update()

    def keep(self, batch: Batch) -> None:
        """Write the batch over the oldest frames."""
        rows = batch.done.flatten(1, 2).shape[1]
        at = (self.count + torch.arange(rows, device=self.count.device)) % self.config.replay
        for name, kept in self.kept.items():
            kept[:, at] = getattr(batch, name).flatten(1, 2).to(kept.dtype)
        self.count += rows

    def sample(self) -> list[Tensor]:
        """Random frames, each member's own: observation, next observation, action, reward, done.

        And, where the estimate is made on the newest batch, observations of that.
        """
        index = self.draw(self.config.batch)
        drawn = [take(kept, index) for kept in self.kept.values()]
        if self.config.estimate_on == "newest":
            batch = torch.full_like(self.count, self.config.frames_per_batch)
            drawn.append(self._newest(self.rng.integers(batch, self.config.batch)))
        return drawn

    def draw(self, rows: int) -> Int[Tensor, "members rows"]:
        """Uniform among the frames kept so far."""
        filled = self.count.clamp(max=self.config.replay)
        return self.rng.integers(filled, rows)

    def estimated_on(self, newest: Float[Tensor, "members rows n o"]) -> Float[Tensor, "members rows n o"]:
        """Frames of the replay, evenly spaced, unless the estimate is made on the newest."""
        if self.config.estimate_on == "newest":
            return newest
        rows = newest.shape[1]
        filled = self.count.clamp(max=self.config.replay)
        spread = self.kept["obs"][:, torch.arange(rows, device=filled.device) * filled // rows]
        return torch.where(filled > 0, spread, newest)  # a group that never learns keeps nothing

    def _newest(self, index: Int[Tensor, "members rows"]) -> Float[Tensor, "members rows n o"]:
        """Observations of the newest batch, by how many frames they are from its end."""
        return take(self.kept["obs"], (self.count - 1 - index) % self.config.replay)

    @abstractmethod
    def update(
        self,
        obs: Tensor,
        next_obs: Tensor,
        action: Tensor,
        reward: Tensor,
        done: Tensor,
        recent: Tensor | None = None,
    ) -> None:
        """One step on sampled frames; the estimate is made on ``recent`` ones, if given."""

    def target(
        self, reward: Float[Tensor, "members rows n"], done: Float[Tensor, "members rows"], next_value: Tensor
    ) -> Float[Tensor, "members rows n"]:
        r""":math:`r+\gamma(1-d)V(s')`."""
        return reward + self.config.gamma * (1 - done[..., None]) * next_value

    def modules(self) -> dict[str, nn.Module]:
        """All networks by name."""
        return {"policy": self.policy, "critic": self.critic, "delayed": self.delayed}

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return super().optimisers() | {"critic": self.critic_adam}

    def buffers(self) -> dict[str, Tensor]:
        """The number of frames ever kept; the frames themselves are saved apart."""
        return super().buffers() | {"count": self.count}
