"""How many networks a page has room for: one member of each level first, rounded more if they would not all fit."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from dico import analysis
from dico.runs import Member, Run
from dico.viz.page.inline import page
from dico.viz.page.live import network
from dico.viz.page.networks import ROUGHLY, TOLERANCE
from dico.viz.page.pictures import Pictures

TOO_LARGE = "The networks are too large for a page of 5 MB."


def fill(found: dict[str, Any], runs: Sequence[Run], shown: Sequence[Pictures], limit: int) -> None:
    """Put networks into a page of at most ``limit`` bytes, the most wanted of each run first, as long as there is room.

    Those left out are listed as absent.
    """
    names = [{"level": analysis.level_of(runs[k], member), "seed": member.seed} for k, member in _in_turns(shown)]
    room = limit - len(page(found, "")) - len(json.dumps(names))  # of thousands of members, their names fill much
    tolerance, ready = _one_of_each_level(runs, shown, room)
    full: set[int] = set()
    for place, (k, member) in enumerate(_in_turns(shown)):
        live = found["runs"][k]["live"]
        encoded = None
        if k not in full:
            known = place < len(ready)
            encoded = ready[place] if known else network(runs[k], member, shown[k].seen, tolerance)
        size = len(json.dumps(encoded))
        if encoded is not None and size <= room:
            live["networks"].append(encoded)
            room -= size
        else:
            live["absent"].append(names[place])
            full.add(k)  # the others of the run are as large
    for run, part in zip(runs, found["runs"], strict=True):
        if live := part.get("live"):
            _put_in_order(live, run)
            live["tolerance"] = tolerance
    if any(each.live for each in shown) and not any(part.get("live", {}).get("networks") for part in found["runs"]):
        found["missing"]["live"] = TOO_LARGE


def _one_of_each_level(runs: Sequence[Run], shown: Sequence[Pictures], room: int) -> tuple[float, list[dict[str, Any]]]:
    """The networks of the first members, and how far their outputs may be off for all of them to fit."""
    count = sum(
        len({analysis.level_of(run, member) for member in each.live}) for run, each in zip(runs, shown, strict=True)
    )
    tolerance, ready = TOLERANCE, _encoded(runs, shown, count, TOLERANCE)
    if sum(len(json.dumps(each)) for each in ready) > room:
        tolerance, ready = ROUGHLY, _encoded(runs, shown, count, ROUGHLY)
    return tolerance, ready


def _encoded(runs: Sequence[Run], shown: Sequence[Pictures], count: int, tolerance: float) -> list[dict[str, Any]]:
    return [network(runs[k], member, shown[k].seen, tolerance) for k, member in islice(_in_turns(shown), count)]


def _in_turns(shown: Sequence[Pictures]) -> Iterator[tuple[int, Member]]:
    """The most wanted member of each run, then the next of each."""
    for rank in range(max(len(each.live) for each in shown)):
        yield from ((k, each.live[rank]) for k, each in enumerate(shown) if rank < len(each.live))


def _put_in_order(live: dict[str, Any], run: Run) -> None:
    """By level, then by seed."""
    order = analysis.levels(run)
    for each in (live["networks"], live["absent"]):
        each.sort(key=lambda one: (order.index(one["level"]), one["seed"]))
