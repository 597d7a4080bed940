"""``dico claims``."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from dico._files import write_json
from dico.analysis.claims import judge
from dico.commands import say_where
from dico.commands._claims import tables
from dico.runs import load
from dico.viz.files import check_place, output_file


@dataclass(frozen=True)
class Options:
    """What it takes."""

    runs: Positional[tuple[Path, ...]]
    """Run folders, or summaries of runs; the pieces of an experiment are joined."""
    json: Path | None = None
    """Write the verdicts there: a list with claim, verdict, effect, low, high and more."""


def run(options: Options, console: Console) -> int:
    """Judge, print a table, and write it if that is wanted."""
    if not options.runs:
        raise ValueError("runs must be at least one run folder, got none: dico claims runs/NAME")
    if options.json is not None:
        check_place(options.json)
        if options.json.resolve() in [folder.resolve() for folder in options.runs]:
            raise ValueError(f"json must be another file than those that are judged, got {options.json}")
    judged = judge([load(folder) for folder in options.runs])
    for table in tables(judged):
        console.print(table)
    if options.json is not None:
        with output_file(options.json) as scratch:
            write_json(scratch, [each.to_json() for each in judged])
        say_where(options.json, console)
    return 0
