"""What the long commands have in common where several devices or machines train: their options and what is said."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dico._checks import check_choice, check_positive, pairs
from dico.commands import say
from dico.members import level_text, varying
from dico.runs import Run, load
from dico.scale.backends import Backend
from dico.scale.on_ray import OnRay
from dico.scale.on_slurm import OnSlurm
from dico.scale.processes import Processes
from dico.scale.start import Announce, Planned, plan_pieces, planned, resume, train
from dico.training.config import Config
from dico.training.observers import Observer
from dico.training.options import SessionOptions

ENGINES = ("ray", "slurm")
SHOWN = 12
"""Pieces that a plan's table shows, at most."""


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """Where the pieces of a population are trained; without any of these, all of it is trained in this process."""

    on: str | None = None
    """Train on several machines: ray or slurm. Members are cut into pieces of at most --block."""
    devices: str | None = None
    """Train on several devices of this machine, a process each: cuda:0,cuda:1."""
    address: str | None = None
    """--on ray: the cluster's address, host:port, or auto for the one that runs here; by default $RAY_ADDRESS, or else
    a new one on this machine."""
    cpus: int = 1
    """--on ray: processor cores for each piece; where the cluster has GPUs, each has one of them too."""
    slurm: tuple[str, ...] = ()
    """--on slurm: what to ask of Slurm as name=value, such as partition=gpu time=60 gpus_per_node=1 array_parallelism=8
    (submitit's slurm_* parameters); cluster=local tries it without Slurm, on this machine."""
    dry_run: bool = False
    """--on slurm: print the plan and the scripts, and submit nothing."""

    @property
    def wanted(self) -> bool:
        """Whether there are to be pieces."""
        return self.on is not None or self.devices is not None

    def check(self, device: str, *, loggers: bool = False) -> None:
        """An error if the options contradict each other."""
        if self.on is not None:
            check_choice("on", self.on, ENGINES)
        check_positive("cpus", self.cpus)
        if self.on is not None and self.devices is not None:
            raise ValueError(f"devices must not be given with --on {self.on}, which has its own, got {self.devices!r}")
        if self.devices is not None and device != "auto":
            raise ValueError(f"device must not be given with --devices, got {device!r}")
        for name, engine in (("address", "ray"), ("slurm", "slurm"), ("dry_run", "slurm")):
            if getattr(self, name) and self.on != engine:
                raise ValueError(f"{name} must be given with --on {engine} only, got {getattr(self, name)!r}")
        if self.wanted and loggers:
            raise ValueError("tensorboard and wandb must be off with --on and --devices: workers log to the run folder")

    def backend(self, device: str, levels: int) -> Backend:
        """What starts the workers; ``levels`` is how many jobs to make for a scheduler that has room for any number."""
        self.check(device)
        if self.on == "ray":
            return OnRay(self.address, self.cpus, device)
        if self.on == "slurm":
            slurm = self.on_slurm(device, levels)
            slurm.check()
            return slurm
        devices = device if self.devices is None else self.devices
        return Processes([name.strip() for name in devices.split(",")])

    def on_slurm(self, device: str, levels: int) -> OnSlurm:
        """Slurm, which needs the scripts' parameters."""
        return OnSlurm(pairs("slurm", self.slurm), device, at_once=levels)


def in_pieces(
    config: Config, folder: Path | None, session: SessionOptions, scale: ScaleOptions, observers: Sequence[Observer],
    console: Console,
) -> Run:  # fmt: skip
    """Train a new run in pieces."""
    backend = scale.backend(session.device, len(config.members) // config.seeds)
    return train(config, folder, backend, session, observers=observers, announce=announcing(console))


def go_on_in_pieces(
    folder: Path, device: str, block: int | None, scale: ScaleOptions, observers: Sequence[Observer], console: Console
) -> Run:
    """Go on with a run in pieces."""
    members = load(folder).members
    backend = scale.backend(device, len(members) // len({member.seed for member in members}))
    return resume(folder, backend, block=block, observers=observers, announce=announcing(console))


def dry_run(config: Config, folder: Path | None, session: SessionOptions, scale: ScaleOptions, console: Console) -> int:
    """Print what would be submitted, and submit nothing; the exit status.

    Without a folder it would be named by the time when it is submitted: the script has RUN in its place.
    """
    backend = scale.on_slurm(session.device, len(config.members) // config.seeds)
    pieces = plan_pieces(config, backend, session.block)
    announcing(console)(planned(config, pieces, backend))
    say(backend.script(len(pieces), Path("RUN") if folder is None else folder.absolute()), console)
    return 0


def announcing(console: Console) -> Announce:
    """Shows a plan."""

    def announce(plan: Planned) -> None:
        console.print(plan_table(plan))
        left = len(plan.pieces) - len(plan.finished)
        done = f", {len(plan.finished)} of them finished" if plan.finished else ""
        pieces = "1 piece" if len(plan.pieces) == 1 else f"{len(plan.pieces)} pieces"
        say(f"{pieces}{done}; {min(left, plan.at_once)} at a time", console)

    return announce


def plan_table(plan: Planned) -> Table:
    """What goes where: each piece, its members, where it is trained and the memory that it takes there."""
    by = varying(plan.members)
    table = Table(title="what goes where", title_justify="left")
    for name in ("piece", "members", "levels", "where", "memory"):
        table.add_column(name, justify="right" if name in ("members", "memory") else "left")
    for piece in plan.pieces[:SHOWN]:
        own = list(dict.fromkeys(level_text(plan.members[k], by) for k in piece.members))
        levels = ", ".join(own) if len(own) <= 4 else f"{own[0]}, ..., {own[-1]} ({len(own)})"
        where = "finished" if piece.name in plan.finished else plan.where
        memory = f"{len(piece.members) * plan.bytes_each / 1e9:.2f} GB"
        table.add_row(piece.name, str(len(piece.members)), levels, where, memory)
    if len(plan.pieces) > SHOWN:
        rest = plan.pieces[SHOWN:]
        members = [len(piece.members) for piece in rest]
        sizes = f"{min(members)}" if min(members) == max(members) else f"{min(members)} to {max(members)}"
        memory = f"{sum(members) * plan.bytes_each / 1e9:.2f} GB"
        table.add_row(f"{len(rest)} more", f"{sizes} each", "...", plan.where, memory)
    return table
