"""``dico resume``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional

from dico.commands._follow import follow
from dico.commands._scale import ScaleOptions, go_on_in_pieces
from dico.runs import Run
from dico.runs.schema import PIECES
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
    scale: OmitArgPrefixes[ScaleOptions] = field(default_factory=ScaleOptions)
    tensorboard: bool = False
    """Log to RUN/tensorboard too."""
    wandb: bool = False
    """Log to Weights & Biases too."""


def run(options: Options, console: Console) -> int:
    """Resume, with its progress shown; a run in pieces goes on in pieces, on this device if no other is given."""
    options.scale.check(options.device, loggers=options.tensorboard or options.wandb)
    if options.scale.dry_run:
        raise ValueError("dry_run is for dico train and dico reproduce: a resume would submit what is left of the run")

    def start(observers: Sequence[Observer]) -> Run:
        if options.scale.wanted or (options.run / PIECES).exists():
            if options.frames is not None:
                raise ValueError(
                    "frames must not be given with --on or --devices, nor for a run that is in pieces yet: "
                    f"`dico resume {options.run}` finishes it, then "
                    f"`dico resume {options.run} --frames {options.frames}` trains it longer"
                )
            return go_on_in_pieces(options.run, options.device, options.block, options.scale, observers, console)
        return resume(
            options.run, frames=options.frames, device=options.device, block=options.block, observers=observers
        )

    return follow(start, console, tensorboard=options.tensorboard, wandb=options.wandb)
