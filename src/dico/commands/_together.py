"""Trainings side by side, in processes of their own: each has its log, and all of them stop together."""

import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from dico._processes import python, same_dico
from dico.commands import say
from dico.commands._progress import SECONDS_BETWEEN_LINES
from dico.experiments import Training

SECONDS_BETWEEN_LOOKS = 1.0
STOPPED = (130, -signal.SIGINT)
"""Exit statuses of a training that was asked to stop: in its own way, or before it had one."""


@dataclass
class Process:
    """A training in a process of its own, and what it has said last."""

    training: Training
    log: Path
    popen: subprocess.Popen[bytes]
    begins: int
    """Where this session begins in the log, which may hold earlier ones."""
    told: str = ""
    when: float = 0.0

    @classmethod
    def start(cls, training: Training, words: Sequence[str]) -> "Process":
        """Start it, with its output in a log beside the run folder.

        In a session of its own: a terminal's Ctrl-C does not reach it, and :func:`run_together` passes it on.
        """
        log = training.folder.with_name(f"{training.folder.name}.log")
        log.parent.mkdir(parents=True, exist_ok=True)
        command = python("dico", "reproduce", training.experiment.name, "--preset", training.preset)
        with log.open("ab") as output:
            begins = output.tell()
            popen = subprocess.Popen(
                [*command, *words], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True, env=same_dico(),
            )  # fmt: skip
        return cls(training, log, popen, begins)

    @property
    def running(self) -> bool:
        """Whether it still is."""
        return self.popen.poll() is None

    def said(self) -> str:
        """The last line of its log, without what it says of each level."""
        with self.log.open("rb") as file:
            file.seek(self.begins)
            text = file.read().decode(errors="replace")
        lines = [line for line in text.splitlines() if re.search(r"\w", line)]  # not the frame of a table
        return lines[-1].partition(" | ")[0] if lines else ""

    def news(self) -> str:
        """A line if it has said something new, at most every few seconds."""
        said = self.said()
        if said == self.told or time.monotonic() - self.when < SECONDS_BETWEEN_LINES:
            return ""
        self.told, self.when = said, time.monotonic()
        return f"{self.training.name}: {said}"

    def outcome(self) -> str:
        """How it ended."""
        name, status = self.training.name, self.popen.wait()
        if status == 0:
            return f"{name} is finished; results in {self.training.folder}"
        if status in STOPPED:
            return "" if self.said() == self.told else f"{name}: {self.said() or 'stopped'}"
        return f"{name} failed with status {status}: {self.said()}; its log is {self.log}"


def run_together(trainings: Sequence[Training], words: Sequence[str], console: Console) -> int:
    """Train each in its process to the end; the exit status, 0 if all have come to it.

    One that fails leaves the others alone. Ctrl-C stops them all, each with a checkpoint; again, at once.
    """
    processes: list[Process] = []
    try:
        for training in trainings:
            processes.append(Process.start(training, words))
            say(f"{training.name}: {training.experiment.purpose} Its log is {processes[-1].log}", console)
        _watch(processes, console)
    except KeyboardInterrupt:
        say("stopping all after their iterations, with checkpoints; press Ctrl-C again to stop at once", console)
        _stop(processes, console)
        return 130
    finally:  # none is left behind, whatever happens here
        for process in processes:
            if process.running:
                process.popen.kill()
            process.popen.wait()
    failed = [process for process in processes if process.popen.returncode]
    for process in failed:
        say(process.outcome(), Console(stderr=True))
    return 1 if failed else 0


def _watch(processes: Sequence[Process], console: Console) -> None:
    """Say how far they are, until all have ended."""
    left = list(processes)
    while left:
        for process in list(left):
            if process.running:
                line = process.news()
            else:
                line = process.outcome()
                left.remove(process)
            if line:
                say(line, console)
        if left:
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _stop(processes: Sequence[Process], console: Console) -> None:
    """Ask each to stop, and wait for it; a second Ctrl-C stops them at once, a third kills them."""
    for _ in range(2):
        for process in processes:
            if process.running:
                process.popen.send_signal(signal.SIGINT)
        try:
            _watch(processes, console)
            return
        except KeyboardInterrupt:
            continue
