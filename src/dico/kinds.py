r"""What the networks' outputs mean: the three kinds of policies that thm:scaling is proven for (sec:proofs).

Each kind turns raw outputs into the two terms of :math:`\pi_i=\pi_h+c\,\pi_{h,i}` (eq:scaled_policies).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

MIN_STD = 0.01
"""No policy's shared standard deviation is below this, as in the original."""


def positive(raw: Float[Tensor, "*shape"], least: float = 0.0) -> Float[Tensor, "*shape"]:
    r"""How a raw output becomes a standard deviation: :math:`\mathrm{softplus}(x+\mathrm{softplus}^{-1}(1-m))+m`.

    It is 1 at 0, and above its least value m everywhere.

    >>> positive(torch.tensor([0.0, -5.0, -10.0]), MIN_STD)
    tensor([1.0000, 0.0213, 0.0101])
    """
    return F.softplus(raw + math.log(math.expm1(1 - least))) + least


def _as_is(raw: Tensor) -> Tensor:
    return raw


def _mean_and_std(raw: Tensor) -> Tensor:
    mean, std = raw.chunk(2, -1)
    return torch.cat((mean, positive(std, MIN_STD)), -1)


def _mean_and_extra_std(raw: Tensor) -> Tensor:
    mean, std = raw.chunk(2, -1)
    return torch.cat((mean, positive(std)), -1)


def _mean_and_zero(raw: Tensor) -> Tensor:
    return F.pad(raw, (0, raw.shape[-1]))


@dataclass(frozen=True)
class Kind:
    """How many numbers per action component each network outputs, and what becomes of them."""

    shared_width: int
    deviation_width: int
    homogeneous: Callable[[Tensor], Tensor]
    """Raw shared output -> :math:`\\pi_h`."""
    deviation: Callable[[Tensor], Tensor]
    """Raw per-agent output -> :math:`\\pi_{h,i}`."""

    @property
    def width(self) -> int:
        """Numbers per action component in the policy: 1 (mean) or 2 (mean and standard deviation)."""
        return max(self.shared_width, self.deviation_width)


KINDS: dict[str, Kind] = {
    # case 1: pi_h = [mu_h], pi_{h,i} = [mu_{h,i}]
    "deterministic": Kind(1, 1, _as_is, _as_is),
    # case 2: pi_h = [mu_h, sigma_h], pi_{h,i} = [mu_{h,i}, 0]
    "shared_std": Kind(2, 1, _mean_and_std, _mean_and_zero),
    # case 3 with a floor: pi_h = [mu_h, sigma_h], pi_{h,i} = [mu_{h,i}, sigma_{h,i}], so that sigma_i >= sigma_h > 0
    "agent_std": Kind(2, 2, _mean_and_std, _mean_and_extra_std),
    # case 3 as published: pi_h = [mu_h, 0]; sigma_i vanishes with the desired diversity, and log-probabilities diverge
    "agent_std_paper": Kind(1, 2, _mean_and_zero, _mean_and_extra_std),
}
