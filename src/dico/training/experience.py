"""What learners handle: a team, its batches, decisions and losses, and numbers of each member."""

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.func import functional_call

from dico.boxes import Box

Weight = Shaped[Tensor, " rows"] | None
"""How much each frame of a minibatch counts, all alike if there is none; true or false will do."""


@dataclass(frozen=True)
class Team:
    """The group of agents that a learner trains."""

    name: str
    n_agents: int
    obs_dim: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    obs_box: Box | None = None
    """The observations that its diversity is controlled over; None where it is on those met, or not at all."""


@dataclass(frozen=True)
class Batch:
    """What a group experienced, ``(members, steps, envs, ...)``; algorithms add what they need to remember."""

    obs: Float[Tensor, "members steps envs n o"]
    next_obs: Float[Tensor, "members steps envs n o"]
    """Before any reset."""
    reward: Float[Tensor, "members steps envs n"]
    done: Bool[Tensor, "members steps envs"]
    """The episode ended here, by itself or at the horizon: no value is bootstrapped beyond."""


Experience = TypeVar("Experience", bound=Batch)
"""The batch of an algorithm."""


class Decision(NamedTuple):
    """What a group does in one step: ``(members, envs, n, ...)``."""

    action: Float[Tensor, "members envs n a"]
    """In the action box."""
    remembered: dict[str, Tensor]
    """What the algorithm's batch holds of it, by field."""


class Comparison(NamedTuple):
    """How agents are compared for the diversity estimate of an update."""

    offsets: Int[Tensor, "members frames k"] | None = None
    """Which agents are, at each frame, as :meth:`DiCo.estimate` takes them; all if there are none."""
    weight: Weight = None
    """How much each frame counts."""
    newest: Float[Tensor, "members rows n o"] | None = None
    """Observations of the newest batch that they are compared at, in place of the update's own."""


class Losses(NamedTuple):
    """Each member's losses on a minibatch, each with a gradient for its own parameters alone, and the estimate."""

    actor: Float[Tensor, " members"]
    critic: Float[Tensor, " members"]
    snd_hat: Float[Tensor, " members"]


def of_rows(weight: Weight) -> Tensor | None:
    """The weight of each frame as that of its agents' observations."""
    return None if weight is None else weight[:, None]


def across(vector: Float[Tensor, " members"], values: Float[Tensor, "members ..."]) -> Float[Tensor, "members ..."]:
    """A number for each member, in a shape that meets ``values``.

    >>> import torch
    >>> across(torch.ones(2), torch.zeros(2, 5, 3)).shape
    torch.Size([2, 1, 1])
    """
    return vector.reshape(-1, *[1] * (values.ndim - 1))


def average(values: Float[Tensor, "members rows *rest"], weight: Weight = None) -> Float[Tensor, " members"]:
    """Each member's mean, in which every row counts alike, or as much as it weighs.

    >>> import torch
    >>> average(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([1, 3, 0]))
    tensor([1.7500, 4.7500])
    """
    if weight is not None:
        share = weight.to(values.dtype)
        values = values * (share / share.mean()).reshape(-1, *[1] * (values.ndim - 2))
    return values.flatten(1).mean(1)


def without_gradient(module: nn.Module, x: Tensor) -> Tensor:
    """A module's output with a gradient for its input, and none for its parameters."""
    return functional_call(module, {name: p.detach() for name, p in module.named_parameters()}, (x,))
