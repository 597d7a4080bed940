"""The figures of a run, arranged, named and saved: thin, as each plot takes axes and gives axes."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from dico.analysis import check_comparable, levels
from dico.episodes import play
from dico.runs import Run, RunError
from dico.tasks import MappedTask
from dico.viz.cast import Cast, choose, one_of_each, seeds_of
from dico.viz.curves import level_legend, plot_diversity, plot_overflow, plot_reward, plot_tracking
from dico.viz.decision import plot_decision
from dico.viz.distances import distance_scale, matrices, plot_distances
from dico.viz.fields import as_mapped, check_coordinates
from dico.viz.labels import metric_name
from dico.viz.maps import colour_bar, extent_of, map_scale, middle_of, plot_map, plot_slice
from dico.viz.style import (
    caption,
    level_panels,
    level_title,
    new_figure,
    over_seeds,
    panels,
    save,
    so_far,
    styled,
    what,
)
from dico.viz.trajectories import FRAMES, moments, plot_strip
from dico.viz.views import aspect_of, covering, legend

ROLLOUT = 20
"""Episodes whose observations surround a map over two observed numbers."""


def write_figures(
    runs: Sequence[Run],
    folder: Path,
    *,
    stat: str = "mean",
    seeds: bool = False,
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """All figures that make sense for the runs, into a folder; the files written.

    Of one run: its curves, decision and tracking; with a checkpoint also a map and trajectories; and, where they were
    kept, the distances between agents. Of several: one decision plot, and each run's own in a folder named after it.

    >>> written = write_figures([run], Path("runs/navigation/figures"), stat="iqm", formats=["png"])
    >>> [path.name for path in written]
    ['curves.png', 'decision.png', 'tracking.png', 'map.png', 'trajectories.png', 'distances.png']
    """
    check_comparable(runs)
    if len(runs) > 1:
        written = save(draw_decision(runs, stat), folder / "decision", formats)
        for number, run in enumerate(runs):
            name = run.folder.resolve().name
            twice = [each.folder.resolve().name for each in runs].count(name) > 1
            own = folder / (f"{number}-{name}" if twice else name)
            written += write_figures([run], own, stat=stat, seeds=seeds, formats=formats)
        return written
    (run,) = runs
    drawn = {
        "curves": draw_curves(run, stat, seeds=seeds),
        "decision": draw_decision(runs, stat),
        "tracking": draw_tracking(run, stat, seeds=seeds),
    }
    cast = _playable(run)
    if cast is not None:
        drawn["map"] = draw_map(cast) if isinstance(cast.task, MappedTask) else draw_slice(cast, (0, 1))
        drawn["trajectories"] = draw_trajectories(cast)
    if any("distances" in row for row in run.rows()):
        drawn["distances"] = draw_distances(run)
    return [path for name, figure in drawn.items() for path in save(figure, folder / name, formats)]


def draw_curves(run: Run, stat: str = "mean", *, seeds: bool = False) -> Figure:
    """Reward and measured diversity against frames."""
    with styled():
        figure = new_figure(7.4, 2.8)
        left, right = figure.subplots(1, 2)
        plot_reward(left, run, stat, seeds=seeds)
        level_legend(plot_diversity(right, run, stat, seeds=seeds), run)
        caption(figure, _statistics([run], stat, "dashed: desired"))
        return figure


def draw_tracking(run: Run, stat: str = "mean", *, seeds: bool = False) -> Figure:
    """Tracking error and overflow against frames."""
    with styled():
        figure = new_figure(7.4, 2.8)
        left, right = figure.subplots(1, 2)
        plot_tracking(left, run, stat, seeds=seeds)
        level_legend(plot_overflow(right, run, stat, seeds=seeds), run)
        notes = {"free": "free desires nothing", "0": "of 0 the measured value itself"}
        caption(figure, _statistics([run], stat, ", ".join(notes[level] for level in levels(run) if level in notes)))
        return figure


def draw_decision(runs: Sequence[Run], stat: str = "mean") -> Figure:
    """Final reward against desired diversity."""
    check_comparable(runs)
    with styled():
        figure = new_figure(6.2, 3.3)
        axes = plot_decision(figure.subplots(), runs, stat)
        title = f"desired {metric_name(runs[0])}" if len(runs) == 1 else "run"
        axes.legend(title=title, loc="upper left", bbox_to_anchor=(1.01, 1.0), alignment="left")
        caption(figure, _statistics(runs, stat, "last tenth of the iterations"))
        return figure


def draw_map(cast: Cast, state_seed: int = 0, *, resolution: int = 100, arrows: bool = False) -> Figure:
    """Diversity at every position, a panel for each level."""
    as_mapped(cast.task)
    state = cast.start(state_seed)
    fields = cast.fields(state, resolution=resolution)
    with styled():
        figure, axes = level_panels(len(fields))
        scale = map_scale(fields)
        images = [
            plot_map(each, field, scale, cast.task, state, cast.actions(field) if arrows else None)
            for each, field in zip(axes, fields, strict=True)
        ]
        _finish(figure, axes, cast, images[0], "at each position")
        key = [*legend(cast.task.scene(state), over_map=True), *(["arrows: mean actions"] if arrows else [])]
        caption(figure, ", ".join([*_who(cast), f"start {state_seed}", *key]))
        return figure


def draw_slice(cast: Cast, coordinates: tuple[int, int], state_seed: int = 0, *, resolution: int = 100) -> Figure:
    """Diversity over two observed numbers around a rollout of each level, all other numbers held."""
    check_coordinates(coordinates, cast.task.groups[cast.controlled].obs_dim)
    played = play(cast.task, cast.policies, ROLLOUT, state_seed, deterministic=True)
    seen = [
        obs[running].flatten(0, 1) for obs, running in zip(played.obs[cast.controlled], played.running, strict=True)
    ]
    together = torch.cat(seen)
    fields = cast.slices(middle_of(together), coordinates, extent_of(together, coordinates), resolution)
    with styled():
        figure, axes = level_panels(len(fields), label=0.5)
        scale = map_scale(fields)
        images = [
            plot_slice(each, field, scale, coordinates, own)
            for each, field, own in zip(axes, fields, seen, strict=True)
        ]
        for each in axes:
            each.label_outer()
        _finish(figure, axes, cast, images[0], "at each pair of values")
        caption(figure, ", ".join([*_who(cast), f"dots: seen in {ROLLOUT} episodes", "all other observations held"]))
        return figure


def draw_trajectories(cast: Cast, seed: int = 0, *, frames: int = FRAMES) -> Figure:
    """An episode of each level from left to right, all from the same start."""
    recording = cast.record(seed)
    lengths = [recording.length(k) for k in range(len(cast.members))]
    steps = moments(lengths, frames)
    scenes = [cast.scene(recording, k) for k in range(len(cast.members))]
    extent = covering(scenes)
    room = 0.15 if min(lengths) < max(lengths) else 0.05  # to say when an episode ended
    with styled():
        figure, axes = panels(len(scenes), frames, label=room, aspect=aspect_of(extent))
        for row, scene, member in zip(axes, scenes, cast.members, strict=True):
            plot_strip(list(row), scene, steps, extent)
            row[0].set_ylabel(level_title(cast.run, member.constraint, "\n"))
        for each, step in zip(axes[0], steps, strict=True):
            each.set_title(f"step {step}")
        caption(figure, ", ".join([*_who(cast), f"start {seed}", "actions by the mean", *legend(scenes[0])]))
        return figure


def draw_distances(run: Run, seed: int | None = None) -> Figure:
    """Who differs from whom at the end, in one seed of each level."""
    members, every = one_of_each(run, (), seed), matrices(run)
    shown = {member.constraint: every[member.index, -1] for member in members}
    scale = distance_scale(list(shown.values()))
    with styled():
        figure, axes = level_panels(len(shown), label=0.5)
        images = [plot_distances(each, matrix, scale)[0] for each, matrix in zip(axes, shown.values(), strict=True)]
        for each, level in zip(axes, shown, strict=True):
            each.set_title(level_title(run, level))
            each.set_xlabel("agent")
        axes[0].set_ylabel("agent")
        colour_bar(figure, images[0], axes, r"mean $W_2$ distance")
        caption(figure, f"{what(run)}, {seeds_of(members)}, {so_far(run)}")
        return figure


def _playable(run: Run) -> Cast | None:
    """Who can be shown in action; None, with a warning, if there is a checkpoint that cannot be played."""
    if not run.checkpoints():
        return None
    try:
        return choose(run)
    except RunError as error:
        warnings.warn(f"no map and no trajectories: {error}", stacklevel=3)
        return None


def _finish(figure: Figure, axes: Sequence[Axes], cast: Cast, image: AxesImage, where: str) -> None:
    """Titles and the colours' meaning."""
    for each, member in zip(axes, cast.members, strict=True):
        each.set_title(level_title(cast.run, member.constraint))
    colour_bar(figure, image, axes, f"SND {where}")


def _who(cast: Cast) -> list[str]:
    return [what(cast.run), seeds_of(cast.members), so_far(cast.run)]


def _statistics(runs: Sequence[Run], stat: str, note: str) -> str:
    """What is shown of which runs; where they differ, each once."""
    told = ([what(run) for run in runs], [over_seeds(run, stat) for run in runs], [so_far(run) for run in runs], [note])
    return ", ".join(" and ".join(dict.fromkeys(each)) for each in told if any(each))
