"""Tasks whose groups are not in the agents' order: tag with the green agent first, and one whose groups interleave."""

from dataclasses import dataclass

import torch

from dico.tasks import Group, Scene, Task
from dico.tasks.tag import Tag


@dataclass(frozen=True, kw_only=True)
class GreenFirst(Tag):
    """Tag, told the other way round."""

    name = "green-first"

    @property
    def groups(self):
        return super().groups[::-1]

    def observe(self, state):
        return super().observe(state)[::-1]


@dataclass(frozen=True)
class Place:
    position: torch.Tensor


@dataclass(frozen=True, kw_only=True)
class Interleaved(Task[Place]):
    """Each agent sees its own number and where it is, moves by its action, and is paid its number and its place."""

    name = "interleaved"
    snd_levels = ("0", "free")
    n_agents: int = 5
    horizon: int = 6

    @property
    def groups(self):
        return Group("odd", (3, 1), 3), Group("even", (4, 0, 2), 3)

    def reset(self, n, rng):
        return Place(rng.uniform(n, self.n_agents, 2))

    def step(self, state, actions):
        position = state.position + 0.1 * actions.clamp(-1, 1)
        rewards = torch.arange(self.n_agents, device=position.device) + position.sum(-1)
        return Place(position), rewards, torch.zeros_like(rewards[..., 0], dtype=torch.bool)

    def observe(self, state):
        number = torch.arange(self.n_agents, device=state.position.device).expand(state.position.shape[:-1])
        seen = torch.cat([number[..., None], state.position], -1)
        return torch.stack([seen[..., 3, :], seen[..., 1, :]], -2), torch.cat(
            [seen[..., 4:, :], seen[..., 0:3:2, :]], -2
        )

    def scene(self, state):
        return Scene(extent=(-1, 1, -1, 1))


SHUFFLED = {task.name: task for task in (GreenFirst, Interleaved)}
