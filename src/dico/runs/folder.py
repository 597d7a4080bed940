"""Folders that ``dico train`` writes, read back."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from dico.members import NUMBERS, Member
from dico.runs.run import Run
from dico.runs.schema import Checkpoint, Row, RunError, Say, check_format, read_members, read_rows, warn


@dataclass(frozen=True)
class Folder:
    """Where the numbers and networks of a population are: one folder for all members."""

    path: Path

    def rows(self, say: Say) -> list[Row]:
        """All lines of ``metrics.jsonl``."""
        return list(read_rows(self.path / "metrics.jsonl", say))

    def checkpoints(self, say: Say) -> list[Checkpoint]:
        """Whole checkpoints, newest first."""
        return list(read_checkpoints(self.path, say))

    def check_playable(self, run: Run) -> None:
        """Any run of ours is played as it was trained."""

    def no_checkpoint(self) -> str:
        """What to do where there is none."""
        return f"{self.path} has no checkpoint yet: let it train on, or `dico resume {self.path}`"


def open_folder(folder: Path) -> Run:
    """Open a folder that has a ``config.json``."""
    path = folder / "config.json"
    try:
        saved = json.loads(path.read_text())
        check_format(folder, saved["format"])
        members = _old_members(saved) if "members" in saved else _members(folder / "members.json")
        return Run(folder, saved["config"], tuple(saved["groups"]), members, saved["session"], Folder(folder))
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise RunError(f"{path} cannot be read ({error}): the run cannot be used") from None


def _members(path: Path) -> tuple[Member, ...]:
    """The members' records."""
    try:
        return read_members(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{path} cannot be read ({error}): the run cannot be used") from None


def _old_members(saved: Mapping[str, Any]) -> tuple[Member, ...]:
    """Of a folder of format 1, which has pairs of constraint and seed, and one value for all of every number."""
    common = {name: saved["config"].get(name) for name in NUMBERS}
    records = (Member(k, text, seed) for k, (text, seed) in enumerate(saved["members"]))
    return tuple(replace(record, **common).with_name(["constraint"]) for record in records)


def read_checkpoints(folder: Path, say: Say = warn) -> Iterator[Checkpoint]:
    """Whole checkpoints, newest first; half-written ones are left out and told of."""
    for _, path in sorted(checkpoint_folders(folder).items(), reverse=True):
        try:
            meta = json.loads((path / "meta.json").read_text())
            with safe_open(path / "state.safetensors", "pt"):  # checks its header against its length
                pass
            yield Checkpoint(path, meta, partial(read_tensors, path))
        except (OSError, json.JSONDecodeError, SafetensorError):
            say(f"{path} is not whole and left out")


def read_tensors(checkpoint: Path, having: str = "") -> dict[str, Tensor]:
    """The tensors of a checkpoint whose names hold a text; the others are not read."""
    with safe_open(checkpoint / "state.safetensors", "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys() if having in name}  # noqa: SIM118


def checkpoint_folders(folder: Path) -> dict[int, Path]:
    """Checkpoints by their frames, whole or not."""
    names = {path: path.name.removeprefix("checkpoint-") for path in folder.glob("checkpoint-*")}
    return {int(number): path for path, number in names.items() if number.isdigit()}
