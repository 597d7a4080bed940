"""The figures of a run, arranged and captioned: thin, as each plot takes axes and gives axes."""

from collections.abc import Sequence
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dico.analysis import (
    align,
    answer_of,
    bounds_of,
    check_comparable,
    in_order,
    level_of,
    outcomes,
    over_box,
    sample_name,
    sample_sizes,
    summary,
)
from dico.analysis.statistics import FEWEST
from dico.runs import Run
from dico.schedules import is_scheduled
from dico.viz.axis import axis_of
from dico.viz.curves import (
    desires,
    level_legend,
    patterned,
    plot_action_bound_violation,
    plot_box_diversity,
    plot_diversity,
    plot_executed_diversity,
    plot_outcome,
    plot_outside,
    plot_reward,
    plot_tracking,
    tells_executed,
)
from dico.viz.decision import decision_legend, plot_decision, set_apart
from dico.viz.end_labels import label_ends
from dico.viz.kept import selection_of
from dico.viz.limits import beyond, executed_limit, max_snd_limit
from dico.viz.own_axes import of_run, several
from dico.viz.selection import Selection
from dico.viz.style import (
    ONE,
    caption,
    level_title,
    new_figure,
    panels,
    seeds_in_words,
    so_far,
    statistic,
    use_style,
    what,
    who,
)
from dico.viz.trajectories import PICTURES, moments, plot_strip
from dico.viz.views import aspect_of, extent_within, legend

FLAT = 0.6
"""Views that are lower than this, in units of their width, have no room for an upright name of their level."""


@of_run
def draw_curves(run: Run, stat: str = "mean", *, seeds: bool = False) -> Figure:
    """Reward, measured diversity and, where the run tells it, that of executed actions, against frames.

    Args:
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The figure, with a caption.
    """
    plots = [plot_reward, plot_diversity, *([plot_executed_diversity] if tells_executed(run) else [])]
    with use_style():
        figure = new_figure(0.6 + 3.2 * len(plots), 2.8)
        for axes, plot in zip(figure.subplots(1, len(plots)), plots, strict=True):
            plot(axes, run, stat, seeds=seeds)
        _label_lines(figure, run)
        told = [_dashed(run), _far_executed(figure.axes[-1], run) if len(plots) > 2 else ""]
        caption(figure, _join([what(run), seeds_in_words(run), statistic([run], stat), so_far(run), *told]))
        return figure


@of_run
def draw_outcomes(run: Run, stat: str = "mean", *, seeds: bool = False) -> Figure:
    """What episodes came to against frames: return, success, coverage, as far as the run tells.

    Args:
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The figure, with a caption.
    """
    with use_style():
        told = outcomes(run)
        figure = new_figure(2.6 + 2.4 * len(told), 2.8)
        for axes, name in zip(figure.subplots(1, len(told), squeeze=False).flat, told, strict=True):
            plot_outcome(axes, run, name, stat, seeds=seeds)
            axes.set_ylabel("\n".join(wrap(told[name], 32)))
        _label_lines(figure, run)
        caption(figure, _join([what(run), seeds_in_words(run), statistic([run], stat), so_far(run)]))
        return figure


@of_run
def draw_box(run: Run, stat: str = "mean", *, seeds: bool = False) -> Figure:
    """Analytical control: diversity over its box beside that on rollouts, and how much lies outside the box.

    Args:
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The figure, with a caption.
    """
    with use_style():
        figure = new_figure(9.6, 2.8)
        plots = (plot_box_diversity, plot_diversity, plot_outside)
        for axes, plot in zip(figure.subplots(1, len(plots)), plots, strict=True):
            plot(axes, run, stat, seeds=seeds)
        figure.axes[1].set_title("Diversity on rollouts")
        _label_lines(figure, run)
        caption(figure, _join([what(run), seeds_in_words(run), statistic([run], stat), so_far(run), _dashed(run)]))
        return figure


@of_run
def draw_tracking(run: Run, stat: str = "mean", *, seeds: bool = False) -> Figure:
    """Tracking error and action-bound violation against frames; the latter alone where nothing is desired.

    Args:
        run: a run, as ``dico.load`` gives it.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.
        seeds: add each seed as a thin line.

    Returns:
        The figure, with a caption.
    """
    with use_style():
        plots = [plot_tracking, plot_action_bound_violation] if desires(run) else [plot_action_bound_violation]
        figure = new_figure(7.4 if len(plots) > 1 else 4.7, 2.8)
        for axes, plot in zip(figure.subplots(1, len(plots), squeeze=False).flat, plots, strict=True):
            plot(axes, run, stat, seeds=seeds)
        level_legend(figure.axes[-1], run)  # most end at zero, where names would only crowd
        notes = {"free": "free desires nothing", "0": "of 0 the measured value itself"}
        constraints = in_order(member.constraint for member in run.members)
        own = [notes[constraint] for constraint in constraints if constraint in notes]
        caption(figure, _join([what(run), seeds_in_words(run), statistic([run], stat), so_far(run), *own]))
        return figure


def draw_decision(runs: Run | Sequence[Run], stat: str = "mean") -> Figure:
    """Final reward against desired diversity, or against the number that varies instead.

    Args:
        runs: a run, or several to compare.
        stat: of the seeds: ``mean``, with standard deviation, or ``iqm``, with a 95 % bootstrap interval.

    Returns:
        The figure, with a caption.
    """
    check_comparable(runs := several(runs))
    runs = align(runs)
    with use_style():
        figure = new_figure(6.4, 3.3)
        axes = plot_decision(figure.subplots(), runs, stat)
        legend = decision_legend(axes, runs)
        facts = [[what(run), so_far(run), seeds_in_words(run)] for run in runs]
        common = [each[0] for each in zip(*facts, strict=True) if len(set(each)) == 1]
        if len(runs) > 1:
            for text, own in zip(legend.get_texts(), facts, strict=False):
                text.set_text("\n  ".join([text.get_text(), *(fact for fact in own if fact not in common)]))
        dots = "" if all(seeds_in_words(run) == ONE for run in runs) else f"dots: {sample_name(*runs)}s"
        told = [
            statistic(runs, stat),
            dots,
            "last tenth of the iterations",
            *_key(runs, stat),
            _far_limit(axes, runs[0]),
            *_beyond(runs),
        ]
        caption(figure, _join([*common, *told]))
        return figure


def draw_trajectories(selection: Selection | Run, seed: int = 0, *, pictures: int = PICTURES) -> Figure:
    """An episode of each level from left to right, all from the same start.

    Args:
        selection: a run, or members of one that ``dico.viz.choose`` gives.
        seed: of the start.
        pictures: how many of each episode.

    Returns:
        The figure, with a caption.
    """
    selection = selection_of(selection)
    recording = selection.record(seed)
    lengths = [recording.length(k) for k in range(len(selection.members))]
    steps = moments(lengths, pictures)
    scenes = [selection.scene(recording, k) for k in range(len(selection.members))]
    extent = extent_within(scenes)
    room = 0.15 if min(lengths) < max(lengths) else 0.05  # to say when an episode ended
    across = {"rotation": 0, "ha": "right", "va": "center"} if aspect_of(extent) < FLAT else {}
    with use_style():
        figure, axes = panels(len(scenes), pictures, label=room, aspect=aspect_of(extent))
        for row, scene, member in zip(axes, scenes, selection.members, strict=True):
            plot_strip(list(row), scene, steps, extent)
            row[0].set_ylabel(level_title(selection.run, level_of(selection.run, member), "\n"), **across)
        for each, step in zip(axes[0], steps, strict=True):
            each.set_title(f"step {step}")
        caption(
            figure,
            ", ".join([*who(selection), f"start {seed}", "actions by the mean", *legend(selection.task, scenes[0])]),
        )
        return figure


def _dashed(run: Run) -> str:
    """What dashed lines are, in words, if there are any."""
    if not desires(run):
        return ""
    look = "thin" if patterned(run) else "dashed"
    return f"{look}: desired over the box" if over_box(run) else f"{look}: desired"


def _label_lines(figure: Figure, run: Run) -> None:
    """The levels' names at their lines' ends in every panel, and a legend beside the last."""
    for axes in figure.axes:
        label_ends(axes)
    level_legend(figure.axes[-1], run)


def _key(runs: Sequence[Run], stat: str) -> list[str]:
    """What the marks of a decision plot mean, of those that are there."""
    pale = len(runs) == 1 and stat == "mean" and set_apart(answer_of(runs[0]))
    discs = ["on pale discs: any of these may be best"] if pale else []
    if not axis_of(runs).diversity:
        return discs
    every = {level.desired for run in runs for level in summary(run)}
    spread = " (with its interval)" if max(sample_sizes(*runs)) >= FEWEST else ""
    moving = {desired for desired in every if is_scheduled(desired)}
    bounds = any(len(set(bounds_of(desired))) > 1 for desired in every - {"free"} - moving)
    landed = [*(["free"] if "free" in every else []), *(["a schedule"] if moving else [])]
    return [
        *discs,
        *([f"diamonds: {' or '.join(landed)} where its diversity landed{spread}"] if landed else []),
        *(["horizontal lines: from bound to bound or the measured value"] if bounds else []),
    ]


def _far_executed(axes: Axes, run: Run) -> str:
    """The limit of executed actions in words, where it is too far to be drawn."""
    limit = executed_limit(run)
    if limit is None or any(text.get_gid() == "limit" for text in axes.texts):
        return ""
    return f"largest SND in the action box: {limit.upper_bound:.3g}"


def _far_limit(axes: Axes, run: Run) -> str:
    """The largest SND of the action box in words, where the axis does not reach to it."""
    limit = max_snd_limit(run) if axis_of([run]).diversity else None
    if limit is None or limit.value <= axes.get_xlim()[1]:
        return ""
    return f"largest SND in the action box: {limit.upper_bound:.3g}"


def _beyond(runs: Sequence[Run]) -> list[str]:
    """What to know of levels that executed actions cannot have, once."""
    return list(dict.fromkeys(filter(None, map(beyond, runs)))) if axis_of(runs).diversity else []


def _join(parts: Sequence[str]) -> str:
    return ", ".join(part for part in parts if part)
