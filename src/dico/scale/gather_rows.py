"""Lines of metrics, gathered from some runs into another as one process would have written them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dico._files import flush, whole
from dico.runs import RunError
from dico.runs.reading import check_plain
from dico.runs.shapes import is_whole

Rows = dict[tuple[str, int], dict[str, Any]]
"""Of one iteration, by group and member."""
Places = Sequence[tuple[int, int]]
"""Of each member of the run that is written: which of the others it is taken from, and its place there."""


def gather_rows(sources: Sequence[Path], places: Places, out: Path, until: Mapping[Path, int] | None = None) -> int:
    """Write a metrics file, iteration by iteration, group by group, member by member; how long it is.

    ``until`` says up to which byte the others are read. A line that was torn, or lost, is missing here too.
    """
    files = [_Iterations(path, (until or {}).get(path)) for path in sources]
    owners: list[dict[int, int]] = [{} for _ in sources]
    for member, (source, place) in enumerate(places):
        owners[source][place] = member
    with whole(out) as scratch:
        with scratch.open("w") as file:
            for rows in _together(files, owners):
                file.writelines(f"{json.dumps(row)}\n" for row in rows)
        flush(scratch)
        return scratch.stat().st_size


def last_rows(path: Path, count: int) -> list[dict[str, Any]]:
    """The last so many lines of a metrics file that are whole; fewer if there are fewer.

    Only its end is read, so that it costs the same however long a training is. What is no plain file has none.
    """
    try:
        check_plain(path)
        with path.open("rb") as file:
            size, window = file.seek(0, 2), 1024 * (count + 1)
            while True:
                file.seek(max(0, size - window))
                lines = file.read(window).split(b"\n")
                if len(lines) > count + 1 or window >= size:
                    break
                window *= 2
    except (OSError, RunError):  # whoever joins the pieces tells of it
        return []
    return [row for line in lines[-count - 1 : -1] if (row := _row(line)) is not None]


class _Iterations:
    """A metrics file, an iteration at a time; it is open only meanwhile, for there may be thousands."""

    def __init__(self, path: Path, until: int | None):
        self.path, self.until, self.offset = path, until, 0
        self.lines = self._lines()
        self.next = next(self.lines, None)

    def take(self, iteration: int) -> Rows:
        """Its rows of an iteration, if that is the next."""
        found: Rows = {}
        while self.next is not None and self.next["iteration"] <= iteration:
            found[self.next.get("group", ""), self.next["member"]] = self.next
            self.next = next(self.lines, None)
        return found

    def _lines(self) -> Iterator[dict[str, Any]]:
        while chunk := self._read():
            yield from (row for line in chunk if (row := _row(line)) is not None)

    def _read(self, most: int = 2**20) -> list[bytes]:
        """Some whole lines more."""
        if not self.path.is_file():
            return []
        with self.path.open("rb") as file:
            file.seek(self.offset)
            left = most if self.until is None else min(most, self.until - self.offset)
            lines = file.read(left).splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            if len(lines) == 1 and len(lines[0]) == most:
                return self._read(2 * most)
            lines.pop()
        self.offset += sum(map(len, lines))
        return lines


def _together(files: Sequence[_Iterations], owners: Sequence[Mapping[int, int]]) -> Iterator[list[dict[str, Any]]]:
    """The rows of each iteration, of all members that have it, in order."""
    while following := [file.next["iteration"] for file in files if file.next is not None]:
        iteration = min(following)
        groups: dict[str, dict[int, dict[str, Any]]] = {}
        for file, owner in zip(files, owners, strict=True):
            for (group, place), row in file.take(iteration).items():
                own = groups.setdefault(group, {})
                if place in owner:
                    own[owner[place]] = {**row, "member": owner[place]}
        yield [rows[member] for rows in groups.values() for member in sorted(rows)]


def _row(line: bytes) -> dict[str, Any] | None:
    """A line, if it is one of a member and an iteration; whoever reads what it is gathered into sees to the rest."""
    try:
        row = json.loads(line)
        known = is_whole(row["member"]) and is_whole(row["iteration"]) and isinstance(row.get("group", ""), str)
        return row if known else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
