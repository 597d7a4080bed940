"""Correlation of ranks: whether two things rise together, however steeply."""

from collections.abc import Sequence

import numpy as np
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


def rank_correlations(
    against: Sequence[float], measured: Sequence[Float[np.ndarray, " _"]]
) -> Float[np.ndarray, " seeds"]:
    """Of each seed that all levels have, the rank correlation over levels of what was measured with a number of each.

    >>> rank_correlations([0.1, 0.3, 1.0], [np.array([1.0, 9.0]), np.array([2.0, 8.0]), np.array([4.0, 7.0])])
    array([ 1., -1.])
    """
    seeds = min(map(len, measured))
    by_seed = torch.tensor(np.stack([values[:seeds] for values in measured], 1))
    return rank_correlation(torch.tensor(against, dtype=torch.float64).expand_as(by_seed), by_seed).numpy()


def _ranks(values: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    """How many are less, and half of those that are equal."""
    ordered = values.sort(-1).values.contiguous()
    less, less_or_equal = (torch.searchsorted(ordered, values.contiguous(), side=side) for side in ("left", "right"))
    return (less + less_or_equal).double() / 2
