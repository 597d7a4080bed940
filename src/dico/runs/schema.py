"""What a run folder holds: members, lines of metrics, checkpoints.

``config.json`` is everything resolved, ``members.json`` the members' records, ``machine.json`` what it ran on,
``metrics.jsonl`` one line per member and iteration, ``checkpoint-<frames>/`` the networks and all other state.
Nothing is ever unpickled.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from dico._files import FORMAT
from dico.constraints import parse_constraint
from dico.members import NUMBERS, Member

Row = dict[str, Any]
"""A line of a metrics file."""
Say = Callable[[str], None]
"""Takes what is amiss in a folder that can be read nevertheless."""
RENAMED = {"overflow": "action_bound_violation", "overflow_all": "action_bound_violation_all"}
"""Columns of metrics that earlier versions wrote by another name."""
COMMON = ("low", "high", "obs_low", "obs_high")
"""What the members of a saved policy have in common."""


class RunError(ValueError):
    """Something is wrong with a run folder; the message says what, and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """A whole, readable checkpoint."""

    folder: Path
    meta: Mapping[str, Any]
    read: Callable[[str], dict[str, Tensor]]
    """Its tensors whose names hold a text."""

    @property
    def frames(self) -> int:
        """Environment steps of each member when it was written."""
        return self.meta["frames"]

    def tensors(self, having: str = "") -> dict[str, Tensor]:
        """All of its tensors by name, or those whose names hold a text."""
        return self.read(having)


def check_format(path: Path, version: int) -> None:
    """A file of a newer version is refused."""
    if version > FORMAT:
        raise RunError(f"{path} was written by a newer dico (format {version}, this one reads {FORMAT}): upgrade dico")


def read_members(records: Iterable[Mapping[str, Any]]) -> tuple[Member, ...]:
    """The members that records are of; an error if they are not 0, 1, 2, ... with constraints and numbers."""
    members = tuple(Member(**record) for record in records)
    if not members or [member.index for member in members] != list(range(len(members))):
        raise TypeError("its records must have the indices 0, 1, 2, ... in order")
    for member in members:
        parse_constraint(member.constraint)
        if not all(isinstance(getattr(member, name), int | float | None) for name in ("seed", *NUMBERS)):
            raise TypeError(f"record {member.index} has a number that is none")
    return members


def warn(text: str) -> None:
    """Say it as a warning."""
    warnings.warn(text, stacklevel=3)


def read_rows(path: Path, say: Say = warn) -> Iterator[Row]:
    """The lines of a metrics file; a line that a sudden end tore is left out and told of."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            row = _row(line)
            if row is None:
                say(f"{path}, line {number} is torn and left out")
            else:
                yield row


def _row(line: str) -> Row | None:
    """A line of a metrics file, its columns by their names of today; None if it is not whole.

    >>> _row('{"member": 0, "iteration": 1, "snd": 0.3}')
    {'member': 0, 'iteration': 1, 'snd': 0.3}
    >>> _row('{"member": 0, "iteration": 1, "overflow": 0.1}')  # of an earlier version
    {'member': 0, 'iteration': 1, 'action_bound_violation': 0.1}
    >>> _row('{"member": 0, "iter')
    """
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or not all(isinstance(row.get(key), int) for key in ("member", "iteration")):
        return None
    return {str(RENAMED.get(name, name)): value for name, value in row.items()}
