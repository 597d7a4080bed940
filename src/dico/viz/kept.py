"""Pictures that outlast the networks they show: one map and one episode of each level, beside a run's summary.

``NAME.npz`` lies beside ``NAME.json``. Numbers are halved in precision: enough to draw, not to compute with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from dico.analysis import frames
from dico.analysis.fields import Extent, Field, grid
from dico.random import Random
from dico.runs import Recording, Run, RunError, Summary
from dico.tasks import MappedTask, Task, from_folder
from dico.viz.files import output_file
from dico.viz.selection import Selection, choose

START = 0
"""The start that is kept."""
RESOLUTION = 50
"""Cells along each side of a map."""
STATE = "state."
"""Before the names of what a state is made of."""


@dataclass(frozen=True)
class KeptSelection(Selection):
    """A selection without networks: it has the one map and the one episode that were kept."""

    arrays: Mapping[str, Tensor]

    def record(self, seed: int = START) -> Recording:
        """The kept episode of every member, without what nobody draws."""
        self._check(seed)
        blank = torch.empty(*self.arrays["running"].shape, 0)
        return Recording((), blank, self.arrays["running"], {}, blank[..., None], _state(self.task, self.arrays))

    def fields(self, state: Any, extent: Extent | None = None, resolution: int = RESOLUTION) -> list[Field]:
        """The kept map of every member, whatever resolution is asked for."""
        del state, extent, resolution
        kept: Extent = tuple(self.arrays["extent"].tolist())  # pyright: ignore[reportAssignmentType]
        x, y = grid(kept, RESOLUTION)
        every, before = self.arrays["map"], self.arrays.get("unscaled")
        return Field(every, every.new_empty(*every.shape, 0, 0), x, y, kept, before).apart()

    def _check(self, seed: int) -> None:
        if seed != START:
            raise ValueError(f"seed must be {START}, the only start that a summary keeps, got {seed}")


def keep_pictures(run: Run, path: Path) -> None:
    """Write the map and the episode of one member of each level."""
    selection = choose(run)
    recording = selection.record(START)
    kept: dict[str, Any] = {"members": np.array([member.index for member in selection.members])}
    kept |= {"frames": np.array(selection.frames), "running": recording.running.numpy()}
    kept |= {STATE + field.name: _halved(getattr(recording.states, field.name)) for field in fields(recording.states)}
    if isinstance(selection.task, MappedTask):
        drawn = selection.fields(selection.start(START), resolution=RESOLUTION)
        kept["map"] = np.stack([_halved(field.snd) for field in drawn])
        kept["extent"] = np.array(drawn[0].extent)
        before = [field.unscaled for field in drawn if field.unscaled is not None]
        kept |= {"unscaled": np.stack([_halved(values) for values in before])} if before else {}
    with output_file(path) as scratch, scratch.open("wb") as file:
        np.savez_compressed(file, **kept)


def kept_selection(run: Run) -> KeptSelection | None:
    """What was kept beside a summary; None if there is nothing."""
    path = run.folder.with_suffix(".npz")
    if not isinstance(run.source, Summary) or not path.is_file():
        return None
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: torch.from_numpy(file[name]) for name in file.files}
        arrays = {name: value.float() if value.is_floating_point() else value for name, value in arrays.items()}
        task = from_folder(run.config["task"], run.config["task_options"])
        members = tuple(run.members[index] for index in arrays["members"].tolist())
        kept = KeptSelection(run, task, members, (), int(arrays["frames"]), arrays)
        if kept.frames != frames(run)[-1]:
            raise ValueError("of another training")
        kept.scene(kept.record(), 0)
        if isinstance(task, MappedTask):
            kept.fields(None)
    except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, BadZipFile) as error:
        told = str(error).partition("\n")[0]
        raise RunError(f"{path} cannot be drawn ({told}): delete it, or keep the run again") from None
    return kept


def selection_of(shown: Selection | Run) -> Selection:
    """What to show: of a run a member of each level, or of a summary what was kept of it.

    >>> len(selection_of(run).members), selection_of(choose(run, ["1"])).members[0].constraint
    (4, '1')
    """
    if isinstance(shown, Selection):
        return shown
    if not isinstance(shown, Run):
        raise ValueError(f"what is drawn must be a run, or members of one that viz.choose gives, got {shown!r:.80}")
    return kept_selection(shown) or choose(shown)


def _state(task: Task, arrays: Mapping[str, Tensor]) -> Any:
    """The states of an episode, as the task makes them."""
    kind = type(task.reset(1, Random([0])))
    return kind(**{field.name: arrays[STATE + field.name] for field in fields(kind)})


def _halved(values: Tensor) -> np.ndarray:
    return values.detach().half().numpy() if values.is_floating_point() else values.numpy()
