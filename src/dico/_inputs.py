"""What a policy is called with, and gets from its networks: observations, weights of their rows, agents to compare."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from dico.kinds import Kind
from dico.metrics import Metric
from dico.nets import Deviations

LONGEST = 60
"""Letters of what is no tensor that are told; of more, what it is."""
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_obs(obs: Tensor, members: tuple[int, ...], deviations: Deviations, *, per_agent: bool = False) -> None:
    """Observations must be ``(*members, ..., o)``, or ``(*members, ..., n, o)`` with a row for each agent."""
    if not isinstance(obs, Tensor):
        got = repr(obs)
        if len(got) > LONGEST:
            got = f"{type(obs).__name__}: torch.as_tensor makes one of it"
        raise ValueError(f"obs must be a tensor, got {got}")
    rows = (deviations.n_agents,) if per_agent else ()
    features = getattr(deviations, "inputs", obs.shape[-1] if obs.ndim else "features")
    k = len(members)
    fits = obs.ndim > k + len(rows) and obs.shape[:k] == members and obs.shape[-1] == features
    if not fits or (per_agent and obs.shape[-2:-1] != rows):
        form = ", ".join(map(str, (*members, "...", *rows, features)))
        raise ValueError(f"obs must have shape ({form}), got {tuple(obs.shape)}")
    if hasattr(deviations, "inputs") and not obs.is_floating_point():
        raise ValueError(f"obs must be a floating-point tensor, got {obs.dtype}")


def check_offsets(offsets: Tensor, obs: Tensor, metric: Metric) -> None:
    """Some agents are compared at each team's rows: k integers for each team of ``obs``, and a mean over pairs."""
    if not metric.of_pairs:
        raise ValueError("offsets must be left out for this metric: it is not a mean over pairs of agents (of_pairs)")
    fits = isinstance(offsets, Tensor) and offsets.ndim and offsets.shape[:-1] == obs.shape[:-2]
    if not fits or offsets.dtype not in INTEGERS or offsets.shape[-1] < 2:
        form = ", ".join(map(str, (*obs.shape[:-2], "k")))
        got = f"{tuple(offsets.shape)} {offsets.dtype}" if isinstance(offsets, Tensor) else repr(offsets)
        raise ValueError(f"offsets must be integers ({form}), k at least 2, got {got}")


def check_weight(weight: Tensor | None, obs: Tensor, metric: Metric) -> None:
    """Weights, if any, must broadcast to the rows of ``obs``, for a metric that rows can be weighed in."""
    if weight is None:
        return
    if not metric.of_means:
        raise ValueError("weight must be left out for this metric: it is not made of mean distances (of_means)")
    if not isinstance(weight, Tensor) or not _broadcasts(weight.shape, obs.shape[:-1]):
        got = tuple(weight.shape) if isinstance(weight, Tensor) else repr(weight)
        raise ValueError(f"weight must be a tensor that broadcasts to {tuple(obs.shape[:-1])}, got {got}")


def shares(weight: Tensor, everyone: Float[Tensor, "*rows n d"], members: tuple[int, ...]) -> Float[Tensor, "*rows"]:
    """Each row's weight, of mean 1 over a member's rows.

    >>> shares(torch.tensor([True, False]), torch.zeros(2, 3, 1), members=())
    tensor([2., 0.])
    """
    rows = everyone.shape[:-2]
    weight = weight.to(everyone.dtype).expand(rows)
    return weight / weight.mean(tuple(range(len(members), len(rows))), keepdim=True)


def check_widths(homogeneous: Tensor, deviation: Tensor, kind: Kind) -> None:
    """Both terms of a policy must be as wide as each other."""
    if homogeneous.shape[-1] != deviation.shape[-1]:
        raise ValueError(
            f"shared and deviations must output {kind.shared_width} and {kind.deviation_width} numbers "
            f"per action component, got outputs that make {homogeneous.shape[-1]} and {deviation.shape[-1]} in all"
        )


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    fits = [a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False)]
    return len(shape) <= len(to) and all(fits)
