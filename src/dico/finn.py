r"""A density on the unit cube by a Fixed Integral Neural Network (app:finn).

A scalar network :math:`F:\mathbb{R}^d\to\mathbb{R}` has the mixed partial
:math:`f=\partial^dF/\partial u_1\cdots\partial u_d`, whose integral over the cube is the alternating sum of F over the
:math:`2^d` corners, exactly and whatever the weights. Where f is positive, f over its integral is a density.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import pairwise
from operator import add, mul

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico._checks import check_positive, check_switch

Jet = dict[int, Tensor]
"""Mixed partials by set of inputs (bit k stands for input k; 0 for the value itself). Those left out are zero."""
Network = list[tuple[Tensor, Tensor]]
"""The weights and the offset of each layer."""

FEW_INPUTS, MAX_INPUTS = 4, 6
"""Inputs up to which the network is recommended, and possible: beyond, corners cancel and partitions are too many."""
LOW, HIGH = 0.1, 40.0
"""Bounds of the weights from one input: almost constant across the cube, and a ridge a fortieth of it wide."""
FLOOR = 1e-3
"""The least share of the uniform density in q, and so the least value of q."""
START = 0.5
"""The share of the uniform density at the start: with 0.99 ridges have so little that they learn late."""


def set_partitions(elements: Sequence[int]) -> list[list[int]]:
    """Every way to split a set into blocks, each a number whose bits are the block's elements: Bell's number of them.

    >>> set_partitions([0, 1])  # {0, 1} whole; {0} and {1}
    [[3], [1, 2]]
    >>> [len(set_partitions(range(d))) for d in range(1, 7)]
    [1, 2, 5, 15, 52, 203]
    """
    if not elements:
        return [[]]
    *others, last = elements
    bit = 1 << last
    return [
        split
        for blocks in set_partitions(others)
        for split in (
            *([*blocks[:k], block | bit, *blocks[k + 1 :]] for k, block in enumerate(blocks)),
            [*blocks, bit],
        )
    ]


def gaussian_integrals(z: Float[Tensor, "*batch"], n: int) -> list[Float[Tensor, "*batch"]]:
    r"""The Gaussian density and its antiderivatives :math:`[\phi,\Phi,I_1,\dots,I_n]`, each the derivative of the next.

    With :math:`I_{-1}=\phi` and :math:`I_0=\Phi`, integrating by parts: :math:`k\,I_k(z)=z\,I_{k-1}(z)+I_{k-2}(z)`.

    >>> [round(each.item(), 4) for each in gaussian_integrals(torch.tensor(0.0), 2)]
    [0.3989, 0.5, 0.3989, 0.25]
    """
    # in single precision as a power of 2: one of e takes a CPU five times as long, and far out fifteen times
    bell = torch.exp2(z.square() * (-0.5 / math.log(2))) if z.dtype == torch.float32 else torch.exp(-0.5 * z.square())
    integrals = [bell / math.sqrt(2 * math.pi)]
    if n >= 0:
        integrals.append(0.5 * torch.erfc(z * -math.sqrt(0.5)))
    for k in range(1, n + 1):  # all are positive; the clamp is for what is left of them far out, 1e-200 and less
        integrals.append(((z * integrals[-1] + integrals[-2]) / k).clamp_min(0))
    return integrals


class PositiveLinear(nn.Module):
    r"""Linear layers of positive weights that vanish somewhere in the unit cube: :math:`z=\sum_k w_k\,(x_k-c)`.

    Weights are within ``scale`` times [0.1, 40], on a logarithmic scale, and the centre c is in [0, 1]: no parameter
    can put a layer out of the cube's reach.
    """

    def __init__(self, stack: Sequence[int], inputs: int, outputs: int, scale: float = 1.0):
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(*stack, inputs, outputs))
        self.centre = nn.Parameter(torch.empty(*stack, 1, outputs))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, uniform: Callable[[tuple[int, ...]], Tensor] = torch.rand) -> None:
        """Draw anew, given numbers uniform in [0, 1) of a shape: weights of 0.2 to 20, centres of 0.12 to 0.88."""
        for parameter in (self.weight, self.centre):
            parameter.copy_(4 * uniform(tuple(parameter.shape)) - 2)

    def affine(self) -> tuple[Float[Tensor, "*stack inputs outputs"], Float[Tensor, "*stack 1 outputs"]]:
        """The weights and the offset of ``z = x @ weight - offset``, in float64."""
        weight = self.scale * LOW * (HIGH / LOW) ** self.weight.double().sigmoid()
        return weight, self.centre.double().sigmoid() * weight.sum(-2, keepdim=True)


class FixedIntegralNetwork(nn.Module):
    r"""A density on the unit cube: ``q = finn(u)``, ``(*members, ..., d) -> (*members, ...)``, at least 0.001.

    .. math::
        q(u)=p_0+\sum_h p_h\,\frac{f_h(u)}{\int f_h},\qquad
        f_h=\frac{\partial^dF_h}{\partial u_1\cdots\partial u_d},\qquad
        \int f_h=\sum_{v\in\{0,1\}^d}(-1)^{d-|v|}F_h(v),

    where :math:`F_h` is a unit of the last hidden layer and the shares p sum to 1: a FINN with output weights
    :math:`p_h/\int f_h`. At the start :math:`p_0=1/2`: of one hidden layer, 0.6 to 1.9 in four dimensions.

    **Activation.** With positive weights f is positive if all derivatives of orders 1 to d of the activations are: f
    is a sum of products of these and of weights (Faa di Bruno). :math:`I_{d-1}` of :func:`gaussian_integrals` is such a
    function: its derivatives are :math:`I_{d-2},\dots,\Phi,\phi`, positive everywhere, in closed form, and growing no
    faster than powers. The last of them is a bump, so one hidden layer is a mixture of Gaussian ridges
    :math:`\phi(w\cdot u-b)`; had it been monotone, q could not even draw a bump on a line.

    **Signed.** With positive weights one hidden layer has no ridge along which two inputs rise together. ``signed``
    shares the units out among the :math:`2^{d-1}` ways to flip inputs to :math:`1-u_k`, the first input excepted (a
    ridge with all inputs flipped is a ridge again), at least one unit of each layer to each. They are networks of
    their own; as a flip takes the cube to itself, f stays positive and its integral is that of the corners.

    Mixed partials are carried forward for all sets of inputs, without nested differentiation. Integrals are of float64,
    because the corners cancel: with one hidden layer, they are right to 1e-12 at the start, and with the worst
    parameters to 1e-7 for d = 4 and to 1e-3 for d = 6. In four dimensions one hidden layer, signed, fits best.
    Parameters may be of any precision; q has that of u, which must lie within the cube. So have the activations of the
    last layer, but at least float32, by which q is off by 3e-6 at most; all products are of float64.

    >>> q = FixedIntegralNetwork(2, signed=True)
    >>> u = torch.rand(10, 5, 2)
    >>> q(u).shape
    torch.Size([10, 5])
    >>> grid = (torch.arange(100) + 0.5) / 100
    >>> round(q(torch.cartesian_prod(grid, grid)).mean().item(), 4)
    1.0
    """

    corners: Tensor
    flips: Tensor

    def __init__(
        self, inputs: int, hidden: Sequence[int] = (128,), *, signed: bool = False, members: Sequence[int] = ()
    ):
        super().__init__()
        check_positive("inputs", inputs)
        check_switch("signed", signed)
        if inputs > MAX_INPUTS:
            raise ValueError(
                f"inputs must be at most {MAX_INPUTS} (beyond, the corners cancel in float64), got {inputs}"
            )
        if inputs > FEW_INPUTS:
            warnings.warn(
                f"{inputs} inputs make {2**inputs} corners, less exact to sum; {FEW_INPUTS} or fewer are recommended",
                stacklevel=2,
            )
        self.inputs, self.signed = inputs, signed
        self.members, hidden = _sizes("members", members), _sizes("hidden", hidden)
        if not hidden:
            raise ValueError("hidden must hold at least one layer's size, got ()")
        patterns = 2 ** (inputs - 1) if signed else 1
        sizes = (inputs, *(math.ceil(size / patterns) for size in hidden))
        stack = (*self.members, patterns)
        self.layers = nn.ModuleList(PositiveLinear(stack, a, b, scale=inputs / a) for a, b in pairwise(sizes))
        self.logits = nn.Parameter(torch.empty(*self.members, 1 + patterns * sizes[-1]))
        bit = torch.arange(inputs)
        self.register_buffer("corners", torch.arange(2**inputs)[:, None] >> bit & 1, persistent=False)
        self.register_buffer("flips", 2 * torch.arange(patterns)[:, None, None] >> bit & 1 == 1, persistent=False)
        self._partitions = {
            subset: set_partitions([k for k in range(inputs) if subset >> k & 1]) for subset in range(2**inputs)
        }
        self._reset_shares()

    def reset_parameters(self, uniform: Callable[[tuple[int, ...]], Tensor] = torch.rand) -> None:
        """Draw anew, given numbers uniform in [0, 1) of a shape."""
        for layer in self.layers:
            assert isinstance(layer, PositiveLinear)
            layer.reset_parameters(uniform)
        self._reset_shares()

    @torch.no_grad()
    def _reset_shares(self) -> None:
        units = self.logits.shape[-1] - 1
        self.logits.zero_()[..., 0] = math.log(START / (1 - START) * units)

    def forward(self, u: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        self._check(u)
        k = len(self.members)
        rows = u.double().reshape(*self.members, 1, math.prod(u.shape[k:-1]), self.inputs)
        if self.signed:
            rows = torch.where(self.flips, 1 - rows, rows)
        network, integral = self.network()
        share = (1 - FLOOR) * self.logits.double().softmax(-1)
        output = (share[..., 1:].reshape(integral.shape) / integral).unsqueeze(-2)
        partials = self.mixed_partial(network, rows, torch.promote_types(u.dtype, torch.float32))
        ridges = (partials * output.to(partials.dtype)).sum((-3, -1))  # no product that a device would round
        return (FLOOR + share[..., :1] + ridges).reshape(u.shape[:-1]).to(u.dtype)

    def network(self) -> tuple[Network, Float[Tensor, "*stack units"]]:
        """The FINN as weights and offsets of its layers, and the integral of each unit of the last one, in float64.

        A unit grows with every input, so it is least at the first corner and greatest at the last: each layer's
        weights and offsets take this range to [0, 1], which makes the units of all layers inputs from a unit cube.
        """
        network: Network = []
        values = self.corners.double()
        for layer in self.layers:
            assert isinstance(layer, PositiveLinear)
            weight, offset = layer.affine()
            if network:
                low, high = values[..., :1, :], values[..., -1:, :]
                weight = weight / (high - low).mT
                offset = offset + low @ weight
            network.append((weight, offset))
            values = gaussian_integrals(values @ weight - offset, self.inputs - 1)[-1]
        sign = 1 - 2 * ((self.inputs - self.corners.sum(-1, keepdim=True)) % 2)
        rounding = 2**self.inputs * torch.finfo(values.dtype).eps * values[..., -1, :].detach()
        return network, (sign * values).sum(-2).clamp_min(rounding)

    def antiderivative(
        self, network: Network, rows: Float[Tensor, "*#stack rows d"]
    ) -> Float[Tensor, "*stack rows units"]:
        """The functions F, units of the last layer, at inputs that are flipped where they should be."""
        values = rows
        for weight, offset in network:
            values = gaussian_integrals(values @ weight - offset, self.inputs - 1)[-1]
        return values

    def mixed_partial(
        self, network: Network, rows: Float[Tensor, "*#stack rows d"], precision: torch.dtype = torch.float64
    ) -> Float[Tensor, "*stack rows units"]:
        """The functions f, mixed partials of F, at inputs that are flipped where they should be.

        The last layer's activations are of the ``precision``, which is where the numbers are many; no difference of
        large numbers comes after.
        """
        every = range(2**self.inputs)
        jet: Jet = {}
        for number, (weight, offset) in enumerate(network, 1):
            if number == 1:
                jet = {0: rows @ weight} | {1 << k: slope for k, slope in enumerate(weight.split(1, -2))}
            else:
                jet = {subset: partial @ weight for subset, partial in jet.items()}
            jet[0] = jet[0] - offset
            if number == len(network):
                jet = {subset: partial.to(precision) for subset, partial in jet.items()}
            jet = self._activate(jet, every if number < len(network) else every[-1:])
        return jet[every[-1]]

    def _activate(self, jet: Jet, subsets: Iterable[int]) -> Jet:
        r"""Faa di Bruno: :math:`\partial_S\sigma(z)=\sum_\pi\sigma^{(|\pi|)}(z)\prod_{B\in\pi}\partial_Bz`.

        The sum is over the partitions of S; those with a block whose partial is zero are passed over.
        """
        splits = {s: [split for split in self._partitions[s] if all(b in jet for b in split)] for s in subsets}
        least = min(len(split) for each in splits.values() for split in each)
        integrals = gaussian_integrals(jet[0], self.inputs - 1 - least)
        result: Jet = {}
        for subset, each in splits.items():
            products: dict[int, list[Tensor]] = {}
            for split in each:
                if split:
                    products.setdefault(len(split), []).append(reduce(mul, [jet[block] for block in split]))
            terms = [integrals[self.inputs - order] * reduce(add, same) for order, same in products.items()]
            result[subset] = reduce(add, terms) if terms else integrals[self.inputs]
        return result

    def _check(self, u: Tensor) -> None:
        if not isinstance(u, Tensor):
            raise ValueError(f"u must be a tensor, got {u!r}")
        k = len(self.members)
        if u.ndim <= k or u.shape[:k] != self.members or u.shape[-1] != self.inputs:
            form = ", ".join(map(str, (*self.members, "...", self.inputs)))
            raise ValueError(f"u must have shape ({form}), got {tuple(u.shape)}")
        if not u.is_floating_point():
            raise ValueError(f"u must be a floating-point tensor, got {u.dtype}")

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, signed={self.signed}, members={self.members}"


def _sizes(name: str, sizes: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(sizes, Sequence) or isinstance(sizes, str):
        raise ValueError(f"{name} must be a sequence of positive integers, got {sizes!r}")
    for size in sizes:
        check_positive(f"each of {name}", size)
    return tuple(sizes)
