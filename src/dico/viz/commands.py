"""The commands that draw, thin; what draws is imported when it is first used, so other commands need none of it."""

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from tyro.conf import Positional

from dico import viz
from dico._checks import check_choice, check_positive
from dico.runs import load
from dico.tasks import MappedTask
from dico.viz.files import check_formats, check_page, check_place, figures_beside
from dico.viz.once import saying_once
from dico.viz.report import default_path, write_report

FILMS = ("episodes", "distances")
DPI, GIF_DPI = 200, 100
"""Of films; a GIF is large as it is."""


@dataclass(frozen=True)
class Report:
    """Write a page about a run, or about several to compare: curves, decision, maps, episodes, live networks."""

    runs: Positional[tuple[Path, ...]]
    """The run folders; all of one task. A run may still be training."""
    out: Path | None = None
    """The page; by default report.html in the run folder, or here if there are several."""
    stat: str = "mean"
    """Over seeds: mean (and standard deviation) or iqm (interquartile mean and 95 % bootstrap interval)."""
    figures: bool = True
    """Write the figures too, beside the page: into figures, or PAGE-figures if it is not called report.html."""
    formats: tuple[str, ...] = ("png", "svg")
    """Of the figures: png, svg, pdf."""
    seeds: bool = False
    """Draw single seeds as thin lines in the figures; in the page a box switches them."""
    open: bool = False
    """Show the page in the browser."""


@dataclass(frozen=True)
class Map:
    """Draw where the team is diverse, a panel for each level."""

    run: Positional[Path]
    """The run folder."""
    out: Path | None = None
    """The file: .png, .svg or .pdf; by default RUN/figures/map.png."""
    levels: tuple[str, ...] = ()
    """Desired diversities to show; by default all."""
    seed: int | None = None
    """Which seed's members to show; by default the first."""
    state_seed: int = 0
    """Of the scene; the same for all levels."""
    arrows: bool = False
    """Show what each agent would do at each place."""
    coordinates: tuple[int, int] | None = None
    """Two observed numbers to draw over instead of positions: for tasks that have no map, or for another view."""
    resolution: int = 100
    """Cells along each side."""


@dataclass(frozen=True)
class Video:
    """Film an episode of each level side by side, or who differs from whom over the training."""

    run: Positional[Path]
    """The run folder."""
    out: Path | None = None
    """The file: .mp4 or .gif; by default RUN/figures/episodes.mp4 or distances.mp4."""
    of: str = "episodes"
    """episodes, or distances: the behavioural distance of every two agents, from iteration to iteration."""
    levels: tuple[str, ...] = ()
    """Desired diversities to show; by default all."""
    seed: int | None = None
    """Which seed's members to show; by default the first."""
    episode_seed: int = 0
    """Of the episode's start; the same for all levels."""
    map: bool = True
    """The diversity map underneath, for tasks that have one."""
    fps: int = 20
    """Pictures in a second."""


def report(command: Report) -> tuple[Path, list[Path]]:
    """Write the page, and the figures if they are wanted; where they are."""
    if not command.runs:
        raise ValueError("runs must be at least one run folder, got none: dico report runs/NAME")
    runs = [load(folder).read() for folder in command.runs]
    check_formats(command.formats)
    page = check_page(default_path(runs) if command.out is None else command.out)
    folder = figures_beside(page)
    with saying_once():
        drawn = {}
        if command.figures:
            draw_figures = _figures_or_cure()
            check_place(folder / "curves.png")
            drawn = draw_figures(runs, stat=command.stat, seeds=command.seeds)
        write_report(runs, page, stat=command.stat)
        figures = viz.save_figures(drawn, folder, command.formats) if drawn else []
    if command.open:
        webbrowser.open(page.resolve().as_uri())
    return page, figures


def draw(command: Map) -> Path:
    """Draw a map; where it is."""
    out = viz.check_figure(command.out or command.run / "figures" / "map.png")
    check_positive("resolution", command.resolution)
    if command.coordinates and command.arrows:
        raise ValueError("arrows show actions at positions: leave out --arrows or --coordinates")
    cast = viz.choose(load(command.run).read(), command.levels, command.seed)
    if command.coordinates:
        figure = viz.draw_slice(cast, command.coordinates, command.state_seed, resolution=command.resolution)
    else:
        figure = viz.draw_map(cast, command.state_seed, resolution=command.resolution, arrows=command.arrows)
    return viz.save_figure(figure, out)


def film(command: Video, console: Console) -> Path:
    """Draw a film, showing how far it is; where it is."""
    check_choice("of", command.of, FILMS)
    out = viz.check_video(command.out or command.run / "figures" / f"{command.of}.mp4")
    check_positive("fps", command.fps)
    viz.check_fps(command.fps, out)
    dpi = GIF_DPI if out.suffix == ".gif" else DPI
    run = load(command.run).read()
    if command.of == "distances":
        drawing = viz.film_distances(run, command.levels, command.seed, fps=command.fps, dpi=dpi)
    else:
        cast = viz.choose(run, command.levels, command.seed)
        with_map = command.map and isinstance(cast.task, MappedTask)
        drawing = viz.film_episode(cast, command.episode_seed, with_map=with_map, fps=command.fps, dpi=dpi)
    shown = track(
        drawing.frames, f"drawing {out.name}", drawing.count,
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    return viz.write_video(replace(drawing, frames=shown), out)


def _figures_or_cure() -> Callable[..., dict[str, Any]]:
    """What draws the figures; the page needs no matplotlib."""
    try:
        return viz.draw_figures
    except ImportError as error:
        raise ImportError(f"{error}; or write the page alone with --no-figures") from None
