"""Who watches a training: a progress display, loggers, your own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dico.training.blocks import AnyPopulation


@runtime_checkable
class Observer(Protocol):
    """Something that watches a training."""

    def begin(self, population: AnyPopulation, folder: Path) -> None:
        """Before the first iteration."""
        ...

    def say(self, message: str) -> None:
        """Something the user should know."""
        ...

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """After each iteration."""
        ...

    def end(self) -> None:
        """After the last, also if interrupted."""
        ...
