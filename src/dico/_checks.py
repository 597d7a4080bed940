"""Bad input is told by name, value and what is allowed."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

import torch
from torch import Tensor

Choice = TypeVar("Choice", bound=str)


def check_choice(name: str, value: Choice, allowed: Iterable[str]) -> Choice:
    """``value`` if it is allowed; otherwise an error that lists what is, and the nearest."""
    allowed = list(allowed)
    if value not in allowed:
        near = get_close_matches(str(value), allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}{hint}")
    return value


def check_members(name: str, value: Tensor, members: tuple[int, ...]) -> None:
    """``value`` must be one number, or one for each member of the population."""
    if value.shape not in ((), members):
        raise ValueError(
            f"{name} must hold one value or one for each of members={members}, got shape {tuple(value.shape)}"
        )


def check_tau(tau: float | Sequence[float] | Tensor, members: tuple[int, ...]) -> Tensor:
    """Soft-update weights, one or one per member, in [0, 1]."""
    values = torch.as_tensor(tau, dtype=torch.float64).clone()
    if not ((0 <= values) & (values <= 1)).all():
        raise ValueError(f"tau must be in [0, 1], got {values.tolist()}")
    check_members("tau", values, members)
    return values


def check_box(low: Sequence[float] | Tensor, high: Sequence[float] | Tensor) -> tuple[Tensor, Tensor]:
    """The two corners of an action box, each ``(m,)``."""
    corners = [torch.as_tensor(corner, dtype=torch.get_default_dtype()) for corner in (low, high)]
    low, high = corners
    if low.ndim != 1 or low.shape != high.shape or not low.numel():
        raise ValueError(
            f"low and high must be vectors of equal length, got shapes {tuple(low.shape)} and {tuple(high.shape)}"
        )
    if not ((low < high) & low.isfinite() & high.isfinite()).all():
        raise ValueError(f"low must be below high, both finite, got low={low.tolist()} and high={high.tolist()}")
    return low, high
