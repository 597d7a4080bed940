"""A task of your own, trained from Python: as many posts as agents, and a team that is paid for reaching all of them.

All agents start in one place and see the same, so a team without diversity stays together, and reaches one post at
most. From the command line, in this folder: dico train own_task:Posts --task-options n_agents=3
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

import dico
from dico.experiments import preset
from dico.random import Random
from dico.runs import Run
from dico.tasks import Group, Scene, Task
from dico.tasks.scene import GREY, discs, square

SPEED = 0.1


@dataclass(frozen=True)
class PostsState:
    """Tensors alone; their leading dimensions are the batch."""

    position: Tensor
    posts: Tensor


@dataclass(frozen=True, kw_only=True)
class Posts(Task[PostsState]):
    """Each step pays the team for how much nearer, on average, the posts have come to the agent nearest to them."""

    snd_levels: ClassVar[tuple[str, ...]] = ("0", "0.5", "1", "free")

    n_agents: int = 2
    """Agents, and posts."""
    horizon: int = 50
    """Steps in an episode."""

    @property
    def groups(self) -> tuple[Group, ...]:
        return (Group("agents", tuple(range(self.n_agents)), obs_dim=2 * self.n_agents),)

    def reset(self, n: int, rng: Random) -> PostsState:
        start = rng.uniform(n, 1, 2, low=-0.3, high=0.3)
        posts = rng.uniform(n, self.n_agents, 2, low=-1.0, high=1.0)
        return PostsState(start.expand_as(posts).clone(), posts)

    def step(self, state: PostsState, actions: Tensor) -> tuple[PostsState, Tensor, Tensor]:
        position = (state.position + SPEED * actions.clamp(-1, 1)).clamp(-1.5, 1.5)
        nearer = _distance(state.position, state.posts) - _distance(position, state.posts)
        reward = nearer[..., None].expand(position.shape[:-1])
        return PostsState(position, state.posts), reward, torch.zeros_like(nearer, dtype=torch.bool)

    def observe(self, state: PostsState) -> tuple[Tensor]:
        """The way to every post."""
        return ((state.posts[..., None, :, :] - state.position[..., None, :]).flatten(-2),)

    def scene(self, state: PostsState) -> Scene:
        posts = discs("post", state.posts, 0.08, (GREY,), filled=False)
        return Scene(extent=square(1.5), circles=posts + discs("agent", state.position, 0.05))


def _distance(position: Tensor, posts: Tensor) -> Tensor:
    """From each post to the agent nearest to it, the mean over posts."""
    apart = torch.linalg.vector_norm(posts[..., :, None, :] - position[..., None, :, :], dim=-1)
    return apart.amin(-1).mean(-1)


def main(folder: str | None = None, frames: int = 120_000) -> Run:
    config = preset("quick", Posts(n_agents=2), snd=("0", "1", "free"), seeds=2, frames=frames)
    run = dico.train(config, folder)
    for level in dico.analysis.summary(run):
        print(
            f"desired SND {level.level:>4}: reward {float(level.reward.centre):.4f}, SND {float(level.snd.centre):.2f}"
        )
    return run


if __name__ == "__main__":
    main()
