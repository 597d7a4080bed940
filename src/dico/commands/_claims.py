"""Verdicts as tables, one for each experiment."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table

COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def tables(judged: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """A table for each experiment, of verdicts as :meth:`~dico.analysis.claims.Judged.to_json` gives them."""
    for source, each in groupby(judged, key=lambda row: row["source"]):
        yield _table(source, list(each))


def _table(source: str, judged: Sequence[Mapping[str, Any]]) -> Table:
    first = judged[0]
    told = [first["experiment"], f"{first['frames']:,} frames", f"{first['seeds']} seed{'s' * (first['seeds'] != 1)}"]
    title = f"{source}: {', '.join(part for part in told if part)}"
    rows = Table(title=title, title_justify="left")
    for name in ("claim", "verdict", "effect", "95 % interval", "of"):
        rows.add_column(name, justify="right" if name in ("effect", "95 % interval") else "left")
    for each in judged:
        effect, low, high = ("" if each[name] is None else f"{each[name]:.3g}" for name in ("effect", "low", "high"))
        why = "; ".join(part for part in (each["measure"], each["why"]) if part)
        name = each["claim"].removeprefix(f"{each['experiment']}: ")
        verdict = f"[{COLOURS[each['verdict']]}]{each['verdict']}[/]"
        rows.add_row(name, verdict, effect, f"{low} to {high}" if low else "", why)
    return rows
