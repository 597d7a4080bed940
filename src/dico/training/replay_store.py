"""Replayed frames on disk, each written once, so that a run can be resumed exactly."""

import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dico._files import flush
from dico.runs import RunError
from dico.runs.reading import check_own
from dico.training.blocks import AnyPopulation
from dico.training.offpolicy import OffPolicyLearner


class ReplayStore:
    """Flat files, one per replayed tensor.

    The files are rings with room for what the networks replay and for all frames since the oldest checkpoint kept: a
    checkpoint only ever overwrites frames that no kept one needs, so each of those can be resumed from exactly.
    What one checkpoint adds is a chunk; its checksums go into the checkpoint.
    """

    def __init__(self, population: AnyPopulation, folder: Path, frames_between_checkpoints: int, checkpoints: int):
        self.learners = [learner for learner in population.learners if isinstance(learner, OffPolicyLearner)]
        self.folder = folder / "replay"
        self.size = population.config.replay + (checkpoints + 1) * frames_between_checkpoints
        self.written = 0
        self.chunks: list[Mapping[str, Any]] = []
        """Those that hold what is replayed now: ``first`` frame, ``last`` frame and ``crc32`` of each file's part."""

    def bytes(self) -> int:
        """How large the files become."""
        kept = (value for learner in self.learners for value in learner.replay_buffer.values())
        return sum(_frame_bytes(value) * self.size for value in kept)

    def append(self) -> None:
        """Write the frames that are new since the last time, to the disk itself."""
        self.folder.mkdir(exist_ok=True)
        first, last, sums = self.written, self._count(), {}
        if first == last:
            return
        for learner in self.learners:
            for name, value in learner.replay_buffer.items():
                path, crc = self._path(learner, name, must_exist=first > 0), 0
                with path.open("r+b" if path.is_file() else "w+b") as file:
                    for frame, position, length in self._stretches(first, last, value.shape[1]):
                        rows = value[:, frame % value.shape[1] :][:, :length].transpose(0, 1).contiguous()
                        written = rows.cpu().numpy().tobytes()
                        file.seek(position * _frame_bytes(value))
                        file.write(written)
                        crc = zlib.crc32(written, crc)
                flush(path)
                sums[path.name] = crc
        flush(self.folder)
        self.written = last
        self.chunks = self._needed([*self.chunks, {"first": first, "last": last, "crc32": sums}])

    def restore(self, chunks: Sequence[Mapping[str, Any]] | None) -> None:
        """Read back the frames that each learner, whose count is restored already, had kept.

        A checkpoint of an earlier version has no ``chunks``, and nothing that its frames could be checked by.
        """
        last = self._count()
        if chunks is None:
            chunks = [{"first": 0, "last": last, "crc32": {}}]
        for learner in self.learners:
            for name, value in learner.replay_buffer.items():
                path = self._path(learner, name, must_exist=True)
                for chunk in chunks:  # in the order of frames: later ones take the place of earlier ones
                    self._read(path, chunk, value)
        self.written, self.chunks = last, self._needed(chunks)

    def _read(self, path: Path, chunk: Mapping[str, Any], value: Tensor) -> None:
        """A chunk's frames into a replay buffer."""
        shape, crc, capacity = (value.shape[0], *value.shape[2:]), 0, value.shape[1]
        for frame, position, length in self._stretches(chunk["first"], chunk["last"], capacity):
            numbers = length * math.prod(shape)
            rows = np.fromfile(path, np.float32, numbers, offset=position * _frame_bytes(value))
            if len(rows) < numbers:
                raise RunError(f"{path} is too short: the run cannot be resumed exactly")
            crc = zlib.crc32(rows.tobytes(), crc)
            value[:, frame % capacity :][:, :length] = (
                torch.from_numpy(rows).reshape(length, *shape).transpose(0, 1).to(value.device)
            )
        if chunk["crc32"].get(path.name, crc) != crc:
            raise RunError(f"{path} is damaged: it is not what was written, and the run cannot be resumed exactly")

    def _needed(self, chunks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        capacity = self.size if not self.learners else next(iter(self.learners[0].replay_buffer.values())).shape[1]
        return [chunk for chunk in chunks if chunk["last"] > self._count() - capacity]

    def _count(self) -> int:
        """Frames that have been replayed from, or could have been."""
        return max((int(learner.count) for learner in self.learners), default=0)

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
        check_own(path)
        if must_exist and not path.is_file():
            raise RunError(f"{path} is missing: without the replay buffer the run cannot be resumed exactly")
        return path


def _frame_bytes(value: Tensor) -> int:
    return value[:, :1].numel() * value.element_size()
