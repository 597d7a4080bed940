"""Who is in a population: a record for each member, and how the settings that vary expand to members.

A member is a desired diversity, a seed, and its own value of every number that may vary between members. Trainers see
vectors of these numbers; run folders, analysis and figures see the records, and group them by any field.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from dico._checks import check_choice
from dico.constraints import canonical, order


@dataclass(frozen=True)
class Member:
    """One member of a population; a number that its run folder does not tell is None."""

    index: int
    """Its place in the population."""
    constraint: str
    """Its desired diversity, as :func:`dico.parse_constraint` reads it."""
    seed: int
    """Of its networks, environments and noise."""
    tau: float | None = None
    """Soft update of the diversity estimate."""
    lr: float | None = None
    """Adam's step size, for actor and critic."""
    action_loss_lr: float | None = None
    """Adam's step size for the action-space loss where that is separate."""
    action_loss_weight: float | None = None
    """Weight of the action-space loss."""
    gamma: float | None = None
    """Discount."""
    gae_lambda: float | None = None
    """PPO: weight of longer returns in the advantage."""
    clip: float | None = None
    """PPO: clip range."""
    entropy: float | None = None
    """PPO: weight of the entropy bonus."""
    max_grad_norm: float | None = None
    """Gradients are clipped to this norm."""
    name: str = ""
    """What sets it apart from the others."""

    def with_name(self, by: Sequence[str]) -> "Member":
        """The member with a name made of these fields and its seed.

        >>> Member(0, "0.3", 1, tau=0.01).with_name(["constraint", "tau"]).name
        'snd=0.3,tau=0.01,seed=1'
        """
        parts = [f"{'snd' if field == 'constraint' else field}={text_of(self, field)}" for field in by]
        return replace(self, name=",".join([*parts, f"seed={self.seed}"]))


NUMBERS = tuple(field.name for field in fields(Member) if field.name not in ("index", "constraint", "seed", "name"))
"""What may vary between members besides desired diversity and seed."""
FIELDS = ("constraint", *NUMBERS, "seed")
"""What members may be grouped by, in the order in which a group's text names them."""
NAMED = re.compile(r"\s*([a-z_]+)\s*=(.*)")
"""A field with its value in such a text; a desired diversity stands there by itself."""


def expand(
    constraints: Iterable[str],
    varied: Mapping[str, Sequence[float]],
    seeds: Iterable[int],
    common: Mapping[str, float],
) -> list[Member]:
    """Every desired diversity with every combination of the varied numbers and every seed, in this order.

    >>> [member.name for member in expand(["0.3", "free"], {"tau": [0.1, 0.01]}, [0], {"lr": 1e-3})]
    ['snd=0.3,tau=0.1,seed=0', 'snd=0.3,tau=0.01,seed=0', 'snd=free,tau=0.1,seed=0', 'snd=free,tau=0.01,seed=0']
    """
    combinations = product(constraints, product(*varied.values()), seeds)
    return [
        replace(Member(index, constraint, seed), **{**common, **dict(zip(varied, values, strict=True))}).with_name(
            ["constraint", *varied]
        )
        for index, (constraint, values, seed) in enumerate(combinations)
    ]


def difference(told: Sequence[Member], expanded: Sequence[Member]) -> str:
    """Where records are not the members that a configuration expands to, in words; nothing if they are.

    What a record does not tell, as those of earlier versions do not tell all, may be anything.

    >>> difference([Member(0, "0.5", 0, tau=0.1)], [Member(0, "0.3", 0, tau=0.1)])
    'member 0 has constraint 0.5 there, but 0.3 by the configuration'
    >>> difference([Member(0, "0.30", 0)], [Member(0, "0.3", 0, tau=0.1)])
    ''
    """
    if len(told) != len(expanded):
        return f"it has {len(told)} members, but there are {len(expanded)} by the configuration"
    for record, member in zip(told, expanded, strict=True):
        for field in FIELDS:
            theirs, ours = getattr(record, field), getattr(member, field)
            if theirs is not None and (canonical(theirs) if field == "constraint" else theirs) != ours:
                return f"member {member.index} has {field} {theirs} there, but {ours} by the configuration"
    return ""


def controlled_groups(sizes: Mapping[str, int], chosen: Sequence[str] = ()) -> list[str]:
    """The groups whose diversity is controlled: those chosen, or else the first that has several agents, or the first.

    >>> controlled_groups({"agent": 1, "adversary": 2}), controlled_groups({"a": 2, "b": 2}, ["b"])
    (['adversary'], ['b'])
    """
    teams = [name for name, n_agents in sizes.items() if n_agents > 1]
    return list(chosen) or teams[:1] or list(sizes)[:1]


def varying(members: Sequence[Member]) -> list[str]:
    """The fields, besides the seed, in which members differ; the desired diversity if in none.

    >>> varying([Member(0, "1", 0, tau=0.1), Member(1, "1", 0, tau=0.01)])
    ['tau']
    """
    differing = [name for name in ("constraint", *NUMBERS) if len({getattr(each, name) for each in members}) > 1]
    return differing or ["constraint"]


def text_of(member: Member, field: str) -> str:
    """A field's value as it is read on a figure; different values have different texts.

    >>> text_of(Member(0, ">=0.3", 0, lr=5e-5), "lr"), text_of(Member(0, ">=0.3", 0), "constraint")
    ('5e-05', '>=0.3')
    """
    value: Any = getattr(member, check_choice("field", field, FIELDS))
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return repr(value) if isinstance(value, float) and float(short) != value else short


def level_text(member: Member, by: Sequence[str]) -> str:
    """The text of the group that a member is in: its desired diversity as it is, and numbers by name.

    >>> member = Member(0, ">=0.3", 1, tau=0.01)
    >>> level_text(member, ["constraint"]), level_text(member, ["tau"]), level_text(member, ["constraint", "tau"])
    ('>=0.3', 'tau=0.01', '>=0.3, tau=0.01')
    """
    return ", ".join(("" if field == "constraint" else f"{field}=") + text_of(member, field) for field in by)


def level_order(member: Member, by: Sequence[str]) -> tuple[Any, ...]:
    """A key that sorts groups by desired diversity, free last, and then by each number; one not told comes last.

    >>> members = [Member(0, "free", 0, tau=0.1), Member(1, "1", 0, tau=0.1), Member(2, "1", 0, tau=0.01)]
    >>> [member.index for member in sorted(members, key=lambda member: level_order(member, ["constraint", "tau"]))]
    [2, 1, 0]
    """
    values = ((field, getattr(member, field)) for field in by)
    return tuple(
        order(value) if field == "constraint" else math.inf if value is None else value for field, value in values
    )


def parse_level(text: str) -> dict[str, str | float]:
    """The fields that a group's text names.

    >>> parse_level("0.30, tau=0.1"), parse_level("seed=2")
    ({'constraint': '0.3', 'tau': 0.1}, {'seed': 2.0})
    """
    found: dict[str, str | float] = {}
    for part in text.split(","):
        named = NAMED.fullmatch(part)
        if named is None:
            found["constraint"] = canonical(part)
            continue
        field = check_choice("field", named[1], FIELDS)
        try:
            found[field] = float(named[2])
        except ValueError:
            raise ValueError(f"{field} must be a number, got {named[2]!r}") from None
    return found


def member_of(row: Mapping[str, Any]) -> Member:
    """The member that a line of metrics is about, as far as the line tells: what varies stands in it.

    >>> member_of({"member": 3, "constraint": "1", "seed": 0, "tau": 0.1, "reward": 0.5}).tau
    0.1
    """
    return Member(row["member"], row["constraint"], row["seed"], **{name: row[name] for name in NUMBERS if name in row})
