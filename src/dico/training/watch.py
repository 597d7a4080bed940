"""What a training says of members that go wrong: numbers that are no longer finite, or a scale that stays large."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dico._files import has_diverged
from dico.members import NUMBERS, member_of, text_of

LARGE_SCALE = 10.0
"""Deviations scaled up by more than this learn in steps as much larger."""
ADVICE = {
    "soft": "under the soft gradient learning often stalls while that lasts; --preset tuned does not let it drift",
    "detached": "with a detached estimate it may go on growing; try --gradient straight_through --tau 0.3",
    "straight_through": "it falls as the deviations grow; if the reward does not rise meanwhile, take a smaller --lr",
}
"""What to do, by how the gradient flows through the estimate."""
LONG = 0.05
"""Share of all batches after which a large scale is told of, from the first on which it was large without a break."""
AT_LEAST = 10
"""And no fewer batches than this."""


class Watch:
    """Looks at the rows of each iteration, marks members that diverged, and says once of each what is wrong.

    >>> watch = Watch(iterations=100, gradient="soft", say=print)
    >>> rows = [{"member": 0, "constraint": "1", "seed": 3, "reward": 0.1, "scale": 20.0}]
    >>> for _ in range(10):
    ...     watch.look(rows)  # doctest: +ELLIPSIS
    member 0 (snd 1, seed 3): the scale of its deviations has been above 10 for 10 batches, ...
    """

    def __init__(self, iterations: int, gradient: str, say: Callable[[str], None]):
        self.say, self.advice = say, ADVICE[gradient]
        self.patience = max(AT_LEAST, round(LONG * iterations))
        self.large: Counter[tuple[str, int]] = Counter()
        """For how many batches each group's member has had a large scale."""
        self.diverged: set[int] = set()
        self.stalled: set[tuple[str, int]] = set()

    def look(self, rows: Sequence[dict[str, Any]]) -> None:
        """Mark the rows of members that diverged, and say what there is to say."""
        self._mark_diverged([row for row in rows if has_diverged(row)])
        stalled = [row for row in rows if self._is_stalled(row)]
        if stalled:
            self.say(
                f"{_names(stalled)}: the scale of {_their(stalled)} deviations has been above {LARGE_SCALE:g} for "
                f"{self.patience} batches, and {_their(stalled)} steps are as much larger: {self.advice}"
            )

    def _mark_diverged(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            row["diverged"] = True
        new = [row for row in rows if row["member"] not in self.diverged]
        self.diverged |= {row["member"] for row in new}
        if new:
            self.say(
                f"{_names(new)} diverged: {_their(new)} numbers are no longer finite; the others go on; another "
                "--first-seed, or --preset tuned, may fare better"
            )

    def _is_stalled(self, row: dict[str, Any]) -> bool:
        """Whether a member's scale has just been large for long, for the first time."""
        who = (row.get("group", ""), row["member"])
        # under analytical control the scale only tells
        large = row["scale"] > LARGE_SCALE and "snd_box" not in row
        self.large[who] = self.large[who] + 1 if large else 0
        new = self.large[who] >= self.patience and who not in self.stalled
        if new:
            self.stalled.add(who)
        return new


def _names(rows: Sequence[dict[str, Any]]) -> str:
    """Who it is about, each once, by what sets members apart.

    >>> _names([{"member": k, "constraint": "1", "seed": k} for k in (0, 1, 1)])
    'members 0 (snd 1, seed 0), 1 (snd 1, seed 1)'
    >>> _names([{"member": 2, "constraint": "1", "seed": 0, "tau": 0.1}])
    'member 2 (snd 1, tau 0.1, seed 0)'
    """
    each = {row["member"]: f"{row['member']} ({_apart(row)})" for row in rows}
    return f"member{'s' if len(each) > 1 else ''} {', '.join(each.values())}"


def _apart(row: dict[str, Any]) -> str:
    """A member's desired diversity, the numbers that vary, which its row has, and its seed."""
    numbers = "".join(f"{name} {text_of(member_of(row), name)}, " for name in NUMBERS if name in row)
    return f"snd {row['constraint']}, {numbers}seed {row['seed']}"


def _their(rows: Sequence[dict[str, Any]]) -> str:
    return "its" if len({row["member"] for row in rows}) == 1 else "their"
