"""Trainings on a full disk, two at once in one folder, and some whose terminal or reader goes away.

All end well, or in a line, and in the end come to the same.

They are started by the command line, as a user would.
"""

import os
import pty
import random
import resource
import select
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
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


def lost_output(place: Path, whole: dict[str, Undisturbed], rng: random.Random, counts: Counter) -> list[str]:
    """Let the terminal close, or the reader of a pipe leave, at some moment of the training."""

    def attempt(folder: Path, algorithm: str) -> list[End]:
        terminal = rng.random() < 0.5
        ours, theirs = pty.openpty() if terminal else os.pipe()
        given = words(folder, algorithm)

        def work() -> int:
            os.close(ours)
            if terminal:
                os.environ["TERM"] = "xterm"
                try:
                    os.login_tty(theirs)
                except OSError:  # it was closed before anything began
                    return 130
            with os.fdopen(1 if terminal else theirs, "w") as out, redirect_stdout(out), redirect_stderr(out):
                return command(given)

        child = Apart(work, place / "log")
        os.close(theirs)
        _read(ours, child.start + rng.uniform(0, whole[algorithm].seconds))
        os.close(ours)
        end = child.end()
        counts["terminals lost" if terminal else "readers lost"] += 1
        if terminal and end.status in (130, -signal.SIGHUP):  # with a checkpoint, or before anything was trained
            counts["terminals lost, which stopped a training"] += 1
            end = replace(end, status=0)
        return [end]

    return _disturbed(place, whole, rng, attempt)


def _read(source: int, until: float) -> None:
    """What is written, so that nobody waits."""
    with suppress(OSError):  # of a terminal whose only user has ended
        while (left := until - time.monotonic()) > 0 and (
            not select.select([source], [], [], left)[0] or os.read(source, 4096)
        ):
            pass


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
