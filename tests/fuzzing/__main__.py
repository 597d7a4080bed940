"""Try to lose or falsify something, by kills, full disks, lost terminals, spoilt folders, hostile words and calls.

usage: python -m fuzzing MINUTES [--seed N]      (from tests/, or by `make fuzz MINUTES=60`)
"""

import argparse
import importlib
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from dico.commands import COMMANDS
from dico.commands import main as command
from fuzzing import disturb, folders, kills, pieced, words
from fuzzing.apart import apart

SHARES = {"kills": 0.25, "full_disk": 0.05, "two_at_once": 0.1, "lost_output": 0.05, "folders": 0.25, "lines": 0.2,
          "calls": 0.1}  # fmt: skip
"""Of the time."""
NEEDED = ("matplotlib.figure", "dico.viz.report", "dico.viz.maps", "dico.viz.animations", "dico.runs.summary")
"""What commands import late, imported once and not in every process."""
PIECED, IN_PIECES = "-in-pieces", 0.3
"""What runs in pieces are called, and how often one of them is spoilt."""
ROUNDING = 1e-4
"""By how much members that were trained in pieces may differ from those of one population."""
HOSTILE = ("spoilt folders", "command lines", "calls")
"""What counts as hostile input."""
TOLD = ("was changed since", "left out", "is shorter than", "is lost", "are lost")
"""What is said of metrics that are not what was written."""


class Fuzz:
    """Everything that was tried, and what was wrong."""

    def __init__(self, place: Path, seed: int):
        self.place, self.rng = place, random.Random(seed)
        self.counts: Counter = Counter()
        self.faults: list[str] = []
        for name in (*(f"dico.commands.{name}" for name in COMMANDS), *NEEDED):
            importlib.import_module(name)
        self.whole = kills.undisturbed(place)
        for algorithm in kills.ALGORITHMS:
            end = apart(lambda: pieced.cut(place / algorithm, place / f"{algorithm}{PIECED}"), place / "log")  # noqa: B023
            if end.status:
                raise RuntimeError(end.told)

    def kills(self) -> None:
        """One training, killed again and again."""
        self._note(kills.kill_one(self.place, self.whole, self.rng, self.counts), "killed")

    def full_disk(self) -> None:
        """One training where files cannot grow."""
        self._note(disturb.full_disk(self.place, self.whole, self.rng, self.counts), "on a full disk")

    def two_at_once(self) -> None:
        """One folder, two trainings."""
        self._note(disturb.two_at_once(self.place, self.whole, self.rng, self.counts), "two at once")

    def lost_output(self) -> None:
        """One training whose terminal or reader goes away."""
        self._note(disturb.lost_output(self.place, self.whole, self.rng, self.counts), "output lost")

    def folders(self) -> None:
        """One folder, of a whole run or of one in pieces, spoilt once or twice, opened by one command."""
        algorithm, pieced = self.rng.choice(kills.ALGORITHMS), self.rng.random() < IN_PIECES
        folder = self.place / "spoilt"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.place / f"{algorithm}{PIECED if pieced else ''}", folder)
        done = [folders.spoil(folder, self.rng) for _ in range(self.rng.choice((1, 1, 2)))]
        name, options, _ = self.rng.choices(folders.COMMANDS, [often for *_, often in folders.COMMANDS])[0]
        given = [name, str(folder), *options.format(self.place / "out").split()]
        end = apart(lambda: command(given), self.place / "log")
        self.counts["spoilt folders"] += 1
        self.counts["spoilt folders in pieces"] += pieced
        self.counts[f"dico {name}: status {end.status}"] += 1
        about = f"dico {name}{' in pieces' if pieced else ''} after {'; '.join(done)}"
        self._note([end.fault] if end.fault else [], about, end.told)
        if name == "resume" and end.status == 0:
            self._compare(folder, algorithm, about, " ".join(end.told.split()))

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

    def progress(self, spent: float, minutes: float) -> str:
        """How far it has come, in one line."""
        tried = f"{self.counts['kills']:,} kills, {self.hostile:,} hostile inputs, {len(self.faults)} faults"
        return f"{spent:.0f} of {minutes:g} minutes: {tried}"

    @property
    def hostile(self) -> int:
        """Spoilt folders, lines and calls so far."""
        return sum(self.counts[name] for name in HOSTILE)

    def _compare(self, folder: Path, algorithm: str, about: str, told: str) -> None:
        """A resume that says all is well must have come to the same; of other numbers it must have told."""
        again = "goes on from" in told  # a piece by itself, whose numbers are rounded otherwise
        difference = kills.differs(folder, self.whole[algorithm], ROUNDING if again else 0.0)
        is_told = difference == "other numbers" and any(text in told for text in TOLD)
        self._note(["silent difference"] if difference and not is_told else [], about, told)

    def _note(self, faults: list[str], about: str, told: str = "") -> None:
        for fault in faults:
            self.faults.append(f"{fault}: {about}\n{told[-1500:]}")
            print(self.faults[-1], file=sys.stderr, flush=True)  # noqa: T201
            self.counts[f"FAULT {fault.split(':')[0].split('(')[0].strip()}"] += 1


def fuzz(minutes: float, seed: int, place: Path) -> Fuzz:
    """Everything in turn, each kind once and then for its share of the time; an error of the fuzzer is a fault too."""
    run, spent = Fuzz(place, seed), dict.fromkeys(SHARES, 0.0)
    begun = told = time.monotonic()
    while (start := time.monotonic()) < begun + 60 * minutes or not all(spent.values()):
        if start > told + 60:
            told = start
            print(run.progress((start - begun) / 60, minutes), file=sys.stderr, flush=True)  # noqa: T201
        kind = min(SHARES, key=lambda kind: spent[kind] / SHARES[kind])
        try:
            getattr(run, kind)()
        except Exception:
            run._note(["error of the fuzzer"], kind, traceback.format_exc())
        spent[kind] += time.monotonic() - start
    run.counts["hostile inputs (folders, lines and calls)"] = run.hostile
    return run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run = fuzz(chosen.minutes, chosen.seed, Path(place))
    print(f"seed {chosen.seed}, {chosen.minutes:g} minutes")  # noqa: T201
    for name, count in sorted(run.counts.items()):
        print(f"{count:8,}  {name}")  # noqa: T201
    print(f"{len(run.faults):8,}  faults")  # noqa: T201
    return int(bool(run.faults))


if __name__ == "__main__":
    raise SystemExit(main())
