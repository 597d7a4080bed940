"""Checkpoints that a kill at any moment leaves whole."""

import os
import shutil
import warnings
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from dico._files import write_json
from dico.runs import Checkpoint, RunError
from dico.runs.folder import checkpoint_folders
from dico.training.blocks import AnyPopulation
from dico.training.offpolicy import OffPolicyLearner
from dico.training.replay_store import ReplayStore

KEPT = 3
"""Checkpoints kept."""


def save(population: AnyPopulation, folder: Path, replay: ReplayStore | None, metrics_bytes: int) -> Path:
    """Write a checkpoint whole, then give it its name; drop the oldest.

    ``metrics_bytes`` is how long the metrics file is: what follows belongs to iterations that a resume does again.
    """
    path = folder / f"checkpoint-{population.frames}"
    scratch = folder / ".checkpoint.part"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        if replay is not None:
            replay.append()
        scratch.mkdir()
        tensors = {name: value.detach().cpu().contiguous().clone() for name, value in population.tensors().items()}
        save_file(tensors, scratch / "state.safetensors")
        _sync(scratch / "state.safetensors")
        meta = {"frames": population.frames, "iteration": population.iteration, "metrics_bytes": metrics_bytes,
                "replay": replay is not None}  # fmt: skip
        write_json(scratch / "meta.json", meta)
        shutil.rmtree(path, ignore_errors=True)
        scratch.rename(path)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise RunError(f"the checkpoint {path} could not be written ({error}); earlier ones are intact") from error
    _prune(folder)
    return path


def restore(population: AnyPopulation, checkpoint: Checkpoint, replay: ReplayStore | None) -> None:
    """Bring a population back to where a checkpoint was written."""
    saved = checkpoint.tensors()
    state = population.tensors()
    if saved.keys() != state.keys() or any(saved[name].shape != state[name].shape for name in state):
        raise RunError(
            f"{checkpoint.folder} holds the state of another configuration, or of another version of dico: resume with "
            "the one it was written with"
        )
    with torch.no_grad():
        for name, value in state.items():
            value.copy_(saved[name])
    population.iteration = checkpoint.meta["iteration"]
    if replay is not None and checkpoint.meta["replay"]:
        replay.restore()
        return
    for learner in population.learners:
        if isinstance(learner, OffPolicyLearner):
            learner.count.zero_()


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


def back_to(folder: Path, checkpoint: Checkpoint | None) -> None:
    """Drop what came after a checkpoint: newer ones, which are not whole, and later lines of the metrics file."""
    for frames, path in checkpoint_folders(folder).items():
        if checkpoint is None or frames > checkpoint.frames:
            shutil.rmtree(path)
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return
    length, wanted = path.stat().st_size, checkpoint.meta["metrics_bytes"] if checkpoint else 0
    if length < wanted:
        warnings.warn(f"{path} has lost lines that came before the checkpoint", stacklevel=2)
        wanted = path.read_bytes().rfind(b"\n") + 1
    os.truncate(path, wanted)


def _prune(folder: Path) -> None:
    named = checkpoint_folders(folder)
    for frames in sorted(named)[:-KEPT]:
        shutil.rmtree(named[frames])


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
