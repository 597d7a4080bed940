"""``dico list``."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional

from dico._files import found_below
from dico.commands import say
from dico.runs import Run, RunError, load
from dico.runs.folder import checkpoint_folders
from dico.runs.schema import PIECES
from dico.scale.pieces import Pieces
from dico.training.lock import is_held

DEEP = 3
"""Folders below a place in which runs are looked for."""


@dataclass(frozen=True)
class Options:
    """What it takes."""

    places: Positional[tuple[Path, ...]] = (Path("runs"),)
    """Run folders, or folders that have some in them."""


def run(options: Options, console: Console) -> int:
    """Print a table of the runs, oldest first."""
    found = [folder for place in options.places for folder in _run_folders(place)]
    if not found:
        say(f"no runs under {', '.join(map(str, options.places))}; dico train writes some", console)
        return 0
    table = Table()
    for column in ("run", "task", "algorithm", "members", "frames", "state"):
        table.add_column(column, justify="right" if column in ("members", "frames") else "left", overflow="fold")
    for folder in sorted(found, key=lambda path: (path / "config.json").stat().st_mtime):
        table.add_row(*map(Text, _cells(folder)))  # what a folder says is text, and no markup
    console.print(table)
    return 0


def _run_folders(place: Path) -> list[Path]:
    """The place itself, or what is not too far below it; a place that is not there is an error."""
    if not place.exists() and place != Path("runs"):
        raise RunError(f"{place} does not exist: give run folders, or folders that have some in them")
    files = [file for depth in range(DEEP) for file in found_below(place, depth, "config.json") if file.is_file()]
    return [file.parent for file in files if file.parent == place or file.parent.parent.name != PIECES]


def _cells(folder: Path) -> list[str]:
    try:
        opened = load(folder)
    except (RunError, OSError) as error:
        return [str(folder), "", "", "", "", f"cannot be opened: {error}".partition("\n")[0]]
    pieces = Pieces(folder)
    try:
        done = _frames(pieces, len(opened.members)) if pieces.exist else max(checkpoint_folders(folder), default=0)
    except (RunError, OSError) as error:
        return [str(folder), "", "", "", "", f"cannot be gone on with: {error}".partition("\n")[0]]
    wanted, batch = opened.config["frames"], opened.config["frames_per_batch"]
    total = -(-wanted // batch) * batch
    names = [str(folder), opened.config["task"], opened.config["algorithm"], str(len(opened.members))]
    cut = f", in {len(pieces.read())} pieces" if pieces.exist else ""
    return [*names, f"{done:,} of {total:,}", _state(opened, done >= total and not cut) + cut]


def _frames(pieces: Pieces, n_members: int) -> int:
    """Of a run in pieces: of a member on average, as its display tells it."""
    return round(sum(pieces.frames(piece) * len(piece.members) for piece in pieces.read_all(n_members)) / n_members)


def _state(opened: Run, is_finished: bool) -> str:
    if is_held(opened.folder):
        return "in training"
    return "finished" if is_finished else "interrupted"
