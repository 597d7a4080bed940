"""Figures, maps, videos and the report page, made from run folders alone.

What writes takes run folders and paths. What draws takes a run, or several, and gives a figure. What plots takes axes
and gives them back; where it is of a run, it has a figure of its own if it is given none.

>>> from pathlib import Path
>>> from dico import load, viz
>>> run = load("runs/navigation")
>>> page = viz.write_report(run)
>>> figures = viz.write_figures([run], run.folder / "figures")
>>> figure = viz.save_figure(viz.draw_map(run, arrows=True), Path("map.pdf"))
>>> video = viz.animate_episode(run, with_map=True)  # and viz.write_video(video, Path("episode.mp4"))
>>> from matplotlib.figure import Figure
>>> axes = viz.plot_reward(Figure().subplots(), run, "iqm", seeds=True)
"""

from typing import TYPE_CHECKING

from dico._lazy import lazy

if TYPE_CHECKING:  # the public names; each is imported when it is first used, for what draws needs matplotlib and more
    from dico.viz.animations import animate_distances as animate_distances
    from dico.viz.animations import animate_episode as animate_episode
    from dico.viz.comparison import draw_compared_curves as draw_compared_curves
    from dico.viz.comparison import draw_differences as draw_differences
    from dico.viz.comparison import plot_difference as plot_difference
    from dico.viz.curves import plot_action_bound_violation as plot_action_bound_violation
    from dico.viz.curves import plot_box_diversity as plot_box_diversity
    from dico.viz.curves import plot_diversity as plot_diversity
    from dico.viz.curves import plot_executed_diversity as plot_executed_diversity
    from dico.viz.curves import plot_outcome as plot_outcome
    from dico.viz.curves import plot_outside as plot_outside
    from dico.viz.curves import plot_reward as plot_reward
    from dico.viz.curves import plot_tracking as plot_tracking
    from dico.viz.decision import plot_decision as plot_decision
    from dico.viz.distances import draw_distances as draw_distances
    from dico.viz.distances import matrices as matrices
    from dico.viz.distances import plot_distances as plot_distances
    from dico.viz.end_labels import label_ends as label_ends
    from dico.viz.extremes import draw_bound as draw_bound
    from dico.viz.extremes import plot_extremal_actions as plot_extremal_actions
    from dico.viz.figures import draw_box as draw_box
    from dico.viz.figures import draw_curves as draw_curves
    from dico.viz.figures import draw_decision as draw_decision
    from dico.viz.figures import draw_outcomes as draw_outcomes
    from dico.viz.figures import draw_tracking as draw_tracking
    from dico.viz.figures import draw_trajectories as draw_trajectories
    from dico.viz.gallery import draw_figures as draw_figures
    from dico.viz.gallery import save_figures as save_figures
    from dico.viz.gallery import write_figures as write_figures
    from dico.viz.map_figures import draw_map as draw_map
    from dico.viz.map_figures import draw_slice as draw_slice
    from dico.viz.maps import plot_map as plot_map
    from dico.viz.maps import plot_slice as plot_slice
    from dico.viz.report import write_report as write_report
    from dico.viz.reproduction import keep_run as keep_run
    from dico.viz.reproduction import write_reproduction as write_reproduction
    from dico.viz.selection import choose as choose
    from dico.viz.style import check_figure as check_figure
    from dico.viz.style import save_figure as save_figure
    from dico.viz.trajectories import plot_strip as plot_strip
    from dico.viz.video import check_fps as check_fps
    from dico.viz.video import check_video as check_video
    from dico.viz.video import write_video as write_video

_homes, __getattr__ = lazy(__name__, __file__, extra="viz")
__all__ = sorted(name for name in _homes if not name.startswith("check_"))  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *__all__})
