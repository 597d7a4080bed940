"""Bad input is told by name, value and what is allowed.

Python numbers are checked as such, without a tensor in between: a policy can then be built from them where tensors
hold no data (FakeTensorMode).
"""

import json
import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeVar

import torch
from torch import Tensor

Value = float | Sequence[float] | Tensor
"""A number, or one for each member of a population."""
Vector = Sequence[float] | Tensor
"""A number for each action component."""
Choice = TypeVar("Choice", bound=str)


def numbers(name: str, value: Any) -> list[float]:
    """All numbers in ``value``: a number, a tensor, an array, or sequences of these.

    >>> numbers("x", 0.5), numbers("x", [0.1, [0.2]])
    ([0.5], [0.1, 0.2])
    """
    if isinstance(value, Real):
        try:
            return [float(value)]
        except OverflowError:
            raise ValueError(f"{name} must be a number that a float can hold, got {value!r}") from None
    if hasattr(value, "tolist"):
        return numbers(name, value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value):
        return [x for item in value for x in numbers(name, item)]
    raise ValueError(f"{name} must be a number, or a sequence or tensor of numbers, got {value!r}")


def check_choice(name: str, value: Choice, allowed: Iterable[str]) -> Choice:
    """``value`` if it is allowed; otherwise an error that lists what is, and the nearest."""
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(not_allowed(name, value, allowed))
    return value


def not_allowed(name: str, value: object, allowed: Iterable[str]) -> str:
    """Says of a value that is none of the allowed what they are, and which is nearest.

    >>> not_allowed("shell", "zhs", ["bash", "zsh"])
    "shell must be one of 'bash', 'zsh', got 'zhs'; did you mean 'zsh'?"
    """
    allowed = list(allowed)
    near = get_close_matches(str(value), allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}{hint}"


def pairs(name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """Settings written as name=value, the values as in JSON or else as text.

    >>> pairs("task_options", ("n_agents=3", "share_reward=false"))
    {'n_agents': 3, 'share_reward': False}
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise ValueError(f"{name} must be written as name=value, got {text!r}")
        if key in values:
            raise ValueError(f"{name} must name each once, got {key!r} again")
        try:
            values[key] = json.loads(value)
        except json.JSONDecodeError:
            values[key] = value
    return values


def plain_numbers(value: Any) -> Any:
    """NumPy's numbers as Python's, in sequences too: run folders hold no others.

    >>> import numpy as np
    >>> plain_numbers(np.int64(3)), plain_numbers((np.float32(0.5), "a")), plain_numbers(True)
    (3, (0.5, 'a'), True)
    """
    if isinstance(value, list | tuple):
        return type(value)(map(plain_numbers, value))
    if isinstance(value, bool | int | float) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def check_positive(name: str, value: int) -> None:
    """``value`` must be a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 < value < 2**63:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def check_number(name: str, value: Any, low: float, high: float = math.inf, *, whole: bool = False) -> None:
    """``value`` must be a finite number of ``[low, high]``, and a whole one if so asked."""
    kind = "a whole number" if whole else "a number"
    allowed = f"{kind} from {low:g} up" if high == math.inf else f"{kind} in [{low:g}, {high:g}]"
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high or math.isinf(value):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_switch(name: str, value: object) -> None:
    """``value`` must be True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_sequence(name: str, value: object, *, of_texts: bool = False) -> None:
    """``value`` must be a list or tuple, of texts if so asked.

    >>> check_sequence("freeze", "agent=25%", of_texts=True)
    Traceback (most recent call last):
    ValueError: freeze must be a sequence of texts, got 'agent=25%'
    """
    if not isinstance(value, list | tuple) or (of_texts and not all(isinstance(each, str) for each in value)):
        raise ValueError(f"{name} must be a sequence{' of texts' if of_texts else ''}, got {value!r}")


def check_diversity(name: str, value: Value) -> None:
    """Diversities are finite and at least 0."""
    if not all(0 <= x < math.inf for x in numbers(name, value)):
        raise ValueError(f"{name} must be a diversity, finite and at least 0, got {to_list(value)}")


def check_tau(tau: Value) -> None:
    """Soft-update weights in [0, 1]."""
    if not all(0 <= x <= 1 for x in numbers("tau", tau)):
        raise ValueError(f"tau must be in [0, 1], got {to_list(tau)}")


def check_members(name: str, value: Tensor, members: tuple[int, ...]) -> None:
    """``value`` must be a tensor of one number, or of one for each member of the population."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a tensor, got {value!r}")
    if value.shape not in ((), members):
        raise ValueError(f"{name} must hold one value or one for each of members={members}, got {tuple(value.shape)}")


def check_box(low: Vector, high: Vector, of: str = "") -> tuple[list[float], list[float]]:
    """The two corners of a box; ``of`` comes before their names."""
    a, b = f"{of}low", f"{of}high"
    corners = numbers(a, low), numbers(b, high)
    if len(corners[0]) != len(corners[1]):
        raise ValueError(f"{a} and {b} must hold as many numbers as each other, got {to_list(low)} and {to_list(high)}")
    if not all(-math.inf < x < y < math.inf for x, y in zip(*corners, strict=True)):
        raise ValueError(f"{a} must be below {b}, both finite, got {a}={to_list(low)} and {b}={to_list(high)}")
    return corners


def to_list(value: Value) -> object:
    """``value`` as numbers and lists of them, for an error message."""
    return value.tolist() if hasattr(value, "tolist") else value  # pyright: ignore[reportAttributeAccessIssue]


def float64(value: Value) -> Tensor:
    """Exact as a Python number is."""
    return torch.as_tensor(value, dtype=torch.float64)


class Precise(torch.nn.Module):
    """A module whose own buffers stay at least in single precision, however its networks are rounded."""

    def _apply(self, fn: Any, recurse: bool = True) -> "Precise":
        before = dict(self._buffers)
        super()._apply(fn, recurse)
        for name, old in before.items():
            new = self._buffers[name]
            if old is not None and new is not None and new.is_floating_point() and new.itemsize < 4:
                self._buffers[name] = old.to(new.device)
        return self
