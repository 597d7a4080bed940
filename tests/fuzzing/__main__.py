"""Try to lose or falsify something: kills, spoilt folders, hostile command lines and calls; prints what was found.

usage: python -m fuzzing MINUTES [--seed N]      (from tests/, or by `make fuzz MINUTES=60`)
"""

import argparse
import importlib
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from dico.commands import COMMANDS
from dico.commands import main as command
from fuzzing import folders, kills, words
from fuzzing.apart import apart

SHARES = {"kills": 0.6, "folders": 0.2, "lines": 0.08, "calls": 0.12}
"""Of the time."""


class Fuzz:
    """Everything that was tried, and what was wrong."""

    def __init__(self, place: Path, seed: int):
        self.place, self.rng = place, random.Random(seed)
        self.counts: Counter = Counter()
        self.faults: list[str] = []
        for name in COMMANDS:  # once, and not in every process
            importlib.import_module(f"dico.commands.{name}")
        self.whole = kills.undisturbed(place)

    def kills(self) -> None:
        """One training, killed again and again."""
        self._note(kills.kill_one(self.place, self.whole, self.rng, self.counts), "killed")

    def folders(self) -> None:
        """One folder, spoilt once or twice, opened by one command."""
        algorithm = self.rng.choice(kills.ALGORITHMS)
        folder = self.place / "spoilt"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.place / algorithm, folder)
        done = [folders.spoil(folder, self.rng) for _ in range(self.rng.choice((1, 1, 2)))]
        name = self.rng.choices(list(folders.COMMANDS), folders.OFTEN)[0]
        options = folders.COMMANDS[name].format(self.place / "out").split()
        end = apart(lambda: command([name, str(folder), *options]), self.place / "log")
        self.counts["spoilt folders"] += 1
        self.counts[f"dico {name}: status {end.status}"] += 1
        about = f"dico {name} after {'; '.join(done)}"
        self._note([end.fault] if end.fault else [], about, end.told)
        if name == "resume" and end.status == 0 and not any("metrics.jsonl" in each for each in done):
            self._compare(folder, algorithm, about)

    def lines(self) -> None:
        """One command line."""
        given = words.line(self.rng)
        end = apart(lambda: command(given), self.place / "log")
        self.counts["command lines"] += 1
        self._note([end.fault] if end.fault else [], f"dico {' '.join(map(repr, given))}", end.told)

    def calls(self) -> None:
        """One call from Python."""
        work = words.call(self.rng)
        end = apart(work, self.place / "log")
        self.counts["calls"] += 1
        self._note([end.fault] if end.fault else [], str(work.__doc__), end.told)

    def _compare(self, folder: Path, algorithm: str, about: str) -> None:
        """A resume that says all is well must have come to the same."""
        rows, tensors = kills.result(folder)
        expected = self.whole[algorithm]
        same = rows == expected.rows and all(v.equal(tensors[name]) for name, v in expected.tensors.items())
        self._note([] if same else ["silent difference"], about)

    def _note(self, faults: list[str], about: str, told: str = "") -> None:
        for fault in faults:
            self.faults.append(f"{fault}: {about}\n{told[-1500:]}")
            self.counts[f"FAULT {fault.split(':')[0].split('(')[0].strip()}"] += 1


def fuzz(minutes: float, seed: int, place: Path) -> Fuzz:
    """Everything, each kind for its share of the time."""
    run = Fuzz(place, seed)
    for kind, share in SHARES.items():
        end = time.monotonic() + 60 * minutes * share
        while time.monotonic() < end:
            getattr(run, kind)()
    return run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run = fuzz(chosen.minutes, chosen.seed, Path(place))
    for fault in run.faults:
        print(fault, file=sys.stderr)  # noqa: T201
    print(f"seed {chosen.seed}, {chosen.minutes:g} minutes")  # noqa: T201
    for name, count in sorted(run.counts.items()):
        print(f"{count:8,}  {name}")  # noqa: T201
    print(f"{len(run.faults):8,}  faults")  # noqa: T201
    return int(bool(run.faults))


if __name__ == "__main__":
    raise SystemExit(main())
