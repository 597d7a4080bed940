"""Densities on the unit cube that integrate to 1 by construction: where analytical DiCo places diversity (app:finn)."""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico._building import check_sizes
from dico._checks import check_positive
from dico.nets import StackedLinear, StackedMLP

LEAST = 1e-3
"""No density is below this anywhere: it is mixed with so much of the uniform one."""


class AutoregressiveDensity(nn.Module):
    r"""A positive density on :math:`[0,1]^d`: ``(*members, ..., d) -> (*members, ...)``.

    .. math:: q(u) = \epsilon + (1-\epsilon)\prod_k q_k(u_k\mid u_1,\dots,u_{k-1})

    Each :math:`q_k` is piecewise linear in :math:`u_k`, with B equal bins: it has the heights :math:`e^{l_0},\dots,
    e^{l_B}` at their ends, divided by the trapezoid sum :math:`\frac1B(\frac12e^{l_0}+e^{l_1}+\dots+\frac12e^{l_B})`,
    which is the integral. So the last coordinate integrates to 1 whatever the others are, then the last but one, and in
    the end the whole, in any number of dimensions and for any weights. The logits l of coordinate k are an MLP's, of
    its own, of the coordinates before it; its last layer starts at zero, and q at 1 everywhere.
    (It has rectifiers, which cost less than tanh and fit navigation's ideal map as well with half the units.)
    :math:`\epsilon` is ``LEAST``.

    Args:
        inputs: d.
        bins: B; no :math:`q_k` exceeds B, or 2B at the two ends.
        hidden: widths of each coordinate's MLP.
        members: leading dimensions of the parameters, and of what it is called with.

    >>> density = AutoregressiveDensity(3)
    >>> density(torch.rand(2, 3))
    tensor([1., 1.], grad_fn=<AddBackward0>)
    """

    earlier: Tensor
    knots: Tensor
    shares: Tensor

    def __init__(self, inputs: int, *, bins: int = 16, hidden: Sequence[int] = (32, 32), members: Sequence[int] = ()):
        super().__init__()
        check_positive("inputs", inputs)
        check_positive("bins", bins)
        for name, sizes in (("hidden", hidden), ("members", members)):
            check_sizes(name, sizes)
        if not hidden:
            raise ValueError("hidden must hold at least one width, got none")
        self.inputs, self.bins = int(inputs), int(bins)
        self.member_axes = len(members)
        stack = (*members, self.inputs)
        self.mlp = nn.Sequential(
            StackedMLP(stack, self.inputs, hidden[-1], hidden[:-1], nn.ReLU),
            nn.ReLU(),
            ZeroLinear(stack, hidden[-1], bins + 1),
        )
        earlier = torch.ones(self.inputs, self.inputs).tril(-1)  # row k: which coordinates come before k
        self.register_buffer("earlier", earlier.unsqueeze(-1), persistent=False)
        self.register_buffer("knots", torch.arange(self.bins + 1.0).unsqueeze(-1), persistent=False)
        ends = torch.tensor([0.5] + [1.0] * (self.bins - 1) + [0.5], dtype=torch.float64)
        self.register_buffer("shares", ends.unsqueeze(-1), persistent=False)

    def forward(self, u: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return LEAST + (1 - LEAST) * self.product(u)

    def product(self, u: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        r""":math:`\prod_k q_k`, the density that is learned."""
        members, batch = u.shape[: self.member_axes], u.shape[self.member_axes : -1]
        columns = u.reshape((*members, math.prod(batch), self.inputs)).mT.contiguous()
        # the height at u that each end of a bin gives it, for all of the integral
        distance = columns.unsqueeze(-2) * self.bins - self.knots.to(u.dtype)  # (*members, d, ends, rows)
        heights = (1 - distance.abs()).clamp_min(0) * (self.bins / self.shares.to(u.dtype))
        weights = self._weights(columns)
        parts = zip(weights, heights.split([each.shape[-3] for each in weights], -3), strict=True)
        # one by one: the gradient of `prod` asks for the zeros among them
        conditionals = [q_k for weight, height in parts for q_k in (weight * height).sum(-2).unbind(-2)]
        return reduce(torch.mul, conditionals).reshape((*members, *batch))

    @torch.no_grad()
    def draw(self, even: Float[Tensor, "*members rows d"]) -> Float[Tensor, "*members rows d"]:
        r"""Points that lie as :math:`\prod_k q_k` says, made of points that lie evenly.

        :math:`q_k` is a mixture of hats, one over each end of a bin. A number of ``even`` says under which of them, the
        first up to which all weights add up to it, and the share of that one which is needed for it says where.

        >>> AutoregressiveDensity(1).draw(torch.tensor([[0.0], [0.5], [1.0]]))
        tensor([[0.0000],
                [0.5000],
                [1.0000]])
        """
        u = even.clone()
        for k in range(self.inputs):
            first, *others = self._weights(u.mT)
            weights = others[0][..., k - 1, :, :].mT if k else first.squeeze(-3).mT.expand(*u.shape[:-1], -1)
            upto, number = weights.cumsum(-1), even[..., k : k + 1].contiguous()
            hat = torch.searchsorted(upto[..., :-1].contiguous(), number)
            share = ((number - upto.gather(-1, hat)) / weights.gather(-1, hat) + 1).clamp(0, 1)
            u[..., k] = ((hat + _under_hat(share, hat == 0, hat == self.bins)) / self.bins).squeeze(-1)
        return u

    def _weights(self, columns: Float[Tensor, "*members d rows"]) -> list[Float[Tensor, "*members _ ends #rows"]]:
        """How much of each conditional's integral is under the hat over each end of a bin.

        Of the first coordinate, the same for all rows, and of the others, if there are any.
        """
        log_shares = self.shares.to(columns.dtype).log()
        return [(logits + log_shares).softmax(-2) for logits in self._logits(columns)]

    def _logits(self, columns: Float[Tensor, "*members d rows"]) -> list[Float[Tensor, "*members _ ends #rows"]]:
        """What the networks make of rows, in columns, which a CPU sums up faster: of the first one, and of the others.

        The first sees no coordinate: one row of nothing will do.
        """
        seen = [torch.zeros_like(columns[..., :1]).unsqueeze(-3)]
        if self.inputs > 1:
            seen.append((2 * columns - 1).unsqueeze(-3) * self.earlier[1:].to(columns.dtype))
        before, rectifier, last = self.mlp
        for layer in (*cast(StackedMLP, before), rectifier, last):
            if isinstance(layer, StackedLinear):
                weights, biases = (
                    cast(Tensor, of).split((1, self.inputs - 1), -3) for of in (layer.weight, layer.bias)
                )
                parts = zip(seen, weights, biases, strict=False)  # of a lone coordinate, the rest is of no network
                seen = [weight.mT @ x.to(weight.dtype) + bias.mT for x, weight, bias in parts]
            else:
                seen = [x.relu_() for x in seen]  # rectifiers, in place
        return [logits.to(columns.dtype) for logits in seen]

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, bins={self.bins}"


def _under_hat(share: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Where under a hat of width -1 to 1 its integral is a ``share``; of the first and the last there is half a hat.

    >>> no, yes = torch.tensor(False), torch.tensor(True)
    >>> _under_hat(torch.tensor([0.0, 0.125, 0.5, 1.0]), no, no)
    tensor([-1.0000, -0.5000,  0.0000,  1.0000])
    >>> _under_hat(torch.tensor(0.75), yes, no), _under_hat(torch.tensor(0.25), no, yes)
    (tensor(0.5000), tensor(-0.5000))
    """
    rising, falling = (2 * share).sqrt() - 1, 1 - (2 * (1 - share)).sqrt()
    whole = torch.where(share < 0.5, rising, falling)
    return torch.where(first, 1 - (1 - share).sqrt(), torch.where(last, share.sqrt() - 1, whole))


class ZeroLinear(StackedLinear):
    """Linear layers that start at zero."""

    @torch.no_grad()
    def reset_parameters(self, uniform: Callable[[tuple[int, ...]], Tensor] = torch.rand) -> None:  # noqa: ARG002
        """Zero, whatever the random numbers are."""
        self.weight.zero_()
        self.bias.zero_()
