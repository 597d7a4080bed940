"""How a training is asked to end: by a signal, or by something that it looks at after each iteration."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dico.training.blocks import AnyPopulation

HANGUP = getattr(signal, "SIGHUP", None)
"""A terminal that closes; some systems have none."""
ENDING = [signal.SIGINT, signal.SIGTERM, *([] if HANGUP is None else [HANGUP])]
"""Requests to end: by Ctrl-C, by a scheduler or ``kill``, by a terminal that closes."""
AT_ONCE = 0.3
"""Seconds within which two requests are one."""


class Interrupted(Exception):  # noqa: N818
    """The user stopped the training; a checkpoint is written."""


@contextmanager
def stopping(say: Callable[[str], None], left: Callable[[], float] = lambda: 0.0) -> Iterator[threading.Event]:
    """Ctrl-C, or another request to end: stop after this iteration. Then Ctrl-C: at once, the last checkpoint intact.

    What comes twice within a moment, to a process and to its group, is one request; and only Ctrl-C asks for more than
    a checkpoint: SIGTERM may come from a scheduler and from whoever started the training, one after the other. A
    terminal that closes asks for nothing where ``nohup`` said so. ``left`` tells how many seconds the iteration will
    take yet, 0 if that is not known.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    since = math.inf

    def request(signum: int, frame: object) -> None:  # noqa: ARG001
        nonlocal since
        if stop.is_set() and time.monotonic() - since > AT_ONCE and signum == signal.SIGINT:
            raise KeyboardInterrupt
        if not stop.is_set():
            since = time.monotonic()
            stop.set()
            seconds = left()
            more = f" (about {duration(seconds)} more)" if seconds >= 1 else ""
            say(f"stopping after this iteration{more}, with a checkpoint; press Ctrl-C again to stop at once")

    nohup = {HANGUP} if HANGUP is not None and signal.getsignal(HANGUP) is signal.SIG_IGN else set()
    before = {number: signal.signal(number, request) for number in ENDING if number not in nohup}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def duration(seconds: float) -> str:
    """A time in words, as precise as an estimate is.

    >>> duration(50), duration(200), duration(9000)
    ('50 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class StopWhen:
    """An observer that stops the training, with a checkpoint, once something is so after an iteration.

    Where whoever started it is no more, for example: ``StopWhen(lambda: os.getppid() != parent)``.
    """

    def __init__(self, is_so: Callable[[], bool]):
        self.is_so = is_so

    def begin(self, population: AnyPopulation, folder: Path) -> None:
        """Nothing yet."""

    def say(self, message: str) -> None:
        """Others say it."""

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:  # noqa: ARG002
        """As a scheduler does it."""
        if self.is_so():
            signal.raise_signal(signal.SIGTERM)

    def end(self) -> None:
        """Nothing to tidy up."""
