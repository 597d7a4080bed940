"""A run that several processes or machines train, read back: its plan, and its pieces' metrics as those of one run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dico._files import is_sealed
from dico.runs.reading import read_json, read_rows
from dico.runs.schema import PIECES, PLAN, Row, RunError, Say
from dico.runs.shapes import INDEX, TEXT, Shape, check

PLANNED: Shape = {"pieces": [{"name": TEXT, "members": [INDEX]}]}
"""What a plan holds."""


@dataclass(frozen=True)
class Piece:
    """Some members of a population."""

    name: str
    members: tuple[int, ...]
    """Their places in the whole population, rising."""


def read_plan(path: Path) -> list[Piece]:
    """All pieces, by a ``plan.json`` that is what was written."""
    saved = read_json(path)
    if not isinstance(saved, dict) or not is_sealed(saved):
        raise RunError(f"{path} was changed since it was written: the run cannot be gone on with")
    check(saved, PLANNED, path)
    if strange := [each["name"] for each in saved["pieces"] if not each["name"].isdecimal()]:
        raise RunError(f"{path} cannot be used: names of pieces must be digits, got {strange[0]!r}")
    return [Piece(each["name"], tuple(each["members"])) for each in saved["pieces"]]


def is_in_pieces(run: Path) -> bool:
    """Whether there is a plan: what a killed start left beside a whole run is none."""
    return os.path.lexists(run / PIECES / PLAN)


def read_rows_of_pieces(run: Path, constraints: Sequence[str], iterations: int, say: Say) -> list[Row]:
    """The lines of all pieces as far as each has come, by iteration; members have these ``constraints``."""
    found: list[Row] = []
    path = run / PIECES / PLAN
    for piece in read_plan(path):
        if strange := [member for member in piece.members if member >= len(constraints)]:
            raise RunError(f"{path} cannot be used: there is no member {strange[0]}")
        own = [constraints[member] for member in piece.members]
        metrics = run / PIECES / piece.name / "metrics.jsonl"
        rows = read_rows(metrics, own, iterations, say)
        found += [{**row, "member": piece.members[row["member"]]} for row in rows]
        if not metrics.exists() and any(metrics.parent.glob("checkpoint-*")):
            say(f"{metrics} is lost, though its piece has checkpoints: numbers of its members are missing")
    return sorted(found, key=lambda row: row["iteration"])
