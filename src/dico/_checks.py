"""Bad input is told by name, value and what is allowed.

Numbers are checked as Python numbers: a policy can then be built where tensors hold no data (FakeTensorMode, meta).
"""

import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

import torch
from torch import Tensor

Value = float | Sequence[float] | Tensor
"""A number, or one for each member of a population."""
Vector = Sequence[float] | Tensor
"""A number for each action component."""
Choice = TypeVar("Choice", bound=str)


def numbers(value: Value) -> list[float]:
    """All numbers in ``value``.

    >>> numbers(0.5), numbers([0.1, 0.2])
    ([0.5], [0.1, 0.2])
    """
    if isinstance(value, Tensor):
        return value.flatten().tolist()
    return [float(value)] if isinstance(value, int | float) else [x for item in value for x in numbers(item)]


def check_choice(name: str, value: Choice, allowed: Iterable[str]) -> Choice:
    """``value`` if it is allowed; otherwise an error that lists what is, and the nearest."""
    allowed = list(allowed)
    if value not in allowed:
        near = get_close_matches(str(value), allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}{hint}")
    return value


def check_positive(name: str, value: int) -> None:
    """``value`` must be a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def check_diversity(name: str, value: Value) -> None:
    """Diversities are finite and at least 0."""
    if not all(0 <= x < math.inf for x in numbers(value)):
        raise ValueError(f"{name} must be a diversity, finite and at least 0, got {plain(value)}")


def check_tau(tau: Value) -> None:
    """Soft-update weights in [0, 1]."""
    if not all(0 <= x <= 1 for x in numbers(tau)):
        raise ValueError(f"tau must be in [0, 1], got {plain(tau)}")


def check_members(name: str, value: Tensor, members: tuple[int, ...]) -> None:
    """``value`` must be one number, or one for each member of the population."""
    if value.shape not in ((), members):
        raise ValueError(f"{name} must hold one value or one for each of members={members}, got {tuple(value.shape)}")


def check_box(low: Vector, high: Vector) -> tuple[list[float], list[float]]:
    """The two corners of an action box."""
    corners = numbers(low), numbers(high)
    if not corners[0] or len(corners[0]) != len(corners[1]):
        raise ValueError(f"low and high must hold as many numbers as each other, got {plain(low)} and {plain(high)}")
    if not all(-math.inf < a < b < math.inf for a, b in zip(*corners, strict=True)):
        raise ValueError(f"low must be below high, both finite, got low={plain(low)} and high={plain(high)}")
    return corners


def plain(value: Value) -> object:
    """``value`` for an error message."""
    return value.tolist() if isinstance(value, Tensor) else value


def float64(value: Value) -> Tensor:
    """Exact as a Python number is."""
    return torch.as_tensor(value, dtype=torch.float64)
