"""Value networks of a population: one per agent on what it sees, or one for the group on all that it sees."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico.finn import PositiveLinear
from dico.nets import AgentMLP, SharedMLP, StackedLinear
from dico.random import Random


class LocalCritic(nn.Module):
    """A network per agent: ``(*members, ..., n, inputs) -> (*members, ..., n)``.

    >>> import torch
    >>> LocalCritic(2, 4, hidden=(8,), member_shape=(3,))(torch.zeros(3, 5, 2, 4)).shape
    torch.Size([3, 5, 2])
    """

    def __init__(self, n_agents: int, inputs: int, hidden: Sequence[int], member_shape: Sequence[int]):
        super().__init__()
        self.net = AgentMLP(n_agents, inputs, 1, hidden, member_shape)

    def forward(self, x: Float[Tensor, "*batch n inputs"]) -> Float[Tensor, "*batch n"]:
        return self.net(x).squeeze(-1)


class CentralCritic(nn.Module):
    """One network on the whole group, its value shared by all: ``(*members, ..., n, inputs) -> (*members, ..., n)``.

    >>> import torch
    >>> CentralCritic(2, 4, hidden=(8,), member_shape=(3,))(torch.zeros(3, 5, 2, 4)).shape
    torch.Size([3, 5, 2])
    """

    def __init__(self, n_agents: int, inputs: int, hidden: Sequence[int], member_shape: Sequence[int]):
        super().__init__()
        self.n_agents = n_agents
        self.net = SharedMLP(n_agents * inputs, 1, hidden, member_shape)

    def forward(self, x: Float[Tensor, "*batch n inputs"]) -> Float[Tensor, "*batch n"]:
        return self.net(x.flatten(-2)).expand(*x.shape[:-2], self.n_agents)


Critic = LocalCritic | CentralCritic
MakeCritic = Callable[[int, int, Sequence[int], Sequence[int]], Critic]
"""Of the number of agents, the inputs, the hidden units, and the leading dimensions of its parameters."""


def values_of(
    critics: Callable[[Tensor], Tensor],
    stacked: tuple[int, ...],
    obs: Float[Tensor, "members rows n o"],
    action: Float[Tensor, "members rows n a"],
) -> Float[Tensor, "members critics rows n"]:
    """What each of a member's stacked critics says of the same actions."""
    x = torch.cat((obs, action), -1)
    return critics(x[:, None].expand(-1, *stacked, *[-1] * (x.ndim - 1)))


def initialise_(module: nn.Module, rng: Random) -> None:
    """Draw each member's weights from its own seed, whoever else is in the population."""
    for layer in module.modules():
        if isinstance(layer, StackedLinear | PositiveLinear):
            layer.reset_parameters(lambda shape: rng.uniform(*shape[1:]))
