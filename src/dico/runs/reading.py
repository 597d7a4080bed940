"""Files of a run folder, read: each a plain file, not too large, and what it should be."""

import json
import stat
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dico.runs.schema import Row, RunError, Say, row_fault
from dico.runs.shapes import is_whole

LARGEST_JSON = 2**28
"""Bytes of a JSON file that is read at all."""
TOLD = 5
"""Of many lines that are left out, or members that are not there, so many are named."""
LONGEST_LINE = 2**22
"""Characters of a line of metrics."""
RENAMED = {"overflow": "action_bound_violation", "overflow_all": "action_bound_violation_all"}
"""Columns of metrics that earlier versions wrote by another name."""


def warn(text: str) -> None:
    """Say it as a warning."""
    warnings.warn(text, stacklevel=3)


def no_metrics_yet(folder: Path) -> str:
    """What is said of a run that has not written any."""
    return f"{folder} has no metrics yet: look again when its first iteration is done"


def read_json(path: Path) -> Any:
    """What a JSON file holds; an error that names the file if it cannot be read, or holds none."""
    try:
        return parse_json(path)
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror or error}): the run cannot be used") from None


def parse_json(path: Path) -> Any:
    """The same, with the disk's own errors."""
    check_plain(path, LARGEST_JSON)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be used: it is no JSON ({error})") from None


def read_rows(path: Path, constraints: Sequence[str], iterations: int, say: Say = warn) -> Iterator[Row]:
    """The lines of a metrics file; one that a sudden end tore, or that is of nobody, is left out and told of.

    Members have these ``constraints``, and a training as many ``iterations``, or as there are lines. What is wrong with
    many lines is told of the first few.
    """
    strange: Counter[int] = Counter()
    faults = 0
    try:
        if not path.exists():
            return
        check_plain(path)
        with path.open("rb") as file:
            iterations = max(iterations, sum(1 for _ in file))
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), 1):
                row = _row(line)
                if row is not None and is_whole(row.get("member")) and row["member"] >= len(constraints):
                    strange[row["member"]] += 1
                    continue
                fault = "" if row is None else row_fault(row, constraints, iterations)
                if row is not None and not fault:
                    yield row
                    continue
                faults += 1
                if faults <= TOLD:
                    say(f"{path}, line {number} is {f'left out: {fault}' if fault else 'torn and left out'}")
        if faults > TOLD:
            say(f"{path}: {faults - TOLD} more lines are left out, for such reasons")
        if strange:
            say(_of_nobody(path, strange, len(constraints)))
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror or error})") from None


def _of_nobody(path: Path, strange: Mapping[int, int], n_members: int) -> str:
    """Lines of members that there are not, told in one.

    >>> _of_nobody(Path("metrics.jsonl"), {7: 3, 8: 3}, 7)
    'metrics.jsonl: 6 lines are of no member that members.json has (7, 8; it has 0 to 6): they are left out'
    """
    names = ", ".join(map(str, sorted(strange)[:TOLD])) + (", ..." if len(strange) > TOLD else "")
    lines = sum(strange.values())
    what = "1 line is of no member" if lines == 1 else f"{lines} lines are of no member"
    known = f"it has 0 to {n_members - 1}" if n_members > 1 else "it has 0"
    return f"{path}: {what} that members.json has ({names}; {known}): {'it is' if lines == 1 else 'they are'} left out"


def check_plain(path: Path, most: int | None = None) -> None:
    """A file must be a plain one: a pipe would be waited for, and a device never ends."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise RunError(f"{path} cannot be used: it is no plain file")
    if most is not None and about.st_size > most:
        raise RunError(f"{path} cannot be used: it has {about.st_size:,} bytes, more than any such file")


def check_own(path: Path) -> None:
    """What is written in place must be a plain file, or not there: through a link, another file would be changed."""
    if path.is_symlink():
        raise RunError(f"{path} cannot be written: it is a link")
    if path.exists():
        check_plain(path)


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
    except (ValueError, RecursionError):
        return None
    return {str(RENAMED.get(name, name)): value for name, value in row.items()} if isinstance(row, dict) else None
