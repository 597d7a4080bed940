"""Replayed frames on disk (:mod:`dico.training.replay_store`), gathered from some runs into another."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dico._files import flush
from dico.runs import RunError
from dico.runs.reading import check_plain
from dico.scale.gather_rows import Places
from dico.training.offpolicy import OffPolicyLearner
from dico.training.population import Population

MOST_NUMBERS = 2**24
"""That are held of a file at a time."""


@dataclass(frozen=True)
class Replayed:
    """A run's replayed frames: where, of how many members, and the chunks that its checkpoint names."""

    folder: Path
    members: int
    chunks: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Layout:
    """Of replay files: a ring of ``size`` frames, of which the last ``capacity`` are replayed."""

    numbers: Mapping[str, int]
    """Of each file, how many numbers a frame of one member has."""
    capacity: int
    size: int

    @classmethod
    def of(cls, one: Population, size: int) -> "Layout":
        """Of a configuration, by a population of one member."""
        numbers = {
            f"{learner.team.name}.{name}.f32": value[0, 0].numel()
            for learner in one.learners
            if isinstance(learner, OffPolicyLearner)
            for name, value in learner.replay_buffer.items()
        }
        return cls(numbers, one.config.replay, size)

    def stretches(self, first: int, last: int, most: int) -> Iterator[tuple[int, int]]:
        """(position in the file, length) of replayed frames, none longer than ``most`` or around the file's end."""
        frame = max(first, last - self.capacity)
        while frame < last:
            length = min(last - frame, self.size - frame % self.size, max(1, most))
            yield frame % self.size, length
            frame += length


def gather_replay(sources: Sequence[Replayed], places: Places, layout: Layout, last: int, out: Path) -> dict[str, Any]:
    """Write replay files with the frames up to ``last``; the chunk that a checkpoint names them by."""
    for source in sources:
        _check(source, layout)
    first, sums = max(0, last - layout.capacity), {}
    own = [[(place, member) for member, (k, place) in enumerate(places) if k == s] for s in range(len(sources))]
    for name, numbers in layout.numbers.items():
        crc, width = 0, numbers * len(places)
        with (out / name).open("wb") as file:
            for position, length in layout.stretches(first, last, MOST_NUMBERS // width):
                frames = np.empty((length, len(places), numbers), np.float32)
                for source, taken in zip(sources, own, strict=True):
                    if taken:
                        there, here = zip(*taken, strict=True)
                        frames[:, here] = _read(source, name, position, length, numbers)[:, there]
                file.seek(4 * position * width)
                file.write(frames.tobytes())
                crc = zlib.crc32(frames.tobytes(), crc)
        flush(out / name)
        sums[name] = crc
    return {"first": first, "last": last, "crc32": sums}


def _check(source: Replayed, layout: Layout) -> None:
    """An error if the files are not what was written."""
    for name, numbers in layout.numbers.items():
        check_plain(source.folder / name)
        for chunk in source.chunks:
            crc = 0
            for position, length in layout.stretches(
                chunk["first"], chunk["last"], MOST_NUMBERS // (numbers * source.members)
            ):
                crc = zlib.crc32(_read(source, name, position, length, numbers).tobytes(), crc)
            if chunk["crc32"].get(name, crc) != crc:
                raise RunError(f"{source.folder / name} is damaged: it is not what was written")


def _read(source: Replayed, name: str, position: int, length: int, numbers: int) -> np.ndarray:
    path, width = source.folder / name, source.members * numbers
    frames = np.fromfile(path, np.float32, length * width, offset=4 * position * width)
    if len(frames) < length * width:
        raise RunError(f"{path} is too short: the run cannot be gone on with exactly")
    return frames.reshape(length, source.members, numbers)
