"""Trainings on a disk that is full, and two at once in one folder: all end well, or in a line, and in the end the same.

They are started by the command line, as a user would.
"""

import random
import resource
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dico.commands import main as command
from fuzzing.apart import Apart, End, apart
from fuzzing.kills import ALGORITHMS, SMALL, Undisturbed, differs

LEAST, MOST = 4_000, 28_000
"""Bytes that a file may have on the full disk: metrics grow to 8,000, a checkpoint has 17,000, frames 26,000."""
TRIES = 3
"""On the full disk, or beside each other; then one is let finish alone."""


def words(folder: Path, algorithm: str) -> list[str]:
    """The command line that begins the training, or goes on with it."""
    if (folder / "config.json").exists():
        return ["resume", str(folder), "--device", "cpu"]
    found = ["train", "navigation", "--algorithm", algorithm, "--run", str(folder), "--device", "cpu",
             "--checkpoint-every", "2"]  # fmt: skip
    for name, value in SMALL.items():
        found += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else (value,))]
    return found


def full_disk(place: Path, whole: dict[str, Undisturbed], rng: random.Random, counts: Counter) -> list[str]:
    """Train where files cannot grow beyond some size, then where they can."""

    def attempt(folder: Path, algorithm: str) -> list[End]:
        most = rng.randrange(LEAST, MOST)

        def work() -> int:
            given = words(folder, algorithm)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            return command(given)

        end = apart(work, place / "log")
        counts["full disks"] += 1
        counts["full disks that stopped a training"] += end.status == 2
        return [end]

    return _disturbed(place, whole, rng, attempt)


def two_at_once(place: Path, whole: dict[str, Undisturbed], rng: random.Random, counts: Counter) -> list[str]:
    """Start two in the same folder, the second a moment later; sometimes the first is killed meanwhile."""

    def attempt(folder: Path, algorithm: str) -> list[End]:
        lasts = whole[algorithm].seconds
        first = Apart(lambda: command(words(folder, algorithm)), place / "log")
        kill = rng.uniform(0.1, lasts) if rng.random() < 0.5 else None
        second = Apart(lambda: command(words(folder, algorithm)), place / "other-log")
        ends = [first.end(kill), second.end()]
        counts["two at once"] += 1
        counts["two at once, of which one was refused"] += any(end.status == 2 for end in ends)
        counts["kills"] += ends[0].status == -9
        return ends if kill is None else ends[1:]

    return _disturbed(place, whole, rng, attempt)


def _disturbed(
    place: Path, whole: dict[str, Undisturbed], rng: random.Random, attempt: Callable[[Path, str], list[End]]
) -> list[str]:
    """Some attempts, of which each must end well or in a line; then the training must come to what it should."""
    algorithm, folder = rng.choice(ALGORITHMS), place / "disturbed"
    shutil.rmtree(folder, ignore_errors=True)
    faults = []
    for _ in range(rng.randrange(1, TRIES + 1)):
        faults += [f"{end.fault}: {end.told[-1500:]}" for end in attempt(folder, algorithm) if end.fault]
    last = apart(lambda: command(words(folder, algorithm)), place / "log")
    if last.status:
        return [*faults, f"not to be gone on with (status {last.status}): {last.told[-1500:]}"]
    difference = differs(folder, whole[algorithm])
    return [*faults, f"{difference} than undisturbed ({algorithm})"] if difference else faults
