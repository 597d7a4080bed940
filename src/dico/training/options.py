"""How a population is trained, whatever it is: where, how fast, and what is saved."""

from dataclasses import asdict, dataclass
from typing import Any

import torch

from dico._checks import check_choice, check_positive, check_switch
from dico.training.staging import PRECISIONS, Stage, stage_on

LONGEST_REASON = 80
"""Letters of what torch says of a device that are passed on."""


@dataclass(frozen=True, kw_only=True)
class SessionOptions:
    """Options of a training that its results do not depend on, but for rounding."""

    device: str = "auto"
    """auto, cpu or cuda."""
    stage: str = "auto"
    """eager, compiled or graphs (CUDA graphs); auto is graphs on a CUDA device and eager elsewhere."""
    precision: str = "tf32"
    """Of matrix products on a CUDA device: tf32, bf16 or float32."""
    block: int | None = None
    """Members on the device at once, the others waiting in the host's memory; by default as many as fit."""
    checkpoint_every: int = 10
    """Iterations between two checkpoints."""
    replay_checkpoint: bool = True
    """Save replay buffers too (DDPG, TD3, SAC), so that a resume is exact."""

    def __post_init__(self):
        check_positive("checkpoint_every", self.checkpoint_every)
        check_switch("replay_checkpoint", self.replay_checkpoint)
        if self.block is not None:
            check_positive("block", self.block)

    def make_stage(self) -> Stage:
        """Where and how fast the training runs."""
        return Stage(self.stage, _device(self.device), self.precision)

    def check_stage(self) -> None:
        """An error if a training could not run there or so, known without starting anything."""
        check_choice("precision", self.precision, PRECISIONS)
        stage_on(_device(self.device), self.stage)

    def to_json(self) -> dict[str, Any]:
        """What a resume goes on with; the device is that of the day."""
        return {name: value for name, value in asdict(self).items() if name != "device"}


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.zeros(1, device=name).cpu()  # a device that holds no data fails here
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]  # torch may add a table of all that it has
        told = f" ({reason})" if len(reason) < LONGEST_REASON else ""
        raise ValueError(f"device must be auto, cpu or an available accelerator, got {name!r}{told}") from None
