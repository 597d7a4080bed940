"""Optional loggers that watch a training."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dico.metrics import METRICS
from dico.runs import RunError
from dico.tasks import OUTCOMES
from dico.training.blocks import AnyPopulation

LOGGED = ("reward", "snd", "snd_hat", "scale", "action_bound_violation")
OFFLINE = "WANDB_MODE=offline keeps all on this disk; `wandb sync` sends it later."


class TensorBoard:
    """Every member's metrics into ``RUN/tensorboard``."""

    def __init__(self):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ValueError('--tensorboard needs tensorboard: pip install "dico-marl[tensorboard]"') from None
        self.make = SummaryWriter

    def begin(self, population: AnyPopulation, folder: Path) -> None:
        """One writer per member, so that they overlay."""
        self.writers = [self.make(str(folder / "tensorboard" / member.name)) for member in population.members]

    def say(self, message: str) -> None:
        """Messages are the progress display's."""

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:  # noqa: ARG002
        """Write the metrics."""
        for row in rows:
            for name in _columns(row):
                self.writers[row["member"]].add_scalar(_key(row, name), row[name], row["frames"])

    def end(self) -> None:
        """Close the files."""
        for writer in self.writers:
            writer.close()


class WandB:
    """The population's metrics into one Weights & Biases run; WANDB_MODE=offline works.

    Whoever is not logged in learns of it here, before a folder is made.
    """

    def __init__(self):
        try:
            import wandb  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise ValueError('--wandb needs wandb: pip install "dico-marl[wandb]"') from None
        self.wandb: Any = wandb
        try:
            wandb.login(verify=False)
        except wandb.Error as error:
            raise ValueError(f"--wandb: {error} {OFFLINE}") from None

    def begin(self, population: AnyPopulation, folder: Path) -> None:
        """Start the run."""
        self.names = [member.name for member in population.members]
        settings = asdict(population.config)
        try:
            self.run = self.wandb.init(project="dico", name=folder.name, dir=str(folder), config=settings)
        except self.wandb.Error as error:
            raise RunError(f"--wandb: {error} {OFFLINE} The run began: dico resume {folder} --wandb") from None

    def say(self, message: str) -> None:
        """Messages are the progress display's."""

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """Log the metrics."""
        values = {f"{self.names[row['member']]}/{_key(row, name)}": row[name] for row in rows for name in _columns(row)}
        self.run.log({**values, "seconds": seconds}, step=rows[0]["frames"])

    def end(self) -> None:
        """Finish the run."""
        self.run.finish()


def _columns(row: dict[str, Any]) -> list[str]:
    """With the controlled metric, where that is not SND, and what episodes came to, where any ended."""
    return [*LOGGED, *(name for name in ("return", *OUTCOMES, *METRICS) if name in row and name not in LOGGED)]


def _key(row: dict[str, Any], name: str) -> str:
    return f"{row['group']}/{name}" if "group" in row else name
