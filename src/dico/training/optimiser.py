"""Gradient clipping, Adam and target networks for stacked members, none of whom touches another."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn


def flat(tensors: Sequence[Tensor]) -> Float[Tensor, "members all"]:
    """All numbers of each member in one row: few operations on long rows compile and run faster than many.

    >>> flat([torch.zeros(2, 1, 3), torch.ones(2, 2)])
    tensor([[0., 0., 0., 1., 1.],
            [0., 0., 0., 1., 1.]])
    """
    return torch.cat([tensor.reshape(len(tensor), -1) for tensor in tensors], 1)


def clip_factors(
    gradient: Float[Tensor, "members all"], max_norm: float | Float[Tensor, " members"]
) -> Float[Tensor, " members"]:
    r"""Each member's factor :math:`\min(1, m/\|g\|)`, which brings the norm of its gradient to at most m.

    >>> clip_factors(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([0.2000, 1.0000])
    """
    return (max_norm / (gradient.square().sum(1).sqrt() + 1e-6)).clamp(max=1.0)


class PopulationAdam:
    """Adam over parameters whose first dimension is the member; ``lr`` is one number, or one per member.

    >>> weight = nn.Parameter(torch.zeros(2, 3))
    >>> optimiser = PopulationAdam([weight], lr=[0.1, 0.2])
    >>> optimiser.step(flat([torch.ones(2, 3)]))
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
        like = {"dtype": self.parameters[0].dtype, "device": self.parameters[0].device}
        self.lr = torch.as_tensor(lr, **like)
        self.eps, self.betas = eps, betas
        self.count = torch.zeros((), **like)
        self.first = torch.zeros_like(flat(self.parameters))
        self.second = torch.zeros_like(self.first)

    @torch.no_grad()
    def step(self, gradient: Float[Tensor, "members all"], factors: Float[Tensor, " members"] | None = None) -> None:
        """Move the parameters against their :func:`flat` gradient, multiplied with each member's factor."""
        if factors is not None:
            gradient = gradient * factors[:, None]
        beta1, beta2 = self.betas
        self.count += 1
        self.first.lerp_(gradient, 1 - beta1)
        self.second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        # 1 - beta^count, which float32 would lose digits of
        size = self.lr / -torch.expm1(self.count * math.log(beta1))
        correction = (-torch.expm1(self.count * math.log(beta2))).sqrt()
        moves = self.first / (self.second.sqrt() / correction + self.eps) * size.reshape(-1, 1)
        torch._foreach_sub_(self.parameters, self._split(moves))

    def tensors(self) -> dict[str, Tensor]:
        """Its state by name, for a checkpoint."""
        moments = {"first": self.first, "second": self.second}
        named = {
            f"{name}.{i}": part for name, numbers in moments.items() for i, part in enumerate(self._split(numbers))
        }
        return named | {"count": self.count}

    def _split(self, numbers: Float[Tensor, "members all"]) -> list[Tensor]:
        """Each parameter's part, in its shape."""
        parts = numbers.split([p[0].numel() for p in self.parameters], 1)
        return [part.view(p.shape) for part, p in zip(parts, self.parameters, strict=True)]


@torch.no_grad()
def polyak_update_(target: nn.Module, source: nn.Module, share: float) -> None:
    """Move a target network's parameters towards its source's by ``share`` of the way."""
    torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), share)
