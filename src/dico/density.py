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
    log_shares: Tensor

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
        self.register_buffer("earlier", earlier.unsqueeze(-2), persistent=False)
        self.register_buffer("knots", torch.arange(self.bins + 1.0), persistent=False)
        ends = torch.tensor([0.5] + [1.0] * (self.bins - 1) + [0.5], dtype=torch.float64)
        self.register_buffer("log_shares", ends.log(), persistent=False)

    def forward(self, u: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return LEAST + (1 - LEAST) * self.product(u)

    def product(self, u: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        r""":math:`\prod_k q_k`, the density that is learned."""
        members, batch = u.shape[: self.member_axes], u.shape[self.member_axes : -1]
        rows = u.reshape(*members, 1, math.prod(batch), self.inputs)
        distance = rows.squeeze(-3).mT.unsqueeze(-1) * self.bins - self.knots.to(u.dtype)  # (*members, d, rows, B + 1)
        # the height at u that each end of a bin gives it, for all of the integral
        nearness = (1 - distance.abs()).clamp_min(0) * (self.bins * (-self.log_shares.to(u.dtype)).exp())
        conditionals = (self._weights(rows) * nearness).sum(-1)
        # one by one: the gradient of `prod` asks for the zeros among them
        return reduce(torch.mul, conditionals.unbind(-2)).reshape(*members, *batch)

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
            weights = self._weights(u.unsqueeze(-3))[..., k, :, :]
            upto, number = weights.cumsum(-1), even[..., k : k + 1].contiguous()
            hat = torch.searchsorted(upto[..., :-1].contiguous(), number)
            share = ((number - upto.gather(-1, hat)) / weights.gather(-1, hat) + 1).clamp(0, 1)
            u[..., k] = ((hat + _under_hat(share, hat == 0, hat == self.bins)) / self.bins).squeeze(-1)
        return u

    def _weights(self, rows: Float[Tensor, "*members 1 rows d"]) -> Float[Tensor, "*members d rows ends"]:
        """How much of each conditional's integral is under the hat over each end of a bin."""
        return (self._logits(rows) + self.log_shares.to(rows.dtype)).softmax(-1)

    def _logits(self, rows: Float[Tensor, "*members 1 rows d"]) -> Float[Tensor, "*members d rows ends"]:
        seen = (2 * rows - 1) * self.earlier.to(rows.dtype)
        weight = cast(Tensor, self.mlp[-1].weight)  # no parameter in TorchRL's targets
        return self.mlp(seen.to(weight.dtype)).to(rows.dtype)

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
