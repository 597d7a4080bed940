"""Result folders of BenchMARL, read as run folders are; BenchMARL itself is not needed.

``dico.adapters.benchmarl`` writes ``dico.json`` and ``metrics.jsonl`` beside BenchMARL's files. One experiment is one
member; a folder of several, such as a multirun's, is a population.
"""

import json
import math
import pickle
import shlex
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dico._files import found_below
from dico.constraints import order
from dico.members import Member
from dico.runs.reading import no_metrics_yet, read_json, read_rows
from dico.runs.run import Run
from dico.runs.schema import COMMON, Checkpoint, Row, RunError, Say, check_config
from dico.runs.shapes import ANYTHING, COUNT, INDEX, LEVEL, TEXT, Shape, check

DEPTH = 4
"""How far below a folder experiments are looked for: multirun/DATE/TIME/JOB/EXPERIMENT."""
EXPERIMENT: Shape = {
    "constraint": LEVEL, "seed": INDEX, "config": {"frames_per_batch": COUNT}, "terms?": {},
    "session": {"actions": TEXT, "command": ANYTHING},
}  # fmt: skip
"""What ``dico.json`` holds beside what ``config.json`` does."""
AS_PLAYED = {
    "clamp": "algorithm.use_tanh_mapping=False",
    "tanh": "algorithm.use_tanh_normal=True",
}
"""What brings actions into the box in the episodes that dico plays, and the setting that does the same in BenchMARL."""


@dataclass(frozen=True)
class Experiments:
    """Where the numbers and networks of experiments are: a folder for each member."""

    folders: tuple[Path, ...]
    constraints: tuple[str, ...]
    """Of the members."""
    iterations: int
    """Of a whole training."""

    def rows(self, say: Say) -> list[Row]:
        """All members' lines, iteration by iteration."""
        rows = [
            row | {"member": index}
            for index, (folder, constraint) in enumerate(zip(self.folders, self.constraints, strict=True))
            for row in read_rows(folder / "metrics.jsonl", [constraint], self.iterations, say)
        ]
        return sorted(rows, key=lambda row: row["iteration"])

    def checkpoints(self, say: Say) -> list[Checkpoint]:
        """The newest checkpoints of all members together, if each has one."""
        files = [file for folder in self.folders if (file := _newest(folder, say))]
        if len(files) < len(self.folders):
            return []
        return [Checkpoint(files[0].parent, {"frames": min(map(_frames, files))}, partial(_stack_policies, files))]

    def check_playable(self, run: Run) -> None:
        """Actions must come into their box in the episodes that dico plays as they did in training."""
        for group in run.groups:
            trained = group.get("actions", run.session["actions"])
            played = "clamp" if group["kind"] == "deterministic" else "tanh"
            if played != trained:
                raise RunError(
                    f"{run.folder} was trained with actions brought into their box by {trained}, and dico plays by "
                    f"{played}: train with {AS_PLAYED[played]}"
                )

    def no_checkpoint(self) -> str:
        """What to do where a member has none."""
        lacking = ", ".join(str(folder) for folder in self.folders if _newest(folder, lambda _: None) is None)
        return f"no checkpoint in {lacking}: train with experiment.checkpoint_at_end=True"

    def no_metrics(self) -> str:
        """What to do where no member has any."""
        return no_metrics_yet(self.folders[0])


def find(folder: Path, name: str) -> list[Path]:
    """Folders with a file of that name: the folder itself, or the nearest below it; those further below are told."""
    by_depth = [[path.parent for path in found_below(folder, depth, name)] for depth in range(DEPTH + 1)]
    nearest, *deeper = [found for found in by_depth if found] or [[]]
    left_out = sum(map(len, deeper))
    if left_out:
        warnings.warn(
            f"{folder} holds {left_out} more further below, left out: open their folder for them", stacklevel=2
        )
    return nearest


def open_experiments(folder: Path) -> Run:
    """Open one experiment's folder, or one that holds several of the same task, algorithm and settings."""
    if not folder.is_dir():
        raise RunError(f"{folder} is a file, no run folder: name the folder it is in")
    found = {path: _read(path / "dico.json") for path in find(folder, "dico.json")}
    if not found and find(folder, "config.pkl"):
        raise RunError(f"{folder} is of BenchMARL and has no dico.json: train with model=dico and DicoCallback")
    if not found:
        raise RunError(f"{folder} is no run folder: it has no config.json; dico train writes one under runs/")
    ordered = sorted(found, key=lambda path: (order(found[path]["constraint"]), found[path]["seed"]))
    first = found[ordered[0]]
    for path in ordered[1:]:
        _check_alike(folder, ordered[0], first, path, found[path])
    members = tuple(Member(k, found[path]["constraint"], found[path]["seed"]) for k, path in enumerate(ordered))
    for one, other in pairwise(members):
        if (one.constraint, one.seed) == (other.constraint, other.seed):
            raise RunError(
                f"{folder} holds snd={one.constraint}, seed={one.seed} twice: open one of {ordered[one.index]} and "
                f"{ordered[other.index]}, or move one away"
            )
    seeds = {member.seed for member in members}
    levels = list(dict.fromkeys(member.constraint for member in members))
    config = first["config"] | {"snd": levels, "seeds": len(seeds), "first_seed": min(seeds)}
    session = first["session"] | {"command": _command(first["session"]["command"], members)}
    iterations = math.ceil(config["frames"] / config["frames_per_batch"])
    source = Experiments(tuple(ordered), tuple(member.constraint for member in members), iterations)
    return Run(folder, config, tuple(first["groups"]), members, session, source)


def _read(path: Path) -> Mapping[str, Any]:
    saved = check(check_config(read_json(path), path), EXPERIMENT, path)
    return {name: saved[name] for name in ("constraint", "seed", "config", "groups", "session")} | {
        "terms": saved.get("terms", {})
    }


def _check_alike(folder: Path, one: Path, this: Mapping[str, Any], other: Path, that: Mapping[str, Any]) -> None:
    """Members differ in desired diversity and seed, and in nothing else."""
    differing = _differing(this["config"], that["config"]) or [
        name
        for name in _differing(this["terms"], that["terms"])
        if name.rpartition(".")[2] not in ("desired_snd", "seed")
    ]
    if differing or this["groups"] != that["groups"]:
        raise RunError(
            f"{folder} holds experiments with different {', '.join(differing) or 'groups'}: open one of them, such as "
            f"{one} or {other}"
        )


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def _command(one: str | None, members: Sequence[Member]) -> str | None:
    """How to train all members again: as a multirun, if every level has every seed.

    >>> members = [Member(0, ">=0.3", 0), Member(1, "free", 0)]
    >>> print(_command("python -m dico.adapters.benchmarl task=dico/tag model.desired_snd=free", members))
    python -m dico.adapters.benchmarl task=dico/tag -m 'model.desired_snd=">=0.3",free' seed=0
    """
    levels = dict.fromkeys(member.constraint for member in members)
    seeds = dict.fromkeys(member.seed for member in members)
    if one is None or len(members) == 1 or len(members) < len(levels) * len(seeds):
        return one
    kept = [word for word in shlex.split(one) if not word.startswith(("model.desired_snd=", "seed="))]
    quoted = (json.dumps(level) if set("=>") & set(level) else level for level in levels)
    return shlex.join([*kept, "-m", f"model.desired_snd={','.join(quoted)}", f"seed={','.join(map(str, seeds))}"])


def _newest(folder: Path, say: Say) -> Path | None:
    """The newest whole checkpoint; half-written ones are left out and told of."""
    numbered = [file for file in folder.glob("checkpoints/checkpoint_*.pt") if _number(file).isdigit()]
    for file in sorted(numbered, key=_frames, reverse=True):
        if zipfile.is_zipfile(file):  # whose directory is written last
            return file
        say(f"{file} is not whole and left out")
    return None


def _stack_policies(files: Sequence[Path], having: str) -> dict[str, Tensor]:
    """All policies by name, members first."""
    saved = [_policies(file) for file in files]
    return {
        name: value if key in COMMON else torch.stack([each[group][key] for each in saved])
        for group, policy in saved[0].items()
        for key, value in policy.items()
        if having in (name := f"{group}.policy.{key}")
    }


def _policies(file: Path) -> Mapping[str, Mapping[str, Tensor]]:
    """The policies in a checkpoint, by group."""
    try:
        return torch.load(file, map_location="cpu", weights_only=True, mmap=True)["dico"]["policies"]
    except pickle.UnpicklingError:
        raise RunError(f"{file} holds more than tensors and plain values, and is not opened") from None
    except (KeyError, TypeError):
        raise RunError(f"{file} holds no DiCo policies: it was written without DicoCallback") from None
    except (RuntimeError, OSError, EOFError) as error:
        raise RunError(f"{file} cannot be read ({str(error).splitlines()[0]}): move it away") from None


def _frames(file: Path) -> int:
    return int(_number(file))


def _number(file: Path) -> str:
    return file.stem.removeprefix("checkpoint_")
