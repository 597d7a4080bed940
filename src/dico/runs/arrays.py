"""Lines of metrics as tensors."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dico._checks import check_choice
from dico.runs.schema import Row, RunError


def as_array(rows: Sequence[Row], name: str, members: int, folder: Path) -> Tensor:
    """A metric of one group's lines as ``(members, iterations)``; what is missing is NaN; ``folder`` is for errors.

    >>> rows = [{"member": 1, "iteration": 1, "snd": 0.5}, {"member": 0, "iteration": 2, "snd": None}]
    >>> as_array(rows, "snd", 2, Path("runs/one"))
    tensor([[   nan,    nan],
            [0.5000,    nan]], dtype=torch.float64)
    """
    if rows:
        check_choice("name", name, {key: None for row in rows for key in row})
    iterations = max((row["iteration"] for row in rows), default=0)
    having = [row for row in rows if name in row]  # a run that an older version began has lines without
    several = (len(having[0][name]),) if having and isinstance(having[0][name], list) else ()
    values = torch.full((members, iterations, *several), torch.nan, dtype=torch.float64)
    if any(len(row[name]) != several[0] if several else isinstance(row[name], list) for row in having):
        raise RunError(f"{name} of {folder} has not as many numbers in every line")
    if having:
        place = torch.tensor([(row["member"], row["iteration"] - 1) for row in having]).T
        values[*place] = torch.tensor([_numbers(row[name]) for row in having], dtype=torch.float64)
    return values


def _numbers(value: Any) -> Any:
    """What was written as JSON, with NaN for null."""
    if isinstance(value, list):
        return [_numbers(number) for number in value]
    return math.nan if value is None else value
