"""What a training says of members that go wrong: numbers that are no longer finite, or a scale that stays large."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dico.runs import has_diverged

LARGE_SCALE = 10.0
"""Deviations scaled up by more than this learn in steps as much too large, and stall while it lasts."""
LONG = 0.05
"""Share of all batches after which a large scale is told of, from the first on which it was large without a break."""
AT_LEAST = 10
"""And no fewer batches than this."""


class Watch:
    """Looks at the rows of each iteration, marks members that diverged, and says once of each what is wrong.

    >>> watch = Watch(iterations=100, say=print)
    >>> rows = [{"member": 0, "constraint": "1", "seed": 3, "reward": 0.1, "scale": 20.0}]
    >>> for _ in range(10):
    ...     watch.look(rows)  # doctest: +ELLIPSIS
    member 0 (snd 1, seed 3): the scale of its deviations has been above 10 for 10 batches, ...
    """

    def __init__(self, iterations: int, say: Callable[[str], None]):
        self.say = say
        self.patience = max(AT_LEAST, round(LONG * iterations))
        self.large: Counter[tuple[str, int]] = Counter()
        """For how many batches each group's member has had a large scale."""
        self.told: set[int] = set()

    def look(self, rows: Sequence[dict[str, Any]]) -> None:
        """Mark the rows of members that diverged, and say what there is to say."""
        self._diverged([row for row in rows if has_diverged(row)])
        stalled = [row for row in rows if self._is_stalled(row)]
        if stalled:
            self.say(
                f"{_names(stalled)}: the scale of {_their(stalled)} deviations has been above {LARGE_SCALE:g} for "
                f"{self.patience} batches, and so has the size of {_their(stalled)} steps: learning stalls while it "
                "lasts; --preset tuned has settings that keep the scale small"
            )

    def _diverged(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            row["diverged"] = True
        new = [row for row in rows if row["member"] not in self.told]
        self.told |= {row["member"] for row in new}
        if new:
            self.say(
                f"{_names(new)} diverged: {_their(new)} numbers are no longer finite; the others go on; another "
                "--first-seed, or --preset tuned, may fare better"
            )

    def _is_stalled(self, row: dict[str, Any]) -> bool:
        """Whether a member's scale has just been large for long."""
        who = (row.get("group", ""), row["member"])
        self.large[who] = self.large[who] + 1 if (row["scale"] or 0) > LARGE_SCALE else 0
        return self.large[who] == self.patience


def _names(rows: Sequence[dict[str, Any]]) -> str:
    """Who it is about, each once.

    >>> _names([{"member": k, "constraint": "1", "seed": k} for k in (0, 1, 1)])
    'members 0 (snd 1, seed 0), 1 (snd 1, seed 1)'
    """
    each = {row["member"]: f"{row['member']} (snd {row['constraint']}, seed {row['seed']})" for row in rows}
    return f"member{'s' if len(each) > 1 else ''} {', '.join(each.values())}"


def _their(rows: Sequence[dict[str, Any]]) -> str:
    return "its" if len({row["member"] for row in rows}) == 1 else "their"
