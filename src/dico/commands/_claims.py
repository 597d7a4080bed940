"""Verdicts as tables, one for each experiment."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.table import Table

from dico.analysis.claims import Judged

COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def tables(judged: Sequence[Judged]) -> Iterator[Table]:
    """A table for each experiment."""
    for source, each in groupby(judged, key=lambda row: row.source):
        yield _table(source, list(each))


def _table(source: str, judged: Sequence[Judged]) -> Table:
    first = judged[0]
    told = [first.experiment, f"{first.frames:,} frames", f"{first.seeds} seed{'s' * (first.seeds != 1)}"]
    rows = Table(title=f"{source}: {', '.join(part for part in told if part)}", title_justify="left")
    for name in ("claim", "verdict", "effect", "95 % interval", "of"):
        rows.add_column(name, justify="right" if name in ("effect", "95 % interval") else "left")
    for each in judged:
        name = each.claim.removeprefix(f"{each.experiment}: ")
        verdict = f"[{COLOURS[each.verdict]}]{each.verdict}[/]"
        rows.add_row(name, verdict, each.effect_text, each.interval_text, each.of)
    return rows
