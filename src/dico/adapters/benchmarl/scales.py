"""Standard deviations through BenchMARL's ``scale_mapping``, backwards."""

import re

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = 1e-8
"""A standard deviation below what a mapping can output becomes its least value and this."""


def unscale(std: Float[Tensor, "*shape"], mapping: str) -> Float[Tensor, "*shape"]:
    """The raw output that BenchMARL's ``scale_mapping`` turns into ``std``.

    Its default, ``biased_softplus_1.0``, outputs no less than 0.01, so that smaller ones become 0.01.

    >>> from tensordict.nn.utils import mappings
    >>> mapping, std = "biased_softplus_1.0", torch.tensor([0.001, 0.02, 1.0, 50.0])
    >>> mappings(mapping)(unscale(std, mapping))
    tensor([1.0000e-02, 2.0000e-02, 1.0000e+00, 5.0000e+01])
    """
    if mapping == "exp":
        return std.log()
    if mapping in ("relu", "none"):
        return std
    if mapping == "softplus":
        return _inverse_softplus(std)
    number = r"(\d+\.?\d*|\.\d+)"
    found = re.fullmatch(rf"biased_softplus(?:_{number}(?:_{number})?)?", str(mapping))
    if not found:
        raise ValueError(
            "scale_mapping must be softplus, exp, relu, none or biased_softplus_BIAS such as biased_softplus_1.0, "
            f"got {mapping!r}"
        )
    bias, least = float(found[1] or 1), float(found[2] or 0.01)
    if bias <= least:
        raise ValueError(f"scale_mapping must have a bias above its least value, {least}, got {mapping!r}")
    return _inverse_softplus(std - least) - _inverse_softplus(std.new_tensor(bias - least))


def _inverse_softplus(y: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """log(exp(y) - 1), which overflows for no y."""
    y = y.clamp_min(SMALLEST)
    return y + torch.log(-torch.expm1(-y))
