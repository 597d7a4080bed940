"""Figures, maps, videos and the report page, made from run folders alone.

What writes takes run folders and paths; what draws gives a figure; what plots takes axes and gives axes.

>>> from pathlib import Path
>>> from dico import load, viz
>>> run = load("runs/navigation")
>>> page = viz.write_report(run)
>>> figures = viz.write_figures([run], run.folder / "figures")
>>> figure = viz.save_figure(viz.draw_map(viz.choose(run), arrows=True), Path("map.pdf"))
>>> film = viz.film_episode(viz.choose(run), with_map=True)  # and viz.write_video(film, Path("episode.mp4"))
>>> from matplotlib.figure import Figure
>>> axes = viz.plot_reward(Figure().subplots(), run, "iqm", seeds=True)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dico.viz.cast import choose
    from dico.viz.curves import plot_diversity, plot_overflow, plot_reward, plot_tracking
    from dico.viz.decision import plot_decision
    from dico.viz.distances import matrices, plot_distances
    from dico.viz.figures import (
        draw_curves,
        draw_decision,
        draw_distances,
        draw_map,
        draw_slice,
        draw_tracking,
        draw_trajectories,
    )
    from dico.viz.films import film_distances, film_episode
    from dico.viz.gallery import draw_figures, save_figures, write_figures
    from dico.viz.maps import plot_map, plot_slice
    from dico.viz.report import write_report
    from dico.viz.style import check_figure, save_figure
    from dico.viz.trajectories import plot_strip
    from dico.viz.video import check_fps, check_video, write_video

__all__ = [
    "check_figure", "check_fps", "check_video", "choose", "draw_curves", "draw_decision", "draw_distances",
    "draw_figures", "draw_map", "draw_slice", "draw_tracking", "draw_trajectories", "film_distances", "film_episode",
    "matrices", "plot_decision", "plot_distances", "plot_diversity", "plot_map", "plot_overflow", "plot_reward",
    "plot_slice", "plot_strip", "plot_tracking", "save_figure", "save_figures", "write_figures", "write_report",
    "write_video",
]  # fmt: skip
HOMES = {
    "cast": ("choose",),
    "curves": ("plot_diversity", "plot_overflow", "plot_reward", "plot_tracking"),
    "decision": ("plot_decision",),
    "distances": ("matrices", "plot_distances"),
    "figures": (
        "draw_curves", "draw_decision", "draw_distances", "draw_map", "draw_slice", "draw_tracking",
        "draw_trajectories",
    ),
    "films": ("film_distances", "film_episode"),
    "gallery": ("draw_figures", "save_figures", "write_figures"),
    "maps": ("plot_map", "plot_slice"),
    "report": ("write_report",),
    "style": ("check_figure", "save_figure"),
    "trajectories": ("plot_strip",),
    "video": ("check_fps", "check_video", "write_video"),
}  # fmt: skip
"""The public names, and the files they live in."""


def __getattr__(name: str) -> object:
    """What draws needs matplotlib and more, so it is imported when first used."""
    for home, names in HOMES.items():
        if name in names:
            try:
                return getattr(import_module(f"dico.viz.{home}"), name)
            except ModuleNotFoundError as missing:
                module = (missing.name or "").partition(".")[0]
                raise ImportError(f'dico.viz.{name} needs {module}: pip install "dico-marl[viz]"') from missing
    raise AttributeError(f"module 'dico.viz' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *__all__})
