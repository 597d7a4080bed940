"""Choosing members by what they are."""

from collections.abc import Mapping, Sequence

from dico._checks import check_choice
from dico.constraints import canonical
from dico.members import NUMBERS, Member, text_of, varying
from dico.runs.schema import RunError


def select_members(
    members: Sequence[Member], snd: str | float | None, seed: int | None, numbers: Mapping[str, float]
) -> list[Member]:
    """All with a desired diversity, a seed and numbers, of those that are given; an error if none has them.

    >>> [member.index for member in select_members([Member(0, "0.3", 0), Member(1, "1", 0)], 1, None, {})]
    [1]
    """
    for name in numbers:
        check_choice("field", name, NUMBERS)
    wanted = dict(numbers) if seed is None else {"seed": seed, **numbers}
    text = None if snd is None else canonical(str(snd))
    found = [
        member
        for member in members
        if text in (None, member.constraint) and all(getattr(member, name) == wanted[name] for name in wanted)
    ]
    if not found:
        fields = "; ".join(f"{_name_of(name)} {_values(members, name)}" for name in varying(members))
        seeds = ", ".join(map(str, sorted({member.seed for member in members})))
        raise RunError(f"no member has {_wanted(text, seed, numbers)}; there are {fields} with seeds {seeds}")
    return found


def one_member(
    members: Sequence[Member], snd: str | float | None, seed: int | None, numbers: Mapping[str, float]
) -> Member:
    """The only one; an error if there are several."""
    first, *others = found = select_members(members, snd, seed, numbers)
    if others:
        differing = ", ".join(f"{_name_of(name)} {_values(found, name)}" for name in varying(found))
        raise RunError(f"{len(found)} members have {_wanted(snd, seed, numbers)}: choose one by {differing}")
    return first


def _name_of(field: str) -> str:
    return "snd" if field == "constraint" else field


def _values(members: Sequence[Member], field: str) -> str:
    """Each value once, as they come."""
    return ", ".join(dict.fromkeys(text_of(member, field) for member in members))


def _wanted(snd: str | float | None, seed: int | None, numbers: Mapping[str, float]) -> str:
    """What was asked for, in words.

    >>> _wanted("1", 0, {"tau": 0.1}), _wanted(None, None, {"tau": 0.1})
    ('snd=1, tau=0.1 and seed=0', 'tau=0.1')
    """
    fields = ", ".join(f"{name}={value}" for name, value in {"snd": snd, **numbers}.items() if value is not None)
    return " and ".join(part for part in (fields, "" if seed is None else f"seed={seed}") if part)
