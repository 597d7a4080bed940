"""Training a run for more frames than it was begun for.

Nothing that a member does depends on how many frames are to come: random numbers are counted, schedules and exploration
noise are in frames. So a run that goes on is, bit for bit on a CPU, what it would have been if it had been begun for as
many. The exception is a group that is frozen after a share of the training (``freeze=agent=25%``): it stays frozen
after as many frames as it was, and the configuration says these from then on.
"""

import json
import math
from dataclasses import replace
from pathlib import Path

from dico._checks import check_positive, pairs
from dico._files import sealed, write_json
from dico.runs import RunError
from dico.runs.reading import read_json
from dico.training.config import Config


def lengthen(config: Config, frames: int) -> Config:
    """The configuration of the same training for more frames.

    >>> longer = lengthen(Config(frames=100_000, frames_per_batch=1_000, envs=10, freeze=("agent=25%",)), 200_000)
    >>> longer.frames, longer.freeze
    (200000, ('agent=25000',))
    """
    check_positive("frames", frames)
    if frames < config.frames:
        raise RunError(
            f"frames must be at least the run's own {config.frames:,}, got {frames:,}: a run only gets longer"
        )
    freeze = tuple(f"{group}={math.ceil(config.frozen_after(group))}" for group in pairs("freeze", config.freeze))
    return replace(config, frames=frames, freeze=freeze if frames > config.frames else config.freeze)


def rewrite_config(folder: Path, config: Config) -> None:
    """Let a run folder say so, whole or not at all; only who holds its lock may."""
    path = folder / "config.json"
    saved = read_json(path)
    record = {name: value for name, value in saved.items() if name != "seal"}
    record["config"] = {**saved["config"], "frames": config.frames, "freeze": list(config.freeze)}
    record = json.loads(json.dumps(record))
    write_json(path, sealed(record) if "seal" in saved else record)
