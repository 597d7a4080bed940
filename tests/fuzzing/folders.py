"""Run folders spoilt in every way that can be thought of, and every command that opens them."""

import copy
import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

COMMANDS = (
    ("resume", "", 5), ("eval", "--episodes 2 --json {}.json", 4), ("claims", "", 3), ("list", "", 3),
    ("export", "--to {}.json", 3), ("report", "--no-figures --out {}.html", 0.3), ("map", "--out {}.png", 0.3),
    ("report", "--out {}.html", 0.05), ("video", "--out {}.gif", 0.05),
)  # fmt: skip
"""Those that open a run folder, with their options and how often each is tried: figures take longer."""
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**23, -(10**400), 1.5, 1e308, -0.0, float("nan"), float("inf"), "",
    "[/red]", "free", "0.3", "-1", "1e400", "../../etc/passwd", "\x00", "💥" * 50, "a" * 5000, [], {}, [[]], [None],
    ["0.3"], {"a": 1}, [1, 2, 3], [[[[[[1]]]]]], "<script>alert(1)</script>", "__import__('os').system('true')",
    "os:system", "vmas:nothing", "navigation",
)  # fmt: skip
BYTES = (
    b"",
    b"\x00" * 64,
    b"{",
    b"null",
    b"[]",
    b"\xff\xfe\x00",
    b"[" * 50_000,
    b"\x80\x04cposix\nsystem\n(S'true'\ntR.",
)


LEFT = (
    ".lock", ".checkpoint.part", ".checkpoint.before", ".replay.part", ".pieces.joined", "pieces", "replay",
    "checkpoint-320", "driver.json", "000.log",
)  # fmt: skip
"""What a training leaves, or a kill of it, and makes or removes again."""


def spoil(folder: Path, rng: random.Random) -> str:
    """Spoil something in a run folder; what was done, in words."""
    if rng.random() < 0.1:
        homes = [path.parent for path in folder.rglob("config.json")] or [folder]  # its own and those of its pieces
        return _plant(rng.choice(homes) / rng.choice(LEFT), rng)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    path = rng.choice(files)
    try:
        if path.suffix in (".json", ".jsonl") and rng.random() < 0.6:
            return _spoil_json(path, rng)
        if path.suffix == ".safetensors" and rng.random() < 0.5:
            return _spoil_header(path, rng)
        way = rng.choice(WAYS)
        way(path, rng)
    except (OSError, RecursionError, AttributeError) as error:  # of what it has spoilt before: unreadable, or no JSON
        return f"nothing of {path.relative_to(folder)}, which was spoilt already ({type(error).__name__})"
    return f"{way.__name__} {path.relative_to(folder)}"


def cut(path: Path, rng: random.Random) -> None:
    """Lose an end."""
    os.truncate(path, rng.randrange(path.stat().st_size + 1))


def flip(path: Path, rng: random.Random) -> None:
    """Flip a bit."""
    data = bytearray(path.read_bytes())
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def remove(path: Path, rng: random.Random) -> None:
    """Lose a file, or the folder that it is in."""
    if rng.random() < 0.3 and path.parent.name.startswith(("checkpoint", "replay")):
        shutil.rmtree(path.parent)
    else:
        path.unlink()


def fill(path: Path, rng: random.Random) -> None:
    """Something else in its place."""
    path.write_bytes(rng.choice(BYTES))


def folder_instead(path: Path, rng: random.Random) -> None:
    """A folder where a file should be."""
    path.unlink()
    path.mkdir()


def pipe_instead(path: Path, rng: random.Random) -> None:
    """A pipe that nobody writes to."""
    path.unlink()
    os.mkfifo(path)


def loop_instead(path: Path, rng: random.Random) -> None:
    """A link to itself."""
    path.unlink()
    path.symlink_to(path.name)


def device_instead(path: Path, rng: random.Random) -> None:
    """A file that never ends."""
    path.unlink()
    path.symlink_to("/dev/zero")


def unreadable(path: Path, rng: random.Random) -> None:
    """A file that the disk does not give: reading it is an error of input and output, for root too."""
    path.unlink()
    path.symlink_to("/proc/self/mem")


def rename(path: Path, rng: random.Random) -> None:
    """A checkpoint under another number, or a second one."""
    parent = path.parent
    if parent.name.startswith("checkpoint-"):
        other = parent.with_name(f"checkpoint-{rng.choice(['1', '007', '99999999', '9' * 30, '²', 'x'])}")
        if not other.exists():
            (shutil.move if rng.random() < 0.5 else shutil.copytree)(parent, other)


WAYS: tuple[Callable[[Path, random.Random], None], ...] = (
    cut, flip, remove, fill, folder_instead, pipe_instead, loop_instead, device_instead, unreadable, rename,
)  # fmt: skip


def _plant(path: Path, rng: random.Random) -> str:
    """Something else where a training would leave what is its own."""
    way = rng.choice(("pipe", "link", "folder", "file"))
    if path.is_dir() and not path.is_symlink():
        return f"nothing, for {path.name} is a folder"
    path.unlink(missing_ok=True)
    if way == "pipe":
        os.mkfifo(path)
    elif way == "link":
        path.symlink_to("config.json")
    elif way == "folder":
        path.mkdir()
    else:
        path.write_bytes(rng.choice(BYTES))
    return f"a {way} as {path.name}"


def _spoil_json(path: Path, rng: random.Random) -> str:
    """A hostile value somewhere, a key less, or one more."""
    try:
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        number = rng.randrange(len(lines))
        value = json.loads(lines[number])
    except (ValueError, OSError):
        fill(path, rng)
        return f"fill {path.name}"
    where = rng.choice(list(_places(value)))
    hostile = copy.deepcopy(rng.choice(HOSTILE))
    holder: Any = value
    for key in where[:-1]:
        holder = holder[key]
    if not where:
        value = hostile
    elif rng.random() < 0.2 and isinstance(holder, dict):
        del holder[where[-1]]
    else:
        holder[where[-1]] = hostile
    if isinstance(value, dict) and rng.random() < 0.7:
        value.pop("seal", None)  # as one would who meant it
    lines[number] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n")
    return f"{path.name}: {'.'.join(map(str, where))} = {str(hostile)[:40]!r}"


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] + [place for key, each in inner for place in _places(each, (*at, key))]


def _spoil_header(path: Path, rng: random.Random) -> str:
    """Other names, shapes or kinds of tensors, the checksums taken away as one would who meant it."""
    data = path.read_bytes()
    try:
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
    except (struct.error, ValueError):
        return f"{path.parent.name}: nothing, for it was spoilt already"
    name = rng.choice([name for name in header if name != "__metadata__"])
    way = rng.choice(("drop", "shape", "dtype", "rename", "huge"))
    if way == "drop":
        del header[name]
    elif way == "shape":
        header[name]["shape"] = [*header[name]["shape"][::-1], 1]
    elif way == "dtype":
        header[name]["dtype"] = rng.choice(["I32", "F16", "BOOL", "X"])
    elif way == "rename":
        header[rng.choice(["x", "a.policy.b", "../x", ""])] = header.pop(name)
    else:
        header[name]["shape"] = [2**40, 2**40]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    meta = path.with_name("meta.json")
    if meta.is_file() and rng.random() < 0.7:
        with suppress(ValueError):  # it may be spoilt already
            told = json.loads(meta.read_text())
            meta.write_text(json.dumps({key: value for key, value in told.items() if key not in ("seal", "checksums")}))
    return f"{path.parent.name}: {way} {name}"
