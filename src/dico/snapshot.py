"""A run at one moment, for whoever looks at it more than once while it may still be training."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dico.policy import DiCo
from dico.runs import Checkpoint, Run
from dico.tasks import Task


@dataclass(frozen=True)
class Snapshot(Run):
    """A run whose metrics were read once: all numbers are of the same iterations, however long it trains on."""

    of: Run
    """The run itself, which still has the task and the checkpoints."""
    kept: tuple[dict[str, Any], ...]
    """Its lines, as they were."""
    said: tuple[str, ...]
    """Warnings that reading them gave, such as of a torn line."""

    def rows(self) -> list[dict[str, Any]]:
        """All lines of ``metrics.jsonl`` that there were."""
        return list(self.kept)

    def task(self) -> Task:
        """The task that it was trained on, with its settings."""
        return self.of.task()

    def checkpoints(self) -> list[Checkpoint]:
        """Whole checkpoints, newest first."""
        return self.of.checkpoints()

    def policies(self, group: str | None = None, members: Sequence[int] | None = None) -> DiCo:
        """All members' policies, or those of the indices given, from the newest checkpoint."""
        return self.of.policies(group, members)


def snapshot(run: Run) -> Snapshot:
    """A run as it is now.

    >>> snapshot(run).metric("reward").shape
    torch.Size([8, 2])
    """
    if isinstance(run, Snapshot):
        return run
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = tuple(run.rows())
    said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    for text in said:
        warnings.warn(text, stacklevel=2)
    return Snapshot(run.folder, run.config, run.groups, run.members, run.session, run, rows, said)


@contextmanager
def saying_once() -> Iterator[None]:
    """Within, a warning that comes several times is given once, in the end."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        for text, category in {str(warning.message): warning.category for warning in caught}.items():
            warnings.warn(text, category, stacklevel=3)
