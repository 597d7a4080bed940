"""A run in one small file: records, settings, thinned curves and what its members do; no networks.

Results are kept so: a summary opens like a run folder, and every curve, table and claim comes out of it without a GPU.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dico._files import FORMAT, plain, whole
from dico.members import Member
from dico.runs.reading import read_json
from dico.runs.run import Run
from dico.runs.schema import GROUP, SETTINGS, Checkpoint, Row, Say, check_format, check_groups, check_members
from dico.runs.shapes import COUNT, INDEX, NUMBER_OR_NONE, RunError, Shape, check

POINTS = 100
"""A curve has at most so many numbers: means over as many batches each."""
DIGITS = 4
"""Significant ones, of every number."""
COLUMNS = (
    "reward", "return", "success", "coverage", "snd", "snd_acted", "snd_box", "outside", "scale",
    "action_bound_violation", "desired",
)  # fmt: skip
"""What is kept of the metrics, as far as they are there; and the controlled metric, if it is another one."""

SUMMARY: Shape = {
    "config": SETTINGS, "groups": [GROUP], "session": {}, "about": {}, "behaviours": {}, "curves": {},
    "frames": [COUNT], "diverged": [INDEX],
}  # fmt: skip
"""What such a file holds, beside its members."""


@dataclass(frozen=True)
class Summary:
    """Where the numbers of a summary are: in the file."""

    path: Path
    kept: Mapping[str, Any]

    @property
    def behaviours(self) -> Mapping[str, Sequence[Any]]:
        """What the members do, a number or a row for each (:mod:`dico.analysis.behaviour`); empty if nobody looked."""
        return self.kept["behaviours"]

    @property
    def about(self) -> Mapping[str, Any]:
        """Command, commit, versions, device and wall time, as far as they are told."""
        return self.kept["about"]

    def rows(self, say: Say) -> list[Row]:
        """A line for each member, point and group, as ``metrics.jsonl`` has them."""
        del say
        return [
            {"member": member["index"], "constraint": member["constraint"], "seed": member["seed"],
             **({"group": group} if len(self.kept["curves"]) > 1 else {}),
             "iteration": k + 1, "frames": frames, **{name: column[member["index"]][k] for name, column in own.items()},
             **({"diverged": True} if member["index"] in self.kept["diverged"] else {})}
            for k, frames in enumerate(self.kept["frames"])
            for group, own in self.kept["curves"].items()
            for member in self.kept["members"]
        ]  # fmt: skip

    def checkpoints(self, say: Say) -> list[Checkpoint]:
        """None: its networks are not kept."""
        del say
        return []

    def check_playable(self, run: Run) -> None:
        """Nothing can be played without networks."""
        raise RunError(f"{run.folder} is a summary, which keeps no networks: train the run again to play its episodes")

    def no_checkpoint(self) -> str:
        """What to do for want of one."""
        return f"{self.path} is a summary, which keeps no networks: train the run again"

    def no_metrics(self) -> str:
        """What to do for want of any."""
        return f"{self.path} is a summary of a run without metrics: train the run again"


def write_summary(
    run: Run, path: Path, *, behaviours: Mapping[str, Any] | None = None, about: Mapping[str, Any] | None = None
) -> None:
    """Write a run's summary, whole or not at all.

    Args:
        run: with metrics.
        path: the file.
        behaviours: what its members do, a number or a row for each (:mod:`dico.analysis.behaviour`).
        about: command, commit, versions, device and wall time.

    >>> write_summary(run, Path("navigation.json"), about={"device": "cpu"})
    >>> open_summary(Path("navigation.json")).metric("reward").shape
    torch.Size([8, 2])
    """
    each = {group["name"]: _thinned(run, group["name"]) for group in run.groups}
    frames, curves = next(iter(each.values()))[0], {name: columns for name, (_, columns) in each.items()}
    kept = {
        "summary": FORMAT, "about": about or {}, "config": run.config, "groups": run.groups, "session": run.session,
        "members": [asdict(member) for member in run.members],
        "diverged": sorted({row["member"] for row in run.rows() if row.get("diverged")}),
        "behaviours": {name: _rounded(torch.as_tensor(values)) for name, values in (behaviours or {}).items()},
        "frames": frames, "curves": curves,
    }  # fmt: skip
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(plain(value))}" for name, value in kept.items())
    with whole(path) as scratch:
        scratch.write_text(f"{{\n{lines}\n}}\n", "utf-8")


def open_summary(path: Path) -> Run:
    """Open a file that :func:`write_summary` wrote."""
    kept = read_json(path)
    if not isinstance(kept, dict) or "summary" not in kept:
        raise RunError(f"{path} is no summary of a run: dico reproduce writes them")
    check(kept, {"summary": COUNT}, path)
    check_format(path, kept["summary"])
    check(kept, SUMMARY, path)
    members = check_members(kept["members"], path)
    check_groups(kept["groups"], path)
    try:
        _check_numbers(kept, members)
    except ValueError as error:
        raise RunError(f"{path} cannot be used: {error}") from None
    return Run(path, kept["config"], tuple(kept["groups"]), members, kept["session"], Summary(path, kept))


def about_run(run: Run) -> dict[str, Any] | None:
    """What a run was trained on, as far as it tells; None if not at all."""
    if isinstance(run.source, Summary):
        return dict(run.source.about)
    if "machine" in run.session:
        return plain(run.session["machine"])
    try:
        machine = read_json(run.folder / "machine.json")
    except RunError:
        return None
    return plain(machine) if isinstance(machine, dict) else None


def is_summary(path: Path) -> bool:
    """Whether a file says that it is one; a file that is no JSON might be a damaged one, and counts.

    >>> write_summary(run, Path("whole.json"))
    >>> is_summary(Path("whole.json"))
    True
    """
    try:
        kept = read_json(path)
    except RunError:
        return True
    return isinstance(kept, dict) and "summary" in kept


def _check_numbers(kept: Mapping[str, Any], members: Sequence[Member]) -> None:
    """Every curve has a number for each member and point, and what teams do something for each member."""
    points = len(kept["frames"])
    if not points:
        raise ValueError("frames must hold at least one number")
    if [group["name"] for group in kept["groups"]] != list(kept["curves"]):
        raise ValueError("curves must be those of its groups")
    for group, columns in kept["curves"].items():
        for name, rows in columns.items() if isinstance(columns, dict) else [(group, None)]:
            if not _is_table(rows, len(members), points):
                raise ValueError(f"{name} must have {points} numbers for each of {len(members)} members")
    for name, values in kept["behaviours"].items():
        single = isinstance(values, list) and values and not isinstance(values[0], list)
        if not _is_table([values] if single else values, 1 if single else len(members), len(members)):
            raise ValueError(f"{name} must have something for each of {len(members)} members")
    if not set(kept["diverged"]) <= set(range(len(members))):
        raise ValueError("diverged must be indices of members")


def _is_table(rows: Any, length: int, width: int) -> bool:
    return isinstance(rows, list) and len(rows) == length and all(
        isinstance(row, list) and len(row) == width and all(map(NUMBER_OR_NONE.has, row)) for row in rows
    )  # fmt: skip


def _thinned(run: Run, group: str) -> tuple[list[int], dict[str, Any]]:
    """Frames at the ends of the parts that a training is cut into, and each metric's means over them."""
    told = {name for row in run.rows() if row.get("group", group) == group for name in row}
    names = [name for name in dict.fromkeys((*COLUMNS, run.config.get("metric", "snd"))) if name in told]
    frames = run.metric("frames", group).nan_to_num(0).amax(0)
    curves = {name: _rounded(thin(run.metric(name, group))) for name in names}
    return thin_ends(frames).int().tolist(), curves


def thin(values: Float[Tensor, "members iterations"]) -> Float[Tensor, "members points"]:
    """Curves of at most :data:`POINTS` numbers, each a mean over as many iterations; the last one's may be fewer.

    >>> thin(torch.arange(250.0)[None]).shape, thin(torch.arange(250.0)[None])[0, :2]
    (torch.Size([1, 84]), tensor([1., 4.]))
    """
    return torch.stack([part.nanmean(1) for part in values.split(_part(values.shape[1]), 1)], 1)


def thin_ends(frames: Float[Tensor, " iterations"]) -> Float[Tensor, " points"]:
    """Frames at the ends of the points of thinned curves."""
    return torch.stack([part[-1] for part in frames.split(_part(len(frames)))])


def _part(iterations: int) -> int:
    """Iterations that make a point."""
    return -(-iterations // POINTS)


def _rounded(values: Tensor) -> Any:
    """Nested lists of numbers of a few digits.

    >>> _rounded(torch.tensor([[0.123456, 12345.6], [float("nan"), 0.0]], dtype=torch.float64))
    [[0.1235, 12350.0], [nan, 0.0]]
    """
    if values.ndim:
        return [_rounded(value) for value in values]
    return float(f"{values.item():.{DIGITS}g}")
