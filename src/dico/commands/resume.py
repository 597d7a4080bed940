"""``dico resume``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from dico.commands._follow import follow
from dico.runs import Run
from dico.training.observers import Observer
from dico.training.session import resume


@dataclass(frozen=True)
class Options:
    """What it takes."""

    run: Positional[Path]
    """The run folder."""
    frames: int | None = None
    """Train it longer, to as many environment steps of each member in all; exactly as if it had been begun so."""
    device: str = "auto"
    """auto, cpu or cuda."""
    block: int | None = None
    """Members on the device at once, the others waiting in the host's memory; by default as many as fit."""
    tensorboard: bool = False
    """Log to RUN/tensorboard too."""
    wandb: bool = False
    """Log to Weights & Biases too."""


def run(options: Options, console: Console) -> int:
    """Resume, with its progress shown."""

    def start(observers: Sequence[Observer]) -> Run:
        return resume(
            options.run, frames=options.frames, device=options.device, block=options.block, observers=observers
        )

    return follow(start, console, tensorboard=options.tensorboard, wandb=options.wandb)
