"""A run in numbers, as JSON for the page: the summary of its levels, and its curves."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dico import analysis
from dico._files import plain
from dico.analysis import Band, LevelSummary
from dico.runs import Run
from dico.runs.summary import about_run
from dico.tasks import OUTCOMES
from dico.viz.axis import Axis
from dico.viz.limits import max_snd_limit
from dico.viz.page.encode import floats, quantise
from dico.viz.page.words import answer
from dico.viz.reproduce import Presets, about, command, short_command

POINTS = 300
"""Curves are thinned to so many iterations, evenly spaced, the last included."""
MOMENTS = 50
"""And distances between agents to so many."""
MATRIX_FROM = 3
"""From so many agents on, who differs from whom is worth a matrix."""


def numbers(run: Run, stat: str, along: Axis, presets: Presets | None = None) -> dict[str, Any]:
    """Everything about a run that needs no network: summary, curves, configuration, machine.

    ``along`` is what its levels are compared over; ``presets`` is what a command may leave out.
    """
    levels, limit = analysis.summary(run, stat), max_snd_limit(run) if along.diversity else None
    frames = analysis.frames(run)
    finals = analysis.final(run, "reward")
    kept = _iterations_to_show(frames)
    return {
        "folder": str(run.folder),
        "members": len(run.members),
        "seeds": max(level.seeds + level.diverged for level in levels),
        "progress": {"frames": int(frames[-1]), "total": int(run.config.get("frames") or frames[-1])},
        "took": _took(run),
        "best": analysis.best_level(run, stat) if len(levels) > 1 else None,
        "answer": answer(run, stat),
        "maximum": limit.value if limit else None,
        "bound": limit.upper_bound if limit else None,
        "summary": [_summary(level, finals[analysis.of_level(run, level.level)], along) for level in levels],
        "frames": floats(frames[kept]),
        "curves": _curves(run, stat, kept),
        "distances": _distances(run),
        "config": plain(dict(run.config)),
        "machine": about_run(run),
        "command": command(run.config, run.session),
        "short": short_command(run.config, run.session, presets),
        "how": about(run),
    }


def thin(count: int, most: int = POINTS) -> Int[np.ndarray, " kept"]:
    """Indices of at most ``most`` of so many iterations.

    >>> thin(3).tolist(), len(thin(10_000)), thin(10_000)[-1].item()
    ([0, 1, 2], 300, 9999)
    """
    return np.linspace(0, count - 1, min(count, most)).round().astype(int)


def curves_by_name(run: Run) -> dict[str, Float[np.ndarray, "members iterations"]]:
    """The curves that the page shows, by the page's names."""
    found = {
        "reward": analysis.curves(run, "reward"),
        "diversity": analysis.curves(run, analysis.controlled_metric(run)),
        "tracking": analysis.tracking_error(run),
    }
    told = {name for row in run.rows() if row.get("group") in (None, analysis.controlled_group(run)) for name in row}
    rest = ("return", *OUTCOMES, "snd_acted", "snd_box", "outside", "action_bound_violation", "desired")
    return found | {name: analysis.curves(run, name) for name in rest if name in told}


def _iterations_to_show(frames: Float[np.ndarray, " iterations"]) -> Int[np.ndarray, " kept"]:
    """The iterations that the curves show; not those whose lines were lost, of which not even the frames are known."""
    whole = np.flatnonzero(np.isfinite(frames))
    return whole[thin(len(whole))]


def _curves(run: Run, stat: str, kept: Int[np.ndarray, " kept"]) -> dict[str, dict[str, Any]]:
    known = analysis.diverged(run)
    return {
        name: {
            level: _curve(values[analysis.of_level(run, level) & ~known][:, kept], stat)
            for level in analysis.levels(run)
            if np.isfinite(values[analysis.of_level(run, level)]).any()
        }
        for name, values in curves_by_name(run).items()
    }


def _curve(values: Float[np.ndarray, "seeds iterations"], stat: str) -> dict[str, Any]:
    band = analysis.aggregate(values, stat)
    low, high = (floats(end) if band.has_interval else None for end in (band.low, band.high))
    return {"centre": floats(band.centre), "low": low, "high": high, "seeds": [floats(seed) for seed in values]}


def _distances(run: Run) -> dict[str, Any] | None:
    """How far every two agents are apart, mean over seeds, at some iterations; two agents need no matrix."""
    group, controlled = _group(run), analysis.controlled_group(run)
    ours = [row for row in run.rows() if row.get("group", controlled) == controlled]
    if group["n_agents"] < MATRIX_FROM or "distances" not in ours[0]:
        return None
    values = run.metric("distances", controlled).numpy()
    sound = ~analysis.diverged(run)
    complete = np.flatnonzero(np.isfinite(values[sound]).all((0, 2)))  # not those that are being written
    if not sound.any() or not len(complete):
        return None
    kept = complete[thin(len(complete), MOMENTS)]
    chosen = {level: analysis.of_level(run, level) & sound for level in analysis.levels(run)}
    means = {level: values[members][:, kept].mean(0) for level, members in chosen.items() if members.any()}
    return {
        "agents": group["n_agents"],
        "frames": floats(analysis.frames(run)[kept]),
        "most": max(float(mean.max()) for mean in means.values()),
        "levels": {level: quantise(mean) for level, mean in means.items()},
    }


def _summary(level: LevelSummary, finals: Float[np.ndarray, " seeds"], along: Axis) -> dict[str, Any]:
    return {
        "level": level.level,
        "place": along.place(level)[0] if along.exact(level) else None,
        "series": along.series(level),
        "seeds": level.seeds,
        "diverged": level.diverged,
        "reward": _interval(level.reward),
        "diversity": _interval(level.snd),
        "tracking": _interval(level.tracking_error),
        "finals": [plain(float(value)) for value in finals if np.isfinite(value)],
    }


def _interval(band: Band) -> list[float | None]:
    return [plain(float(value)) for value in (band.centre, band.low, band.high)]


def _group(run: Run) -> Any:
    return next(group for group in run.groups if group["name"] == analysis.controlled_group(run))


def _took(run: Run) -> str:
    """How long the iterations took, if the run says so: members trained together have the same times."""
    if "seconds" not in run.rows()[0]:
        return ""
    seconds = run.metric("seconds")
    took = _duration(float(seconds.nanmean(0).nansum()))
    if len(seconds) == 1:
        return took
    together = bool((seconds.nan_to_num() - seconds.nanmean(0).nan_to_num())[~seconds.isnan()].abs().max() == 0)
    return f"{took}, all members together" if together else f"{took} for each member"


def _duration(seconds: float) -> str:
    """As people say it.

    >>> _duration(42), _duration(150), _duration(7320)
    ('42 s of training', '2.5 min of training', '2.0 h of training')
    """
    if seconds < 60:
        return f"{seconds:.0f} s of training"
    return f"{seconds / 60:.1f} min of training" if seconds < 3600 else f"{seconds / 3600:.1f} h of training"
