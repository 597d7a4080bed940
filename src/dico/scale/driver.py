"""The driver: sends out pieces, repeats those whose worker was lost, halves those that ran out of memory."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from dico._files import remove
from dico.runs import RunError
from dico.scale.backends import Backend, Ended, Job
from dico.scale.gather import Source, gather
from dico.scale.pieces import Driver, Outcome, Piece, Pieces
from dico.scale.planner import halves
from dico.scale.worker import describe_members
from dico.training.checkpoint import newest_whole
from dico.training.config import Config
from dico.training.options import SessionOptions

LOSSES = 3
"""Workers that a piece may lose in a row without a new checkpoint in between."""
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_BETWEEN_BEATS = 5.0


class Drive:
    """One driver's work on the pieces of a run, to the end or until it is told to stop."""

    def __init__(
        self, config: Config, options: SessionOptions, pieces: Pieces, backend: Backend, say: Callable[[str], None]
    ):
        self.config, self.options, self.pieces, self.backend, self.say = config, options, pieces, backend, say
        self.driver = Driver(pieces)
        self.left: dict[str, Piece] = {}
        """Pieces that are with the backend, by name."""
        self.failures: dict[str, tuple[Piece, str]] = {}
        """Pieces that cannot be gone on with, and why."""
        self.losses: Counter[str] = Counter()
        self.frames: dict[str, int] = {}
        """Of each piece's newest checkpoint when it was sent out."""

    def run(self, stop: threading.Event, look: Callable[[], None]) -> None:
        """Until every piece is finished or has failed, or all have stopped; ``look`` is called now and then."""
        self.driver.beat()
        self._send([piece for piece in self.pieces.read() if not self.pieces.is_finished(piece)])
        when = time.monotonic()
        while self.left:
            for ended in self.backend.wait(SECONDS_BETWEEN_LOOKS):
                if ended.piece.name in self.left:  # and not one that began just when all were asked to stop
                    self._settle(self.left.pop(ended.piece.name), ended)
            if stop.is_set() and not self.driver.stop:
                self.ask_to_stop()
                self.backend.hold(lambda piece: self.pieces.outcome(piece) is not None)
                for piece in [piece for piece in self.left.values() if self.pieces.outcome(piece) is None]:
                    del self.left[piece.name]
            if time.monotonic() - when > SECONDS_BETWEEN_BEATS:
                with suppress(OSError):  # a disk that fails for a moment: workers wait for the next
                    self.driver.beat()
                when = time.monotonic()
            look()

    def ask_to_stop(self) -> None:
        """Ask all workers to stop after their iteration; where the disk fails, the next beats ask them."""
        with suppress(OSError):
            self.driver.ask_to_stop()

    def _send(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self.pieces.note(piece, None)
            self.left[piece.name], self.frames[piece.name] = piece, self.pieces.frames(piece)
        if pieces:
            self.backend.submit([Job(self.pieces, piece, self.driver.id) for piece in pieces])

    def _settle(self, piece: Piece, ended: Ended) -> None:
        """See how a piece ended, and go on accordingly."""
        outcome = self.pieces.outcome(piece) or Outcome("begun")
        if outcome.state == "finished":
            return
        if outcome.state == "failed":
            self._fail(piece, outcome.error)
        elif outcome.state == "memory" or ended.out_of_memory:
            self._halve(piece, outcome.error or ended.why)
        elif self.driver.stop:
            return
        elif outcome.state == "stopped":  # by its engine, which wanted its place for others
            self._send([piece])
        else:
            self._repeat(piece, ended.why)

    def _repeat(self, piece: Piece, why: str) -> None:
        """A worker was lost."""
        frames = self.pieces.frames(piece)
        self.losses[piece.name] = 1 if frames > self.frames[piece.name] else self.losses[piece.name] + 1
        if self.losses[piece.name] > LOSSES:
            self._fail(piece, f"lost {LOSSES + 1} workers without a new checkpoint; the last: {why}")
            return
        self.say(f"piece {piece.name} lost its worker ({why}): it goes on from {frames:,} frames")
        self._send([piece])

    def _fail(self, piece: Piece, why: str) -> None:
        self.failures[piece.name] = piece, why
        self.say(f"{self.describe(piece)} failed: {why}; the others go on")

    def _halve(self, piece: Piece, why: str) -> None:
        """A piece did not fit: two of half its size, which go on from its checkpoint if it has one."""
        parts = halves(self.config, piece.members)
        if len(parts) < 2:
            self._fail(piece, f"{why or 'out of memory'}; it cannot be halved")
            return
        smaller = split(self.config, self.options, self.pieces, piece, parts)
        sizes = " and ".join(str(len(part.members)) for part in smaller)
        self.say(f"piece {piece.name} ran out of memory with {len(piece.members)} members: halved, into {sizes}")
        if not self.driver.stop:
            self._send(smaller)

    def describe(self, piece: Piece) -> str:
        """A piece and its members, in words."""
        everyone = self.config.members
        names = [everyone[k].name for k in piece.members[:3]]
        more = f" and {len(piece.members) - 3} more" if len(piece.members) > 3 else ""
        return f"piece {piece.name} ({'; '.join(names)}{more})"


def split(
    config: Config, options: SessionOptions, pieces: Pieces, piece: Piece, parts: Sequence[Sequence[int]]
) -> list[Piece]:
    """A piece cut in parts, each a piece of its own; the plan has them once they are whole."""
    smaller = [Piece(name, tuple(own)) for name, own in zip(pieces.new_names(len(parts)), parts, strict=True)]
    folder = pieces.folder(piece)
    if folder.exists() and newest_whole(folder) is not None:
        cut_out(config, options, pieces, Source.newest(folder, len(piece.members)), piece.members, smaller)
    pieces.write([each for each in pieces.read() if each != piece] + smaller)
    return smaller


def cut_out(
    config: Config, options: SessionOptions, pieces: Pieces, source: Source, members: Sequence[int],
    parts: Sequence[Piece],
) -> None:  # fmt: skip
    """Write the folders of pieces that go on from a checkpoint of more members."""
    everyone = config.members
    where = {member: place for place, member in enumerate(members)}
    for part in parts:
        folder = pieces.folder(part)
        remove(folder)
        try:
            folder.mkdir(parents=True)
            describe_members(config, [everyone[k] for k in part.members], folder, options)
            gather(config, options, [source], [(0, where[member]) for member in part.members], folder)
        except OSError as error:
            raise RunError(f"{folder} cannot be written ({error})") from error
