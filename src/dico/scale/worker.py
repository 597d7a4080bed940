"""What trains a piece, wherever it is started: in a process of its own, in a Ray task or in a Slurm job.

``python -P -m dico.scale.worker RUN PIECE --driver ID ...`` is the process. All that it has to say is in the run
folder: the piece's own run folder, how it ended in ``RUN/pieces/PIECE.json`` and what it said in
``RUN/pieces/PIECE.log``.
"""

import argparse
import os
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from dico._errors import is_out_of_memory
from dico._files import write_json
from dico._processes import python
from dico.members import Member
from dico.runs import RunError, load
from dico.scale.pieces import Driven, Outcome, Piece, Pieces
from dico.training.blocks import AnyPopulation
from dico.training.config import Config
from dico.training.lock import alone
from dico.training.machine import machine
from dico.training.memory import shapes_of
from dico.training.options import SessionOptions
from dico.training.population import Population
from dico.training.session import Session, describe, read_config
from dico.training.stopping import Interrupted, StopWhen

PATIENCE = 120.0
"""Seconds that a worker waits for one before it, which has been told to stop, to write its checkpoint."""


def work(run: str, name: str, *, driver: str, device: str, outlives: bool = False, parent: int | None = None) -> None:
    """Train a piece to its end, from its newest checkpoint if it has one, and note how it ended.

    It stops with a checkpoint if the ``driver`` asks for it or, unless it ``outlives`` that, is gone; or if ``parent``,
    the process that started this one, is.
    """
    pieces = Pieces(Path(run))
    piece = next(piece for piece in pieces.read() if piece.name == name)
    driven = Driven(pieces, driver, outlives=outlives)
    if driven.should_stop():
        pieces.note(piece, Outcome("stopped"))
        return
    pieces.note(piece, Outcome("begun"))

    def should_stop() -> bool:
        return driven.should_stop() or (parent is not None and os.getppid() != parent)

    log = Log(pieces.log(piece))
    pieces.note(piece, _outcome(pieces, piece, device, [log, StopWhen(should_stop)], log))


def _outcome(pieces: Pieces, piece: Piece, device: str, observers: Sequence[Any], log: "Log") -> Outcome:
    """Train, and say how it ended."""
    try:
        whole = load(pieces.run)
        options = SessionOptions(**{**whole.session, "device": device, "block": None})
        train_members(read_config(whole), piece.members, pieces.folder(piece), options, observers)
    except Interrupted as stopped:
        log.say(str(stopped))
        return Outcome("stopped")
    except Exception as error:
        log.say(traceback.format_exc())
        said = " ".join(str(error).split())
        if is_out_of_memory(error):
            return Outcome("memory", said)
        return Outcome(
            "failed", said if isinstance(error, RunError | ValueError) else f"{type(error).__name__}: {said}"
        )
    return Outcome("finished")


def train_members(
    config: Config, members: Sequence[int], folder: Path, options: SessionOptions, observers: Sequence[Any]
) -> None:
    """Train some members of a configuration as a run of their own, counted from 0 there, or go on with it."""
    population = Population(config, options.make_stage(), indices=members)
    population.members = counted(population.members)
    with alone(folder, PATIENCE):
        begun = (folder / "config.json").exists()
        if not begun:
            describe(population, folder, options)
        write_json(folder / "machine.json", machine(population.stage.device) | {"host": os.uname().nodename})
        Session(population, folder, options, observers).run(again=begun)


def describe_members(config: Config, members: Sequence[Member], folder: Path, options: SessionOptions) -> None:
    """Say in a folder what :func:`train_members` would, without the memory that a population takes."""
    population = shapes_of(config, options.precision)
    population.members = counted(members)
    describe(population, folder, options)


def counted(members: Sequence[Member]) -> list[Member]:
    """Members as a run of their own has them: counted from 0."""
    return [replace(member, index=k) for k, member in enumerate(members)]


class Log:
    """An observer that writes down what is said."""

    def __init__(self, path: Path):
        self.path = path

    def begin(self, population: AnyPopulation, folder: Path) -> None:  # noqa: ARG002
        """Say what is trained."""
        self.say(f"{len(population.members)} members on {population.stage.device} of {os.uname().nodename}")

    def say(self, message: str) -> None:
        """With the time of day."""
        with self.path.open("a") as file:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {message}\n")

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """Is in the metrics."""

    def end(self) -> None:
        """Nothing to tidy up."""


def command(
    run: Path, name: str, *, driver: str, device: str, outlives: bool = False, parent: int | None = None
) -> list[str]:
    """The command line of a process that works."""
    words = python("dico.scale.worker", str(run), name, "--driver", driver, "--device", device)
    return words + ["--outlives"] * outlives + ([] if parent is None else ["--parent", str(parent)])


def main() -> None:
    """Work, by the command line of :func:`command`."""
    parser = argparse.ArgumentParser(prog="dico.scale.worker")
    parser.add_argument("run")
    parser.add_argument("name")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--outlives", action="store_true")
    parser.add_argument("--parent", type=int)
    work(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
