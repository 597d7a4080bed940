"""The run folder: what a training writes, and how it is read back.

``config.json`` is everything resolved, ``machine.json`` what it ran on, ``metrics.jsonl`` one line per member and
iteration, ``checkpoint-<frames>/`` the networks and all other state. Nothing is ever unpickled.
"""

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from dico._checks import check_choice
from dico._files import has_diverged, plain, write_json
from dico.constraints import equal, parse_constraint
from dico.policy import DiCo
from dico.tasks import Task, from_settings

__all__ = [
    "FORMAT", "Checkpoint", "Member", "Run", "RunError", "checkpoint_folders", "has_diverged", "load", "plain",
    "read_checkpoints", "read_rows", "write_json",
]  # fmt: skip

FORMAT = 1
"""Of the run folder; a newer one is refused."""
LISTED = 4
"""Run folders that are named where a folder of them is given, at most."""
COMMON = ("low", "high", "tau")
"""What the members of a saved policy have in common."""


class RunError(ValueError):
    """Something is wrong with a run folder; the message says what, and what to do."""


@dataclass(frozen=True)
class Member:
    """One member of a population: a desired diversity and a seed."""

    index: int
    constraint: str
    seed: int


@dataclass(frozen=True)
class Checkpoint:
    """A whole, readable checkpoint."""

    folder: Path
    meta: Mapping[str, Any]

    @property
    def frames(self) -> int:
        """Environment steps of each member when it was written."""
        return self.meta["frames"]

    def tensors(self) -> dict[str, Tensor]:
        """All of its tensors by name."""
        return load_file(self.folder / "state.safetensors")


@dataclass(frozen=True)
class Run:
    """A run folder, opened with :func:`load`."""

    folder: Path
    config: Mapping[str, Any]
    """The settings, as in ``config.json``."""
    groups: tuple[Mapping[str, Any], ...]
    """Name, agents, observation size, action box and policy kind of each group, and settings of its own if any."""
    members: tuple[Member, ...]
    session: Mapping[str, Any]
    """How it was trained: stage, precision, checkpoints."""

    def task(self) -> Task:
        """The task that it was trained on, with its settings."""
        return from_settings(self.config["task"], self.config["task_options"])

    def rows(self) -> list[dict[str, Any]]:
        """All lines of ``metrics.jsonl``; a torn last line is left out with a warning."""
        return list(read_rows(self.folder / "metrics.jsonl"))

    def metric(self, name: str, group: str | None = None) -> Tensor:
        """One metric as ``(members, iterations)``; what a member or a line lacks, and numbers that are none, are NaN.

        A metric of several numbers, such as ``distances``, has them in a last dimension. ``group`` is needed only where
        there are several, and is otherwise the first.
        """
        wanted = self._group(group)["name"]
        rows = [row for row in self.rows() if row.get("group", wanted) == wanted]
        if rows:
            check_choice("name", name, {key: None for row in rows for key in row})
        iterations = max((row["iteration"] for row in rows), default=0)
        having = [row for row in rows if name in row]  # a run that an older version began has lines without
        several = (len(having[0][name]),) if having and isinstance(having[0][name], list) else ()
        values = torch.full((len(self.members), iterations, *several), torch.nan, dtype=torch.float64)
        if having:
            place = torch.tensor([(row["member"], row["iteration"] - 1) for row in having]).T
            values[*place] = torch.tensor([_numbers(row[name]) for row in having], dtype=torch.float64)
        return values

    def frame(self) -> Any:
        """All lines as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "a data frame needs pandas: pip install pandas; or use .rows() or .metric(name)"
            ) from None
        return pandas.DataFrame(self.rows())

    def checkpoints(self) -> list[Checkpoint]:
        """Whole checkpoints, newest first; half-written ones are left out with a warning."""
        return list(read_checkpoints(self.folder))

    def policy(self, snd: str | float, seed: int = 0, group: str | None = None) -> DiCo:
        """A member's policies from the newest checkpoint: a DiCo module ready to act.

        >>> run = load("runs/navigation")
        >>> run.policy(snd=0.3, seed=0)(torch.zeros(10, 2, 4)).shape  # means and standard deviations
        torch.Size([10, 2, 4])
        """
        stacked = self.policies(group, [self.member(snd, seed).index]).state_dict()
        policy = self._build(group, members=())
        policy.load_state_dict({name: v if name in COMMON else v[0] for name, v in stacked.items()})
        return policy.eval()

    def policies(self, group: str | None = None, members: Sequence[int] | None = None) -> DiCo:
        """All members' policies, or those of the indices given, as one module with a leading dimension.

        They come from the newest checkpoint.
        """
        checkpoint = next(iter(self.checkpoints()), None)
        if checkpoint is None:
            raise RunError(self._no_checkpoint())
        prefix = f"{self._group(group)['name']}.policy."
        chosen = list(range(len(self.members)) if members is None else members)
        saved = {k.removeprefix(prefix): v for k, v in checkpoint.tensors().items() if k.startswith(prefix)}
        policy = self._build(group, members=(len(chosen),))
        policy.load_state_dict({name: v if name in COMMON else v[chosen] for name, v in saved.items()})
        return policy.eval()

    def member(self, snd: str | float, seed: int = 0) -> Member:
        """The member with a desired diversity and a seed."""
        text = parse_constraint(str(snd)).texts()[0]
        for member in self.members:
            if (member.constraint, member.seed) == (text, seed):
                return member
        levels = ", ".join(dict.fromkeys(m.constraint for m in self.members))
        seeds = ", ".join(map(str, sorted({m.seed for m in self.members})))
        raise RunError(f"no member has snd={text} and seed={seed}; there are snd {levels} with seeds {seeds}")

    def _no_checkpoint(self) -> str:
        return f"{self.folder} has no checkpoint yet: let it train on, or `dico resume {self.folder}`"

    def _build(self, group: str | None, members: tuple[int, ...]) -> DiCo:
        spec = self._group(group)
        own = {**self.config, **spec}  # a group may have settings of its own
        return DiCo.mlp(
            spec["n_agents"], spec["obs_dim"], len(spec["low"]), equal(torch.zeros(members)),
            kind=spec["kind"], hidden=own["hidden"], low=spec["low"], high=spec["high"], members=members,
            squash_shared=own["squash_shared"], gradient=own["gradient"], metric=own["metric"],
        )  # fmt: skip

    def _group(self, name: str | None) -> Mapping[str, Any]:
        named = {group["name"]: group for group in self.groups}
        if name is not None and name not in named:
            raise RunError(f"group must be one of {', '.join(named)}, got {name!r}")
        return self.groups[0] if name is None else named[name]


def load(run: str | Path) -> Run:
    """Open a run folder, or a result folder of BenchMARL.

    >>> run = load("runs/navigation")
    >>> run.metric("reward").shape  # members, iterations
    torch.Size([8, 2])
    """
    folder = Path(run)
    path = folder / "config.json"
    if not folder.exists():
        raise RunError(f"{folder} is no run folder: it does not exist; dico train writes run folders under runs/")
    if not path.is_file():
        below = sorted(config.parent for config in folder.glob("*/config.json"))
        if below:
            shown = ", ".join(map(str, below[:LISTED])) + (", ..." if len(below) > LISTED else "")
            raise RunError(f"{folder} is no run folder: it has no config.json; did you mean one in it: {shown}?")
        from dico.runs import benchmarl  # which stands on this module

        return benchmarl.load(folder)
    try:
        saved = json.loads(path.read_text())
        version = saved["format"]
        if version > FORMAT:
            raise RunError(
                f"{folder} was written by a newer dico (format {version}, this one reads {FORMAT}): upgrade dico"
            )
        members = tuple(Member(k, text, seed) for k, (text, seed) in enumerate(saved["members"]))
        return Run(folder, saved["config"], tuple(saved["groups"]), members, saved["session"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise RunError(f"{path} cannot be read ({error}): the run cannot be used") from None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a metrics file; a line that a sudden end tore is left out with a warning."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            row = _row(line)
            if row is None:
                warnings.warn(f"{path}, line {number} is torn and left out", stacklevel=2)
            else:
                yield row


def read_checkpoints(folder: Path) -> Iterator[Checkpoint]:
    """Whole checkpoints, newest first; half-written ones are left out with a warning."""
    for _, path in sorted(checkpoint_folders(folder).items(), reverse=True):
        try:
            meta = json.loads((path / "meta.json").read_text())
            with safe_open(path / "state.safetensors", "pt"):  # checks its header against its length
                pass
            yield Checkpoint(path, meta)
        except (OSError, json.JSONDecodeError, SafetensorError):
            warnings.warn(f"{path} is not whole and left out", stacklevel=2)


def checkpoint_folders(folder: Path) -> dict[int, Path]:
    """Checkpoints by their frames, whole or not."""
    names = {path: path.name.removeprefix("checkpoint-") for path in folder.glob("checkpoint-*")}
    return {int(number): path for path, number in names.items() if number.isdigit()}


def _row(line: str) -> dict[str, Any] | None:
    """A line of a metrics file; None if it is not whole.

    >>> _row('{"member": 0, "iteration": 1, "snd": 0.3}')
    {'member': 0, 'iteration': 1, 'snd': 0.3}
    >>> _row('{"member": 0, "iter')
    """
    try:
        row = json.loads(line)
    except ValueError:
        return None
    placed = isinstance(row, dict) and all(isinstance(row.get(key), int) for key in ("member", "iteration"))
    return row if placed else None


def _numbers(value: Any) -> Any:
    """What :func:`plain` wrote, with NaN for null."""
    if isinstance(value, list):
        return [_numbers(number) for number in value]
    return math.nan if value is None else value
