"""Train for long with a checkpoint every few seconds: do memory, folder and open files stay what they are?

usage: python -m fuzzing.soak MINUTES [--algorithm maddpg]      (from tests/, or by `make soak MINUTES=60`)
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dico
from dico.experiments import preset
from dico.training.session import Interrupted

ALLOWED = {"memory (MB)": 1.05, "folder (MB)": 1.05, "open files": 1.0}
"""How much the mean of the last fifth of the time may be of that of the second: in the first, buffers fill up."""


@dataclass(frozen=True)
class Sample:
    """What the process and its folder hold at a time."""

    seconds: float
    iteration: int
    values: dict[str, float]


class Watch:
    """Looks once a second, and ends the training when the time is over."""

    def __init__(self, minutes: float):
        self.seconds, self.start, self.last = 60 * minutes, time.monotonic(), 0.0
        self.samples: list[Sample] = []

    def begin(self, population: Any, folder: Path) -> None:
        """Know what to look at."""
        self.population, self.folder = population, folder

    def say(self, message: str) -> None:
        """Nobody listens."""

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """Look."""
        now = time.monotonic() - self.start
        if now - self.last >= 1:
            self.last = now
            self.samples.append(Sample(now, self.population.iteration, held(self.folder)))
        if now >= self.seconds:
            os.kill(os.getpid(), signal.SIGTERM)  # as a scheduler does

    def end(self) -> None:
        """Nothing to tidy up."""


def held(folder: Path) -> dict[str, float]:
    """Resident memory, the folder without its growing metrics, and open files."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "metrics.jsonl"]
    size = sum(path.stat().st_blocks * 512 for path in files if path.exists())
    return {
        "memory (MB)": pages * os.sysconf("SC_PAGESIZE") / 1e6,
        "folder (MB)": size / 1e6,
        "open files": float(sum(1 for _ in Path("/proc/self/fd").iterdir())),
    }


def soak(minutes: float, algorithm: str, folder: Path) -> list[Sample]:
    """Train a small population for so long, a checkpoint after every iteration, which takes some seconds."""
    task = "dispersion" if algorithm in ("maddpg", "iddpg") else "navigation"
    config = preset("quick", task, algorithm=algorithm, seeds=2, snd=("0.3", "1", "free"), updates=20, frames=10**9)
    watch = Watch(minutes)
    try:
        dico.train(config, folder, observers=[watch], device="cpu", checkpoint_every=1)
    except Interrupted:
        return watch.samples
    raise RuntimeError("the training ended before its time")


def growth(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """The means in the second fifth of the time, and in the last."""
    fifth = len(samples) // 5
    if not fifth:
        raise RuntimeError(f"{len(samples)} iterations are too few to tell: give it more minutes")
    early, late = samples[fifth : 2 * fifth], samples[-fifth:]
    return {name: (_mean(early, name), _mean(late, name)) for name in ALLOWED}


def _mean(samples: Sequence[Sample], name: str) -> float:
    return sum(sample.values[name] for sample in samples) / len(samples)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--algorithm", default="maddpg")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        samples = soak(chosen.minutes, chosen.algorithm, Path(place) / "run")
    print(f"{chosen.algorithm}: {chosen.minutes:g} minutes, {samples[-1].iteration:,} checkpoints")  # noqa: T201
    grown = []
    for name, (early, late) in growth(samples).items():
        print(f"{early:10,.1f} to {late:10,.1f}  {name}")  # noqa: T201
        grown += [name] if late > ALLOWED[name] * early else []
    print(f"grew: {', '.join(grown) or 'nothing'}")  # noqa: T201
    return int(bool(grown))


if __name__ == "__main__":
    raise SystemExit(main())
