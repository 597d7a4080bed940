"""What is written: files that are whole or not there, JSON, and rows of numbers.

It stands outside :mod:`dico.runs` because adapters, which import the method alone, write run folders too.
"""

import hashlib
import json
import math
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import Any

FORMAT = 2
"""Of what describes a run, ``config.json`` or BenchMARL's ``dico.json``; a reader refuses a newer one."""


def found_below(folder: Path, depth: int, name: str) -> list[Path]:
    """Files of that name so many folders below; what cannot be looked into, or goes away meanwhile, is passed over."""
    found = glob("*/" * depth + name, root_dir=folder, include_hidden=True)  # noqa: PTH207 - that of Path raises
    return sorted(Path(folder, path) for path in found)


def has_diverged(row: Mapping[str, Any]) -> bool:
    """Whether any number in a row of metrics is not finite.

    >>> has_diverged({"snd": 0.3, "distances": [0.3, math.nan]})
    True
    """
    values = (number for value in row.values() for number in (value if isinstance(value, list) else [value]))
    return not all(math.isfinite(number) for number in values if isinstance(number, float))


def plain(value: Any) -> Any:
    """A value as JSON has it: what is not finite becomes null.

    >>> plain(math.inf), plain({"memory": [0.5, math.nan]})
    (None, {'memory': [0.5, None]})
    """
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A scratch file of the same ending that becomes ``path`` if all goes well, and is gone otherwise."""
    scratch = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        with suppress(OSError):
            scratch.unlink()


def remove(path: Path) -> None:
    """Whatever is there, or nothing: a folder, a file, a link, or a pipe that a removal of folders would wait for."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write a file whole, or not at all."""
    with whole(path) as scratch, scratch.open("w") as file:
        json.dump(value, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def flush(path: Path) -> None:
    """See to it that a file's bytes, or a folder's list of names, are on the disk and not on their way to it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some file systems keep no folder open
            raise
    finally:
        os.close(handle)


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def crc32(path: Path, until: int) -> int:
    """CRC-32 of the first bytes of a file; of as many as there are, if it is shorter."""
    found = 0
    with path.open("rb") as file:
        while until > 0 and (part := file.read(min(until, 2**20))):
            found, until = zlib.crc32(part, found), until - len(part)
    return found


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with a checksum of itself; :func:`is_sealed` sees whether it still is what it was.

    >>> is_sealed(sealed({"frames": 10})), is_sealed(sealed({"frames": 10}) | {"frames": 11}), is_sealed({"frames": 10})
    (True, False, False)
    """
    text = json.dumps(dict(record), sort_keys=True)
    return {**record, "seal": hashlib.sha256(text.encode()).hexdigest()}


def is_sealed(record: Mapping[str, Any]) -> bool:
    """Whether a record has the checksum of what it says."""
    return sealed({name: value for name, value in record.items() if name != "seal"}) == record
