"""A run in a few words, as a prompt or a notebook shows it; nothing is read for it."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from dico.constraints import final_bounds
from dico.members import Member, text_of, varying
from dico.runs.schema import Row

SHOWN = 8
"""Values of a field that are named, at most."""


def in_words(folder: Path, config: Mapping[str, Any], members: Sequence[Member]) -> dict[str, str]:
    """What a run is, by heading."""
    seeds = sorted({member.seed for member in members})
    levels = {
        "desired diversity" if name == "constraint" else name: _few([text_of(each, name) for each in members])
        for name in varying(members)
    }
    return {
        "run": str(folder),
        "task": " ".join((config["task"], *config["task_options"])),
        "algorithm": config["algorithm"],
        "members": str(len(members)),
        **levels,
        "seeds": _few([str(seed) for seed in seeds]),
        "frames": f"{config['frames']:,} each",
    }


def as_text(words: Mapping[str, str]) -> str:
    """In a line.

    >>> as_text({"run": "runs/one", "task": "navigation", "members": "8"})
    "Run('runs/one': task navigation, members 8)"
    """
    run, *others = words.items()
    return f"Run({run[1]!r}: {', '.join(f'{name} {value}' for name, value in others)})"


def as_html(words: Mapping[str, str]) -> str:
    """As a table.

    >>> as_html({"run": "<b>"})
    '<table><tr><th style="text-align:left">run</th><td style="text-align:left">&lt;b&gt;</td></tr></table>'
    """
    left = ' style="text-align:left"'
    rows = (f"<tr><th{left}>{escape(name)}</th><td{left}>{escape(value)}</td></tr>" for name, value in words.items())
    return f"<table>{''.join(rows)}</table>"


def with_desired(row: Row) -> Row:
    """A line with what was desired as numbers: the value if there is one, and the bounds of any but schedules.

    >>> [with_desired({"constraint": text})["desired"] for text in ("0.3", ">=0.3", "free")]
    [0.3, None, None]
    >>> with_desired({"constraint": ">=0.3"})
    {'constraint': '>=0.3', 'desired': None, 'desired_low': 0.3, 'desired_high': inf}
    """
    low, high = final_bounds(row["constraint"])
    desired = row.get("desired", low if low == high else None)
    return {**row, "desired": desired, "desired_low": low, "desired_high": high}


def _few(values: Sequence[str]) -> str:
    """Each once, and how many more there are."""
    each = list(dict.fromkeys(values))
    return ", ".join(each[:SHOWN]) + (f" and {len(each) - SHOWN} more" if len(each) > SHOWN else "")
