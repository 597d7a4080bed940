"""A run at one moment, for whoever looks at it more than once while it may still be training."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from dico.runs.run import Checkpoint, Run
from dico.tasks import Task


@dataclass(frozen=True)
class Policies(Checkpoint):
    """The policies of a checkpoint, read once: a training may remove its folder at any time."""

    kept: Mapping[str, Tensor]

    def tensors(self) -> dict[str, Tensor]:
        """Those of all groups, by name."""
        return dict(self.kept)


@dataclass(frozen=True)
class Snapshot(Run):
    """A run that was read once: all numbers are of the same iterations, all pictures of one checkpoint.

    However long it trains on, and whatever checkpoints come and go.
    """

    of: Run
    """The run itself, which still has the task."""
    kept: tuple[dict[str, Any], ...]
    """Its lines, as they were."""
    said: tuple[str, ...]
    """Warnings that reading gave, such as of a torn line."""
    newest: Policies | None
    """Of the newest checkpoint that there was."""

    def rows(self) -> list[dict[str, Any]]:
        """All lines of ``metrics.jsonl`` that there were."""
        return list(self.kept)

    def task(self) -> Task:
        """The task that it was trained on, with its settings."""
        return self.of.task()

    def checkpoints(self) -> list[Checkpoint]:
        """The newest one that there was, if any."""
        return [] if self.newest is None else [self.newest]

    def _no_checkpoint(self) -> str:
        return self.of._no_checkpoint()


def snapshot(run: Run) -> Snapshot:
    """A run as it is now.

    >>> snapshot(run).metric("reward").shape
    torch.Size([8, 2])
    """
    if isinstance(run, Snapshot):
        return run
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows, newest = tuple(run.rows()), _newest(run)
    said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    for text in said:
        warnings.warn(text, stacklevel=2)
    return Snapshot(run.folder, run.config, run.groups, run.members, run.session, run, rows, said, newest)


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


def _newest(run: Run) -> Policies | None:
    for checkpoint in run.checkpoints():
        try:
            kept = {name: tensor for name, tensor in checkpoint.tensors().items() if ".policy." in name}
        except (OSError, SafetensorError):
            warnings.warn(f"{checkpoint.folder} cannot be read and is left out", stacklevel=2)
            continue
        return Policies(checkpoint.folder, checkpoint.meta, kept)
    return None
