"""All figures of one or more runs: drawn first and then written, so that none is left alone."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from dico.analysis import align, check_comparable, diverged, outcomes, over_box
from dico.analysis.behaviour import behaviours
from dico.runs import Run, RunError, Summary
from dico.tasks import MappedTask
from dico.viz.comparison import draw_compared_curves, draw_differences
from dico.viz.cross_play import draw_cross_play
from dico.viz.distances import draw_distances
from dico.viz.figures import (
    draw_box,
    draw_curves,
    draw_decision,
    draw_outcomes,
    draw_tracking,
    draw_trajectories,
)
from dico.viz.files import check_formats, check_place
from dico.viz.kept import kept_selection
from dico.viz.labels import run_names
from dico.viz.map_figures import draw_map, draw_slice
from dico.viz.once import warn_once
from dico.viz.own_axes import several
from dico.viz.selection import Selection, choose
from dico.viz.style import save


def write_figures(
    runs: Run | Sequence[Run],
    folder: Path,
    *,
    stat: str = "mean",
    seeds: bool = False,
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """All figures of :func:`draw_figures`, into a folder; the files written.

    >>> written = write_figures([run], Path("runs/navigation/figures"), stat="iqm", formats=["png"])
    >>> [path.name for path in written]
    ['curves.png', 'decision.png', 'tracking.png', 'outcomes.png', 'map.png', 'trajectories.png', 'distances.png']
    """
    check_formats(formats)
    check_place(folder / "curves.png")
    return save_figures(draw_figures(runs, stat=stat, seeds=seeds), folder, formats)


def draw_figures(
    runs: Run | Sequence[Run], *, stat: str = "mean", seeds: bool = False, own_scale: bool = False
) -> dict[str, Figure]:
    """All figures that make sense for the runs, by name.

    Of one run: its curves, decision and tracking, what episodes came to where it tells, and its box where it has one
    (analytical control); with a checkpoint also a map and trajectories; and, where they were kept, the distances
    between agents. Of several: one decision plot, curves of all together, their differences where they share levels,
    and each run's own in a folder named after it.
    ``own_scale`` gives every panel of a map its own colours.

    Args:
        runs: a run, or several to compare.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.
        own_scale: give every panel its own colours.

    Returns:
        The figures by name.
    """
    check_comparable(runs := several(runs))
    with warn_once():
        runs = [run.read() for run in align(runs)]
        if len(runs) == 1:
            return _of_one(runs[0], stat, seeds, own_scale)
        drawn = {"decision": draw_decision(runs, stat), "curves": draw_compared_curves(runs, stat, seeds=seeds)}
        found = draw_differences(runs)
        drawn |= {"differences": found} if found is not None else {}
        for run, name in zip(runs, run_names(runs), strict=True):
            own = _of_one(run, stat, seeds, own_scale)
            drawn |= {f"{name.replace('/', '-')}/{each}": figure for each, figure in own.items()}
        return drawn


def save_figures(drawn: dict[str, Figure], folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write figures into a folder by their names, in each of the formats; the files written."""
    return [path for name, figure in drawn.items() for path in save(figure, folder / name, formats)]


def _of_one(run: Run, stat: str, seeds: bool, own_scale: bool) -> dict[str, Figure]:
    drawn = {
        "curves": draw_curves(run, stat, seeds=seeds),
        "decision": draw_decision([run], stat),
        "tracking": draw_tracking(run, stat, seeds=seeds),
    }
    if outcomes(run):
        drawn["outcomes"] = draw_outcomes(run, stat, seeds=seeds)
    if over_box(run):
        drawn["box"] = draw_box(run, stat, seeds=seeds)
    selection = _playable(run)
    if selection is not None:
        if isinstance(selection.task, MappedTask):
            drawn["map"] = draw_map(selection, own_scale=own_scale)
        elif selection.policies and selection.task.groups[selection.controlled].obs_dim > 1:
            drawn["map"] = draw_slice(selection, (0, 1))
        drawn["trajectories"] = draw_trajectories(selection)
    if isinstance(run.source, Summary) and "cross_play" in run.source.behaviours:
        drawn["cross-play"] = draw_cross_play(run, behaviours(run)["cross_play"])
    if any("distances" in row for row in run.rows()) and not diverged(run).all():
        drawn["distances"] = draw_distances(run)
    return drawn


def _playable(run: Run) -> Selection | None:
    """Members that can be shown in action; None, with a warning, if there is a checkpoint that cannot be played."""
    if run.newest is None:
        return kept_selection(run)
    try:
        return choose(run)
    except RunError as error:
        warnings.warn(f"no map and no trajectories: {error}", stacklevel=3)
        return None
