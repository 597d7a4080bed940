"""The runs of one experiment, its pieces joined: what a claim looks at."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float

from dico.analysis.behaviour import behaviours
from dico.analysis.measured import curves, final_mean, frames
from dico.analysis.members import FREE, align, controlled_metric, group_fields, levels, of_level, over_box
from dico.analysis.statistics import mean_of
from dico.members import Member
from dico.runs import Run
from dico.runs.summary import thin, thin_ends
from dico.schedules import is_scheduled

BATCHES = 20
"""Means over so many batches are what is said to be reached, tracked or lost."""
PIECES = ("snd", "seeds", "first_seed", "vary")
"""Settings in which the pieces of one experiment may differ, beside the numbers that it varies."""


class MissingError(ValueError):
    """A claim cannot be judged; the message says what is missing."""


@dataclass(frozen=True)
class Sweep:
    """Runs of one task with the same settings and of the same length, but for levels and seeds."""

    runs: tuple[Run, ...]

    @property
    def experiment(self) -> str:
        """The paper's experiment that it is of: its task, ``tau`` where members differ in that; none if in others.

        Under analytical control it is ``analytical`` or, with either FINN, ``analytical-finn``, on navigation alone.
        """
        varied = {field for run in self.runs for field in group_fields(run)} - {"constraint"}
        config = self.runs[0].config
        if config.get("control") == "analytical":
            papers = config["task"] == "navigation" and not varied
            return {"autoregressive": "analytical"}.get(config["density"], "analytical-finn") if papers else ""
        return {frozenset(): self.runs[0].config["task"], frozenset({"tau"}): "tau"}.get(frozenset(varied), "")

    @property
    def source(self) -> str:
        """Where it comes from: names of the folders."""
        return ", ".join(dict.fromkeys(f"{run.folder.absolute().parent.name}/{run.folder.stem}" for run in self.runs))

    @property
    def levels(self) -> list[str]:
        """All levels, in order, free last."""
        return levels(*self.runs)

    @property
    def constrained(self) -> list[str]:
        """The levels that desire something, and always the same, in order."""
        return [level for level in self.levels if level != FREE and not is_scheduled(level)]

    @cached_property
    def frames(self) -> Float[np.ndarray, " points"]:
        """Environment steps of each member at the end of each point of its curves."""
        return thin_ends(torch.from_numpy(frames(self.runs[0]))).numpy()

    @property
    def window(self) -> int:
        """Points of a curve in :data:`BATCHES` batches; in a short training an eighth of it."""
        batches = self.frames[0] / self.runs[0].config["frames_per_batch"]
        return max(1, min(round(BATCHES / batches), len(self.frames) // 8))

    @property
    def spacing(self) -> float:
        """Frames between two points of a curve: nothing is told more finely."""
        return float(np.diff(self.frames).mean())

    def curves(self, metric: str, level: str) -> Float[np.ndarray, "seeds points"]:
        """A metric of the members of a level, thinned as summaries are.

        ``measured`` stands for the controlled metric on rollouts, and ``snd`` for what is held to the desired value,
        which is the same or, under analytical control, the diversity over the box.
        """
        return np.concatenate([self._read(run, metric)[self._of(run, level)] for run in self._having(level)])

    def final(self, metric: str, level: str) -> Float[np.ndarray, " seeds"]:
        """Each member's mean over the last tenth of the training; NaN if it diverged."""
        return final_mean(self.curves(metric, level))

    def mean_final(self, metric: str, level: str) -> float:
        """The mean of that over the members that did not diverge."""
        values = self.final(metric, level)
        if not np.isfinite(values).any():
            raise MissingError(f"all members of {self.source} of level {level} diverged")
        return float(np.nanmean(values))

    def smooth(self, metric: str, level: str) -> Float[np.ndarray, "seeds windows"]:
        """Means over :data:`BATCHES` batches, of every such stretch of the training."""
        return running_mean(self.curves(metric, level), self.window)

    def reached(self, level: str, threshold: float) -> Float[np.ndarray, " seeds"]:
        """Frames after which the reward, as a mean over batches, first is as great; the last frame if it never is."""
        if threshold <= 0:
            raise MissingError(f"the reward to be reached is not above 0 in {self.source}")
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
            values = np.asarray(measured[name], dtype=float)
            if values.ndim > 1 and levels(run) != self.levels:
                raise MissingError(f"{run.folder} has not all levels, so its members met other opponents")
            found.append(_mean_of_rows(values)[self._of(run, level)])
        return np.concatenate(found)

    def _having(self, level: str) -> list[Run]:
        found = [run for run in self.runs if level in levels(run) and self._of(run, level).any()]
        if not found:
            raise MissingError(f"no member of {self.source} is of level {level}")
        return found

    def _of(self, run: Run, level: str) -> Bool[np.ndarray, " members"]:
        """Which of a run's members are of a level and count."""
        return of_level(run, level) & self._counted[self.runs.index(run)]

    def _read(self, run: Run, metric: str) -> Float[np.ndarray, "members points"]:
        key = self.runs.index(run), metric
        if key not in self._kept:
            names = {"measured": controlled_metric(run), "snd": "snd_box" if over_box(run) else controlled_metric(run)}
            read = curves(run, names.get(metric, metric))
            self._kept[key] = thin(torch.from_numpy(read)).numpy()
        return self._kept[key]

    @cached_property
    def _counted(self) -> list[Bool[np.ndarray, " members"]]:
        """Of each run, which members are in no run before it: nobody is a seed twice."""
        seen: set[tuple[Any, ...]] = set()
        counted = []
        for run in self.runs:
            told = [_record(member) for member in run.members]
            counted.append(np.array([record not in seen for record in told]))
            seen.update(told)
        if not all(mask.all() for mask in counted):
            warnings.warn(f"{self.source} have members in common, which count once", stacklevel=2)
        return counted

    @cached_property
    def _kept(self) -> dict[tuple[int, str], Float[np.ndarray, "members points"]]:
        """Curves that have been read."""
        return {}

    @cached_property
    def _behaviours(self) -> list[Mapping[str, Any]]:
        """Of each run; its members play episodes for it."""
        return [behaviours(run) for run in self.runs]


def sweeps(runs: Sequence[Run]) -> list[Sweep]:
    """The runs, those of one experiment together: the same settings and length, and the same numbers varied."""
    joined: list[list[Run]] = []
    for run in runs:
        belongs = next((each for each in joined if _is_piece(run, each[0])), None)
        if belongs is None:
            joined.append([run])
        else:
            belongs.append(run)
    return [Sweep(tuple(align(each))) for each in joined]


def alike(run: Run, other: Run) -> bool:
    """Whether two runs are of one experiment; a setting that one of them, being older, does not tell is no matter."""
    (mine, varied), (theirs, also) = _settings(run), _settings(other)
    return varied == also and all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())


def _is_piece(run: Run, other: Run) -> bool:
    """Whether they are also of the same length."""
    ends, others = (thin_ends(torch.from_numpy(frames(each))).numpy() for each in (run, other))
    return np.array_equal(ends, others) and alike(run, other)


def _settings(run: Run) -> tuple[dict[str, Any], list[str]]:
    """What runs of one experiment have in common: settings, and the names of what varies."""
    varied = [field for field in group_fields(run) if field != "constraint"]
    return {name: value for name, value in run.config.items() if name not in (*PIECES, *varied)}, varied


def running_mean(values: Float[np.ndarray, "seeds points"], window: int) -> Float[np.ndarray, "seeds windows"]:
    """Means over every stretch of ``window`` points.

    >>> running_mean(np.array([[1.0, 2.0, 3.0, 4.0]]), 2).tolist()
    [[1.5, 2.5, 3.5]]
    """
    return np.lib.stride_tricks.sliding_window_view(values, window, axis=1).mean(-1)


def scatter(values: Float[np.ndarray, "seeds points"], window: int) -> Float[np.ndarray, " seeds"]:
    """How curves scatter about their running means: what they learn meanwhile does not count.

    >>> scatter(np.array([[0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 3.0, 0.0, 3.0, 0.0]]), 3).round(3).tolist()
    [0.0, 1.886]
    """
    window = min(window, values.shape[1])
    first = (window - 1) // 2
    means = running_mean(values, window)
    return (values[:, first : first + means.shape[1]] - means).std(1)


def _mean_of_rows(values: Float[np.ndarray, "members *rest"]) -> Float[np.ndarray, " members"]:
    rest = values.reshape(len(values), -1)
    return mean_of(np.nansum(rest, 1), np.isfinite(rest).sum(1))


def _record(member: Member) -> tuple[Any, ...]:
    """All that makes a member what it is."""
    return tuple(getattr(member, field.name) for field in fields(member) if field.name not in ("index", "name"))
