"""Checkpoints that a kill at any moment leaves whole, and replayed frames that are kept once."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from dico.runs import Checkpoint, RunError, write_json
from dico.train.offpolicy import OffPolicyLearner
from dico.train.population import Population

KEPT = 3
"""Checkpoints kept."""


def save(population: Population, folder: Path, replay: "ReplayStore | None", metrics_bytes: int) -> Path:
    """Write a checkpoint whole, then give it its name; drop the oldest.

    ``metrics_bytes`` is how long the metrics file is: what follows belongs to iterations that a resume does again.
    """
    path = folder / f"checkpoint-{population.frames}"
    scratch = folder / ".checkpoint.part"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        if replay is not None:
            replay.append()
        scratch.mkdir()
        tensors = {name: value.detach().cpu().contiguous().clone() for name, value in population.tensors().items()}
        save_file(tensors, scratch / "state.safetensors")
        _sync(scratch / "state.safetensors")
        meta = {"frames": population.frames, "iteration": population.iteration, "metrics_bytes": metrics_bytes,
                "replay": replay is not None}  # fmt: skip
        write_json(scratch / "meta.json", meta)
        shutil.rmtree(path, ignore_errors=True)
        scratch.rename(path)
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise RunError(f"the checkpoint {path} could not be written ({error}); earlier ones are intact") from error
    _prune(folder)
    return path


def restore(population: Population, checkpoint: Checkpoint, replay: "ReplayStore | None") -> None:
    """Bring a population back to where a checkpoint was written."""
    saved = checkpoint.tensors()
    state = population.tensors()
    if saved.keys() != state.keys() or any(saved[name].shape != state[name].shape for name in state):
        raise RunError(
            f"{checkpoint.folder} holds another configuration's state: resume with the one it was written with"
        )
    with torch.no_grad():
        for name, value in state.items():
            value.copy_(saved[name])
    population.iteration = checkpoint.meta["iteration"]
    if replay is not None and checkpoint.meta["replay"]:
        replay.restore()


class ReplayStore:
    """Replayed frames in flat files, each frame written once.

    The files are rings with room for what the networks replay and for all frames since the oldest checkpoint kept: a
    checkpoint only ever overwrites frames that no kept one needs, so each of those can be resumed from exactly.
    """

    def __init__(self, population: Population, folder: Path, frames_between_checkpoints: int):
        self.learners = [learner for learner in population.learners if isinstance(learner, OffPolicyLearner)]
        self.folder = folder / "replay"
        self.size = population.config.replay + (KEPT + 1) * frames_between_checkpoints
        self.written = 0

    def bytes(self) -> int:
        """How large the files become."""
        kept = (value for learner in self.learners for value in learner.kept.values())
        return sum(value[:, :1].numel() * value.element_size() * self.size for value in kept)

    def append(self) -> None:
        """Write the frames that are new since the last time."""
        self.folder.mkdir(exist_ok=True)
        for learner in self.learners:
            count = int(learner.count)
            for name, value in learner.kept.items():
                file = self._open(learner, name, value)
                for frame, position, length in self._stretches(self.written, count, value.shape[1]):
                    rows = value[:, frame % value.shape[1] :][:, :length].transpose(0, 1).contiguous()
                    file[position : position + length] = rows.cpu().numpy()
                file.flush()
        self.written = max((int(learner.count) for learner in self.learners), default=0)

    def restore(self) -> None:
        """Read back the frames that each learner, whose count is restored already, had kept."""
        for learner in self.learners:
            count = int(learner.count)
            for name, value in learner.kept.items():
                file = self._open(learner, name, value)
                capacity = value.shape[1]
                for frame, position, length in self._stretches(max(0, count - capacity), count, capacity):
                    rows = torch.from_numpy(np.array(file[position : position + length]))
                    value[:, frame % capacity :][:, :length] = rows.transpose(0, 1).to(value.device)
        self.written = max((int(learner.count) for learner in self.learners), default=0)

    def _stretches(self, first: int, last: int, capacity: int) -> list[tuple[int, int, int]]:
        """(frame, position in the file, length) of runs that wrap around neither in memory nor in the file."""
        parts, frame = [], max(first, last - capacity)
        while frame < last:
            length = min(last - frame, capacity - frame % capacity, self.size - frame % self.size)
            parts.append((frame, frame % self.size, length))
            frame += length
        return parts

    def _open(self, learner: OffPolicyLearner, name: str, value: Tensor) -> np.memmap:
        path = self.folder / f"{learner.team.name}.{name}.f32"
        shape = (self.size, value.shape[0], *value.shape[2:])
        if path.is_file() and path.stat().st_size != int(np.prod(shape)) * 4:
            raise RunError(f"{path} has another size than this configuration's: it cannot be resumed exactly")
        return np.memmap(path, dtype=np.float32, mode="r+" if path.is_file() else "w+", shape=shape)


def check_space(folder: Path, population: Population, replay: ReplayStore | None) -> tuple[int, int]:
    """Bytes of a checkpoint and of the replay files; an error if the disk has no room for them."""
    state = sum(value.numel() * value.element_size() for value in population.tensors().values())
    replayed = replay.bytes() if replay is not None else 0
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    room = shutil.disk_usage(there).free
    if (KEPT + 1) * state + replayed > room:
        raise RunError(
            f"{folder} has room for {room / 1e9:.2f} GB, but checkpoints take up to {(KEPT + 1) * state / 1e9:.2f} GB "
            f"and replayed frames {replayed / 1e9:.2f} GB: free some, choose another folder or --no-replay-checkpoint"
        )
    return state, replayed


def metrics_before(folder: Path, checkpoint: Checkpoint | None) -> None:
    """Cut the metrics file back to where a checkpoint was written."""
    path = folder / "metrics.jsonl"
    if path.is_file():
        os.truncate(path, checkpoint.meta["metrics_bytes"] if checkpoint else 0)


def _prune(folder: Path) -> None:
    names: Mapping[int, Path] = {
        int(path.name.removeprefix("checkpoint-")): path
        for path in folder.glob("checkpoint-*")
        if path.name.removeprefix("checkpoint-").isdigit()
    }
    for frames in sorted(names)[:-KEPT]:
        shutil.rmtree(names[frames])


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
