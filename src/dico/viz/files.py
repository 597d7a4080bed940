"""Where figures, videos and pages go."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dico._checks import check_choice
from dico._files import whole
from dico.runs import RunError

FORMATS = ("png", "svg", "pdf")
"""Of figures."""


@contextmanager
def output_file(target: Path) -> Iterator[Path]:
    """A scratch file that becomes ``target``, in a folder made for it if need be; an error says what to do."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as scratch:
            yield scratch
    except OSError as error:
        raise RunError(f"{target} cannot be written ({error}): choose another place") from error


def check_formats(formats: Sequence[str]) -> None:
    """Figures have known formats."""
    for name in formats:
        check_choice("format", name, FORMATS)


def check_page(path: Path) -> Path:
    """The path, if a page can be written there.

    >>> check_page(Path("report.txt"))
    Traceback (most recent call last):
    ValueError: the page's ending must be one of '.html', '.htm', got '.txt'...
    """
    check_choice("the page's ending", path.suffix, (".html", ".htm"))
    return check_place(path)


def check_place(target: Path) -> Path:
    """The path, if a file can be written there: known before anything else is done."""
    if str(target) == "-":
        raise RunError("- is no place for a file, and what is printed has other lines too: name a file")
    if target.is_dir():
        raise RunError(f"{target} cannot be written (it is a folder): choose another place")
    nearest = next(parent for parent in target.absolute().parents if parent.exists())
    if not nearest.is_dir():
        raise RunError(f"{target} cannot be written ({nearest} is a file): choose another place")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise RunError(f"{target} cannot be written ({nearest} is not yours to write in): choose another place")
    return target


def figures_beside(page: Path) -> Path:
    """Where the figures of a page go: two pages in one folder do not share theirs.

    >>> figures_beside(Path("runs/a/report.html")), figures_beside(Path("other.html"))
    (PosixPath('runs/a/figures'), PosixPath('other-figures'))
    """
    return page.with_name("figures" if page.name == "report.html" else f"{page.stem}-figures")
