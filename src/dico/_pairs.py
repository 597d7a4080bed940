"""Sums over agent pairs in memory linear in the number of agents."""

from collections.abc import Iterator
from typing import Any, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

CHUNKS = 3
"""Observations are worked on in so many parts, which bounds the memory for intermediate results."""
CACHE = 2**17
"""On a CPU, no more numbers than this at a time: they stay in its cache."""
FEWEST = 2**14
"""No fewer numbers than this at a time: they would not be worth the calls."""
FEW_COMPONENTS = 12
"""A compiler is handed so few components one by one, which it fuses best; more of them would take it minutes."""


def agents_first(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "d n *batch"]:
    """A view with the long axes last: work over many observations vectorises, over two components it does not."""
    return params.movedim((-1, -2), (0, 1))


def length(difference: Tensor, dim: int) -> Tensor:
    """Euclidean length; its first and second derivatives are 0 where it is 0, and not NaN."""
    square = difference.square().sum(dim=dim)
    apart = square > 0
    return torch.where(apart, torch.where(apart, square, 1).sqrt(), 0)


def mean_distances(params: Float[Tensor, "*batch obs n d"]) -> Float[Tensor, "*batch n n"]:
    """The symmetric matrix of Euclidean distances, averaged over observations.

    >>> mean_distances(torch.tensor([[[0.0], [1.0], [3.0]]]))
    tensor([[0., 1., 3.],
            [1., 0., 2.],
            [3., 2., 0.]])
    """
    n = params.shape[-2]
    once = params.new_zeros((*params.shape[:-3], n, n))  # every pair in one of its two places
    for near, far, shift in _shifted(params):
        i = torch.arange(near.shape[1], device=params.device)
        once[..., i, (i + shift) % n] = length(near - far, dim=0).mean(-1).movedim(0, -1)
    return once + once.mT


def upper(matrix: Shaped[Tensor, "*batch n n"]) -> Shaped[Tensor, "*batch pairs"]:
    """Its entries of every agent pair i < j, in the order of ``torch.triu_indices(n, n, 1)``.

    >>> upper(torch.arange(9).reshape(3, 3))
    tensor([1, 2, 5])
    """
    n = matrix.shape[-1]
    i, j = torch.triu_indices(n, n, 1, device=matrix.device)
    return matrix[..., i, j]


def pair_distances(
    params: Float[Tensor, "*batch n d"], i: Int[Tensor, " pairs"], j: Int[Tensor, " pairs"]
) -> Float[Tensor, "pairs *batch"]:
    """Euclidean distances of given agent pairs; their gradient is 0 where two agents coincide.

    >>> pair_distances(torch.tensor([[0.0], [1.0], [3.0]]), torch.tensor([0, 1]), torch.tensor([2, 2]))
    tensor([3., 2.])
    """
    team = agents_first(params).contiguous()
    return length(team[:, i] - team[:, j], dim=0)


def pair_distance_sum(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch"]:
    """Sum of Euclidean distances over agent pairs, in memory linear in agents, forward and backward.

    Of more than two agents, compiled, it is a :class:`FusedPairDistanceSum`: compiled in seconds, and faster.

    >>> pair_distance_sum(torch.tensor([[0.0], [1.0], [3.0]]))
    tensor(6.)
    """
    *batch, n, d = params.shape
    if n == 2:
        return length(params[..., 0, :] - params[..., 1, :], dim=-1)
    if torch.compiler.is_compiling():
        return cast(Tensor, FusedPairDistanceSum.apply(params))
    rows = params.reshape(-1, n, d)
    most = CACHE if params.device.type == "cpu" else rows.numel()
    size = max(min(rows.numel() // CHUNKS, most), FEWEST)
    sums = [PairDistanceSum.apply(chunk) for chunk in rows.split(max(1, size // (n * d)))]
    return torch.cat(cast(list[Tensor], sums)).reshape(batch)


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


class PairDistanceSum(torch.autograd.Function):
    r"""Sum of Euclidean distances over agent pairs: ``(rows, n, d) -> (rows)``.

    Autograd would keep every pair's difference for the backward pass. Here the backward pass recomputes them from
    the team alone, using :math:`\partial \|x_i - x_j\| / \partial x_i = (x_i - x_j) / \|x_i - x_j\|`, with 0 where two
    agents coincide. It is itself differentiable, and works under ``vmap`` and ``compile``.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(params: Tensor) -> Tensor:
        total = torch.zeros_like(params[..., 0, 0])
        for near, far, _ in _shifted(params):
            difference = near - far
            total += difference.mul_(difference).sum(dim=0).sqrt_().sum(dim=0)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        (params,) = ctx.saved_tensors
        n = params.shape[-2]
        pull = params.new_zeros(params.shape[-1], n + n // 2, *params.shape[:-2])
        for near, far, shift in _shifted(params):
            difference = near - far
            square = difference.square().sum(dim=0)
            direction = difference * torch.where(square > 0, square, 1).rsqrt()
            rows = near.shape[1]
            pull[:, :rows] += direction
            pull[:, shift : shift + rows] -= direction
        pull[:, : n // 2] += pull[:, n:]
        return (grad_outputs[0] * pull[:, :n]).movedim((0, 1), (-1, -2))


class FusedPairDistanceSum(torch.autograd.Function):
    r"""What :class:`PairDistanceSum` computes, over all n x n pairs at once, for a compiler: ``(..., n, d) -> (...)``.

    .. math:: \sum_{i<j} \|x_i - x_j\|, \qquad
        \frac{\partial}{\partial x_i} = \sum_{j \ne i} \frac{x_i - x_j}{\|x_i - x_j\|}

    A compiler fuses either into one reduction that stores nothing for each pair; of more than 6 components torch 2.13
    stores one number for each. Not compiled, every difference would be stored.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(params: Tensor) -> Tensor:
        square = _squares(params)
        agent = torch.arange(params.shape[-2], device=params.device)
        counted = (agent[:, None] < agent) & (square != 0)
        return torch.where(counted, torch.where(counted, square, 1).sqrt(), 0).sum((-1, -2))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        (params,) = ctx.saved_tensors
        square = _squares(params)
        inverse = torch.where(square > 0, square, 1).rsqrt()
        if params.shape[-1] > FEW_COMPONENTS:
            pull = (_differences(params) * inverse.unsqueeze(-1)).sum(-2)
        else:
            pull = torch.stack([(difference * inverse).sum(-1) for difference in _by_component(params)], -1)
        return grad_outputs[0][..., None, None] * pull


def _differences(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n d"]:
    """Of all pairs."""
    return params.unsqueeze(-2) - params.unsqueeze(-3)


def _by_component(params: Float[Tensor, "*batch n d"]) -> list[Float[Tensor, "*batch n n"]]:
    """The same one component after the other: apart, so that a compiler fuses their sum with all else."""
    return [x.unsqueeze(-1) - x.unsqueeze(-2) for x in params.unbind(-1)]


def _squares(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    """Squared distances of all pairs."""
    if params.shape[-1] > FEW_COMPONENTS:
        return _differences(params).square().sum(-1)
    first, *others = (difference.square() for difference in _by_component(params))
    return sum(others, first)


def _wrapped(params: Tensor) -> Tensor:
    """The team followed by its first half, agents first, so that every cyclic shift is a plain slice."""
    team = agents_first(params)
    return torch.cat((team, team[:, : team.shape[1] // 2]), dim=1)


def _shifted(params: Tensor) -> Iterator[tuple[Tensor, Tensor, int]]:
    """The two ends of all pairs, one cyclic shift at a time."""
    team = _wrapped(params)
    for shift, rows in cyclic_pairs(params.shape[-2]):
        yield team[:, :rows], team[:, shift : shift + rows], shift
