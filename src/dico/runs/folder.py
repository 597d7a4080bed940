"""Folders that ``dico train`` writes, read back."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from dico._files import checksum, crc32, is_sealed
from dico.members import NUMBERS, Member
from dico.runs.in_pieces import is_in_pieces, read_rows_of_pieces
from dico.runs.reading import check_plain, no_metrics_yet, parse_json, read_json, read_rows, warn
from dico.runs.run import Run
from dico.runs.schema import META, STATE, Checkpoint, Row, RunError, Say, check_config, check_members
from dico.runs.shapes import COUNT, INDEX, LEVEL, check

NAME = re.compile(r"checkpoint-([1-9][0-9]{0,17})")
"""Of a checkpoint's folder, with its frames."""


@dataclass(frozen=True)
class Folder:
    """Where the numbers and networks of a population are: one folder for all members."""

    path: Path
    constraints: tuple[str, ...]
    """Of the members."""
    iterations: int
    """Of the whole training."""

    def rows(self, say: Say) -> list[Row]:
        """All lines of ``metrics.jsonl``; of a run in pieces, of theirs."""
        if is_in_pieces(self.path):
            return read_rows_of_pieces(self.path, self.constraints, self.iterations, say)
        rows = list(read_rows(self.path / "metrics.jsonl", self.constraints, self.iterations, say))
        if rows and has_changed_rows(self.path):
            say(f"{self.path / 'metrics.jsonl'} was changed since it was written: numbers in it may be wrong")
        return rows

    def checkpoints(self, say: Say) -> list[Checkpoint]:
        """Whole checkpoints, newest first."""
        return list(read_checkpoints(self.path, say))

    def check_playable(self, run: Run) -> None:
        """Any run of ours is played as it was trained."""

    def no_checkpoint(self) -> str:
        """What to do where there is none."""
        return f"{self.path} has no checkpoint yet: let it train on, or `dico resume {self.path}`"

    def no_metrics(self) -> str:
        """Why there may be none, and what to do."""
        if is_in_pieces(self.path):
            return (
                f"{self.path} is in pieces, none of which has metrics yet: look again when their first iterations are "
                f"done, or go on with `dico resume {self.path}`"
            )
        if checkpoint_folders(self.path):
            return (
                f"the metrics of {self.path} are lost, though it has checkpoints: restore its metrics.jsonl; policies "
                "can be played and exported without it"
            )
        return no_metrics_yet(self.path)


def open_folder(folder: Path) -> Run:
    """Open a folder that has a ``config.json``."""
    path = folder / "config.json"
    saved = check_config(read_json(path), path)
    check(saved["config"], {"frames_per_batch": COUNT}, path, "config")
    if "members" in saved:
        members = _old_members(saved, path)
    else:
        members = check_members(read_json(folder / "members.json"), folder / "members.json")
    iterations = math.ceil(saved["config"]["frames"] / saved["config"]["frames_per_batch"])
    source = Folder(folder, tuple(member.constraint for member in members), iterations)
    return Run(folder, saved["config"], tuple(saved["groups"]), members, saved["session"], source)


def check_unchanged(folder: Path) -> None:
    """An error if what describes a run is not what was written; folders of earlier versions do not tell."""
    path = folder / "config.json"
    saved = read_json(path)
    told = saved.get("checksums", {}).get("members.json")
    if told and checksum(folder / "members.json") != told:
        raise RunError(f"{folder / 'members.json'} was changed since it was written")
    if "seal" in saved and not is_sealed(saved):
        raise RunError("it was changed since it was written; if that was you, remove its seal")


def has_changed_rows(folder: Path) -> bool:
    """Whether the lines that came before the newest checkpoint are not those that were written; False if unknown.

    Only the meta file is looked into, which tells their length and CRC-32 and has a seal of its own.
    """
    named = checkpoint_folders(folder)
    try:
        newest = named[max(named)] / "meta.json"
        meta = check(parse_json(newest), META, newest)
        if not is_sealed(meta) or "metrics_crc32" not in meta:
            return False
        return crc32(folder / "metrics.jsonl", meta["metrics_bytes"]) != meta["metrics_crc32"]
    except (ValueError, OSError):  # no checkpoint, or none that tells
        return False


def _old_members(saved: Mapping[str, Any], path: Path) -> tuple[Member, ...]:
    """Of a folder of format 1, which has pairs of constraint and seed, and one value for all of every number."""
    common = {name: saved["config"].get(name) for name in NUMBERS}
    for k, pair in enumerate(saved["members"] if isinstance(saved["members"], list) else [saved["members"]]):
        if not isinstance(pair, list) or len(pair) != 2:
            raise RunError(f"{path} cannot be used: members[{k}] must be a constraint and a seed, got {pair!r}")
        check(pair[0], LEVEL, path, f"members[{k}]")
        check(pair[1], INDEX, path, f"members[{k}]")
    records = (Member(k, text, seed) for k, (text, seed) in enumerate(saved["members"]))
    return tuple(replace(record, **common).with_name(["constraint"]) for record in records)


def read_checkpoints(folder: Path, say: Say = warn) -> Iterator[Checkpoint]:
    """Whole checkpoints, newest first; others are left out and told of."""
    for _, path in sorted(checkpoint_folders(folder).items(), reverse=True):
        try:
            yield read_checkpoint(path)
        except OSError as error:
            say(f"{path} cannot be read ({error.strerror or error}) and is left out")
        except RunError as error:
            say(f"{error}; it is left out")


def read_checkpoint(path: Path) -> Checkpoint:
    """A checkpoint that is what was written, by its checksums; ``RunError`` if not, ``OSError`` if the disk fails.

    One of an earlier version has none, and is taken to be whole if its header fits its length.
    """
    try:
        meta = check(parse_json(path / "meta.json"), META, path / "meta.json")
        if checkpoint_folders(path.parent).get(meta["frames"]) != path:
            raise RunError(f"meta.json is of {meta['frames']} frames")
        check_plain(path / STATE)
        told = meta.get("checksums", {}).get(STATE)
        if ("seal" in meta or told) and not (is_sealed(meta) and checksum(path / STATE) == told):
            raise RunError("it is not what was written")
        with safe_open(path / STATE, "pt"):  # checks its header against its length
            return Checkpoint(path, meta, partial(read_tensors, path))
    except (FileNotFoundError, NotADirectoryError, SafetensorError, RunError) as error:
        raise RunError(f"{path} is not whole ({error})") from None


def read_tensors(checkpoint: Path, having: str = "") -> dict[str, Tensor]:
    """The tensors of a checkpoint whose names hold a text; the others are not read."""
    with safe_open(checkpoint / STATE, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys() if having in name}  # noqa: SIM118


def checkpoint_folders(folder: Path) -> dict[int, Path]:
    """Checkpoints by their frames, whole or not."""
    found = ((path, NAME.fullmatch(path.name)) for path in folder.glob("checkpoint-*"))
    return {int(name[1]): path for path, name in found if name}
