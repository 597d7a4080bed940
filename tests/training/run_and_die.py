"""Train or resume in a process of its own, which kills itself at a chosen moment."""

import os
import signal
from pathlib import Path

import torch

from dico.experiments import preset
from dico.training import checkpoint, session
from dico.training.population import Population
from dico.training.replay_store import ReplayStore

SMALL = {
    "snd": ("0.3", "free"), "seeds": 1, "frames": 240, "envs": 4, "frames_per_batch": 40, "hidden": (8,),
    "epochs": 2, "minibatch": 16, "updates": 5, "batch": 8, "replay": 100,
}  # fmt: skip


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DieAfter:
    """An observer that kills the process right after an iteration, before its checkpoint."""

    def __init__(self, iteration: int):
        self.left = iteration

    def begin(self, population: Population, folder: Path) -> None: ...

    def say(self, message: str) -> None: ...

    def end(self) -> None: ...

    def iteration(self, rows: object, seconds: float) -> None:
        self.left -= 1
        if not self.left:
            die()


def run_and_die(folder: str, algorithm: str, moment: str) -> None:
    """The moment is never, iteration-K, or named after what is done then."""
    torch.set_num_threads(1)
    observers = []
    if moment.startswith("iteration-"):
        observers = [DieAfter(int(moment.removeprefix("iteration-")))]
    elif moment == "state":  # half of the state written
        checkpoint.save_file = lambda _, path: (Path(path).write_bytes(b"half"), die())
    elif moment == "replay":  # after the first of the replay's files
        path = ReplayStore._path
        ReplayStore._path = lambda self, learner, name, *, must_exist: (
            die() if name == "action" and self.written else path(self, learner, name, must_exist=must_exist)
        )
    elif moment == "rename":
        Path.rename = die
    elif moment == "prune":
        checkpoint._prune = die
    if (Path(folder) / "config.json").exists():
        session.resume(folder, observers=observers)
    else:
        session.train(preset("quick", algorithm=algorithm, **SMALL), folder, observers=observers, checkpoint_every=2)
