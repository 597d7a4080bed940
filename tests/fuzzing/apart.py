"""Work in a process of its own, which may be killed, hang, or ask for all memory, and tells how it ended.

Processes are forked from one that has imported everything and computed nothing, so that a thousand take minutes.
"""

import io
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path

import torch

LONGEST = 60.0
"""Seconds after which a process is said to hang."""
MEMORY = 8 * 2**30
"""Bytes that it may ask for."""


@dataclass(frozen=True)
class End:
    """How a process ended."""

    status: int
    """As the shell has it; negative is the signal that killed it."""
    told: str
    """What it wrote."""
    seconds: float

    @property
    def fault(self) -> str:
        """What is wrong with that: a traceback, a crash or a hang; nothing if it ended well, or with one clear line."""
        if "Traceback" in self.told:
            return "traceback"
        if self.seconds >= LONGEST:
            return "hang"
        if self.status not in (0, 2):
            return f"status {self.status}"
        if self.status == 2 and not self.told.strip():
            return "status 2 without a message"
        return ""


class Apart:
    """Work in a forked process, which has begun; what it writes goes to a file."""

    def __init__(self, work: Callable[[], int], log: Path):
        self.log, self.start = log, time.monotonic()
        self.child = os.fork()
        if not self.child:
            _run(work, log)

    def end(self, kill_after: float | None = None) -> End:
        """Wait for its end; it is killed so many seconds after its start."""
        limit, status = LONGEST if kill_after is None else kill_after, None
        while time.monotonic() - self.start < limit:
            done, code = os.waitpid(self.child, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(code)
                break
            time.sleep(0.002)
        if status is None:
            os.kill(self.child, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        told = self.log.read_text(errors="replace") if self.log.exists() else ""
        return End(status, told, time.monotonic() - self.start)


def apart(work: Callable[[], int], log: Path, *, kill_after: float | None = None) -> End:
    """Do work in a process of its own, killed after so many seconds."""
    return Apart(work, log).end(kill_after)


def _run(work: Callable[[], int], log: Path) -> None:
    """The forked process: it never returns."""
    status = 70
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch.set_num_threads(1)
    with log.open("w") as file, suppress(BaseException):
        out = io.TextIOWrapper(file.buffer, line_buffering=True)
        try:
            with redirect_stdout(out), redirect_stderr(out):
                status = work()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 2
        except BaseException:  # which a user would see as a traceback
            traceback.print_exc(file=out)
            status = 1
        out.flush()
    sys.stdout = sys.stderr = None
    os._exit(status)
