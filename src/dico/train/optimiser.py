"""Gradient clipping, Adam and target networks for stacked members, none of whom touches another."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn


def clip_factors(gradients: Sequence[Tensor], max_norm: float) -> Float[Tensor, " members"]:
    r"""Each member's factor :math:`\min(1, m/\|g\|)`, which brings the norm of all its gradients to at most m.

    >>> clip_factors([torch.tensor([[3.0, 4.0], [0.3, 0.4]])], 1.0)
    tensor([0.2000, 1.0000])
    """
    squares = [gradient.reshape(len(gradient), -1).square().sum(1) for gradient in gradients]
    return (max_norm / (torch.stack(squares).sum(0).sqrt() + 1e-6)).clamp(max=1.0)


def per_member(values: Float[Tensor, " members"], like: Tensor) -> Tensor:
    """One number per member, to be multiplied with a tensor whose first dimension is the member."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


class PopulationAdam:
    """Adam over parameters whose first dimension is the member; ``lr`` is one number, or one per member.

    >>> weight = nn.Parameter(torch.zeros(2, 3))
    >>> optimiser = PopulationAdam([weight], lr=[0.1, 0.2])
    >>> optimiser.step([torch.ones(2, 3)])
    >>> weight[:, 0].tolist()  # doctest: +ELLIPSIS
    [-0.0999..., -0.1999...]
    """

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        lr: float | Sequence[float] | Tensor,
        eps: float = 1e-5,
        betas: tuple[float, float] = (0.9, 0.999),
    ):
        self.parameters: list[Tensor] = list(parameters)
        device = self.parameters[0].device
        self.lr = torch.as_tensor(lr, dtype=torch.float32, device=device)
        self.eps, self.betas = eps, betas
        self.count = torch.zeros((), dtype=torch.float32, device=device)
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], factors: Float[Tensor, " members"] | None = None) -> None:
        """Move every parameter against its gradient, multiplied with its member's factor."""
        gradients = list(gradients)
        if factors is not None:
            gradients = [gradient * per_member(factors, gradient) for gradient in gradients]
        beta1, beta2 = self.betas
        self.count += 1
        torch._foreach_lerp_(self.first, gradients, 1 - beta1)
        torch._foreach_mul_(self.second, beta2)
        torch._foreach_addcmul_(self.second, gradients, gradients, 1 - beta2)
        # 1 - beta^count, which float32 would lose digits of
        size = self.lr / -torch.expm1(self.count * math.log(beta1))
        correction = (-torch.expm1(self.count * math.log(beta2))).sqrt()
        denominators = torch._foreach_sqrt(self.second)
        torch._foreach_div_(denominators, correction)
        torch._foreach_add_(denominators, self.eps)
        moves = torch._foreach_div(self.first, denominators)
        if self.lr.ndim == 0:
            torch._foreach_mul_(moves, size)
        else:
            for move in moves:
                move.mul_(per_member(size, move))
        torch._foreach_sub_(self.parameters, moves)

    def tensors(self) -> dict[str, Tensor]:
        """Its state by name, for a checkpoint."""
        named = {f"first.{i}": m for i, m in enumerate(self.first)} | {
            f"second.{i}": v for i, v in enumerate(self.second)
        }
        return named | {"count": self.count}


@torch.no_grad()
def follow_(target: nn.Module, source: nn.Module, share: float) -> None:
    """Move a target network's parameters towards its source's by ``share`` of the way."""
    torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), share)
