"""What may stand in a file, said as data and checked: an error names the file and the field."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dico.constraints import canonical

LARGEST = 10**6
"""No network is wider, no team or observation larger: what asks for more is a mistake, and would take all memory."""


class RunError(ValueError):
    """Something is wrong with a run folder; the message says what, and what to do."""


@dataclass(frozen=True)
class Kind:
    """Values that a field may have, in words and as a test."""

    words: str
    has: Callable[[Any], bool]


def is_whole(value: Any) -> bool:
    """Whether it is a whole number that a tensor can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def is_number(value: Any) -> bool:
    """Whether it is a finite number that a tensor can hold."""
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_level(value: Any) -> bool:
    try:
        canonical(value)
    except ValueError:
        return False
    return True


ANYTHING = Kind("anything", lambda _: True)
TEXT = Kind("a text", lambda value: isinstance(value, str))
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number above 0", lambda value: is_whole(value) and value > 0)
INDEX = Kind("a whole number from 0 up", lambda value: is_whole(value) and value >= 0)
SIZE = Kind(f"a whole number from 1 to {LARGEST:,}", lambda value: is_whole(value) and 0 < value <= LARGEST)
NUMBER = Kind("a finite number", is_number)
NUMBER_OR_NONE = Kind("a finite number or null", lambda value: value is None or is_number(value))
LEVEL = Kind("a desired diversity", _is_level)

Shape = Kind | list[Any] | dict[str, Any]
"""A kind of value, ``[shape]`` for a list of any length, or fields by name, ``name?`` if it may be missing."""


def check(value: Any, shape: Shape, file: Path, field: str = "it") -> Any:
    """The value, if it is of that shape; otherwise an error that names the file and the field.

    >>> check({"frames": [1, 2], "more": None}, {"frames": [COUNT], "name?": TEXT}, Path("meta.json"))
    {'frames': [1, 2], 'more': None}
    >>> check({"frames": [1, "2"]}, {"frames": [COUNT]}, Path("meta.json"))
    Traceback (most recent call last):
    dico.runs.shapes.RunError: meta.json cannot be used: frames[1] must be a whole number above 0, got '2'
    """
    if isinstance(shape, Kind):
        if not shape.has(value):
            raise wrong(file, field, shape.words, value)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise wrong(file, field, "a list", value)
        for k, each in enumerate(value):
            check(each, shape[0], file, f"{field}[{k}]")
    else:
        if not isinstance(value, dict):
            raise wrong(file, field, "an object with fields", value)
        inside = "" if field == "it" else f"{field}."
        missing = [inside + name for name in shape if not name.endswith("?") and name not in value]
        if missing:
            raise RunError(f"{file} cannot be used: it does not tell {', '.join(missing)}")
        for name, inner in shape.items():
            known = name.removesuffix("?")
            if known in value:
                check(value[known], inner, file, inside + known)
    return value


def wrong(file: Path, field: str, words: str, value: Any) -> RunError:
    """The error for a field that must be something else."""
    told = repr(value)
    return RunError(f"{file} cannot be used: {field} must be {words}, got {told[:77] + '...' * (len(told) > 77)}")
