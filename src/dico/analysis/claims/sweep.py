"""The runs of one experiment, its pieces joined: what a claim looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from dico.analysis.behaviour import behaviours
from dico.analysis.measured import curves, final_mean, frames
from dico.analysis.members import FREE, align, controlled_metric, group_fields, levels, of_level
from dico.analysis.statistics import mean_of
from dico.members import NUMBERS
from dico.runs import Run
from dico.runs.summary import thin, thin_ends

BATCHES = 20
"""Means over so many batches are what is said to be reached, tracked or lost."""
PIECES = ("snd", "seeds", "first_seed", "vary", *NUMBERS)
"""Settings in which the pieces of one experiment may differ."""


class MissingError(ValueError):
    """A claim cannot be judged; the message says what is missing."""


@dataclass(frozen=True)
class Sweep:
    """Runs of one task with the same settings, but for levels and seeds."""

    runs: tuple[Run, ...]

    @property
    def experiment(self) -> str:
        """The paper's experiment that it is of: its task, or ``tau`` where members differ in that."""
        varied = {field for run in self.runs for field in group_fields(run)}
        return "tau" if "tau" in varied else self.runs[0].config["task"]

    @property
    def source(self) -> str:
        """Where it comes from: names of the folders."""
        return ", ".join(dict.fromkeys(f"{run.folder.parent.name}/{run.folder.stem}" for run in self.runs))

    @property
    def levels(self) -> list[str]:
        """All levels, in order, free last."""
        return levels(*self.runs)

    @property
    def constrained(self) -> list[str]:
        """The levels that desire something, in order."""
        return [level for level in self.levels if level != FREE]

    @cached_property
    def frames(self) -> Float[np.ndarray, " points"]:
        """Environment steps of each member at the end of each point of its curves; of the shortest run."""
        return min((thin_ends(torch.from_numpy(frames(run))).numpy() for run in self.runs), key=len)

    @property
    def window(self) -> int:
        """Points of a curve in :data:`BATCHES` batches; in a short training an eighth of it."""
        points = self.frames
        batches = points[0] / self.runs[0].config["frames_per_batch"]
        return max(1, min(round(BATCHES / batches), len(points) // 8))

    def curves(self, metric: str, level: str) -> Float[np.ndarray, "seeds points"]:
        """A metric of the members of a level, thinned as summaries are; ``snd`` stands for the controlled metric."""
        length = len(self.frames)
        return np.concatenate([self._read(run, metric)[of_level(run, level), :length] for run in self._having(level)])

    def final(self, metric: str, level: str) -> Float[np.ndarray, " seeds"]:
        """Each member's mean over the last tenth of the training."""
        return final_mean(self.curves(metric, level))

    def smooth(self, metric: str, level: str) -> Float[np.ndarray, "seeds windows"]:
        """Means over :data:`BATCHES` batches, of every such stretch of the training."""
        return running_mean(self.curves(metric, level), self.window)

    def reached(self, level: str, threshold: float) -> Float[np.ndarray, " seeds"]:
        """Frames after which the reward, as a mean over batches, first is as great; the last frame if it never is."""
        smooth, ends = self.smooth("reward", level), self.frames[self.window - 1 :]
        there = smooth >= threshold
        when = np.where(there.any(1), ends[there.argmax(1)], ends[-1])
        return np.where(np.isfinite(smooth).all(1), when, np.nan)

    def behaviour(self, name: str, level: str) -> Float[np.ndarray, " seeds"]:
        """What the members of a level do (:mod:`dico.analysis.behaviour`); in cross-play, the mean over opponents."""
        found = []
        for run in self._having(level):
            measured = self._behaviours[self.runs.index(run)]
            if name not in measured:
                raise MissingError(f"{run.folder} does not tell {name}: it is a summary, and nobody had looked")
            found.append(_mean_of_rows(np.asarray(measured[name], dtype=float))[of_level(run, level)])
        return np.concatenate(found)

    def _read(self, run: Run, metric: str) -> Float[np.ndarray, "members points"]:
        key = self.runs.index(run), metric
        if key not in self._kept:
            read = curves(run, controlled_metric(run) if metric == "snd" else metric)
            self._kept[key] = thin(torch.from_numpy(read)).numpy()
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, str], Float[np.ndarray, "members points"]]:
        """Curves that have been read."""
        return {}

    @cached_property
    def _behaviours(self) -> list[Mapping[str, Any]]:
        """Of each run; its members play episodes for it."""
        return [behaviours(run) for run in self.runs]

    def _having(self, level: str) -> list[Run]:
        found = [run for run in self.runs if level in levels(run)]
        if not found:
            raise MissingError(f"no member of {self.source} is of level {level}")
        return found


def sweeps(runs: Sequence[Run]) -> list[Sweep]:
    """The runs, those of one experiment together: with the same settings, and varying the same numbers."""
    joined: dict[str, list[Run]] = {}
    for run in runs:
        settings = {name: value for name, value in run.config.items() if name not in PIECES}
        varied = [field for field in group_fields(run) if field != "constraint"]
        joined.setdefault(repr((sorted(settings.items()), varied)), []).append(run)
    return [Sweep(tuple(align(each))) for each in joined.values()]


def _mean_of_rows(values: Float[np.ndarray, "members *rest"]) -> Float[np.ndarray, " members"]:
    rest = values.reshape(len(values), -1)
    return mean_of(np.nansum(rest, 1), np.isfinite(rest).sum(1))


def running_mean(values: Float[np.ndarray, "seeds points"], window: int) -> Float[np.ndarray, "seeds windows"]:
    """Means over every stretch of ``window`` points.

    >>> running_mean(np.array([[1.0, 2.0, 3.0, 4.0]]), 2).tolist()
    [[1.5, 2.5, 3.5]]
    """
    return np.lib.stride_tricks.sliding_window_view(values, window, axis=1).mean(-1)
