"""Gaussians squashed into the action box by a tanh."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def squash(
    raw: Float[Tensor, "*batch a"], low: Float[Tensor, " a"], high: Float[Tensor, " a"]
) -> Float[Tensor, "*batch a"]:
    """A Gaussian sample into the box.

    >>> squash(torch.tensor([0.0, 100.0]), torch.tensor([-1.0, 0.0]), torch.tensor([3.0, 1.0]))
    tensor([1., 1.])
    """
    return low + (high - low) * (raw.tanh() + 1) / 2


def gaussian_log_prob(
    raw: Float[Tensor, "*batch a"], mean: Float[Tensor, "*batch a"], std: Float[Tensor, "*batch a"]
) -> Float[Tensor, "*batch"]:
    """Log-density of a diagonal Gaussian.

    >>> round(gaussian_log_prob(torch.zeros(2), torch.zeros(2), torch.ones(2)).item(), 4)
    -1.8379
    """
    z = (raw - mean) / std
    return -(0.5 * z.square() + std.log() + 0.5 * math.log(2 * math.pi)).sum(-1)


def squashed_log_prob(
    raw: Float[Tensor, "*batch a"],
    mean: Float[Tensor, "*batch a"],
    std: Float[Tensor, "*batch a"],
    low: Float[Tensor, " a"],
    high: Float[Tensor, " a"],
) -> Float[Tensor, "*batch"]:
    r"""Log-density, in the box, of the action that ``raw`` becomes.

    The Gaussian's, less the log of the squashing's slope :math:`\frac{high-low}{2}(1-\tanh^2 u)`.
    """
    log_slope = 2 * (math.log(2) - raw - F.softplus(-2 * raw)) + torch.log((high - low) / 2)
    return gaussian_log_prob(raw, mean, std) - log_slope.sum(-1)
