"""Checkpoints that a kill at any moment leaves whole."""

import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from dico._files import checksum, flush, remove, sealed, write_json
from dico.runs import Checkpoint, RunError
from dico.runs.folder import checkpoint_folders, read_checkpoint
from dico.runs.schema import STATE
from dico.training.blocks import AnyPopulation
from dico.training.offpolicy import OffPolicyLearner
from dico.training.options import SessionOptions
from dico.training.replay_store import ReplayStore

KEPT = 3
"""Checkpoints kept."""
SINCE_THEN = ("rollout.earned",)
"""What earlier versions did not save: the returns of episodes that were running then count from the checkpoint on."""

COORDINATES = ".policy.coordinates"
"""What a density depends on: earlier versions did not save this, and no checkpoint may change it."""


def replay_store(population: AnyPopulation, folder: Path, options: SessionOptions) -> ReplayStore | None:
    """Where a population's replayed frames are saved; None if it has none, or they are not wanted."""
    if not options.replay_checkpoint or population.config.on_policy:
        return None
    return ReplayStore(population, folder, options.checkpoint_every * population.config.frames_per_batch, KEPT)


def save(
    population: AnyPopulation, folder: Path, replay: ReplayStore | None, metrics_bytes: int, metrics_crc32: int
) -> Path:
    """Write a population's checkpoint.

    ``metrics_bytes`` is how long the metrics file is: what follows belongs to iterations that a resume does again. Its
    checksum is of that file too.
    """

    def write(path: Path) -> dict[str, Any]:
        if replay is not None:
            replay.append()
        tensors = {name: value.detach().cpu().contiguous().clone() for name, value in population.tensors().items()}
        save_file(tensors, path)
        return {"frames": population.frames, "iteration": population.iteration, "metrics_bytes": metrics_bytes,
                "metrics_crc32": metrics_crc32, "replay": replay is not None,
                "chunks": replay.chunks if replay is not None else []}  # fmt: skip

    return write_checkpoint(folder, population.frames, write)


def write_checkpoint(folder: Path, frames: int, write: Callable[[Path], dict[str, Any]]) -> Path:
    """Write a checkpoint whole, then give it its name; once it is known to be readable, drop the oldest.

    ``write`` writes its tensors to a file and returns what else there is to say of it.
    """
    path = folder / f"checkpoint-{frames}"
    scratch, before = folder / ".checkpoint.part", folder / ".checkpoint.before"
    for rest in (scratch, before):
        remove(rest)
    try:
        scratch.mkdir()
        meta = write(scratch / STATE)
        flush(scratch / STATE)
        write_json(scratch / "meta.json", sealed(meta | {"checksums": {STATE: checksum(scratch / STATE)}}))
        flush(scratch)
        if path.exists():  # of this very moment, by a training that was stopped there
            path.rename(before)
        scratch.rename(path)
        flush(folder)
        read_checkpoint(path)
    except (OSError, SafetensorError, RunError) as error:
        remove(scratch)
        raise RunError(f"the checkpoint {path} could not be written ({error}); earlier ones are intact") from error
    remove(before)
    _prune(folder, frames)
    return path


def restore(population: AnyPopulation, checkpoint: Checkpoint, replay: ReplayStore | None) -> None:
    """Bring a population back to where a checkpoint was written."""
    state = population.tensors()
    coordinates = {name: value for name, value in state.items() if name.endswith(COORDINATES)}
    saved = {name: torch.zeros_like(state[name]) for name in SINCE_THEN} | coordinates | checkpoint.tensors()
    if _kinds(saved) != _kinds(state):
        raise RunError(
            f"{checkpoint.folder} holds the state of another configuration, or of another version of dico: resume with "
            "the one it was written with"
        )
    for name, value in coordinates.items():
        if (theirs := saved[name].tolist()) != (ours := value.tolist()):
            raise RunError(
                f"{checkpoint.folder} has a density of coordinates {theirs}, but config.json tells {ours}: "
                "resume with those it was written with"
            )
    with torch.no_grad():
        for name, value in state.items():
            value.copy_(saved[name])
    population.iteration = checkpoint.meta["iteration"]
    if replay is not None and checkpoint.meta["replay"]:
        replay.restore(checkpoint.meta.get("chunks"))
        return
    for learner in population.learners:
        if isinstance(learner, OffPolicyLearner):
            learner.count.zero_()


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (value.shape, value.dtype) for name, value in tensors.items()}


def check_space(folder: Path, population: AnyPopulation, replay: ReplayStore | None) -> tuple[int, int]:
    """Bytes of a checkpoint and of the replay files; an error if the disk has no room for them."""
    state = sum(value.numel() * value.element_size() for value in population.tensors().values())
    replayed = replay.bytes() if replay is not None else 0
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    mine = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
    room = shutil.disk_usage(there).free + mine
    if (KEPT + 1) * state + replayed > room:
        raise RunError(
            f"{folder} has room for {room / 1e6:,.1f} MB, but checkpoints need {(KEPT + 1) * state / 1e6:,.1f} MB and "
            f"the replay buffer {replayed / 1e6:,.1f} MB: free some, choose another folder or --no-replay-checkpoint"
        )
    return state, replayed


def newest_whole(folder: Path) -> Checkpoint | None:
    """What a training goes on from: the newest checkpoint that is whole; None if none was ever written.

    One that the disk does not give is an error, and so is it if there are some and none is whole: nothing is trained
    from the start over what may be saved yet.
    """
    named = checkpoint_folders(folder)
    for frames in sorted(named, reverse=True):
        try:
            return read_checkpoint(named[frames])
        except OSError as error:
            raise RunError(f"{named[frames]} cannot be read ({error}): nothing was changed") from None
        except RunError:
            continue  # back_to tells of it
    if named:
        raise RunError(
            f"no checkpoint of {folder} is whole: nothing was changed; to train from the start, move "
            f"{', '.join(path.name for path in named.values())} away"
        )
    return None


def back_to(folder: Path, checkpoint: Checkpoint | None) -> None:
    """Put aside what came after a checkpoint: newer ones, which are not whole, and later lines of the metrics file."""
    for frames, path in checkpoint_folders(folder).items():
        if checkpoint is not None and frames > checkpoint.frames:
            names = (path.with_name(f"aside-{path.name}{k or ''}") for k in count())
            aside = next(place for place in names if not place.exists())
            path.rename(aside)
            warnings.warn(f"{path} is not whole and was put aside as {aside.name}", stacklevel=2)
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return
    wanted = checkpoint.meta["metrics_bytes"] if checkpoint else 0
    with path.open("rb") as file:
        file.seek(max(0, wanted - 1))
        if wanted and file.read(1) != b"\n":  # or it is shorter than that; if it is not, it is told as changed
            if 0 < path.stat().st_size < wanted:  # an empty one is told as lost
                warnings.warn(f"{path} is shorter than when the checkpoint was written", stacklevel=2)
            elif checkpoint is not None and "metrics_crc32" not in checkpoint.meta:  # of an earlier version
                warnings.warn(f"{path} was changed since it was written: numbers in it may be wrong", stacklevel=2)
            file.seek(0)
            wanted = file.read(wanted).rfind(b"\n") + 1
    os.truncate(path, wanted)


def _prune(folder: Path, newest: int) -> None:
    """Of the checkpoints up to the newest, drop all but the last few."""
    named = checkpoint_folders(folder)
    for frames in sorted(frames for frames in named if frames <= newest)[:-KEPT]:
        remove(named[frames])
