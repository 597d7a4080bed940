"""``dico report``."""

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from tyro.conf import Positional

from dico import viz
from dico.commands import say_where
from dico.experiments import presets_of
from dico.runs import load
from dico.viz.files import check_formats, check_page, check_place, figures_beside
from dico.viz.once import warn_once
from dico.viz.report import check_url, default_path, write_report


@dataclass(frozen=True)
class Options:
    """What it takes."""

    runs: Positional[tuple[Path, ...]]
    """The run folders; all of one task. A run may still be training."""
    out: Path | None = None
    """The page; by default report.html in the run folder, or here if there are several."""
    stat: str = "mean"
    """Over seeds: mean (and standard deviation) or iqm (interquartile mean and 95 % bootstrap interval)."""
    by: tuple[str, ...] = ()
    """What to group members by: constraint (desired diversity), tau, lr, ...; by default all that they differ in."""
    figures: bool = True
    """Write the figures too, beside the page: into figures, or PAGE-figures if it is not called report.html."""
    formats: tuple[str, ...] = ("png", "svg")
    """Of the figures: png, svg, pdf."""
    seeds: bool = False
    """Draw single seeds as thin lines in the figures; in the page a box switches them."""
    card: bool = False
    """Write the picture that a link to the page shows, beside it: PAGE.card.png."""
    url: str | None = None
    """Where the page will be found: it then names its picture by a whole address, as sites that show links want."""
    open: bool = False
    """Show the page in the browser."""


def run(options: Options, console: Console) -> int:
    """Write the page, and the figures if they are wanted; say where they are."""
    if not options.runs:
        raise ValueError("runs must be at least one run folder, got none: dico report runs/NAME")
    runs = [load(folder).read().group_by(*options.by) for folder in options.runs]
    check_formats(options.formats)
    if options.url is not None:
        check_url(options.url)
    page = check_page(default_path(runs) if options.out is None else options.out)
    folder = figures_beside(page)
    with warn_once():
        drawn = {}
        if options.figures:
            draw_figures = _figures_or_cure()
            check_place(folder / "curves.png")
            drawn = draw_figures(runs, stat=options.stat, seeds=options.seeds)
        write_report(runs, page, stat=options.stat, presets=presets_of, card=options.card, url=options.url)
        figures = viz.save_figures(drawn, folder, options.formats) if drawn else []
    if options.open:
        webbrowser.open(page.resolve().as_uri())
    say_where(page, console)
    if figures:
        say_where(f"{len(figures)} figures into {figures[0].parent}", console)
    return 0


def _figures_or_cure() -> Callable[..., dict[str, Any]]:
    """What draws the figures; the page needs no matplotlib."""
    try:
        return viz.draw_figures
    except ImportError as error:
        raise ImportError(f"{error}; or write the page alone with --no-figures") from None
