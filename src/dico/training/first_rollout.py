"""What agents see before anybody has learned: a box of observations for analytical control can be made of it."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico.boxes import FIRST_FRAMES
from dico.random import Random
from dico.tasks import Group, Task, check_groups

SEED, STREAM = 0, 500
"""Of its random numbers, which are no member's."""


@torch.no_grad()
def random_observations(task: Task, group: Group) -> Float[Tensor, "rows o"]:
    """All that a group sees in episodes of uniformly random actions, about ``FIRST_FRAMES`` steps of them.

    They are the same for every member, alone or among others, on any device and whenever they are asked for.

    >>> from dico.tasks import make
    >>> task = make("navigation")
    >>> random_observations(task, task.groups[0]).shape
    torch.Size([12000, 4])
    """
    groups, rng = check_groups(task), Random([SEED], STREAM)
    envs = -(-FIRST_FRAMES // task.horizon)
    low, high = torch.tensor(task.action_low), torch.tensor(task.action_high)
    state, running, seen = task.reset(envs, rng), torch.ones(1, envs, dtype=torch.bool), []
    for _ in range(task.horizon):
        obs = task.observe(state)[groups.index(group)]
        seen.append(obs[running].flatten(0, 1))
        state, _, done = task.step(state, rng.uniform(envs, task.n_agents, len(low), low=low, high=high))
        running = running & ~done
    return torch.cat(seen)
