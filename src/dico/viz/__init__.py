"""Figures, maps, videos and the report page, made from run folders alone.

>>> from pathlib import Path
>>> from dico import load, viz
>>> run = load("runs/navigation")
>>> page = viz.write_report(run)
>>> figures = viz.write_figures([run], run.folder / "figures")
>>> figure = viz.save_figure(viz.draw_map(viz.choose(run), arrows=True), Path("map.pdf"))
>>> film = viz.film_episode(viz.choose(run), with_map=True)  # and viz.write_video(film, Path("episode.mp4"))
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dico.viz.cast import choose as choose
    from dico.viz.figures import draw_curves as draw_curves
    from dico.viz.figures import draw_decision as draw_decision
    from dico.viz.figures import draw_distances as draw_distances
    from dico.viz.figures import draw_map as draw_map
    from dico.viz.figures import draw_slice as draw_slice
    from dico.viz.figures import draw_tracking as draw_tracking
    from dico.viz.figures import draw_trajectories as draw_trajectories
    from dico.viz.figures import write_figures as write_figures
    from dico.viz.films import film_distances as film_distances
    from dico.viz.films import film_episode as film_episode
    from dico.viz.report import write_report as write_report
    from dico.viz.style import check_figure as check_figure
    from dico.viz.style import save_figure as save_figure
    from dico.viz.video import check_video as check_video
    from dico.viz.video import write_video as write_video

HOMES = {
    "cast": ("choose",),
    "figures": (
        "draw_curves", "draw_decision", "draw_distances", "draw_map", "draw_slice", "draw_tracking",
        "draw_trajectories", "write_figures",
    ),
    "films": ("film_distances", "film_episode"),
    "report": ("write_report",),
    "style": ("check_figure", "save_figure"),
    "video": ("check_video", "write_video"),
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
