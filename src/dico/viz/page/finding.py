"""What was found, in one sentence for a stranger, and what a link to the page shows."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

from dico import analysis
from dico.analysis.gain import Answer
from dico.runs import Run
from dico.viz.labels import level_label, metric_name

DISTRIBUTION = "dico-marl"
HOMES = ("homepage", "repository", "source")
"""What the project's address may be called in its metadata."""


def finding(run: Run, stat: str) -> str:
    """The verdict of a run; of means and no other statistic.

    >>> finding(run, "mean").partition(";")[2]
    ' fewer than three seeds tell no more.'
    >>> finding(run, "iqm")
    ''
    """
    found = analysis.answer_of(run) if stat == "mean" else None
    return "" if found is None else _verdict(found, str(run.config["task"]), lambda level: _at(run, level))


def findings(runs: Sequence[Run], names: Sequence[str], stat: str) -> list[str]:
    """A sentence for each run that has one; with its name, where there are several."""
    told = [(name, finding(run, stat)) for name, run in zip(names, runs, strict=True)]
    return [f"{name}: {text}" if len(runs) > 1 else text for name, text in told if text]


def preview(facts: Sequence[str], told: Sequence[str]) -> str:
    """What a link to the page says below its title.

    >>> preview(["navigation", "IPPO"], ["Diversity pays."])
    'Diversity pays. navigation, IPPO.'
    """
    return " ".join([*told, f"{', '.join(facts)}."])


def project() -> dict[str, str | None]:
    """The project's version and address, as far as its metadata tell."""
    try:
        told = metadata(DISTRIBUTION)
    except PackageNotFoundError:
        return {"version": "", "url": None}
    pairs = (line.partition(",") for line in told.get_all("Project-URL") or [])
    urls = {name.strip().lower(): url.strip() for name, _, url in pairs}
    found = next((urls[name] for name in HOMES if urls.get(name, "").startswith("https://")), None)
    return {"version": told["Version"], "url": found}


def _verdict(found: Answer, task: str, at: Any) -> str:
    if found.outcome == "undecided":
        return f"In {task}, the highest reward so far is {at(found.level)}; {found.why}."
    alike = [level_label(level) for level in found.alike if level != found.level]
    beside = f"; {', '.join(alike)} cannot be told from it" if alike else ""
    sure = f"{found.seeds} seeds"
    if found.outcome == "diversity pays":
        gain, low, high = found.gain_in_digits
        gain = f"{gain} reward per step over a team whose agents all behave alike"
        interval = f"95 % interval {low} to {high}, {sure}"
        return f"Diversity pays in {task}: the best team is {at(found.level)}, with {gain} ({interval}){beside}."
    if found.outcome == "homogeneous is enough":
        most = f"diversity gains {found.gain_in_digits[2]} reward per step at most (95 %, {sure})"
        return f"In {task}, agents that all behave alike are enough: {most}."
    if found.outcome == "not separable":
        return f"In {task}, the rewards of the levels cannot be told apart (95 %, {sure})."
    return f"In {task}, the highest reward is {at(found.level)}{beside} (95 %, {sure})."


def _at(run: Run, level: str) -> str:
    """Where a level is, as a sentence has it."""
    if level == "free":
        return "with diversity left free"
    alone = analysis.group_fields(run) == ("constraint",)
    return f"at {metric_name(run)} {level_label(level)}" if alone else f"at {level_label(level)}"
