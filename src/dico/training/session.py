"""A training from start to end: iterations, the run folder, interruption and resumption."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TextIO, runtime_checkable

import torch

from dico._checks import check_positive
from dico._files import FORMAT, plain, write_json
from dico.runs import Run, RunError, load
from dico.runs.folder import read_checkpoints
from dico.training.blocks import Blocks, enough_memory, make_population, members_at_once, memory_messages
from dico.training.checkpoint import KEPT, back_to, check_space, restore, save
from dico.training.config import Config
from dico.training.machine import machine
from dico.training.population import Population
from dico.training.replay_store import ReplayStore
from dico.training.staging import Stage, working_compiler
from dico.training.watch import Watch

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

ITERATIONS_BETWEEN_CHECKPOINTS = 10


@runtime_checkable
class Observer(Protocol):
    """Something that watches a training: a progress display, a logger."""

    def begin(self, population: Population, folder: Path) -> None:
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


class Interrupted(Exception):  # noqa: N818
    """The user stopped the training; a checkpoint is written."""


def train(
    config: Config,
    folder: str | Path | None = None,
    *,
    device: str = "auto",
    stage: str = "auto",
    precision: str = "tf32",
    observers: Sequence[Observer] = (),
    checkpoint_every: int = ITERATIONS_BETWEEN_CHECKPOINTS,
    replay_checkpoint: bool = True,
    block: int | None = None,
) -> Run:
    """Train a population into a new run folder, by default one under ``runs`` named after task and time.

    ``stage`` and ``precision`` are those of :class:`~dico.training.staging.Stage`. ``block`` is how many members are on
    the device at once; by default as many as fit.
    """
    check_positive("checkpoint_every", checkpoint_every)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = Path(folder or Path("runs") / f"{config.task.replace(':', '-')}-{config.algorithm}-{stamp}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} exists already: choose another folder, or `dico resume {folder}`")
    used = Stage(stage, _device(device), precision)
    with enough_memory(used.device, block or len(config.members), f"dico train {config.task}"):
        population = make_population(config, used, block)
    check_space(folder, population, _replay_store(population, folder, checkpoint_every, replay_checkpoint))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _describe(population, folder, checkpoint_every, replay_checkpoint, stage)
    except OSError as error:
        raise RunError(f"{folder} cannot be written ({error}): choose another folder") from error
    return _iterate(population, folder, observers, checkpoint_every, replay_checkpoint)


def resume(
    folder: str | Path,
    *,
    config: Config | None = None,
    device: str = "auto",
    observers: Sequence[Observer] = (),
    block: int | None = None,
) -> Run:
    """Go on with a run from its newest whole checkpoint, exactly as if it had never stopped."""
    run = load(folder)
    if "stage" not in run.session:
        raise RunError(f"{folder} was trained by BenchMARL: go on with experiment.restore_file=CHECKPOINT.pt there")
    saved = Config.from_json(dict(run.config))
    if config is not None and config != saved:
        changed = ", ".join(config.differs_from(saved))
        raise RunError(f"{folder} was trained with another configuration ({changed}): start a new run with this one")
    used = Stage(run.session["stage"], _device(device), run.session["precision"])
    block = block or run.session.get("block")
    with enough_memory(used.device, block or len(saved.members), f"dico resume {folder}"):
        population = make_population(saved, used, block)
    return _iterate(
        population, run.folder, observers, run.session["checkpoint_every"], run.session["replay_checkpoint"], again=True
    )


def _iterate(
    population: Population,
    folder: Path,
    observers: Sequence[Observer],
    checkpoint_every: int,
    replay_checkpoint: bool,
    *,
    again: bool = False,
) -> Run:
    replay = _replay_store(population, folder, checkpoint_every, replay_checkpoint)
    say = _to_all(observers, "say")
    watch = Watch(population.config.iterations, population.config.gradient, say)
    with _alone(folder):
        state_bytes, replay_bytes = check_space(folder, population, replay)
        if again:
            newest = next(read_checkpoints(folder), None)
            if newest is not None:
                restore(population, newest, replay)
            back_to(folder, newest)  # once it is known to fit
        try:
            _to_all(observers, "begin")(population, folder)
            if again:
                finished = ", which is all of them" if population.finished else ""
                say(f"resuming {folder} at {population.frames:,} frames{finished}")
                if not population.config.on_policy and replay is None:
                    say("replayed frames were not kept: the replay starts empty, so this resume is approximate")
            for message in memory_messages(population):
                say(message)
            if population.stage.compiles and not population.finished:
                say("the first iteration is compiled: about a minute, or seconds from the compiler's cache")
            say(f"each checkpoint takes {state_bytes / 1e6:,.1f} MB on disk{_and_replay(replay_bytes)}")
            enough = enough_memory(population.stage.device, members_at_once(population), f"dico resume {folder}")
            with enough, working_compiler(), _stopping(say) as stop, (folder / "metrics.jsonl").open("a") as metrics:
                while not population.finished and not stop.is_set():
                    start = time.perf_counter()
                    rows = population.iterate()
                    watch.look(rows)
                    _write(metrics, rows)
                    _to_all(observers, "iteration")(rows, time.perf_counter() - start)
                    if population.iteration % checkpoint_every == 0 or population.finished or stop.is_set():
                        os.fsync(metrics.fileno())
                        save(population, folder, replay, metrics.tell())
        except KeyboardInterrupt:
            newest = next(read_checkpoints(folder), None)
            kept = f"the newest checkpoint is at {newest.frames:,} frames" if newest else "there is no checkpoint yet"
            raise Interrupted(f"stopped at once; {kept}; go on with: dico resume {folder}") from None
        finally:
            _to_all(observers, "end")()
    if not population.finished:
        raise Interrupted(f"stopped at {population.frames:,} frames; go on with: dico resume {folder}")
    return load(folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the run folder: two trainings in one would write over each other."""
    with (folder / ".lock").open("w") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunError(f"{folder} is being trained by another process: wait for it, or stop it") from None
        yield


def _write(metrics: TextIO, rows: Sequence[dict[str, Any]]) -> None:
    try:
        metrics.writelines(json.dumps({k: plain(v) for k, v in row.items()}) + "\n" for row in rows)
        metrics.flush()
    except OSError as error:
        raise RunError(f"{metrics.name} could not be written ({error}); the newest checkpoint is intact") from error


def _and_replay(size: int) -> str:
    return f", replayed frames {size / 1e6:,.1f} MB once" if size else ""


def _replay_store(population: Population, folder: Path, checkpoint_every: int, wanted: bool) -> ReplayStore | None:
    if population.config.on_policy or not wanted:
        return None
    return ReplayStore(population, folder, checkpoint_every * population.config.frames_per_batch, KEPT)


@contextmanager
def _stopping(say: Callable[[str], None]) -> Iterator[threading.Event]:
    """Ctrl-C once: stop after this iteration. Twice: at once, with the last checkpoint intact."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def request(signum: int, frame: object) -> None:  # noqa: ARG001
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("stopping after this iteration, with a checkpoint; press Ctrl-C again to stop at once")

    before = signal.signal(signal.SIGINT, request)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _describe(population: Population, folder: Path, checkpoint_every: int, replay_checkpoint: bool, stage: str) -> None:
    groups = [
        {"name": learner.team.name, "n_agents": learner.team.n_agents, "obs_dim": learner.team.obs_dim,
         "low": learner.team.low, "high": learner.team.high, "kind": population.config.policy_kind}
        for learner in population.learners
    ]  # fmt: skip
    write_json(folder / "machine.json", machine(population.stage.device))
    write_json(
        folder / "config.json",
        {
            "format": FORMAT,
            "config": asdict(population.config),
            "members": population.members,
            "groups": groups,
            "session": {
                "checkpoint_every": checkpoint_every,
                "replay_checkpoint": replay_checkpoint,
                "stage": stage,
                "precision": population.stage.precision,
                "block": population.block if isinstance(population, Blocks) else None,
            },
        },
    )


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.zeros(1, device=name).cpu()  # a device that holds no data fails here
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device must be auto, cpu or an available accelerator, got {name!r} ({error})") from None


def _to_all(observers: Sequence[Observer], method: str) -> Callable[..., None]:
    def call(*arguments: Any) -> None:
        for observer in observers:
            getattr(observer, method)(*arguments)

    return call
