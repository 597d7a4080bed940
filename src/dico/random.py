"""Random numbers from a seed and a counter: the same alone, in a population, on any device, after a resume."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

_GAMMA = -7046029254386353131  # 2^64 / golden ratio, odd, as a signed number
_MIX = ((30, -4658895280553007687), (27, -7723592293110705685), (31, None))


class Random:
    """One stream of random numbers for each member of a population, keyed by the member's seed.

    The i-th number of a stream is a hash of its seed and i (splitmix64), computed with tensor operations alone:
    nothing is read back to Python, so drawing compiles and can be captured in a CUDA graph. The state is ``keys``
    and ``counter``; copy them to save it. ``stream`` keeps the draws of different uses of a seed apart.

    >>> population, alone = Random([0, 1, 2]), Random([1])
    >>> torch.equal(population.uniform(5, 2)[1], alone.uniform(5, 2)[0])
    True
    """

    keys: Int[Tensor, "*members"]
    counter: Int[Tensor, ""]

    def __init__(self, seeds: Sequence[int] | Tensor, stream: int = 0, device: torch.device | str | None = None):
        keys = torch.as_tensor(seeds, dtype=torch.int64, device=device)
        self.keys = mix(mix(keys) + stream)
        self.counter = torch.zeros((), dtype=torch.int64, device=device)

    def bits(self, *shape: int) -> Int[Tensor, "..."]:
        """The next 64-bit words, ``(*members, *shape)``."""
        count = math.prod(shape)
        index = self.counter + torch.arange(count, device=self.keys.device)
        self.counter.add_(count)
        return mix(self.keys[..., None] + index * _GAMMA).reshape(*self.keys.shape, *shape)

    def uniform(self, *shape: int, low: float | Tensor = 0.0, high: float | Tensor = 1.0) -> Float[Tensor, "..."]:
        """Uniform in ``[low, high)``, ``(*members, *shape)``."""
        return low + _unit(self.bits(*shape) >> 40) * (high - low)

    def normal(self, *shape: int) -> Float[Tensor, "..."]:
        """Standard normal, ``(*members, *shape)`` (Box and Muller)."""
        bits = self.bits(*shape)
        radius = (-2 * torch.log(1 - _unit(bits >> 40))).sqrt()
        return radius * torch.cos(2 * math.pi * _unit(bits))

    def integers(self, high: int | Tensor, *shape: int) -> Int[Tensor, "..."]:
        """Uniform in ``0 .. high - 1``, ``(*members, *shape)``; ``high`` far below 2^31."""
        return ((self.bits(*shape) >> 33) & 0x7FFFFFFF) * high >> 31

    def permutation(self, n: int, *shape: int) -> Int[Tensor, "..."]:
        """Random orders of ``0 .. n - 1``, ``(*members, *shape, n)``."""
        return self.bits(*shape, n).argsort(-1)


def mix(x: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """The output function of splitmix64: every input bit reaches every output bit."""
    for shift, factor in _MIX:
        x = x ^ ((x >> shift) & ((1 << (64 - shift)) - 1))
        if factor is not None:
            x = x * factor
    return x


def _unit(bits: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The lowest 24 bits as a float32 in [0, 1)."""
    return (bits & 0xFFFFFF).float() * 2.0**-24
