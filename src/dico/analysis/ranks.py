"""Correlation of ranks: whether two things rise together, however steeply."""

import torch
from jaxtyping import Float
from torch import Tensor


def rank_correlation(a: Float[Tensor, "*batch n"], b: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    """Spearman's: the correlation of the ranks, equal values sharing theirs; NaN where one is constant.

    >>> rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 10.0, 1000.0]))
    tensor(1., dtype=torch.float64)
    """
    a, b = (each - each.mean(-1, keepdim=True) for each in (_ranks(a), _ranks(b)))
    return (a * b).sum(-1) / (a.square().sum(-1) * b.square().sum(-1)).sqrt()


def _ranks(values: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    """How many are less, and half of those that are equal."""
    ordered = values.sort(-1).values.contiguous()
    less, less_or_equal = (torch.searchsorted(ordered, values.contiguous(), side=side) for side in ("left", "right"))
    return (less + less_or_equal).double() / 2
