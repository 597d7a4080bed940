"""Sums over agent pairs in memory linear in the number of agents."""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def agents_first(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "d n *batch"]:
    """Move the long axes last: work over many observations vectorises, work over two action components does not."""
    return params.movedim((-1, -2), (0, 1)).contiguous()


def cyclic_pairs(n: int) -> Iterator[tuple[int, int]]:
    r"""Every pair of ``n`` agents once, as cyclic shifts: yields ``(shift, rows)``.

    Agents :math:`i` and :math:`(i + s) \bmod n`, for :math:`i` below ``rows``, are the pairs at cyclic distance
    :math:`s \le n/2`; at :math:`s = n/2` half of the rows would repeat the other half. So n/2 whole-team
    operations replace n(n-1)/2 single ones, and none needs more room than the team itself.

    >>> [((i, (i + s) % 4)) for s, rows in cyclic_pairs(4) for i in range(rows)]
    [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
    """
    for shift in range(1, n // 2 + 1):
        yield shift, n if 2 * shift < n else n // 2


def _wrapped(team: Float[Tensor, "d n *batch"]) -> Tensor:
    """The team followed by its first half, so that every cyclic shift is a plain slice."""
    return torch.cat((team, team[:, : team.shape[1] // 2]), dim=1)


class PairDistanceSum(torch.autograd.Function):
    r"""Sum of Euclidean distances over agent pairs: ``(d, n, *batch) -> (*batch)``.

    Autograd would keep every pair's difference for the backward pass. Here the backward pass recomputes them from
    the team alone, using :math:`\partial \|x_i - x_j\| / \partial x_i = (x_i - x_j) / \|x_i - x_j\|`, with 0 where two
    agents coincide. It is itself differentiable, and works under ``vmap`` and ``compile``.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(team: Tensor) -> Tensor:
        wrapped = _wrapped(team)
        total = team.new_zeros(team.shape[2:])
        for shift, rows in cyclic_pairs(team.shape[1]):
            difference = wrapped[:, :rows] - wrapped[:, shift : shift + rows]
            total = total + difference.square().sum(dim=0).sqrt().sum(dim=0)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        (team,) = ctx.saved_tensors
        n = team.shape[1]
        wrapped = _wrapped(team)
        pull = torch.zeros_like(wrapped)
        for shift, rows in cyclic_pairs(n):
            difference = wrapped[:, :rows] - wrapped[:, shift : shift + rows]
            length = torch.linalg.vector_norm(difference, dim=0)
            direction = difference / length.clamp_min(torch.finfo(length.dtype).tiny)
            pull[:, :rows] += direction
            pull[:, shift : shift + rows] -= direction
        pull[:, : n // 2] += pull[:, n:]
        return grad_outputs[0] * pull[:, :n]
