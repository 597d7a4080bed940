"""Replayed frames on disk, each written once, so that a run can be resumed exactly."""

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dico.runs import RunError
from dico.training.blocks import AnyPopulation
from dico.training.offpolicy import OffPolicyLearner


class ReplayStore:
    """Flat files, one per replayed tensor.

    The files are rings with room for what the networks replay and for all frames since the oldest checkpoint kept: a
    checkpoint only ever overwrites frames that no kept one needs, so each of those can be resumed from exactly.
    """

    def __init__(self, population: AnyPopulation, folder: Path, frames_between_checkpoints: int, checkpoints: int):
        self.learners = [learner for learner in population.learners if isinstance(learner, OffPolicyLearner)]
        self.folder = folder / "replay"
        self.size = population.config.replay + (checkpoints + 1) * frames_between_checkpoints
        self.written = 0

    def bytes(self) -> int:
        """How large the files become."""
        kept = (value for learner in self.learners for value in learner.replay_buffer.values())
        return sum(_frame_bytes(value) * self.size for value in kept)

    def append(self) -> None:
        """Write the frames that are new since the last time."""
        self.folder.mkdir(exist_ok=True)
        for learner in self.learners:
            for name, value in learner.replay_buffer.items():
                path = self._path(learner, name, must_exist=self.written > 0)
                with path.open("r+b" if path.is_file() else "w+b") as file:
                    for frame, position, length in self._stretches(self.written, int(learner.count), value.shape[1]):
                        rows = value[:, frame % value.shape[1] :][:, :length].transpose(0, 1).contiguous()
                        file.seek(position * _frame_bytes(value))
                        file.write(rows.cpu().numpy().tobytes())
        self._note_written()

    def restore(self) -> None:
        """Read back the frames that each learner, whose count is restored already, had kept."""
        for learner in self.learners:
            for name, value in learner.replay_buffer.items():
                path, count, capacity = self._path(learner, name, must_exist=True), int(learner.count), value.shape[1]
                shape = (value.shape[0], *value.shape[2:])
                for frame, position, length in self._stretches(max(0, count - capacity), count, capacity):
                    numbers = length * math.prod(shape)
                    offset = position * _frame_bytes(value)
                    rows = np.fromfile(path, np.float32, numbers, offset=offset)
                    if len(rows) < numbers:
                        raise RunError(f"{path} is too short: the run cannot be resumed exactly")
                    value[:, frame % capacity :][:, :length] = (
                        torch.from_numpy(rows).reshape(length, *shape).transpose(0, 1).to(value.device)
                    )
        self._note_written()

    def _note_written(self) -> None:
        self.written = max((int(learner.count) for learner in self.learners), default=0)

    def _stretches(self, first: int, last: int, capacity: int) -> list[tuple[int, int, int]]:
        """(frame, position in the file, length) of runs that wrap around neither in memory nor in the file."""
        parts, frame = [], max(first, last - capacity)
        while frame < last:
            length = min(last - frame, capacity - frame % capacity, self.size - frame % self.size)
            parts.append((frame, frame % self.size, length))
            frame += length
        return parts

    def _path(self, learner: OffPolicyLearner, name: str, *, must_exist: bool) -> Path:
        path = self.folder / f"{learner.team.name}.{name}.f32"
        if must_exist and not path.is_file():
            raise RunError(f"{path} is missing: without the replay buffer the run cannot be resumed exactly")
        return path


def _frame_bytes(value: Tensor) -> int:
    return value[:, :1].numel() * value.element_size()
