"""Where figures, films and pages go."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dico import _files
from dico.runs import RunError

FORMATS = ("png", "svg", "pdf")
"""Of figures."""


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A scratch file that becomes ``target``, in a folder made for it if need be; an error says what to do."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _files.whole(target) as scratch:
            yield scratch
    except OSError as error:
        raise RunError(f"{target} cannot be written ({error}): choose another place") from error
