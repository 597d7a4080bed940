"""A run in numbers, as JSON for the page: the summary of its levels, and its curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dico import analysis
from dico._files import plain
from dico.analysis import Band, LevelSummary
from dico.analysis.alignment import align_agents, renumber, square
from dico.analysis.measured import final_mean
from dico.boxes import COLUMNS
from dico.runs import Run
from dico.runs.summary import about_run
from dico.tasks import OUTCOMES
from dico.viz.axis import Axis
from dico.viz.limits import max_snd_limit, room
from dico.viz.page.encode import floats, quantise
from dico.viz.page.finding import finding
from dico.viz.page.words import group_suffix, means
from dico.viz.reproduce import Presets, about, command, short_command

POINTS = 300
"""Curves are thinned to so many iterations, evenly spaced, the last included."""
CENTRES = 300_000
"""Numbers of all levels' curves and bands together, beyond which there are fewer iterations."""
SINGLES = 150_000
"""Numbers of all single seeds' curves together, beyond which only some seeds of each level have one."""
FEWEST = 20
"""Iterations of a curve, however many levels there are."""
MOMENTS = 50
"""And distances between agents to so many."""
BESIDE = {"snd_box": COLUMNS["snd_box"], "snd_acted": "executed SND"}
"""Further diversities of the controlled group, and what the table calls them."""
MATRIX_FROM = 3
"""From so many agents on, who differs from whom is worth a matrix."""


def numbers(run: Run, stat: str, along: Axis, runs: int = 1, presets: Presets | None = None) -> dict[str, Any]:
    """Everything about a run that needs no network: summary, curves, configuration, machine.

    ``along`` is what its levels are compared over, ``runs`` how many share the page; ``presets`` is what a command may
    leave out.
    """
    levels, limit = analysis.summary(run, stat), max_snd_limit(run) if along.diversity else None
    more = _beside(run, stat)
    frames = analysis.frames(run)
    finals = analysis.final(run, "reward")
    curves = curves_by_name(run)
    most = max(FEWEST, CENTRES // (3 * runs * len(curves) * len(levels)))
    kept = _iterations_to_show(frames, min(POINTS, most))
    seeds = max(level.seeds + level.diverged for level in levels)
    single = min(seeds, SINGLES // (runs * len(curves) * len(levels) * max(1, len(kept))))
    return {
        "folder": run.folder.name,  # where it lies is of no use to whom the page is sent
        "members": len(run.members),
        "seeds": seeds,
        "progress": {"frames": int(frames[-1]), "total": int(run.config.get("frames") or frames[-1])},
        "took": _took(run),
        "best": _best(run, stat),
        "answer": finding(run, stat),
        "maximum": limit.value if limit else None,
        "bound": limit.upper_bound if limit else None,
        "box": within.value if (within := room(run)) else None,
        "means": means(run),
        "summary": [_summary(level, finals[analysis.of_level(run, level.level)], along, more) for level in levels],
        "frames": floats(frames[kept]),
        "curves": _curves(run, stat, kept, curves, single),
        "thinned": _thinned(len(kept), len(frames), most, single, seeds),
        "distances": _distances(run),
        "config": plain(dict(run.config)),
        "machine": about_run(run),
        "command": command(run.config, run.session),
        "short": short_command(run.config, run.session, presets),
        "how": about(run),
    }


def _best(run: Run, stat: str) -> str | None:
    """The level that is better than all others, where there is one: seeds must tell it from them, by their means."""
    found = analysis.answer_of(run) if stat == "mean" else None
    return None if found is None else found.best


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


def _iterations_to_show(frames: Float[np.ndarray, " iterations"], most: int) -> Int[np.ndarray, " kept"]:
    """The iterations that the curves show; not those whose lines were lost, of which not even the frames are known."""
    whole = np.flatnonzero(np.isfinite(frames))
    return whole[thin(len(whole), most)]


def _thinned(kept: int, iterations: int, most: int, single: int, seeds: int) -> list[str]:
    """What a page of many members leaves out, in words; curves of 300 iterations are nobody's loss.

    >>> _thinned(300, 1000, 300, 4, 4), _thinned(250, 1000, 250, 1, 100)[0]
    ([], 'To keep the page small, curves show 250 of 1,000 iterations, evenly spaced')
    """
    found = []
    if kept < iterations and most < POINTS:
        found.append(f"To keep the page small, curves show {kept:,} of {iterations:,} iterations, evenly spaced")
    if single < seeds:
        found.append(
            f"To keep the page small, lines of single seeds are those of the first {single:,} of {seeds:,} of each "
            "level; lines and bands are of all"
        )
    return found


def _curves(
    run: Run, stat: str, kept: Int[np.ndarray, " kept"], curves: dict[str, np.ndarray], single: int
) -> dict[str, dict[str, Any]]:
    known = analysis.diverged(run)
    return {
        name: {
            level: _curve(name, values[analysis.of_level(run, level) & ~known][:, kept], stat, single)
            for level in analysis.levels(run)
            if np.isfinite(values[analysis.of_level(run, level)]).any()
        }
        for name, values in curves.items()
    }


def _curve(name: str, values: Float[np.ndarray, "seeds iterations"], stat: str, single: int) -> dict[str, Any]:
    band = analysis.aggregate(values, stat).within(*analysis.range_of(name))
    low, high = (floats(end) if band.has_interval else None for end in (band.low, band.high))
    return {
        "centre": floats(band.centre),
        "low": low,
        "high": high,
        "seeds": [floats(seed) for seed in values[:single]],
    }


def _distances(run: Run) -> dict[str, Any] | None:
    """How far every two agents are apart, mean over seeds, at some iterations; two agents need no matrix.

    Seeds number their agents by chance, so agents that behave alike in the end are brought together first.
    """
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
    means = {level: _mean_distances(values[members][:, kept]) for level, members in chosen.items() if members.any()}
    return {
        "agents": group["n_agents"],
        "frames": floats(analysis.frames(run)[kept]),
        "most": max(float(mean.max()) for mean in means.values()),
        "levels": {level: quantise(mean) for level, mean in means.items()},
    }


def _mean_distances(pairs: Float[np.ndarray, "seeds times pairs"]) -> Float[np.ndarray, "times pairs"]:
    full = square(pairs)
    upper = np.triu_indices(full.shape[-1], 1)
    return renumber(full, align_agents(full[:, -1])).mean(0)[..., *upper]


def columns(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What the table has besides reward, diversity and tracking error, as far as any run tells.

    >>> [column["title"] for column in columns([run])]
    ['executed SND', 'return', 'success', 'coverage']
    """
    titles = {**BESIDE, **{name: name for run in runs for name in analysis.outcomes(run)}}
    titles = {key: title + group_suffix(runs) for key, title in titles.items()}
    titles |= {key: f"reward per step ({name}, not controlled)" for run in runs for key, name in _others(run).items()}
    told = {name for run in runs for name in _finals_beside(run)}
    return [{"key": key, "title": title, "percent": key in OUTCOMES} for key, title in titles.items() if key in told]


def _others(run: Run) -> dict[str, str]:
    """The groups that are not controlled, by the keys of their rewards."""
    controlled = analysis.controlled_group(run)
    return {f"reward of {group['name']}": group["name"] for group in run.groups if group["name"] != controlled}


def _finals_beside(run: Run) -> dict[str, Float[np.ndarray, " members"]]:
    """What each member ended with, besides what every summary has."""
    told = {name for row in run.rows() if row.get("group") in (None, analysis.controlled_group(run)) for name in row}
    names = [name for name in (*BESIDE, *analysis.outcomes(run)) if name in told]
    found = {name: analysis.final(run, name) for name in names}
    for key, group in _others(run).items():
        values = run.metric("reward", group).numpy()
        values[analysis.diverged(run)] = np.nan
        found[key] = final_mean(values)
    return found


def _beside(run: Run, stat: str) -> dict[str, dict[str, list[float | None]]]:
    """Of each level, the intervals of the further columns."""
    found = _finals_beside(run)
    return {
        level: {
            name: _interval(analysis.aggregate(values[analysis.of_level(run, level)], stat), *_range(name))
            for name, values in found.items()
        }
        for level in analysis.levels(run)
    }


def _range(name: str) -> tuple[float, float]:
    return analysis.range_of("reward" if name.startswith("reward") else name)


def _summary(
    level: LevelSummary, finals: Float[np.ndarray, " seeds"], along: Axis, more: dict[str, Any]
) -> dict[str, Any]:
    return {
        "level": level.level,
        "place": along.place(level)[0] if along.exact(level) else None,
        "series": along.series(level),
        "seeds": level.seeds,
        "diverged": level.diverged,
        "reward": _interval(level.reward),
        "diversity": _interval(level.snd),
        "tracking": _interval(level.tracking_error),
        "more": more[level.level],
        "finals": [plain(float(value)) for value in finals if np.isfinite(value)],
    }


def _interval(band: Band, least: float = -np.inf, most: float = np.inf) -> list[float | None]:
    return [plain(float(np.clip(value, least, most))) for value in (band.centre, band.low, band.high)]


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
