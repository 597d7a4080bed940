"""What trainings write: JSON that is whole or not there, and rows of numbers."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def has_diverged(row: Mapping[str, Any]) -> bool:
    """Whether any number in a row of metrics is not finite.

    >>> has_diverged({"snd": 0.3, "distances": [0.3, math.nan]})
    True
    """
    values = (number for value in row.values() for number in (value if isinstance(value, list) else [value]))
    return not all(math.isfinite(number) for number in values if isinstance(number, float))


def plain(value: Any) -> Any:
    """A value as JSON has it: what is not finite becomes null.

    >>> plain(math.inf), plain([0.5, math.nan])
    (None, [0.5, None])
    """
    if isinstance(value, list):
        return [plain(number) for number in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: Path, value: Any) -> None:
    """Write a file whole, or not at all."""
    scratch = path.with_name(f".{path.name}.part")
    with scratch.open("w") as file:
        json.dump(value, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
