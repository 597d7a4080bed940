"""What a run folder holds, and what its files must be like: whatever is read from a disk is checked here.

``config.json`` is everything resolved, ``members.json`` the members' records, ``machine.json`` what it ran on,
``metrics.jsonl`` one line per member and iteration, ``checkpoint-<frames>/`` the networks and all other state.
Nothing is ever unpickled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from dico._files import FORMAT
from dico.kinds import KINDS
from dico.members import NUMBERS, Member
from dico.runs.shapes import (
    COUNT,
    INDEX,
    LEVEL,
    NUMBER,
    NUMBER_OR_NONE,
    SIZE,
    SWITCH,
    TEXT,
    Kind,
    RunError,
    Shape,
    check,
    is_number,
    is_whole,
    wrong,
)  # fmt: skip

Row = dict[str, Any]
"""A line of a metrics file."""
Say = Callable[[str], None]
"""Takes what is amiss in a folder that can be read nevertheless."""
COMMON = ("low", "high", "obs_low", "obs_high", "coordinates")
"""What the members of a saved policy have in common."""
STATE = "state.safetensors"
"""The file of a checkpoint that has its tensors."""
PIECES = "pieces"
"""The folder of a run that several processes or machines train: its members in run folders of their own, until all are
finished and joined."""
PLAN = "plan.json"
"""The file in it that says which members each piece has."""


@dataclass(frozen=True)
class Checkpoint:
    """A whole, readable checkpoint."""

    folder: Path
    meta: Mapping[str, Any]
    read: Callable[[str], dict[str, Tensor]]
    """Its tensors whose names hold a text."""

    @property
    def frames(self) -> int:
        """Environment steps of each member when it was written."""
        return self.meta["frames"]

    def tensors(self, having: str = "") -> dict[str, Tensor]:
        """All of its tensors by name, or those whose names hold a text."""
        return self.read(having)


KIND = Kind(f"one of {', '.join(KINDS)}", lambda value: isinstance(value, str) and value in KINDS)
"""Of policies."""
COORDINATES = Kind(
    "whole numbers from 0 up, or null",
    lambda value: value is None or (isinstance(value, list) and all(map(INDEX.has, value))),
)
"""That a density depends on."""
GROUP: Shape = {
    "name": TEXT, "n_agents": SIZE, "obs_dim": SIZE, "low": [NUMBER], "high": [NUMBER], "kind": KIND,
    "obs_low?": [NUMBER], "obs_high?": [NUMBER], "hidden?": [SIZE], "squash_shared?": SWITCH, "gradient?": TEXT,
    "metric?": TEXT, "actions?": TEXT,
}  # fmt: skip
"""Of a team: what its policies are made of."""
SETTINGS: Shape = {
    "task": TEXT, "task_options": [TEXT], "algorithm": TEXT, "frames": COUNT, "frames_per_batch?": COUNT,
    "hidden": [SIZE], "squash_shared": SWITCH, "gradient": TEXT, "metric": TEXT, "density?": TEXT,
    "coordinates?": COORDINATES,
    "controlled?": [TEXT],
}  # fmt: skip
"""Those that are needed to open a run; a resume checks all of them."""
CONFIG: Shape = {
    "format": COUNT, "config": SETTINGS, "groups": [GROUP], "session": {}, "checksums?": {"members.json": TEXT},
}  # fmt: skip
MEMBER: dict[str, Any] = {
    "index": INDEX, "constraint": LEVEL, "seed": INDEX, "name?": TEXT,
    **{f"{name}?": NUMBER_OR_NONE for name in NUMBERS},
}  # fmt: skip
META: Shape = {
    "frames": COUNT, "iteration": COUNT, "metrics_bytes": INDEX, "replay": SWITCH, "checksums?": {STATE: TEXT},
    "metrics_crc32?": INDEX, "chunks?": [{"first": INDEX, "last": INDEX, "crc32": {}}],
}  # fmt: skip
"""Of a checkpoint."""


def check_config(saved: Any, file: Path) -> dict[str, Any]:
    """What describes a run, if it can be one; a file of a newer version is refused."""
    check_format(file, check(saved, {"format": COUNT}, file)["format"])
    check(saved, CONFIG, file)
    check_groups(saved["groups"], file)
    return saved


def check_groups(groups: list[Any], file: Path) -> None:
    """Teams, at least one, each of its own name and with a box that has two corners."""
    names = [group["name"] for group in groups]
    if not names or len(set(names)) < len(names):
        raise wrong(file, "groups", "at least one, each of another name", names)
    for group in groups:
        for low, high in (("low", "high"), ("obs_low", "obs_high")):
            corners = group.get(low, []), group.get(high, [])
            if len(corners[0]) != len(corners[1]) or any(a >= b for a, b in zip(*corners, strict=True)):
                raise wrong(file, f"{low} and {high} of {group['name']}", "the corners of a box", corners)
        if not group["low"]:
            raise wrong(file, f"low of {group['name']}", "a number for each action", group["low"])


def check_format(path: Path, version: int) -> None:
    """A file of a newer version is refused."""
    if version > FORMAT:
        raise RunError(f"{path} was written by a newer dico (format {version}, this one reads {FORMAT}): upgrade dico")


def check_members(records: Any, file: Path) -> tuple[Member, ...]:
    """The members that records are of; an error if they are not 0, 1, 2, ... with constraints and numbers."""
    known = {name.removesuffix("?") for name in MEMBER}
    for record in check(records, [MEMBER], file, "members"):
        if strange := sorted(record.keys() - known):
            raise RunError(f"{file} cannot be used: {strange[0]} is no field of a member")
    members = tuple(Member(**record) for record in records)
    if not members or [member.index for member in members] != list(range(len(members))):
        raise wrong(file, "index", "0, 1, 2, ... in order", [member.index for member in members])
    return members


SEVERAL = ("distances",)
"""Columns of metrics that have a list of numbers; all others have one."""
TEXTS = ("constraint", "group")
"""Those that have a text."""


def row_fault(row: Row, constraints: Sequence[str], iterations: int) -> str:
    """What is wrong with a line of metrics; nothing if it is one of a member and an iteration, with numbers.

    >>> row_fault({"member": 3, "iteration": 1}, ["0.3", "free"], 10)
    'there is no member 3'
    """
    if not all(is_whole(row.get(key)) for key in ("member", "iteration")):
        return "member and iteration must be whole numbers"
    if not is_whole(row.get("seed", 0)):
        return "seed must be a whole number"
    if not 0 <= row["member"] < len(constraints):
        return f"there is no member {row['member']}"
    if not 0 < row["iteration"] <= iterations:
        return f"there is no iteration {row['iteration']}"
    if row.get("constraint", constraints[row["member"]]) != constraints[row["member"]]:
        return f"member {row['member']} has another desired diversity"
    wrong = [name for name, value in row.items() if not _is_metric(value, name)]
    return f"{wrong[0]} must be {'a text' if wrong[0] in TEXTS else 'a number'}" if wrong else ""


def _is_metric(value: Any, name: str) -> bool:
    if name in TEXTS:
        return isinstance(value, str)
    if isinstance(value, list):
        return name in SEVERAL and all(each is None or is_number(each) for each in value)
    return value is None or isinstance(value, bool) or is_number(value)
