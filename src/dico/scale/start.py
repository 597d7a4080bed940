"""Training and resuming a population in pieces, on whatever backend."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dico.members import Member
from dico.runs import Run, RunError, load
from dico.runs.folder import read_checkpoints
from dico.runs.reading import warn
from dico.scale.backends import Backend, BackendLost
from dico.scale.driver import Drive, cut_out
from dico.scale.following import Following, Place
from dico.scale.gather import Source
from dico.scale.joining import join
from dico.scale.pieces import Piece, Pieces
from dico.scale.planner import cut, members_that_fit
from dico.scale.worker import describe_members
from dico.training.checkpoint import newest_whole
from dico.training.config import Config
from dico.training.lock import alone
from dico.training.memory import Plan
from dico.training.observers import Observer, watched
from dico.training.options import SessionOptions
from dico.training.session import check_free, place_for, read_config
from dico.training.stopping import Interrupted, stopping


@dataclass(frozen=True)
class Planned:
    """What goes where, before it starts."""

    pieces: Sequence[Piece]
    members: Sequence[Member]
    where: str
    at_once: int
    bytes_each: int
    """That a member takes on the device, by the memory plan."""
    finished: frozenset[str] = field(default_factory=frozenset)
    """Names of pieces that are done already."""


SHOWN = 5
"""Names that are told of many."""
Announce = Callable[[Planned], None]
"""Shows a plan to the user."""


def train(
    config: Config, folder: str | Path | None, backend: Backend, options: SessionOptions, *,
    observers: Sequence[Observer] = (), announce: Announce = lambda _: None,
) -> Run:  # fmt: skip
    """Train a population in pieces into a new run folder; when all are finished, it is as if one process had."""
    with closing(backend), place_for(folder, config) as place:
        parts = plan_pieces(config, backend, options.block)
        with alone(place):
            check_free(place)  # another training may have been as quick
            describe_members(config, config.members, place, options)
            pieces = Pieces(place.absolute())
            pieces.write(parts)
            return _drive(config, options, pieces, backend, observers, announce)


def resume(
    folder: str | Path, backend: Backend, *, block: int | None = None, config: Config | None = None,
    observers: Sequence[Observer] = (), announce: Announce = lambda _: None,
) -> Run:  # fmt: skip
    """Go on with a run in pieces: one that was interrupted, whether it was in pieces before or not."""
    run = load(folder)
    saved = read_config(run)
    if config is not None and config != saved:
        raise RunError(f"{folder} was trained with another configuration ({', '.join(config.differs_from(saved))})")
    options = SessionOptions(**{**run.session, "block": block})
    with closing(backend), alone(run.folder):
        pieces = Pieces(run.folder.absolute())
        if not pieces.exist:
            newest = next(read_checkpoints(run.folder), None)
            if newest is not None and newest.meta["iteration"] >= saved.iterations:
                return run
            pieces.check_no_work(newest.frames if newest else 0)
            _cut_run(saved, options, pieces, backend)
        return _drive(saved, options, pieces, backend, observers, announce)


def plan_pieces(config: Config, backend: Backend, block: int | None) -> list[Piece]:
    """The pieces of a configuration, of at most ``block`` members, or of as many as fit into a worker's memory."""
    parts = cut(config, backend.room.at_once, block or members_that_fit(config, backend.room))
    return [Piece(f"{k:03d}", part) for k, part in enumerate(parts)]


def _cut_run(config: Config, options: SessionOptions, pieces: Pieces, backend: Backend) -> None:
    """A run that one process began, in pieces that go on from its newest checkpoint."""
    named = plan_pieces(config, backend, options.block)
    if newest_whole(pieces.run) is not None:
        everyone = range(len(config.members))
        cut_out(config, options, pieces, Source.newest(pieces.run, len(everyone)), everyone, named)
    pieces.write(named)


def _drive(
    config: Config, options: SessionOptions, pieces: Pieces, backend: Backend, observers: Sequence[Observer],
    announce: Announce,
) -> Run:  # fmt: skip
    """Drive the pieces to their end, show how far they are, and join them."""

    def say(message: str) -> None:
        for observer in observers:
            observer.say(message)

    every = pieces.read_all(len(config.members))
    pieces.put_aside_others(every)
    _begin_again(config, pieces)
    done = [piece for piece in every if pieces.is_finished(piece)]
    announce(planned(config, every, backend, done))
    following: Any = Following(config, pieces, len(load(pieces.run).groups), _place(every, backend))
    drive = Drive(config, options, pieces, backend, say)
    again = f"dico resume {_short(pieces.run)} {backend.resume_words}"

    def look() -> None:
        if news := following.look():
            for observer in observers:
                observer.iteration(*news)

    try:
        with watched(observers, following, pieces.run), stopping(say, following.slowest) as stop:
            drive.run(stop, look)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped at once; each piece keeps its newest checkpoint; go on with: {again}") from None
    except BackendLost as lost:
        raise RunError(f"{lost}; go on with: {again}") from lost
    finally:
        if drive.left:
            drive.ask_to_stop()
        backend.close()
    if drive.failures:
        raise RunError(_failed(drive, len(pieces.read()), again))
    if not _all_finished(pieces):
        raise Interrupted(f"stopped at {following.frames:,} frames, the mean of all members; go on with: {again}")
    join(config, options, pieces)
    run = load(_short(pieces.run))
    if gone := [run.members[k].name for k in sorted({row["member"] for row in run.rows() if row.get("diverged")})]:
        shown = "; ".join(gone[:SHOWN]) + (f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else "")
        say(f"{len(gone)} of {len(run.members)} members diverged: {shown}")
    return run


def _begin_again(config: Config, pieces: Pieces) -> None:
    """Let finished pieces whose last checkpoint was spoilt since go on from the newest that is whole."""
    for piece in filter(pieces.is_finished, pieces.read()):
        newest = newest_whole(pieces.folder(piece))
        if newest is None or newest.meta["iteration"] < config.iterations:
            frames = newest.frames if newest else 0
            warn(f"the last checkpoint of piece {piece.name} is not whole: it goes on from {frames:,} frames")
            pieces.note(piece, None)


def _all_finished(pieces: Pieces) -> bool:
    return all(map(pieces.is_finished, pieces.read()))


def planned(config: Config, pieces: Sequence[Piece], backend: Backend, finished: Sequence[Piece] = ()) -> Planned:
    """What goes where; some may be finished already."""
    done = frozenset(piece.name for piece in finished)
    return Planned(pieces, config.members, backend.room.where, backend.room.at_once, Plan.of(config).member, done)


def _place(every: Sequence[Piece], backend: Backend) -> Place:
    pieces = "1 piece" if len(every) == 1 else f"{len(every)} pieces"
    return Place(backend.room.where, f"{pieces}, {min(backend.room.at_once, len(every))} at a time")


def _failed(drive: Drive, pieces: int, again: str) -> str:
    """Which pieces failed, in a line; all has been said as it happened."""
    piece, why = next(iter(drive.failures.values()))
    failed = len(drive.failures)
    others = f"; {failed - 1} more are named above" if failed > 1 else ""
    finished = ", the others are finished" if failed < pieces else ""
    return (
        f"{failed} of {pieces} pieces failed{finished}: {drive.describe(piece)}: {why}"
        f"{others}; logs are in {_short(drive.pieces.path)}; go on with: {again}"
    )


def _short(path: Path) -> Path:
    """From here, if it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
