"""One training at a time: a run folder is held while it is written."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dico.runs import RunError
from dico.runs.reading import check_own

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

LOCK = ".lock"
SECONDS_BETWEEN_TRIES = 0.1
MOMENT = 0.5
"""Seconds that a process may seem to hold a folder after it was killed: a program that it was about to start, as to ask
for the commit, has the lock too until it begins."""


@contextmanager
def alone(folder: Path, patience: float = MOMENT) -> Iterator[None]:
    """Make the run folder, if it is not there, and hold it: two trainings in one would write over each other.

    Who has ``patience`` waits for so many seconds if another process holds it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_own(folder / LOCK)
        file = (folder / LOCK).open("w")
    except OSError as error:
        raise RunError(f"{folder} cannot be written ({error}): choose another folder") from error
    until = time.monotonic() + patience
    with file as lock:
        while fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise RunError(f"{folder} is being trained by another process: wait for it, or stop it") from None
                time.sleep(SECONDS_BETWEEN_TRIES)
            except OSError as error:  # a file system without locks
                warnings.warn(
                    f"{folder} cannot be locked ({error.strerror}): see to it that no other training writes there",
                    stacklevel=3,
                )
                break
        yield


def is_held(folder: Path) -> bool:
    """Whether a process holds the run folder; not known, and so not, where there are no locks."""
    if fcntl is None or not (folder / LOCK).is_file():
        return False
    with (folder / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False
