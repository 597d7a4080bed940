"""Tanh as hidden layers have it, at the speed that a CPU can give it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Tanh(nn.Tanh):
    r"""``torch.tanh``; of float32 on a CPU as :math:`2\sigma(2x)-1`, which PyTorch computes five times as fast.

    The two agree to 1e-7, which is how far float32 tells numbers near 1 apart; what small numbers lose are digits
    below that. With small networks half of a training on a CPU was PyTorch's tanh.

    >>> x = torch.linspace(-9, 9, 1000)
    >>> (Tanh()(x) - torch.tanh(x)).abs().max() < 2e-7
    tensor(True)
    """

    def forward(self, input: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        by_sigmoid = input.device.type == "cpu" and input.dtype == torch.float32
        return BySigmoid.apply(input) if by_sigmoid else torch.tanh(input)  # pyright: ignore[reportReturnType]


class BySigmoid(torch.autograd.Function):
    """Tanh from the sigmoid, in one tensor, with the gradient of a tanh: no more is kept than of that."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        """Of any shape."""
        return torch.sigmoid(2 * x).mul_(2).sub_(1)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        """Keep the output, all that the slope needs."""
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        r""":math:`\tanh'=1-\tanh^2`."""
        (output,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradient, output)
