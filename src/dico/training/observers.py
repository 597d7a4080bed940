"""Who watches a training: a progress display, loggers, your own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def watched(observers: Sequence[Observer], population: Any, folder: Path) -> Iterator[None]:
    """A training that they watch: whoever has begun is told the end, however it comes; one that could not is not."""
    begun: list[Observer] = []
    try:
        for observer in observers:
            observer.begin(population, folder)
            begun.append(observer)
        yield
    finally:
        for observer in begun:
            observer.end()
