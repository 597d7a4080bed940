"""A training from start to end: iterations, the run folder, interruption and resumption."""

import json
import os
import threading
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from dico._checks import check_choice
from dico._files import FORMAT, checksum, crc32, plain, sealed, write_json
from dico.members import difference
from dico.runs import Checkpoint, Run, RunError, Summary, load
from dico.runs.folder import check_unchanged, read_checkpoints
from dico.runs.reading import check_own
from dico.runs.schema import PIECES
from dico.schedules import check_known_schedules
from dico.tasks import check_known
from dico.training.algorithms import ALGORITHMS
from dico.training.blocks import AnyPopulation, Blocks, enough_memory, make_population, memory_messages
from dico.training.checkpoint import back_to, check_space, newest_whole, replay_store, restore, save
from dico.training.config import Config
from dico.training.lock import LOCK, alone
from dico.training.longer import lengthen, rewrite_config
from dico.training.machine import machine
from dico.training.observers import Observer, watched
from dico.training.options import SessionOptions
from dico.training.seeking import Seeker
from dico.training.staging import working_compiler
from dico.training.stopping import Interrupted, stopping
from dico.training.watch import Watch


def train(
    config: Config, folder: str | Path | None = None, *, observers: Sequence[Observer] = (), **options: Any
) -> Run:
    """Train a population into a new run folder, by default one under ``runs`` named after task and time.

    ``options`` are those of :class:`~dico.training.options.SessionOptions`: device, stage, precision, block,
    checkpoint_every and replay_checkpoint.

    Args:
        config: what to train; :func:`dico.experiments.preset` makes one.
        folder: where; it must not hold a run yet.
        observers: who watches: ``[dico.progress()]`` shows how it goes, a logger of yours is another
            (:class:`~dico.training.observers.Observer`).
        **options: see above.

    Returns:
        The run, finished.
    """
    if not isinstance(config, Config):
        raise ValueError(f"config must be a dico.training.config.Config, such as preset('quick') gives, got {config!r}")
    chosen = _options(options)
    stage = chosen.make_stage()
    with place_for(folder, config) as place:
        with enough_memory(stage.device, chosen.block or len(config.members), f"dico train {config.task}"):
            session = Session(make_population(config, stage, chosen.block), place, chosen, observers)
        check_space(place, session.population, session.replay)
        with alone(place):
            check_free(place)  # another training may have been as quick
            describe(session.population, place, chosen)
            return session.run()


def resume(
    folder: str | Path,
    *,
    frames: int | None = None,
    config: Config | None = None,
    observers: Sequence[Observer] = (),
    **options: Any,
) -> Run:
    """Go on with a run from its newest whole checkpoint, exactly as if it had never stopped.

    Args:
        folder: of the run.
        frames: train it longer, finished or not, as if it had been begun for as many (:mod:`dico.training.longer`).
        config: what it must have been trained with, if you would know.
        observers: who watches, as in :func:`train`.
        **options: device and block; the others are those that the run was started with.

    Returns:
        The run, finished.
    """
    run = load(folder)
    if isinstance(run.source, Summary):
        raise RunError(run.source.no_checkpoint())
    if (run.folder / PIECES).exists():
        raise RunError(
            f"{folder} is trained in pieces: go on with `dico resume {folder}`, which takes --devices and --on"
        )
    if "stage" not in run.session:
        raise RunError(f"{folder} was trained by BenchMARL: go on with experiment.restore_file=CHECKPOINT.pt there")
    for name in options:
        check_choice("option of a resume", name, ("device", "block"))
    if run.config["algorithm"] not in ALGORITHMS:
        raise RunError(
            f"{folder} was trained by {run.config['algorithm']!r}, which is not known here: register it in "
            "dico.training.algorithms.ALGORITHMS, then call dico.resume"
        )
    saved = read_config(run)
    if config is not None and config != saved:
        changed = ", ".join(config.differs_from(saved))
        raise RunError(f"{folder} was trained with another configuration ({changed}): start a new run with this one")
    wanted = saved if frames is None else lengthen(saved, frames)
    given = {name: value for name, value in options.items() if value is not None}
    chosen = _options({**run.session, **given})
    stage = chosen.make_stage()
    with enough_memory(stage.device, chosen.block or len(saved.members), f"dico resume {folder}"):
        session = Session(make_population(wanted, stage, chosen.block), run.folder, chosen, observers)
    with alone(run.folder):
        if wanted != saved:
            rewrite_config(run.folder, wanted)
        return session.run(again=True)


class Session:
    """A population, the folder that it is trained into, and who watches."""

    def __init__(self, population: AnyPopulation, folder: Path, options: SessionOptions, observers: Sequence[Observer]):
        self.population, self.folder, self.options = population, folder, options
        self.observers = observers
        self.watch = Watch(population.config.iterations, population.config.gradient, self._say)
        self.seeker = Seeker(population)
        self.replay = replay_store(population, folder, options)
        self.crc32 = 0
        """Of the lines of metrics that have been written."""
        self.began, self.took = 0.0, 0.0
        """When the iteration began, and how long the one before it took, in seconds; 0 if there was none."""

    def run(self, *, again: bool = False) -> Run:
        """Train to the end, or until interrupted; ``again`` goes on from the newest checkpoint."""
        population, folder = self.population, self.folder
        sizes = check_space(folder, population, self.replay)
        if again:
            self._go_back()
        try:
            with watched(self.observers, population, folder):
                self._announce(*sizes, again=again)
                enough = enough_memory(population.stage.device, population.at_once, f"dico resume {folder}")
                with enough, working_compiler(), stopping(self._say, self._left) as stop:
                    self._iterate(stop)
        except KeyboardInterrupt:
            newest = next(read_checkpoints(folder), None)
            left = f"the newest checkpoint is at {newest.frames:,} frames" if newest else "no checkpoint yet"
            raise Interrupted(f"stopped at once; {left}; go on with: dico resume {folder}") from None
        if not population.finished:
            raise Interrupted(f"stopped at {population.frames:,} frames; go on with: dico resume {folder}")
        return load(folder)

    def _iterate(self, stop: threading.Event) -> None:
        """Iterations with their rows, and checkpoints now and then, at the end, and where it is stopped."""
        population = self.population
        with (self.folder / "metrics.jsonl").open("a") as metrics:
            while not population.finished and not stop.is_set():
                self.began = time.perf_counter()
                rows = population.iterate()
                self.watch.look(rows)
                self.seeker.look(rows)
                self._write(metrics, rows)
                self.took = time.perf_counter() - self.began
                for observer in self.observers:
                    observer.iteration(rows, self.took)
                due = population.iteration % self.options.checkpoint_every == 0
                if due or population.finished or stop.is_set():
                    os.fsync(metrics.fileno())
                    save(population, self.folder, self.replay, metrics.tell(), self.crc32)

    def _left(self) -> float:
        """Seconds until the iteration is done, if it takes as long as the one before."""
        return self.took and max(0.0, self.began + self.took - time.perf_counter())

    def _go_back(self) -> None:
        """To the newest whole checkpoint; what came after it is dropped once it is known to fit."""
        newest = newest_whole(self.folder)
        check_own(self.folder / "metrics.jsonl")
        if newest is not None:
            restore(self.population, newest, self.replay)
            self._check_metrics(newest)
        back_to(self.folder, newest)
        if self.seeker.seeks:
            self.seeker.recall(load(self.folder).rows())

    def _check_metrics(self, checkpoint: Checkpoint) -> None:
        """Nothing is computed from lines that were changed, and they are told of, now and whenever they are read."""
        path, told = self.folder / "metrics.jsonl", checkpoint.meta.get("metrics_crc32")
        if not checkpoint.meta["metrics_bytes"]:
            return  # it was begun from another run's members, whose metrics are there
        if not path.is_file() or not path.stat().st_size:
            if self.seeker.seeks:
                raise RunError(f"{path} is lost, and levels that seek go on from it: restore it")
            said = f"numbers of the first {checkpoint.frames:,} frames are missing from now on, what is trained is not"
            warnings.warn(f"{path} is lost: {said}", stacklevel=2)
            return
        found = crc32(path, checkpoint.meta["metrics_bytes"])
        self.crc32 = found if told is None else told
        if found == self.crc32:
            return
        if self.seeker.seeks:
            raise RunError(f"{path} was changed since it was written, and levels that seek go on from it: restore it")
        if path.stat().st_size >= checkpoint.meta["metrics_bytes"]:  # else back_to says that it is shorter
            said = "was changed since it was written: numbers in it may be wrong, what is trained is not"
            warnings.warn(f"{path} {said}", stacklevel=2)

    def _write(self, metrics: TextIO, rows: Sequence[dict[str, Any]]) -> None:
        text = "".join(json.dumps({k: plain(v) for k, v in row.items()}) + "\n" for row in rows)
        try:
            metrics.write(text)
            metrics.flush()
        except OSError as error:
            raise RunError(f"{metrics.name} could not be written ({error}); the newest checkpoint is intact") from error
        self.crc32 = zlib.crc32(text.encode(), self.crc32)

    def _say(self, message: str) -> None:
        for observer in self.observers:
            observer.say(message)

    def _announce(self, state_bytes: int, replay_bytes: int, *, again: bool) -> None:
        """What the user should know beforehand."""
        say, population = self._say, self.population
        if again:
            finished = ", which is all of them" if population.finished else ""
            say(f"resuming {self.folder} at {population.frames:,} frames{finished}")
            if not population.config.on_policy and self.replay is None:
                say("the replay buffer was not saved and starts empty, so this resume is approximate")
        for message in (*memory_messages(population), *population.config.unfinished_schedules()):
            say(message)
        if population.stage.compiles and not population.finished:
            say("the first iteration is compiled: about a minute, or seconds from the compiler's cache")
        replay = f", the replay buffer {replay_bytes / 1e6:,.1f} MB once" if replay_bytes else ""
        say(f"each checkpoint takes {state_bytes / 1e6:,.1f} MB on disk{replay}")


@contextmanager
def place_for(folder: str | Path | None, config: Config) -> Iterator[Path]:
    """The run folder: the one that was named, or a new one under ``runs``, which goes again if nothing is written."""
    if folder is not None:
        check_free(Path(folder))
        yield Path(folder)
        return
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    path = Path("runs", f"{config.task.replace(':', '-')}-{config.algorithm}-{stamp}")
    made = [] if path.parent.exists() else [path.parent]
    for number in count(2):
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:  # by a training that began in the same second
            path = path.with_name(f"{path.name.partition('+')[0]}+{number}")
        except OSError as error:
            raise RunError(f"{path} cannot be written ({error}): choose another folder") from error
    try:
        yield path
    finally:
        for each in (path, *made):
            with suppress(OSError):  # which says that there is something in it
                each.rmdir()


def read_config(run: Run) -> Config:
    """The configuration that a run was trained with, if it is still that."""
    try:
        check_unchanged(run.folder)
        check_known(run.config["task"])
        config = Config.from_json(dict(run.config))
        check_known_schedules(config.snd)
    except (ValueError, TypeError) as error:
        raise RunError(f"{run.folder / 'config.json'} cannot be used: {error}") from None
    if differs := difference(run.members, config.members):
        raise RunError(
            f"{run.folder / 'members.json'} cannot be used: {differs} in config.json: restore the one that was changed"
        )
    return config


def is_free(folder: Path) -> bool:
    """Whether a new run may go there: a folder may be there, if nothing is in it but what a start that died left."""
    if not folder.exists():
        return True
    return folder.is_dir() and all(
        path.name in (LOCK, "machine.json", "members.json") or path.name.startswith(".part-")
        for path in folder.iterdir()
    )


def check_free(folder: Path) -> None:
    """An error if a new run may not go there."""
    if not is_free(folder):
        raise RunError(f"{folder} exists already: choose another folder, or `dico resume {folder}`")


def _options(given: dict[str, Any]) -> SessionOptions:
    for name in given:
        check_choice("option", name, [field.name for field in fields(SessionOptions)])
    return SessionOptions(**given)


def describe(population: AnyPopulation, folder: Path, options: SessionOptions) -> None:
    """What a run folder says of a training before its first iteration."""
    groups = [
        {"name": learner.team.name, "n_agents": learner.team.n_agents, "obs_dim": learner.team.obs_dim,
         "low": learner.team.low, "high": learner.team.high, "kind": population.config.policy_kind,
         **dict(zip(("obs_low", "obs_high"), learner.team.obs_box or (), strict=False))}
        for learner in population.learners
    ]  # fmt: skip
    block = population.at_once if isinstance(population, Blocks) else None
    write_json(folder / "machine.json", machine(population.stage.device))
    write_json(folder / "members.json", [asdict(member) for member in population.members])
    described = {
        "format": FORMAT,
        "config": asdict(population.config),
        "groups": groups,
        "session": options.to_json() | {"precision": population.stage.precision, "block": block},
        "checksums": {"members.json": checksum(folder / "members.json")},
    }
    write_json(folder / "config.json", sealed(json.loads(json.dumps(described))))  # as it will be read
