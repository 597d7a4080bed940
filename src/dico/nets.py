"""Batched networks: one set of weights per agent, and per member of a population, in single matrix products."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dico._checks import check_choice
from dico.activations import Tanh

FEW_COLUMNS, MANY_ROWS = 4, 2048
"""A compiled product with so few inputs or outputs, for so many rows, is a matter of memory: it is written out."""


@runtime_checkable
class Deviations(Protocol):
    """What DiCo needs of the per-agent networks."""

    n_agents: int

    def __call__(self, obs: Float[Tensor, "*batch n o"]) -> Float[Tensor, "*batch n d"]:
        """Each agent's network at the agent's own row."""
        ...

    def everyone(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch n d"]:
        """Every agent's network at every row."""
        ...


def at_offsets(
    deviations: Deviations, obs: Float[Tensor, "*batch n o"], offsets: Int[Tensor, "*batch k"]
) -> Float[Tensor, "*batch n k d"]:
    """Row i through the networks of agents ``i + offsets`` (modulo n) alone, for networks that treat rows one by one.

    Each network sees k rows of each team, in one pass, where :meth:`Deviations.everyone` shows it all n. Networks that
    look at the whole team (:class:`PerAgent`) are shown it all the same, and nothing is saved.

    >>> nets, obs = AgentMLP(3, inputs=4, outputs=2), torch.randn(10, 3, 4)
    >>> some = at_offsets(nets, obs, torch.tensor([0, 2]).expand(10, 2))
    >>> torch.allclose(some[:, 1], nets.everyone(obs)[:, 1, [1, 0]])  # row 1: agents 1 + 0 and 1 + 2
    True
    """
    n = obs.shape[-2]
    agent, offset = torch.arange(n, device=obs.device), offsets.unsqueeze(-1)
    if isinstance(deviations, PerAgent) and deviations.sees == "team":
        return deviations.everyone(obs).take_along_dim(((agent + offset) % n).mT.unsqueeze(-1), -2)
    seen = obs.unsqueeze(-3).take_along_dim(((agent - offset) % n).unsqueeze(-1), -2)  # (*batch, k, n, o)
    return deviations(seen).take_along_dim(((agent + offset) % n).unsqueeze(-1), -2).transpose(-3, -2)


def own_and_everyone(
    deviations: Deviations, obs: Float[Tensor, "*batch n o"], others: Float[Tensor, "*rows o"]
) -> tuple[Float[Tensor, "*batch n d"], Float[Tensor, "*rows n d"]]:
    """Each agent's network at the agent's own row of ``obs``, and every network at every row of ``others``.

    In one pass where the networks can do so.
    """
    if isinstance(deviations, AgentMLP):
        return deviations.own_and_everyone(obs, others)
    return deviations(obs), deviations.everyone(others)


class StackedLinear(nn.Module):
    """As many linear layers as ``stack`` has entries: ``(*stack, rows, inputs) -> (*stack, rows, outputs)``.

    >>> StackedLinear((3,), 4, 2)(torch.ones(3, 10, 4)).shape
    torch.Size([3, 10, 2])
    """

    def __init__(self, stack: Sequence[int], inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*stack, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(*stack, 1, outputs))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, uniform: Callable[[tuple[int, ...]], Tensor] = torch.rand) -> None:
        """Draw anew from the distribution of ``torch.nn.Linear``, given numbers uniform in [0, 1) of a shape."""
        bound = 1 / math.sqrt(self.weight.shape[-2])
        for parameter in (self.weight, self.bias):
            parameter.copy_(bound * (2 * uniform(tuple(parameter.shape)) - 1))

    def forward(self, x: Float[Tensor, "*#stack rows inputs"]) -> Float[Tensor, "*stack rows outputs"]:
        # an exported program is for any number of rows, and is not asked
        compiling = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
        if compiling and x.shape[-2] >= MANY_ROWS:
            if self.weight.shape[-2] <= FEW_COLUMNS:
                return self._from_few(x)
            if self.weight.shape[-1] <= FEW_COLUMNS:
                return self._to_few(x)
        return torch.matmul(x, self.weight) + self.bias

    def _from_few(self, x: Tensor) -> Tensor:
        """The same column by column, which a compiler fuses with the activation: one trip through memory, not three."""
        columns = zip(x.split(1, -1), self.weight.split(1, -2), strict=True)
        output = sum((column * row for column, row in columns), self.bias)
        kind = x.device.type
        return output.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else output

    def _to_few(self, x: Tensor) -> Tensor:
        """The same output by output; the backward pass then needs no trip of its own for the gradient of ``x``."""
        outputs = [(x * weight.mT).sum(-1, keepdim=True) for weight in self.weight.split(1, -1)]
        return torch.cat(outputs, -1) + self.bias

    def extra_repr(self) -> str:
        *stack, inputs, outputs = self.weight.shape
        return f"stack={tuple(stack)}, inputs={inputs}, outputs={outputs}"


class StackedMLP(nn.Sequential):
    """As many MLPs as ``stack`` has entries: ``(*stack, rows, inputs) -> (*stack, rows, outputs)``."""

    def __init__(
        self,
        stack: Sequence[int],
        inputs: int,
        outputs: int,
        hidden: Sequence[int] = (256, 256),
        activation: Callable[[], nn.Module] = Tanh,
    ):
        sizes = (inputs, *hidden, outputs)
        layers: list[nn.Module] = []
        for size, next_size in pairwise(sizes):
            layers += [StackedLinear(stack, size, next_size), activation()]
        super().__init__(*layers[:-1])


class SharedMLP(nn.Module):
    """One MLP for every agent: ``(*members, ..., o) -> (*members, ..., d)``.

    >>> SharedMLP(4, 2)(torch.ones(10, 3, 4)).shape
    torch.Size([10, 3, 2])
    """

    def __init__(self, inputs: int, outputs: int, hidden: Sequence[int] = (256, 256), members: Sequence[int] = ()):
        super().__init__()
        self.inputs = inputs
        self.member_axes = len(members)
        self.mlp = StackedMLP(members, inputs, outputs, hidden)

    def forward(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch d"]:
        members, batch = obs.shape[: self.member_axes], obs.shape[self.member_axes : -1]
        output = self.mlp(obs.reshape(*members, math.prod(batch), obs.shape[-1]))
        return output.reshape(*members, *batch, output.shape[-1])


class AgentMLP(nn.Module):
    """One MLP per agent, evaluated together.

    >>> nets = AgentMLP(3, inputs=4, outputs=2)
    >>> obs = torch.ones(10, 3, 4)
    >>> nets(obs).shape, nets.everyone(obs).shape  # each on its own row; all on every row
    (torch.Size([10, 3, 2]), torch.Size([10, 3, 3, 2]))
    """

    def __init__(
        self,
        n_agents: int,
        inputs: int,
        outputs: int,
        hidden: Sequence[int] = (256, 256),
        members: Sequence[int] = (),
    ):
        super().__init__()
        self.n_agents = n_agents
        self.inputs = inputs
        self.member_axes = len(members)
        self.mlp = StackedMLP((*members, n_agents), inputs, outputs, hidden)

    def forward(self, obs: Float[Tensor, "*batch n o"]) -> Float[Tensor, "*batch n d"]:
        """Each agent's network on its own row."""
        return self._agents_last(self.mlp(self._own_rows(obs)), obs.shape[:-2])

    def everyone(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch n d"]:
        """Every agent's network on every row, in one pass."""
        return self._agents_last(self.mlp(self._all_rows(obs)), obs.shape[:-1])

    def own_and_everyone(
        self, obs: Float[Tensor, "*batch n o"], others: Float[Tensor, "*rows o"]
    ) -> tuple[Float[Tensor, "*batch n d"], Float[Tensor, "*rows n d"]]:
        """``forward(obs)`` and ``everyone(others)`` in one pass: fewer products, which leave less of a GPU idle."""
        own, every = self._own_rows(obs), self._all_rows(others)
        output = self.mlp(torch.cat((own, every.expand(*own.shape[:-2], *every.shape[-2:])), -2))
        mine, all_of_them = output.split((own.shape[-2], every.shape[-2]), -2)
        return self._agents_last(mine, obs.shape[:-2]), self._agents_last(all_of_them, others.shape[:-1])

    def _own_rows(self, obs: Float[Tensor, "*batch n o"]) -> Float[Tensor, "*members n rows o"]:
        members, batch = obs.shape[: self.member_axes], obs.shape[self.member_axes : -2]
        return obs.reshape(*members, math.prod(batch), *obs.shape[-2:]).transpose(-3, -2)

    def _all_rows(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*members 1 rows o"]:
        members, batch = obs.shape[: self.member_axes], obs.shape[self.member_axes : -1]
        return obs.reshape(*members, 1, math.prod(batch), obs.shape[-1])

    def _agents_last(self, output: Tensor, batch: tuple[int, ...]) -> Tensor:
        return output.transpose(-3, -2).reshape(*batch, self.n_agents, output.shape[-1])


class PerAgent(nn.Module):
    """Any network per agent, such as a GNN or a recurrent net: each ``(..., n, o) -> (..., n, d)``.

    Args:
        networks: one for each agent.
        sees: ``team`` hands each network the whole team's observations and takes the agent's own row of its output,
            which is right for any network. ``self`` hands it the agent's own row alone when acting: n times cheaper,
            for networks that treat rows one by one.

    >>> nets = PerAgent([nn.Linear(4, 2) for _ in range(3)], sees="self")
    >>> obs = torch.ones(10, 3, 4)
    >>> nets(obs).shape, nets.everyone(obs).shape
    (torch.Size([10, 3, 2]), torch.Size([10, 3, 3, 2]))
    """

    def __init__(self, networks: Sequence[nn.Module] | nn.ModuleList, sees: Literal["team", "self"] = "team"):
        super().__init__()
        check_choice("sees", sees, ("team", "self"))
        if not isinstance(networks, Iterable) or not all(isinstance(each, nn.Module) for each in networks):
            raise ValueError(f"networks must be a sequence of modules, one for each agent, got {networks!r}")
        self.networks = nn.ModuleList(networks)
        self.n_agents = len(self.networks)
        self.sees = sees

    def forward(self, obs: Float[Tensor, "*batch n o"]) -> Float[Tensor, "*batch n d"]:
        """Each agent's network, at the agent's own row.

        Args:
            obs: what each agent of each team sees.

        Returns:
            A row for each agent.
        """
        if self.sees == "self":
            return torch.stack([net(obs[..., i, :]) for i, net in enumerate(self.networks)], -2)
        return torch.stack([net(obs)[..., i, :] for i, net in enumerate(self.networks)], -2)

    def everyone(self, obs: Float[Tensor, "*batch rows o"]) -> Float[Tensor, "*batch rows n d"]:
        """Every agent's network on every row.

        Args:
            obs: any rows; with ``sees="team"``, the rows of one team.

        Returns:
            For each row, what each agent would do.
        """
        return torch.stack([net(obs) for net in self.networks], -2)


class Broadcast(nn.Module):
    """A module that already maps ``(..., n, o)`` to ``(..., n, d)``, row i through agent i's network.

    It must treat rows one by one: shown one row n times, a network that looks at other rows too, such as a GNN, would
    not do what it does when acting. The first call of :meth:`everyone` sees to that, and refuses such a module.
    """

    def __init__(self, module: nn.Module, n_agents: int):
        super().__init__()
        self.module = module
        self.n_agents = n_agents
        self.is_checked = n_agents == 1

    def forward(self, obs: Float[Tensor, "*batch n o"]) -> Float[Tensor, "*batch n d"]:
        return self.module(obs)

    def everyone(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch n d"]:
        """Every agent's network on every row: the row is shown to each of the n agents."""
        shown = obs.unsqueeze(-2).expand(*obs.shape[:-1], self.n_agents, obs.shape[-1])
        if not self.is_checked and not torch.compiler.is_compiling():
            self.is_checked = True
            if mixes_rows(self.module, shown):
                raise ValueError(
                    "deviations must treat each agent's observation by itself, but this module looks at several rows "
                    "at once, as a GNN does: give one network for each agent, DiCo(shared, [gnn_1, gnn_2, ...], ...)"
                )
        return self.module(shown)


@torch.no_grad()
def mixes_rows(module: nn.Module, obs: Float[Tensor, "*batch n o"]) -> bool:
    """Whether the first or the last row of a module's output depends on other rows of its input.

    >>> mixes_rows(nn.Linear(4, 2), torch.ones(10, 3, 4)), mixes_rows(nn.Softmax(-2), torch.ones(10, 3, 4))
    (False, True)
    """
    modes = {part: part.training for part in module.modules()}
    module.eval()  # what is random in training is none of this
    try:
        as_they_are = module(obs)
        for own, others in ((0, slice(1, None)), (-1, slice(None, -1))):
            changed = obs.clone()
            changed[..., others, :] = 0.5 - obs[..., others, :]
            if not torch.allclose(module(changed)[..., own, :], as_they_are[..., own, :], 1e-3, 1e-5, equal_nan=True):
                return True
    finally:
        for part, mode in modes.items():
            part.training = mode
    return False
