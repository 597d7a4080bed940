"""Navigation whose workers fall over: what goes wrong is asked for by files, each of which one worker takes.

A file's name says what (kill, checkpoint, raise, memory, slow) and its text after how many steps of a process.
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from dico.tasks.navigation import Navigation
from dico.training import checkpoint

STEPS = {"taken": 0}


@dataclass(frozen=True)
class Faulty(Navigation):
    """The task, with a folder to look into; three environments are those of a task that is only tried."""

    faults: str = ""

    def step(self, state, actions):
        if actions.shape[-3] > 3 and self.faults:
            STEPS["taken"] += 1
            look(Path(self.faults), actions.shape[0])
        return super().step(state, actions)


def look(faults: Path, members: int) -> None:
    if (faults / "slow").exists():
        time.sleep(float((faults / "slow").read_text()))
    if (faults / "memory").exists() and members > int((faults / "memory").read_text()) and STEPS["taken"] > 35:
        raise torch.OutOfMemoryError("CUDA out of memory")
    if take(faults / "kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if take(faults / "raise"):
        raise ZeroDivisionError("the task divides by zero")
    if take(faults / "checkpoint"):
        checkpoint.save_file = lambda _, path: (
            Path(path).write_bytes(b"half"),
            os.kill(os.getpid(), signal.SIGKILL),
        )


def take(fault: Path) -> bool:
    """Whether it is due, and no other process has taken it."""
    try:
        if STEPS["taken"] < int(fault.read_text()):
            return False
        fault.rename(fault.with_name(f"taken-{fault.name}-{os.getpid()}"))
    except (FileNotFoundError, ValueError):
        return False
    return True
