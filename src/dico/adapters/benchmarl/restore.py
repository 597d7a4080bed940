"""Going on from a checkpoint: what is read of it before anything is touched, and what of the old folder is kept."""

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from benchmarl.experiment import Experiment
from benchmarl.experiment.logger import JsonWriter
from torch import Tensor
from torchrl.record.loggers.csv import CSVLogger

from dico._files import whole
from dico.adapters.benchmarl.terms import Terms, check_same


def check_saved(saved: Mapping[str, Any], now: Terms, freeze: Mapping[str, int]) -> None:
    """What the callback saved must be of an experiment with these settings; a freeze may be left out."""
    check_same(saved["terms"], now)
    if freeze and dict(freeze) != saved["freeze"]:
        raise ValueError(
            f"the checkpoint was trained with freeze={saved['freeze']}, got {dict(freeze)}: leave freeze out, or "
            "start a new experiment"
        )


def read_checkpoint(path: str | Path) -> Mapping[str, Any]:
    """A checkpoint of BenchMARL, or an error that says why it is none."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"restore_file {file} does not exist")
    try:
        saved = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError:
        raise ValueError(f"restore_file {file} holds more than tensors and plain values, and is not opened") from None
    except (RuntimeError, OSError, EOFError, ValueError):
        raise ValueError(f"restore_file {file} is not whole, or no checkpoint: choose another") from None
    if not isinstance(saved, Mapping) or "state" not in saved:
        raise ValueError(f"restore_file {file} is no checkpoint of BenchMARL: choose one in a folder checkpoints/")
    return saved


def as_tensor(file: Path) -> Tensor:
    """A file's bytes, for a checkpoint to hold; none if the file is gone."""
    return torch.tensor(list(file.read_bytes()) if file.is_file() else [], dtype=torch.uint8)


def put_back(file: Path, saved: Tensor) -> None:
    """The file whose bytes a checkpoint holds."""
    if saved.numel():
        with whole(file) as scratch:
            scratch.write_bytes(bytes(saved.tolist()))


def take_up_json(writer: JsonWriter) -> None:
    """Let BenchMARL go on with the JSON of the restored experiment, which it would begin anew."""
    try:
        old, new = json.loads(writer.path.read_text()), writer.data
        while new is not writer.run_data:  # by environment, task, algorithm and seed, one of each
            (name,) = new
            old, new = old[name], new[name]
    except (OSError, json.JSONDecodeError, KeyError, TypeError):
        return
    writer.run_data.update(old)


def forget_after(experiment: Experiment, frames: int) -> None:
    """Leave out what a restored experiment is about to write again: BenchMARL's evaluations, curves and checkpoints."""
    for file in Path(experiment.folder_name).glob("checkpoints/checkpoint_*.pt"):
        number = file.stem.removeprefix("checkpoint_")
        if number.isdigit() and int(number) > frames:
            file.unlink()
    if experiment.logger.json_writer is not None:
        _forget_evaluations(experiment.logger.json_writer, frames)
    for logger in experiment.logger.loggers:
        if isinstance(logger, CSVLogger):
            folder = Path(logger.experiment.log_dir) / "scalars"
            for file in folder.glob("**/*.csv"):
                name = str(file.relative_to(folder).with_suffix(""))
                _forget_rows(file, experiment.n_iters_performed, own=len(logger.experiment.scalars.get(name, ())))


def _forget_evaluations(writer: JsonWriter, frames: int) -> None:
    """Evaluations beyond, and the greatest values, which are those of what remains."""
    data: dict[str, Any] = writer.run_data
    steps = {name: step for name, step in data.items() if step.get("step_count", frames + 1) <= frames}
    greatest: dict[str, list[float]] = {}
    for step in steps.values():
        for name, values in step.items():
            if name != "step_count" and values:
                greatest[name] = [max(values + greatest.get(name, []))]
    data.clear()
    data.update({"absolute_metrics": greatest, **steps})


def _forget_rows(file: Path, step: int, own: int) -> None:
    """Rows of steps that are to come, but for the last ``own``, just written; the logger holds the file open."""
    lines = file.read_text().splitlines(keepends=True)
    old, new = lines[: len(lines) - own], lines[len(lines) - own :]
    numbers = [line.partition(",")[0] for line in old]
    kept = [line for line, number in zip(old, numbers, strict=True) if number.isdigit() and int(number) < step]
    if len(kept) < len(old):
        file.write_text("".join(kept + new))
