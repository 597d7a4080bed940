"""``dico video``."""

from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track
from tyro.conf import Positional

from dico import viz
from dico._checks import check_choice, check_positive
from dico.commands import say_where
from dico.runs import load
from dico.tasks import MappedTask

SUBJECTS = ("episodes", "distances")
"""What a video can be of."""
DPI, GIF_DPI = 200, 100
"""Of videos; a GIF is large as it is."""


@dataclass(frozen=True)
class Options:
    """What it takes."""

    run: Positional[Path]
    """The run folder."""
    out: Path | None = None
    """The file: .mp4 or .gif; by default RUN/figures/episodes.mp4 or distances.mp4."""
    of: str = "episodes"
    """episodes, or distances: the behavioural distance of every two agents, from iteration to iteration."""
    levels: tuple[str, ...] = ()
    """Those to show: desired diversities, or what else members differ in, such as tau=0.1; by default all."""
    by: tuple[str, ...] = ()
    """What to group members by: constraint (desired diversity), tau, lr, ...; by default all that they differ in."""
    seed: int | None = None
    """Which seed's members to show; by default the first."""
    episode_seed: int = 0
    """Of the episode's start; the same for all levels."""
    map: bool = True
    """The diversity map underneath, for tasks that have one."""
    fps: int = 20
    """Pictures in a second."""


def run(options: Options, console: Console) -> int:
    """Draw it, showing how far it is, and say where it is."""
    check_choice("of", options.of, SUBJECTS)
    out = viz.check_video(options.out or options.run / "figures" / f"{options.of}.mp4")
    check_positive("fps", options.fps)
    viz.check_fps(options.fps, out)
    dpi = GIF_DPI if out.suffix == ".gif" else DPI
    opened = load(options.run).read().group_by(*options.by)
    if options.of == "distances":
        drawing = viz.animate_distances(opened, options.levels, options.seed, fps=options.fps, dpi=dpi)
    else:
        selection = viz.choose(opened, options.levels, options.seed)
        with_map = options.map and isinstance(selection.task, MappedTask)
        drawing = viz.animate_episode(selection, options.episode_seed, with_map=with_map, fps=options.fps, dpi=dpi)
    shown = track(
        drawing.images, f"drawing {out.name}", drawing.count,
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    say_where(viz.write_video(replace(drawing, images=shown), out), console)
    return 0
