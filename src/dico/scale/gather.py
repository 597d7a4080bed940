"""Members of some runs as one run: pieces are joined, and a piece is cut, by the same few steps.

Members do not depend on each other, so a run of some of them is a slice of the whole: every tensor of a checkpoint has
a dimension of members, but for those that all have in common, which must then be the same in all. What is written is
what one process would have written.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from dico._files import crc32, flush, remove
from dico.runs import Checkpoint, RunError
from dico.runs.reading import check_plain, warn
from dico.runs.schema import STATE
from dico.scale.gather_replay import Layout, Replayed, gather_replay
from dico.scale.gather_rows import Places, gather_rows
from dico.schedules import is_seeking
from dico.training.blocks import is_common
from dico.training.checkpoint import KEPT, newest_whole, write_checkpoint
from dico.training.config import Config
from dico.training.memory import shapes_of
from dico.training.options import SessionOptions

DTYPES = {
    torch.int64: "I64", torch.float64: "F64", torch.float32: "F32", torch.int32: "I32", torch.bfloat16: "BF16",
    torch.float16: "F16", torch.uint8: "U8", torch.int8: "I8", torch.bool: "BOOL",
}  # fmt: skip
"""How safetensors calls them; wide ones first, for alignment."""


@dataclass(frozen=True)
class Source:
    """A run folder to take members from, at its newest checkpoint."""

    folder: Path
    members: int
    """How many it has."""
    checkpoint: Checkpoint

    @classmethod
    def newest(cls, folder: Path, members: int) -> "Source":
        """At the newest checkpoint that is whole."""
        checkpoint = newest_whole(folder)
        if checkpoint is None:
            raise RunError(f"{folder} has no checkpoint yet")
        return cls(folder, members, checkpoint)


def gather(config: Config, options: SessionOptions, sources: Sequence[Source], places: Places, out: Path) -> None:
    """Write metrics, replayed frames and a checkpoint of chosen members into a folder that describes them already."""
    frames = {source.checkpoint.frames for source in sources}
    if len(frames) > 1:
        told = ", ".join(map(str, sorted(frames)))
        raise RunError(f"pieces of {out} are at different frames ({told}): `dico resume {out}` trains those behind on")
    until = {source.folder / "metrics.jsonl": source.checkpoint.meta["metrics_bytes"] for source in sources}
    seeks = any(is_seeking(member.constraint) for member in config.members)
    for source in sources:
        _tell_of_changed_rows(source, seeks)
    metrics_bytes = gather_rows(list(until), places, out / "metrics.jsonl", until)
    meta = dict(sources[0].checkpoint.meta)
    replay = all(source.checkpoint.meta["replay"] for source in sources)

    def write(path: Path) -> dict[str, Any]:
        common = _write_state(sources, places, path)
        chunks = _write_replay(config, options, sources, places, common, out) if replay else []
        return {"frames": meta["frames"], "iteration": meta["iteration"], "metrics_bytes": metrics_bytes,
                "metrics_crc32": crc32(out / "metrics.jsonl", metrics_bytes), "replay": replay,
                "chunks": chunks}  # fmt: skip

    write_checkpoint(out, meta["frames"], write)


def _tell_of_changed_rows(source: Source, seeks: bool) -> None:
    """What is gathered from changed or lost lines is not told apart from other lines any more: now, or never."""
    path, meta = source.folder / "metrics.jsonl", source.checkpoint.meta
    if not os.path.lexists(path) and meta["metrics_bytes"]:
        if seeks:
            raise RunError(f"{path} is lost, and levels that seek go on from it: restore it; nothing was removed")
        warn(f"{path} is lost: numbers of its members are missing from now on, what was trained is not")
        return
    try:
        check_plain(path)
        found = crc32(path, meta["metrics_bytes"])
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror or error}): nothing was removed") from None
    if found != meta.get("metrics_crc32", found):
        warn(f"{path} was changed since it was written: numbers in it may be wrong")


def _write_state(sources: Sequence[Source], places: Places, path: Path) -> dict[str, Tensor]:
    """The tensors, one at a time; returns those in common."""
    with ExitStack() as stack:
        files = [stack.enter_context(safe_open(source.checkpoint.folder / STATE, "pt")) for source in sources]
        names = sorted(files[0].keys())
        for source, file in zip(sources, files, strict=True):
            if sorted(file.keys()) != names:
                raise RunError(f"{source.checkpoint.folder} holds other tensors than {sources[0].checkpoint.folder}")
        common = {name: _agreed(name, files, sources) for name in names if is_common(name)}
        order = torch.tensor(_order(sources, places))

        shapes = {name: files[0].get_tensor(name) for name in names}

        def read(name: str) -> Tensor:
            if name in common:
                return common[name]
            like = shapes[name]
            own = [_of_all(source, name, file, like) for source, file in zip(sources, files, strict=True)]
            return torch.cat(own)[order]

        sizes = {name: (like.dtype, tuple(like.shape) if name in common else (len(places), *like.shape[1:]))
                 for name, like in shapes.items()}  # fmt: skip
        write_tensors(path, sizes, read)
    return common


def _of_all(source: Source, name: str, file: Any, like: Tensor) -> Tensor:
    """A tensor with a row for each of a source's members; all else of it is as in the first source."""
    tensor = file.get_tensor(name)
    if tuple(tensor.shape[:1]) != (source.members,):
        raise RunError(f"{source.checkpoint.folder} is not of {source.members} members, as many as its piece has")
    if (tensor.dtype, tensor.shape[1:]) != (like.dtype, like.shape[1:]):
        raise RunError(f"{source.checkpoint.folder} has {name} in another shape or of another kind than other pieces")
    return tensor


def _order(sources: Sequence[Source], places: Places) -> list[int]:
    """Where each chosen member is if all of the sources' members are in a row."""
    begins = [sum(source.members for source in sources[:k]) for k in range(len(sources))]
    return [begins[k] + place for k, place in places]


def _agreed(name: str, files: Sequence[Any], sources: Sequence[Source]) -> Tensor:
    first = files[0].get_tensor(name)
    for source, file in zip(sources, files, strict=True):
        if not torch.equal(file.get_tensor(name), first):
            raise RunError(f"{source.checkpoint.folder} has another {name} than {sources[0].checkpoint.folder}")
    return first


def write_tensors(
    path: Path, sizes: Mapping[str, tuple[torch.dtype, tuple[int, ...]]], read: Callable[[str], Tensor]
) -> None:
    """A safetensors file, written a tensor at a time: a large population need not fit into one machine's memory."""
    wide = list(DTYPES)
    header, offset = {}, 0
    for name in sorted(sizes, key=lambda name: (wide.index(sizes[name][0]), name)):
        dtype, shape = sizes[name]
        length = dtype.itemsize * torch.Size(shape).numel()
        header[name] = {"dtype": DTYPES[dtype], "shape": list(shape), "data_offsets": [offset, offset + length]}
        offset += length
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in header:
            tensor = read(name).contiguous()
            if tuple(tensor.shape) != sizes[name][1]:
                raise RunError(f"{name} has the shape {tuple(tensor.shape)}, and not {sizes[name][1]}")
            file.write(tensor.reshape(-1).view(torch.uint8).numpy().data if tensor.numel() else b"")


def _write_replay(
    config: Config, options: SessionOptions, sources: Sequence[Source], places: Places,
    common: Mapping[str, Tensor], out: Path,
) -> list[dict[str, Any]]:  # fmt: skip
    """The replay files, as a folder that takes the place of the one before it, if there was one."""
    size = config.replay + (KEPT + 1) * options.checkpoint_every * config.frames_per_batch
    replayed = [
        Replayed(source.folder / "replay", source.members, source.checkpoint.meta.get("chunks", ()))
        for source in sources
    ]
    last = max(int(value) for name, value in common.items() if name.endswith(".count") and ".adam." not in name)
    scratch = out / ".replay.part"
    remove(scratch)
    scratch.mkdir()
    chunk = gather_replay(replayed, places, Layout.of(shapes_of(config), size), last, scratch)
    remove(out / "replay")
    scratch.rename(out / "replay")
    flush(out)
    return [chunk]
