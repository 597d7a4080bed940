"""What a driver asks of whatever starts its workers; planning, repeating and joining are written once, above it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dico.scale.pieces import Piece, Pieces
from dico.scale.planner import Room


class BackendLost(Exception):  # noqa: N818
    """What starts the workers is no more; the message says what."""


@dataclass(frozen=True)
class Job:
    """A piece to be trained, as a worker is told of it."""

    pieces: Pieces
    piece: Piece
    driver: str
    """The driver's id."""


@dataclass(frozen=True)
class Ended:
    """A piece whose worker is no more; how far it came is in the run folder."""

    piece: Piece
    why: str = ""
    """What is known of an end that was not the worker's own."""
    out_of_memory: bool = False
    """Whether it was ended because its machine had no memory left."""


@runtime_checkable
class Backend(Protocol):
    """Starts workers somewhere, and says when they have ended."""

    room: Room
    """Where pieces are trained."""
    resume_words: str
    """What `dico resume RUN` takes to go on here."""

    def submit(self, jobs: Sequence[Job]) -> None:
        """Train these as soon as there is room."""
        ...

    def wait(self, seconds: float) -> list[Ended]:
        """Those that have ended since; waits for one for so many seconds."""
        ...

    def hold(self, begun: Callable[[Piece], bool]) -> None:
        """Begin with no other; one that has not begun counts as ended."""
        ...

    def close(self) -> None:
        """End all workers at once, and let go of what was taken."""
        ...
