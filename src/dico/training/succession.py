"""A population that takes over from another: some members go on as they are, others go on at another diversity."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from dico._checks import check_number
from dico.runs import Run, RunError
from dico.runs.folder import read_checkpoints
from dico.training.blocks import AnyPopulation, is_common, make_population
from dico.training.checkpoint import replay_store, restore, save
from dico.training.config import Config
from dico.training.offpolicy import OffPolicyLearner
from dico.training.options import SessionOptions
from dico.training.session import describe, read_config

OWN = ".policy.constraint."
"""In the names of what a member never takes over: the diversity that it desires."""


def succeed(run: Run, config: Config, folder: Path, sources: Sequence[int], options: SessionOptions) -> None:
    """Write a run folder whose members begin where those of ``run`` ended; :func:`dico.resume` then trains it.

    Member k takes over all that member ``sources[k]`` of the other run has: networks, optimisers, estimate,
    environments, replay buffer and the frames that it was trained for. What it does not take over is the desired
    diversity. The scale of the deviations is the desired diversity over their own (eq:scaled_policies), so the same
    networks meet the new one at once. All numbers but the diversity must be those of the other run, and so must the
    seed: random numbers go on where they were. The folder is there when it is whole, or not at all.
    """
    _check(run, config, sources)
    checkpoint = next(read_checkpoints(run.folder), None)
    if checkpoint is None:
        raise RunError(run.source.no_checkpoint())
    stage = options.make_stage()
    old = make_population(read_config(run), stage, options.block)
    restore(old, checkpoint, replay_store(old, run.folder, options))
    new = make_population(config, stage, options.block)
    _take_over(new, old, list(sources))
    scratch = folder.with_name(f".part-{folder.name}")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir(parents=True)
        describe(new, scratch, options)
        save(new, scratch, replay_store(new, scratch, options), metrics_bytes=0, metrics_crc32=0)
        scratch.rename(folder)
    except OSError as error:
        raise RunError(f"{folder} cannot be written ({error}): choose another folder") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@torch.no_grad()
def _take_over(new: AnyPopulation, old: AnyPopulation, sources: list[int]) -> None:
    saved = old.tensors()
    for name, value in new.tensors().items():
        if is_common(name):
            value.copy_(saved[name])
        elif OWN not in name:
            value.copy_(saved[name][sources])
    for mine, theirs in zip(new.learners, old.learners, strict=True):
        if isinstance(mine, OffPolicyLearner) and isinstance(theirs, OffPolicyLearner):
            for name, frames in mine.replay_buffer.items():
                frames.copy_(theirs.replay_buffer[name][sources])
    new.iteration = old.iteration


def _check(run: Run, config: Config, sources: Sequence[int]) -> None:
    """What a successor may not differ in: all but desired diversities, and how long it trains."""
    changed = [name for name in config.differs_from(read_config(run)) if name not in ("snd", "frames")]
    if changed:
        raise ValueError(f"config must be that of {run.folder} but for snd and frames, got another {changed[0]}")
    if len(sources) != len(config.members):
        raise ValueError(f"sources must name a member for each of {len(config.members)}, got {len(sources)}")
    for member, source in zip(config.members, sources, strict=True):
        check_number("each of sources", source, 0, len(run.members) - 1, whole=True)
        theirs = run.members[source]
        if theirs.seed != member.seed:
            raise ValueError(f"sources must be of the same seed, got {theirs.name} for {member.name}")
