"""What is written where nobody may be reading any more: a pipe whose reader has left, a terminal that has hung up."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console

UNWRITABLE = (OSError, RuntimeError)
"""What a write ends in that cannot be done: the second from within a signal, during another write."""


class Dropping:
    """Standard output or error, without what cannot be written: that never ends what else is done."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """All of it, or not."""
        with suppress(*UNWRITABLE):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """What is buffered."""
        with suppress(*UNWRITABLE):
            self._stream.flush()


class Output(Console):
    """Standard output of which a reader may leave: whoever prints is told by an error, and nothing is closed here."""

    def on_broken_pipe(self) -> None:
        """Where rich would end the process by itself."""
        raise BrokenPipeError


@contextmanager
def dropping(*, also_output: bool) -> Iterator[None]:
    """Within, errors and warnings that cannot be written are dropped, and standard output too if so wanted.

    Nor does Python complain at its end of what it could not write.
    """
    before = sys.stdout, sys.stderr
    wrapped: list[Any] = [None if stream is None else Dropping(stream) for stream in before]
    sys.stderr = wrapped[1]
    if also_output:
        sys.stdout = wrapped[0]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in filter(None, before):
            try:
                stream.flush()
            except UNWRITABLE:
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
