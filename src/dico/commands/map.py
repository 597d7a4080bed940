"""``dico map``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from tyro.conf import Positional

from dico import viz
from dico._checks import check_positive
from dico.commands import say_where
from dico.runs import load


@dataclass(frozen=True)
class Options:
    """What it takes."""

    run: Positional[Path]
    """The run folder."""
    out: Path | None = None
    """The file: .png, .svg or .pdf; by default RUN/figures/map.png."""
    levels: tuple[str, ...] = ()
    """Those to show: desired diversities, or what else members differ in, such as tau=0.1; by default all."""
    by: tuple[str, ...] = ()
    """What to group members by: constraint (desired diversity), tau, lr, ...; by default all that they differ in."""
    seed: int | None = None
    """Which seed's members to show; by default the first."""
    state_seed: int = 0
    """Of the scene; the same for all levels."""
    arrows: bool = False
    """Show what each agent would do at each place."""
    coordinates: tuple[int, int] | None = None
    """Two observed numbers to draw over instead of positions: for tasks that have no map, or for another view."""
    own_scale: bool = False
    """Give each level its own colours, to see the shape of each; by default all have the same, to compare them."""
    resolution: int = 100
    """Cells along each side."""


def run(options: Options, console: Console) -> int:
    """Draw it, and say where it is."""
    out = viz.check_figure(options.out or options.run / "figures" / "map.png")
    check_positive("resolution", options.resolution)
    if options.coordinates and options.arrows:
        raise ValueError("arrows show actions at positions: leave out --arrows or --coordinates")
    selection = viz.choose(load(options.run).read().group_by(*options.by), options.levels, options.seed)
    look: Any = {"resolution": options.resolution, "own_scale": options.own_scale}
    if options.coordinates:
        figure = viz.draw_slice(selection, options.coordinates, options.state_seed, **look)
    else:
        figure = viz.draw_map(selection, options.state_seed, arrows=options.arrows, **look)
    say_where(viz.save_figure(figure, out), console)
    return 0
