"""The page's sentences about what was measured, and how."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dico import analysis
from dico.analysis import STATISTICS
from dico.analysis.statistics import FEWEST
from dico.kinds import KINDS
from dico.runs import Run
from dico.viz.axis import Axis
from dico.viz.colours import MANY
from dico.viz.labels import common_desire, level_label, levels_title, listed
from dico.viz.limits import beyond, room
from dico.viz.page.pictures import Pictures

BANDS = {
    "mean": ("Mean", "one standard deviation on either side", "mean ± standard deviation"),
    "iqm": ("Interquartile mean", "its 95 % bootstrap interval", "interquartile mean [95 % bootstrap interval]"),
}
"""The centre, what is around it, and both in a table."""
ENOUGH = 5
"""Seeds that a comparison of levels should have."""
BANDS_AT_ONCE = 3
"""Bands of compared runs in one chart, at most."""
FEW = 3
"""More options than this are only counted: the configuration lists them."""


def facts(runs: Sequence[Run]) -> list[str]:
    """What was trained, in the fewest words: task, algorithm, agents, levels, seeds."""
    run = runs[0]
    algorithms = dict.fromkeys(str(each.config.get("algorithm", "unknown algorithm")).upper() for each in runs)
    options = run.config.get("task_options") or ()
    with_options = f" with {', '.join(options)}" if len(options) <= FEW else f" with {len(options)} options"
    agents = [(group["n_agents"], group["name"]) for group in run.groups]
    team = plural(agents[0][0], "agent") if len(agents) == 1 else " and ".join(_several(n, name) for n, name in agents)
    controlled = f"diversity of {analysis.controlled_group(run)} controlled"
    return [
        str(run.config["task"]) + (with_options if options else ""),
        " and ".join(algorithms),
        team,
        *([controlled] if len(agents) > 1 else []),
        *common_desire(runs),
        plural(_count(len(analysis.levels(each)) for each in runs), "level"),
        seeds(runs),
    ]


def seeds(runs: Sequence[Run]) -> str:
    """How many seeds a level has; members, where it has several of a seed.

    >>> seeds([])
    'no seeds'
    """
    return plural(_count(analysis.sample_sizes(*runs)), analysis.sample_name(*runs))


def grouping(runs: Sequence[Run], along: Axis) -> dict[str, Any]:
    """What tells levels apart, what they are compared over, and what the decision plot asks."""
    fields = analysis.group_fields(runs[0])
    asked = {"constraint": "diversity"}.get(fields[0], fields[0]) if len(fields) == 1 else "combination"
    return {
        "title": levels_title(runs[0]),
        "desired": fields[0] == "constraint",
        "sample": analysis.sample_name(*runs),
        "of": group_suffix(runs),
        "bands": not crowded(runs),
        "few": crowded(runs) or 1 < max(analysis.sample_sizes(*runs)) < FEWEST,
        "question": f"Which {asked} is best?",
        "axis": {"title": along.title, "logarithmic": along.logarithmic, "diversity": along.diversity},
    }


def crowded(runs: Sequence[Run]) -> bool:
    """Whether bands would lie on top of each other, so that single seeds are drawn instead.

    >>> crowded([run]), crowded([run, run])
    (False, True)
    """
    return len(runs) > 1 and sum(len(analysis.levels(run)) for run in runs) > BANDS_AT_ONCE


def group_suffix(runs: Sequence[Run]) -> str:
    """Of which group numbers are, where there are several.

    >>> group_suffix([run])
    ''
    """
    return f" ({analysis.controlled_group(runs[0])})" if len(runs[0].groups) > 1 else ""


def statistic(runs: Sequence[Run], stat: str, metric: str, along: Axis) -> dict[str, str]:
    """What the curves, the table and the decision plot show."""
    centre, around, both = BANDS[stat]
    many = seeds(runs)
    over = f"the {along.title}" if along.diversity else along.title
    single = analysis.sample_name(*runs)
    enough = max(analysis.sample_sizes(*runs)) >= FEWEST
    told = "One seed" if many == "1 seed" else f"Mean of {many}"
    alone = "" if enough else f"{told} for each level: there is no interval."
    band = "" if crowded(runs) else f" and {around} (band)"
    lines = f"{centre} over {many} (line){band}."
    dots = "" if many == "1 seed" else f" Dots: single {single}s."
    tracking = (
        f"Tracking error: how far the {_tracked(runs, metric)} is from the desired one, relative to it; for a desired "
        "0, the measured value itself."
    )
    return {
        "curves": f"{alone or lines}{_thin(runs)} {_lines(runs)}",
        "table": f"Over the last tenth of the iterations{'' if alone else f', {both} over {many}'}. {alone} {tracking}",
        "final": f"Reward over the last tenth of the iterations, against {over}. "
        + (f"{alone}{dots}" if alone else f"Marks and whiskers: {both} over {many}; dots: single {single}s."),
    }


def _thin(runs: Sequence[Run]) -> str:
    """What thin lines are, where too few seeds for a band are drawn each."""
    shown = crowded(runs) or 1 < max(analysis.sample_sizes(*runs)) < FEWEST
    return f" Thin: single {analysis.sample_name(*runs)}s." if shown else ""


def _lines(runs: Sequence[Run]) -> str:
    """Which line is which: where runs or many levels have patterns, desired values are marked in another way."""
    many = len(analysis.levels(*runs)) > MANY
    several = len(runs) > 1 or many
    apart = "Colours tell the runs apart, line patterns the levels (see the legend)." if len(runs) > 1 else ""
    apart = "Colours and line patterns tell the levels apart (see the legend)." if many and not apart else apart
    if all(analysis.desired_of(level, *runs) == "free" for level in analysis.levels(*runs)):
        return apart
    desired = "Thin lines that end in a triangle: the desired values." if several else "Dashed: the desired values."
    return f"{apart} {desired}".strip()


def taken(shown: Mapping[str, Pictures]) -> str:
    """Whose networks the maps, the episodes and the live part show, of runs given by name."""
    parts = [
        f"{f'{name}: ' if len(shown) > 1 else ''}{found['members']}, after {found['frames']:,} frames"
        for name, each in shown.items()
        if (found := each.values.get("taken"))
    ]
    return f"Networks of {'; '.join(parts)}." if parts else ""


def metrics(runs: Sequence[Run], metric: str) -> list[dict[str, Any]]:
    """The curves: what each is called, what it means, whether desired values belong to it, and how its axis is."""
    squashed = " Of means before the tanh." if any(is_squashed(run) for run in runs) else ""
    measured = f"Of the scaled policies, on the collected batch.{squashed}"
    over_box = "Of the policies, on average over the box of observations (analytical control)."
    tracked = f"Of the {_tracked(runs, metric)}, relative to the desired one."
    whose, limit = group_suffix(runs), room(runs[0])
    largest = f" Line across: the largest that fits the action box, {limit.upper_bound:.3g}." if limit else ""
    acted = f"Of the mean actions as they are executed, in the action box.{largest}"
    found = [
        _metric("reward", "Reward per step", "Mean reward per step and agent of the collected batch.", least=None),
        *_outcomes(runs),
        _metric(
            "outside",
            "Outside the box",
            "Share of the collected observations, where nothing is guaranteed.",
            percent=True,
        ),
        _metric("snd_box", "SND over the box", over_box, desired=True),
        _metric("diversity", f"Measured {metric}", measured, desired=True),
        _metric("snd_acted", "SND of executed actions", acted, limit=limit.value if limit else None),
        _metric("tracking", "Tracking error", tracked, percent=True, named=False),
        _metric(
            "action_bound_violation",
            "Action-bound violation",
            "How far the farthest mean action lies outside the action box.",
            named=False,
        ),
    ]
    return [each | {"title": each["title"] + whose} for each in found]


def _outcomes(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What episodes came to, as far as any run tells."""
    told = {name: words for run in runs for name, words in analysis.outcomes(run).items()}
    return [
        _metric(name, name.capitalize(), f"{words[0].upper()}{words[1:]}, of those that ended in the collected batch.",
                least=None if name == "return" else 0.0, percent=name != "return")
        for name, words in told.items()
    ]  # fmt: skip


def _tracked(runs: Sequence[Run], metric: str) -> str:
    """What is held against the desired values."""
    found = {f"{metric} over the box" if analysis.over_box(run) else f"measured {metric}" for run in runs}
    return " or, under analytical control, the ".join(sorted(found, reverse=True))


def means(run: Run) -> str:
    """What SND is of, which is not what the action box leaves of it.

    >>> means(run)
    'of means before the tanh'
    """
    return "of means before the tanh" if is_squashed(run) else "of means before they are clamped"


def is_squashed(run: Run) -> bool:
    """Whether SND is of means before a tanh, and so not of the actions that are executed.

    >>> is_squashed(run)  # of tanh-squashed Gaussians
    True
    """
    group = next(each for each in run.groups if each["name"] == analysis.controlled_group(run))
    return KINDS[group["kind"]].width > 1


def notes(runs: Mapping[str, Run]) -> list[str]:
    """What a reader should know before believing the numbers of the runs, given by name."""
    found = []
    for name, run in runs.items():
        whose = f"{name}: " if len(runs) > 1 else ""
        gone = analysis.diverged(run)
        if gone.any():
            lost = ((level_label(analysis.level_of(run, m)), m.seed) for m in run.members if gone[m.index])
            who = ", ".join(f"{level} (seed {seed})" for level, seed in lost)
            found.append(f"{whose}diverged and left out of all numbers: {who}.")
        unreachable, fewest = beyond(run), min(analysis.sample_sizes(run))
        if unreachable:
            found.append(f"{whose}{unreachable}.")
        if fewest < ENOUGH:
            found.append(f"{whose}{_several(fewest, analysis.sample_name(run))} of a level: {_trust(fewest)}.")
        others = [group["name"] for group in run.groups if group["name"] != analysis.controlled_group(run)]
        if others:
            controlled = f"numbers are of the group {analysis.controlled_group(run)}, whose diversity is controlled"
            found.append(f"{whose}{controlled}; that of {listed(others)} is not, and its reward stands beside.")
        found += [f"{text}." for text in run.remarks]
    return found if len(runs) > 1 else [text[0].upper() + text[1:] for text in found]


def _trust(seeds: int) -> str:
    """What so few seeds are good for.

    >>> _trust(2)
    'too few for an interval; take three, or better five'
    """
    if seeds < FEWEST:
        return "too few for an interval; take three, or better five"
    return "intervals are wide and rough; five or more tell levels apart"


def footer(runs: Sequence[Run], stat: str) -> str:
    """What the page is, in one line."""
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    over = "" if seeds(runs) == "1 seed" else f"; {STATISTICS[stat]} over {analysis.sample_name(*runs)}s"
    return f"Written by dico on {when}: {', '.join(facts(runs))}{over}."


def _metric(
    key: str,
    title: str,
    about: str,
    *,
    least: float | None = 0.0,
    desired: bool = False,
    percent: bool = False,
    named: bool = True,
    limit: float | None = None,
) -> dict[str, Any]:
    """A curve; ``named`` if lines have names at their ends, which would only crowd where most end at zero;
    ``limit`` is what its values cannot be above.
    """
    axis = {"least": least, "desired": desired, "percent": percent, "named": named, "limit": limit}
    return {"key": key, "title": title, "about": about, **axis}


def _several(count: int, name: str) -> str:
    """So many of a group.

    >>> _several(2, "adversary"), _several(1, "agent"), _several(2, "agents"), _several(3, "team_1")
    ('2 adversaries', '1 agent', '2 agents', '3 in team_1')
    """
    if not name.isalpha():
        return f"{count} in {name}"
    if count == 1 or name.endswith("s"):
        return f"{count} {name}"
    return f"{count} {name.removesuffix('y')}ies" if name.endswith("y") else f"{count} {name}s"


def plural(count: Any, thing: str) -> str:
    """So many of a thing.

    >>> plural(1, "seed"), plural(4, "seed")
    ('1 seed', '4 seeds')
    """
    return f"{count} {thing}" if str(count) == "1" else f"{count} {thing}s"


def _count(numbers: Any) -> str:
    """One number, or from the least to the greatest."""
    values = sorted(set(numbers))
    if not values:
        return "no"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"
