"""Which members belong together: those of a level, of the group and the metric that are controlled.

A level is a group of members that have the same value of some fields, by default of all those in which the members of
a run differ besides the seed: mostly the desired diversity. Levels are texts, such as ``0.3``, ``tau=0.1`` or
``0.3, tau=0.1``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from dico._checks import check_choice
from dico.constraints import final_bounds, order
from dico.members import FIELDS, Member, controlled_groups, level_order, level_text, varying
from dico.runs import Run

FREE = "free"


def group_fields(run: Run) -> tuple[str, ...]:
    """The fields whose values make a level: those that the run was told (``Run.group_by``), or all that vary.

    >>> group_fields(run), group_fields(run.group_by("tau", "constraint"))
    (('constraint',), ('constraint', 'tau'))
    """
    return run.by or _once(run, "varying", lambda: tuple(varying(run.members)))


def align(runs: Sequence[Run]) -> list[Run]:
    """The runs, all grouped by the same fields: by all in which the members of any differ.

    A run that does not tell a field, as BenchMARL's do not tell numbers, is grouped by the others.

    >>> [group_fields(each) for each in align([run, run.group_by("tau")])]
    [('constraint', 'tau'), ('constraint', 'tau')]
    """
    wanted = {field for run in runs for field in group_fields(run)}
    told = [[field for field in FIELDS if field in wanted and _tells(run, field)] for run in runs]
    constraints = {member.constraint for run in runs for member in run.members}
    if any(len(fields) < len(wanted) for fields in told) or (len(constraints) > 1 and not all(run.by for run in runs)):
        told = [["constraint", *fields] for fields in told]  # else a level would desire something else in another run
    return [run if set(group_fields(run)) == set(by) else run.group_by(*by) for run, by in zip(runs, told, strict=True)]


def levels(*runs: Run) -> list[str]:
    """The levels of a run, or of several grouped by the same fields: by diversity, free last, then by each number.

    >>> levels(run)
    ['0', '0.3', '1', 'free']
    """
    keys = {level: key for run in runs for level, key in _once(run, "order", lambda run=run: _orders(run)).items()}
    return sorted(keys, key=lambda level: keys[level])


def level_of(run: Run, member: Member) -> str:
    """The level that a member is of.

    >>> level_of(run, run.members[2]), level_of(run.group_by("seed"), run.members[2])
    ('0.3', 'seed=0')
    """
    return level_text(member, group_fields(run))


def of_level(run: Run, level: str) -> Bool[np.ndarray, " members"]:
    """Which members are of a level."""
    check_choice("level", level, _once(run, "order", lambda: _orders(run)))
    texts = _once(run, "texts", lambda: np.array([own for own, _ in _with_levels(run)]))
    return texts == level


def desired_of(level: str, *runs: Run) -> str:
    """The constraint that all members of a level have, in all runs that have it; free if they have several.

    >>> desired_of("0.3", run), desired_of("seed=0", run.group_by("seed"))
    ('0.3', 'free')
    """
    found = set[str]().union(*(_once(run, "desired", lambda run=run: _desired(run)).get(level, ()) for run in runs))
    return found.pop() if len(found) == 1 else FREE


def bounds_of(constraint: str) -> tuple[float, float]:
    """Least and greatest diversity that a constraint allows; of a schedule, in the end.

    >>> bounds_of("0.3"), bounds_of(">=0.3"), bounds_of("free")
    ((0.3, 0.3), (0.3, inf), (0.0, inf))
    """
    return final_bounds(constraint)


def in_order(constraints: Iterable[str]) -> list[str]:
    """Constraints, each once, in order of diversity, free last.

    >>> in_order(["free", "1", ">=0.3", "0", "1"])
    ['0', '>=0.3', '1', 'free']
    """
    return sorted(set(constraints), key=order)


def sample_name(*runs: Run) -> str:
    """What the members of a level are: its seeds, or where they differ in more than the seed, members.

    >>> sample_name(run), sample_name(run.group_by("seed"))
    ('seed', 'member')
    """
    seeds = all(len({*found}) == len(found) for run in runs for found in _seeds(run).values())
    return "seed" if seeds else "member"


def sample_sizes(*runs: Run) -> list[int]:
    """How many members the levels have, those that diverged included.

    >>> sample_sizes(run)
    [2, 2, 2, 2]
    """
    return [len(found) for run in runs for found in _seeds(run).values()]


def controlled_metric(run: Run) -> str:
    """The metric whose desired values the levels are: SND unless the run says otherwise."""
    return run.config.get("metric", "snd")


def over_box(run: Run) -> bool:
    """Whether the desired values are of the mean over a box of observations, ``snd_box``: under analytical control.

    >>> over_box(run)
    False
    """
    return any("snd_box" in row for row in run.rows())


def controlled_group(run: Run) -> str:
    """The group whose diversity is controlled: the first of several agents unless the run says otherwise."""
    sizes = {group["name"]: group["n_agents"] for group in run.groups}
    return controlled_groups(sizes, run.config.get("controlled") or ())[0]


def _tells(run: Run, field: str) -> bool:
    return all(getattr(member, field) is not None for member in run.members)


def _once(run: Run, what: str, work_out: Callable[[], Any]) -> Any:
    """Something that follows from a run's members and what they are grouped by, worked out once: there may be many."""
    key = what, run.by
    if key not in run.derived:
        run.derived[key] = work_out()
    return run.derived[key]


def _with_levels(run: Run) -> list[tuple[str, Member]]:
    """Each member with its level."""
    by = group_fields(run)
    return _once(run, "levels", lambda: [(level_text(member, by), member) for member in run.members])


def _orders(run: Run) -> dict[str, Any]:
    """What sorts the levels."""
    by = group_fields(run)
    return {level: level_order(member, by) for level, member in dict(_with_levels(run)).items()}


def _desired(run: Run) -> dict[str, set[str]]:
    """The constraints of the members of each level."""
    found: dict[str, set[str]] = {}
    for own, member in _with_levels(run):
        found.setdefault(own, set()).add(member.constraint)
    return found


def _seeds(run: Run) -> dict[str, list[int]]:
    """The seeds of the members of each level."""
    found: dict[str, list[int]] = {}
    for own, member in _with_levels(run):
        found.setdefault(own, []).append(member.seed)
    return found
