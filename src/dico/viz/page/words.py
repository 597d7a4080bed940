"""The page's sentences about what was measured, and how."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dico import analysis
from dico.analysis import STATISTICS
from dico.runs import Run
from dico.snapshot import Snapshot

BANDS = {
    "mean": ("Mean", "one standard deviation on either side", "mean ± standard deviation"),
    "iqm": ("Interquartile mean", "its 95 % bootstrap interval", "interquartile mean [95 % bootstrap interval]"),
}
"""The centre, what is around it, and both in a table."""
FEW = 3
"""More options than this are only counted: the configuration lists them."""


def facts(runs: Sequence[Run]) -> list[str]:
    """What was trained, in the fewest words: task, algorithm, agents, levels, seeds."""
    run = runs[0]
    algorithms = dict.fromkeys(str(each.config.get("algorithm", "unknown algorithm")).upper() for each in runs)
    options = run.config.get("task_options") or ()
    with_options = f" with {', '.join(options)}" if len(options) <= FEW else f" with {len(options)} options"
    agents = [(group["n_agents"], group["name"]) for group in run.groups]
    team = _plural(agents[0][0], "agent") if len(agents) == 1 else " and ".join(f"{n} {name}" for n, name in agents)
    controlled = f"diversity of {analysis.controlled_group(run)} controlled"
    return [
        str(run.config["task"]) + (with_options if options else ""),
        " and ".join(algorithms),
        team,
        *([controlled] if len(agents) > 1 else []),
        _plural(_count(len(analysis.levels(each)) for each in runs), "level"),
        seeds(runs),
    ]


def seeds(runs: Sequence[Run]) -> str:
    """How many seeds a level has.

    >>> seeds([])
    'no seeds'
    """
    per_level = [sum(m.constraint == level for m in run.members) for run in runs for level in analysis.levels(run)]
    return _plural(_count(per_level), "seed")


def statistic(runs: Sequence[Run], stat: str, metric: str) -> dict[str, str]:
    """What the curves, the table and the decision plot show."""
    centre, around, both = BANDS[stat]
    many = seeds(runs)
    alone = "One seed for each level: there is no interval." if many == "1 seed" else ""
    tracking = (
        f"Tracking error: how far the measured {metric} is from the desired one, relative to it; for a desired 0, the "
        "measured value itself."
    )
    return {
        "curves": alone or f"{centre} over {many} (line) and {around} (band); dashed: the desired values.",
        "table": f"Over the last tenth of the iterations{'' if alone else f', {both} over {many}'}. {alone} {tracking}",
        "final": f"Reward over the last tenth of the iterations, against the desired {metric}. "
        + (alone or f"Marks and whiskers: {both} over {many}; dots: single seeds."),
    }


def metrics(metric: str) -> list[dict[str, Any]]:
    """The curves: what each is called, what it means, and the least value that its axis need show."""
    return [
        _metric("reward", "Reward per step", "Mean reward per step and agent of the collected batch."),
        _metric("diversity", f"Measured {metric}", "Of the scaled policies, on the collected batch.", least=0.0),
        _metric("tracking", "Tracking error", f"Of the measured {metric}, relative to the desired one.", least=0.0),
        _metric("overflow", "Overflow", "How far the farthest mean action lies outside the action box.", least=0.0),
    ]


def notes(runs: Mapping[str, Snapshot]) -> list[str]:
    """What a reader should know before believing the numbers of the runs, given by name."""
    found = []
    for name, run in runs.items():
        whose = f"{name}: " if len(runs) > 1 else ""
        gone = analysis.diverged(run)
        if gone.any():
            who = ", ".join(f"{m.constraint} (seed {m.seed})" for m in run.members if gone[m.index])
            found.append(f"{whose}diverged and left out of all numbers: {who}.")
        found += [f"{text}." for text in run.said]
    return found


def reproduce(runs: Sequence[Run]) -> str:
    """What the commands of the page are."""
    if any("command" in run.session for run in runs):
        return "The command that trained the first member; the others differ in desired diversity and seed."
    return "The command with every setting written out, so that defaults of another version do not matter."


def footer(runs: Sequence[Run], stat: str) -> str:
    """What the page is, in one line."""
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    return f"Written by dico on {when}: {', '.join(facts(runs))}; {STATISTICS[stat]} over seeds."


def _metric(key: str, title: str, about: str, least: float | None = None) -> dict[str, Any]:
    return {"key": key, "title": title, "about": about, "least": least}


def _plural(count: Any, thing: str) -> str:
    return f"{count} {thing}" if str(count) == "1" else f"{count} {thing}s"


def _count(numbers: Any) -> str:
    """One number, or from the least to the greatest."""
    values = sorted(set(numbers))
    if not values:
        return "no"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"
