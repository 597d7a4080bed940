"""``dico claims``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from dico._files import write_json
from dico.analysis.claims import FAILS, HOLDS, Judged, judge
from dico.commands import say_where
from dico.runs import load
from dico.viz.files import check_place, output_file

COLOURS = {HOLDS: "green", FAILS: "red"}


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
    judged = judge([load(folder) for folder in options.runs])
    for source in dict.fromkeys(each.source for each in judged):
        console.print(table([each for each in judged if each.source == source]))
    if options.json is not None:
        with output_file(options.json) as scratch:
            write_json(scratch, [each.to_json() for each in judged])
        say_where(options.json, console)
    return 0


def table(judged: Sequence[Judged]) -> Table:
    """A row for each claim about one experiment."""
    first = judged[0]
    title = f"{first.source}: {first.experiment}, {first.frames:,} frames, {first.seeds} seeds"
    rows = Table(title=title, title_justify="left")
    for name in ("claim", "verdict", "effect", "95 % interval", "of"):
        rows.add_column(name, justify="right" if name in ("effect", "95 % interval") else "left")
    for each in judged:
        effect, low, high = (
            f"{value:.3g}" if math.isfinite(value) else "" for value in (each.effect, each.low, each.high)
        )
        colour = COLOURS.get(each.verdict, "yellow")
        why = "; ".join(part for part in (each.measure, each.why) if part)
        name = each.claim.removeprefix(f"{each.experiment}: ")
        rows.add_row(name, f"[{colour}]{each.verdict}[/]", effect, f"{low} to {high}" if low else "", why)
    return rows
