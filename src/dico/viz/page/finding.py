"""What was found, in one sentence for a stranger, and what a link to the page shows."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata

from dico import analysis
from dico.analysis.gain import TOO_FEW, Answer, in_digits
from dico.runs import Run
from dico.viz.labels import level_in_words, listed, metric_name

DISTRIBUTION = "dico-marl"
HOMES = ("homepage", "repository", "source")
"""What the project's address may be called in its metadata."""
MOST = 3
"""More runs than these are not each told of at the head of a page."""


def finding(run: Run, stat: str) -> str:
    """The verdict of a run; of means and no other statistic.

    >>> finding(run, "mean")
    'In navigation, fewer than three seeds cannot tell which level is best.'
    >>> finding(run, "iqm")
    ''
    """
    found = analysis.answer_of(run) if stat == "mean" else None
    return "" if found is None else _verdict(found, run)


def findings(runs: Sequence[Run], names: Sequence[str], stat: str) -> list[str]:
    """A sentence for each run that has one. Of several: how they differ, and of a few each run's, the same once."""
    if len(runs) == 1:
        return [text for run in runs if (text := finding(run, stat))]
    said: dict[str, list[str]] = {}
    for name, run in zip(names, runs, strict=True):
        said.setdefault(finding(run, stat), []).append(name)
    if len(said) > MOST:
        return [difference(runs, names)]
    return [difference(runs, names), *(f"{listed(whose)}: {text}" for text, whose in said.items() if text)]


def difference(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Where the rewards of runs that are compared differ most, if anywhere; of aligned runs.

    >>> difference([run, run], ["a", "b"])
    'Whether a and b differ in reward cannot be told: fewer than three seeds.'
    """
    found = analysis.differences(runs)
    told = [each for each in found if each.verdict("reward") in ("higher", "lower")]
    if not found:
        return f"{listed(names)} have no level in common."
    if told:
        most = max(told, key=lambda each: abs(each.values["reward"].effect))
        value, one, other = most.values["reward"], names[most.second], names[most.first]
        effect, low, high = _signed(in_digits(value.effect, value.low, value.high))
        interval = f"95 % interval {low} to {high}"
        largest = f"the largest of {len(told)} differences" if len(told) > 1 else "the only difference"
        which = f"{largest} that can be told, of {len(found)}"
        where = _capital(at(runs[0], most.level))
        return f"{where}, {one} has {effect} reward per step against {other} ({interval}): {which}."
    if all(each.verdict("reward") == "too few seeds" for each in found):
        return f"Whether {listed(names)} differ in reward cannot be told: fewer than three seeds."
    return f"At no level that they share can the rewards of {listed(names)} be told apart (95 %)."


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


def _verdict(found: Answer, run: Run) -> str:
    """A level is named best only where it can be told from all others."""
    task, sure = run.config["task"], f"{found.seeds} {analysis.sample_name(run)}s"
    if found.why == TOO_FEW:
        return f"In {task}, fewer than three {analysis.sample_name(run)}s cannot tell which level is best."
    if found.outcome == "undecided":
        return f"In {task}, no level can be told best: {found.why}."
    alone, several = len(found.alike) == 1, f"{named(run, found.alike)} cannot be told apart"
    if found.outcome == "diversity pays":
        gain, low, high = _signed(found.gain_in_digits)
        gain = f"{gain} reward per step over a team whose agents all behave alike"
        interval = f"95 % interval {low} to {high}, {sure}"
        best = f"the best team is {at(run, found.level)}, with" if alone else f"{several}; the highest has"
        return f"Diversity pays in {task}: {best} {gain} ({interval})."
    if found.outcome == "homogeneous is enough":
        most = f"diversity gains {_signed(found.gain_in_digits)[2]} reward per step at most (95 %, {sure})"
        return f"In {task}, agents that all behave alike are enough: {most}."
    if found.outcome == "not separable":
        return f"In {task}, the rewards of the levels cannot be told apart (95 %, {sure})."
    if alone:
        return f"In {task}, the highest reward is {at(run, found.level)} (95 %, {sure})."
    return f"In {task}, {several}; the other levels have less reward (95 %, {sure})."


def named(run: Run, levels: Sequence[str]) -> str:
    """Levels as a sentence has them.

    >>> named(run, ["0.3", "free"]), named(run, ["free"])
    ('SND 0.3 and free', 'free')
    """
    labels = [level_in_words(level) for level in levels]
    valued = not labels[0].startswith("free") and analysis.group_fields(run)[:1] == ("constraint",)
    return f"{metric_name(run)} {listed(labels)}" if valued else listed(labels)


def at(run: Run, level: str) -> str:
    """Where a level is, as a sentence has it.

    >>> at(run, "0.3"), at(run, "free")
    ('at SND 0.3', 'with diversity left free')
    """
    return "with diversity left free" if level == "free" else f"at {named(run, [level])}"


def _signed(texts: Sequence[str]) -> list[str]:
    """Numbers with the sign that the rest of the page has."""
    return [text.replace("-", "\N{MINUS SIGN}") for text in texts]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
