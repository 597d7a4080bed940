"""The report: one HTML file with the curves, decision, maps, episodes and live networks of one or more runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from dico import analysis
from dico._checks import check_choice
from dico._files import plain
from dico.runs import Run, load
from dico.schedules import is_scheduled
from dico.viz.axis import axis_of
from dico.viz.colours import level_colours, run_colour
from dico.viz.files import output_file
from dico.viz.labels import metric_name, run_names
from dico.viz.page import words
from dico.viz.page.differences import table_of_differences
from dico.viz.page.filling import fill
from dico.viz.page.finding import findings, preview, project
from dico.viz.page.inline import page
from dico.viz.page.numbers import columns, numbers
from dico.viz.page.pictures import Pictures, alike
from dico.viz.reproduce import Presets

LIMIT = 4_900_000
"""Bytes that a page may have: networks that would not fit are left out."""
MAP_COLOURS = (
    "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725",
)  # fmt: skip
"""Viridis: perceptually even, and read by lightness alone."""
Runs = Run | str | Path | Sequence[Run | str | Path]
"""Run folders, opened or not."""


def write_report(
    runs: Runs,
    out: str | Path | None = None,
    *,
    stat: str = "mean",
    presets: Presets | None = None,
    card: bool = False,
    url: str | None = None,
) -> Path:
    """Write the page of one run, or of several to compare, and return where it is.

    By default it is ``report.html`` in the run folder; of several runs, here. It is written whole or not at all.
    With ``presets`` (``dico.experiments.presets_of``) the command that trains a run again tells what differs from one.

    With ``card`` the picture that a link to the page shows (episodes, on their maps) is written beside it as
    ``NAME.card.png``; with ``url``, where the page will be found, the page names it by its whole address, which is what
    sites read.

    >>> str(write_report(run))
    'runs/navigation/report.html'
    """
    several = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    opened = [each if isinstance(each, Run) else load(each) for each in several]
    if url is not None:
        check_url(url)
    found = payload(opened, stat, presets)
    title = f"{', '.join(run_names(opened))} · dico report"
    path = default_path(opened) if out is None else Path(out)
    picture = _card(found) if card or url else None
    beside = card_beside(path)
    address = urljoin(url, beside.name) if url else beside.name
    about = preview(found["facts"], found["findings"])
    text = page(found, title, about, url=url, image=address if picture is not None else None)
    if picture is not None:
        with output_file(beside) as scratch:
            scratch.write_bytes(picture)
    with output_file(path) as scratch:
        scratch.write_text(text, "utf-8")
    return path


def _card(found: dict[str, Any]) -> bytes | None:
    """The preview picture, for whose letters more is needed than for the page."""
    try:
        from dico.viz.page.card import card
    except ModuleNotFoundError as missing:
        needed = (missing.name or "").partition(".")[0]
        raise ImportError(f'the preview picture needs {needed}: pip install "dico-marl[viz]"', name=needed) from missing
    return card(found, MAP_COLOURS)


def card_beside(path: Path) -> Path:
    """Where the picture of a page goes that links to it show: a name that no figure beside the page has.

    >>> card_beside(Path("runs/a/report.html"))
    PosixPath('runs/a/report.card.png')
    """
    return path.with_suffix(".card.png")


def check_url(url: str) -> str:
    """The address, if it is one of the web: others would show a reader nothing.

    >>> check_url("report.html")
    Traceback (most recent call last):
    ValueError: url must begin with https:// or http://, where the page will be found, got 'report.html'
    """
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"url must begin with https:// or http://, where the page will be found, got {url!r}")
    return url


def default_path(runs: Sequence[Run]) -> Path:
    """Where a page goes if nothing else is said."""
    first = runs[0].folder
    own = first.with_suffix(".html") if first.is_file() else first / "report.html"
    return own if len(runs) == 1 else Path("report.html")


def payload(runs: Sequence[Run], stat: str = "mean", presets: Presets | None = None) -> dict[str, Any]:
    """All that the page shows, as JSON; runs of different tasks are refused.

    The levels are those that the runs are grouped by (``Run.group_by``), or all in which members differ.
    """
    check_choice("stat", stat, analysis.STATISTICS)
    analysis.check_comparable(runs)
    runs = analysis.align(runs)
    metric = metric_name(runs[0])
    names = run_names(runs)
    for run in runs:
        run.read()
    along = axis_of(runs)
    parts = [numbers(run, stat, along, len(runs), presets) for run in runs]
    shown = alike(runs, [analysis.best_level(run, stat) for run in runs])
    found = {
        "metric": metric,
        "findings": findings(runs, names, stat),
        "project": project(),
        "facts": words.facts(runs),
        "statistic": words.statistic(runs, stat, metric, along),
        "metrics": words.metrics(runs, metric),
        "columns": columns(runs),
        "grouping": words.grouping(runs, along),
        "levels": _levels(runs),
        "scale": MAP_COLOURS,
        "notes": [*words.notes(dict(zip(names, runs, strict=True))), *_thinned(parts, shown)],
        "missing": _missing(shown),
        "taken": words.taken(dict(zip(names, shown, strict=True))),
        "runs": [
            {"name": name, "colour": run_colour(number), **part, **each.values}
            for number, (name, part, each) in enumerate(zip(names, parts, shown, strict=True))
        ],
        "differences": table_of_differences(runs) if len(runs) > 1 else None,
        "footer": words.footer(runs, stat),
    }
    fill(found, runs, shown, LIMIT)
    return found


def _thinned(parts: Sequence[dict[str, Any]], shown: Sequence[Pictures]) -> list[str]:
    """What was left out so that the page stays small, each once."""
    told = [text for part in parts for text in part.pop("thinned")] + [text for each in shown for text in each.thinned]
    return [f"{text}." for text in dict.fromkeys(told)]


def _levels(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The levels of all runs, each once, in order, with what they desire."""
    every = analysis.levels(*runs)
    colours, desired = level_colours(every), {level: analysis.desired_of(level, *runs) for level in every}
    fixed = {level: desired[level] != "free" and not is_scheduled(desired[level]) for level in every}
    bounds = {level: analysis.bounds_of(desired[level]) for level in every if fixed[level]}
    return [
        {
            "text": level,
            "colour": colours[level],
            "least": bounds[level][0] if fixed[level] else None,
            "most": plain(bounds[level][1]) if fixed[level] else None,
        }
        for level in every
    ]


def _missing(shown: Sequence[Pictures]) -> dict[str, str]:
    """Why sections are empty: of the first run that has a reason."""
    reasons = {
        "curves": "There are no curves yet.",
        "decision": "No member has finite numbers to decide by.",
        "machine": "This run does not say what it was trained on.",
    }
    for each in reversed(shown):
        reasons |= each.missing
    return reasons
