"""Files that are written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dico.runs import RunError


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A scratch file of the same ending that becomes ``target`` if all goes well, and is gone otherwise."""
    scratch = target.with_name(f".part-{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
        scratch.replace(target)
    except OSError as error:
        raise RunError(f"{target} cannot be written ({error}): choose another place") from error
    finally:
        with suppress(OSError):
            scratch.unlink()
