"""How far all pieces are, read from their run folders, as observers of one training see it."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dico.members import Member
from dico.runs.schema import row_fault
from dico.scale.gather_rows import last_rows
from dico.scale.pieces import Piece, Pieces
from dico.training.config import Config
from dico.training.population import Counted

Rows = list[dict[str, Any]]


class Place:
    """Where a population is trained, in words, as a display names it."""

    def __init__(self, device: str, name: str):
        self.device, self.name = device, name
        self.compiles = False


class Following(Counted):
    """A population that others train: its members, how far they are on average, and the newest row of each.

    It stands for a population where a display asks for one.
    """

    def __init__(self, config: Config, pieces: Pieces, groups: int, stage: Place):
        self.config, self.pieces, self.stage = config, pieces, stage
        self.members: Sequence[Member] = config.members
        self.groups = groups
        """Rows of each member and iteration."""
        self.at_once = len(self.members)
        self.rows: dict[str, Rows] = {}
        """The newest rows of each piece, by its name."""
        self.sizes: dict[Path, int] = {}
        self.done, self.when, self.iteration = 0.0, time.monotonic(), 0
        self.look()  # what was done before tells nothing of the pace
        self.when = time.monotonic()

    @property
    def frames(self) -> int:
        """Environment steps so far, of a member on average."""
        return round(self.done * self.config.frames_per_batch)

    @property
    def finished(self) -> bool:
        """Whether all are."""
        return self.done >= self.config.iterations

    def look(self) -> tuple[Rows, float] | None:
        """The newest row of each member, and the seconds that an iteration of all takes; None if nothing is new."""
        every = self.pieces.read()
        changed = [piece for piece in every if self._has_grown(piece)]
        for piece in changed:
            self.rows[piece.name] = self._newest(piece)
        if not changed and self.rows:
            return None
        names = {piece.name: len(piece.members) for piece in every}
        self.rows = {name: rows for name, rows in self.rows.items() if name in names}
        reached = {name: rows[0]["iteration"] for name, rows in self.rows.items() if rows}
        done = sum(reached[name] * names[name] for name in reached) / len(self.members)
        rows = [row for own in self.rows.values() for row in own]
        advanced, now = done - self.done, time.monotonic()
        if not rows or advanced <= 0:  # a piece that went back to its checkpoint counts again when it is there
            self.done = done
            return None
        seconds = (now - self.when) / advanced
        self.done, self.when, self.iteration = done, now, int(done)
        return sorted(rows, key=lambda row: row["member"]), seconds

    def slowest(self) -> float:
        """Seconds that the newest iteration of the slowest piece took; 0 if there is none yet."""
        return max((rows[0].get("seconds") or 0.0 for rows in self.rows.values() if rows), default=0.0)

    def _has_grown(self, piece: Piece) -> bool:
        path = self.pieces.folder(piece) / "metrics.jsonl"
        try:
            size = path.stat().st_size
        except OSError:
            return False
        before, self.sizes[path] = self.sizes.get(path), size
        return size != before

    def _newest(self, piece: Piece) -> Rows:
        """A piece's rows of the newest iteration that is whole, of members as the whole run counts them."""
        wanted = len(piece.members) * self.groups
        rows = last_rows(self.pieces.folder(piece) / "metrics.jsonl", 2 * wanted - 1)
        constraints = [self.members[k].constraint for k in piece.members]
        rows = [row for row in rows if not row_fault(row, constraints, self.config.iterations)]  # told when it is read
        by_iteration: dict[int, Rows] = {}
        for row in rows:
            by_iteration.setdefault(row["iteration"], []).append(row)
        whole = [own for own in by_iteration.values() if len(own) == wanted]
        return [_as_whole(row, piece) for row in whole[-1]] if whole else []


def _as_whole(row: Mapping[str, Any], piece: Piece) -> dict[str, Any]:
    return {**row, "member": piece.members[row["member"]]}
