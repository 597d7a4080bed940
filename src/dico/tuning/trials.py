"""Trials: levels that were trained and measured, where, and what came of them."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dico._files import plain, write_json
from dico.analysis import Answer, controlled_metric, final, levels, of_level
from dico.analysis.gain import as_number
from dico.analysis.statistics import FEWEST
from dico.bounds import max_snd
from dico.experiments import state_of, train_or_go_on
from dico.members import controlled_groups
from dico.runs import Run, RunError
from dico.runs.reading import read_json
from dico.runs.shapes import COUNT, check
from dico.tasks import from_settings
from dico.training.config import Config
from dico.training.observers import Observer
from dico.training.options import SessionOptions
from dico.training.succession import succeed
from dico.tuning.metrics import Metric

REQUEST = "tune.json"
"""What was asked for, in the folder of a tuning."""


@dataclass(frozen=True)
class Trial:
    """A level as it was measured once."""

    population: int
    """Which of the populations, 1, 2, 3, ..."""
    level: str
    frames: int
    """Of each member's training when it was measured."""
    values: tuple[float, ...]
    """The metric of each seed; NaN if it diverged, or has none."""
    measured: float
    """The diversity that it had, mean over seeds."""
    since: str | None = None
    """The level whose networks it took over when its own training began, if it did."""

    @property
    def known(self) -> list[float]:
        """The values of the seeds that count."""
        return [value for value in self.values if math.isfinite(value)]

    @property
    def mean(self) -> float:
        """Over the seeds that count; minus infinity if none does, so that it never leads."""
        return sum(self.known) / len(self.known) if self.known else -math.inf

    def to_json(self) -> dict[str, Any]:
        """By name; a desired value as a number."""
        return plain(asdict(self) | {"level": as_number(self.level)})


@dataclass(frozen=True)
class Tuned:
    """What came of a tuning."""

    outcome: str
    level: str
    """The level to take."""
    low: float
    high: float
    """The levels that it cannot be told from; in a search for a target, the nearest tried ones around it that surely
    miss the target."""
    answer: Answer | None
    """Whether diversity pays, by the members that were trained for as long; None where one level says nothing."""
    frames: int
    """Spent on all members together."""
    dense_frames: int
    """What a sweep of all levels at the finest step would have cost."""
    history: tuple[Trial, ...]
    why: str = ""
    """What keeps it from telling more, if something does."""

    def to_json(self) -> dict[str, Any]:
        """By name; what is not known is null."""
        names = ("gain", "gain_low", "gain_high", "p_beats_free", "p_beats_homogeneous")
        found = {name: None if self.answer is None else getattr(self.answer, name) for name in names}
        return plain({
            "outcome": self.outcome, "level": as_number(self.level), "low": self.low, "high": self.high, **found,
            "why": self.why or None, "frames": self.frames, "dense_frames": self.dense_frames,
            "history": [trial.to_json() for trial in self.history],
        })  # fmt: skip


@dataclass
class Bench:
    """Where populations are trained and measured, one after the other; what is there already is not trained again."""

    config: Config
    """Of every population, but for its levels, seeds and frames; the frames are those of a whole training."""
    metric: Metric
    folder: Path
    options: SessionOptions = field(default_factory=SessionOptions)
    watch: Callable[[], Sequence[Observer]] = tuple
    """Who watches a training, anew for each."""
    say: Callable[[str], None] = lambda _: None
    """Takes what a user should know."""
    noted: Callable[[Sequence[Trial]], None] = lambda _: None
    """Takes all trials so far, after each population."""
    history: list[Trial] = field(default_factory=list)
    frames: int = 0
    """Spent so far, on all members together."""

    def begin(self, request: Mapping[str, Any]) -> None:
        """Take the folder, or take it up again: an error if something else was asked for there."""
        asked = json.loads(json.dumps({"config": asdict(self.config), "metric": self.metric.name, **request}))
        before = read_request(self.folder)
        if before is not None:
            changed = [
                f"{name} ({', '.join(parts)})" if (parts := _differing(before.get(name), asked.get(name))) else name
                for name in _differing(before, asked)
            ]
            if changed:
                raise RunError(
                    f"{self.folder} was tuned with another {', '.join(changed)}: give the options that it was begun "
                    "with, or choose another --folder"
                )
            return
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise RunError(f"{self.folder} exists already, and no tuning is in it: choose another --folder")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / REQUEST, asked)
        except OSError as error:
            raise RunError(f"{self.folder} cannot be written ({error}): choose another --folder") from None

    def train(
        self, chosen: Sequence[str], frames: int, *, first_seed: int = 0, after: Run | None = None, leader: str = ""
    ) -> tuple[Run, list[Trial]]:
        """Train a population of levels for so many frames, and measure it.

        Its members go on from those of the run ``after``: each from its own level there, and a level that is new from
        that of the ``leader``, of the same seed.
        """
        number = 1 + max((trial.population for trial in self.history), default=0)
        first = self.config.first_seed + first_seed
        config = replace(self.config, snd=tuple(chosen), frames=frames, first_seed=first)
        place = self.folder / f"population-{number}"
        self.say(f"population {number}: {', '.join(chosen)}, to {frames:,} frames of each member")
        known = [] if after is None else levels(after)
        state = state_of(place, config)
        if after is not None and state == "new":
            succeed(after, config, place, list(_sources(after, config, leader)), self.options)
            state = state_of(place, config)
        run = train_or_go_on(config, place, state, self.options, self.watch())
        self.frames += (frames - (int(after.config["frames"]) if after else 0)) * len(config.members)
        values, measured = self.metric.measure(run), final(run, controlled_metric(run))
        trials = [
            Trial(
                number, level, frames, tuple(values[of_level(run, level)].tolist()),
                _mean(measured[of_level(run, level)]), leader if after is not None and level not in known else None,
            )
            for level in chosen
        ]  # fmt: skip
        self.history += trials
        self.noted(self.history)
        return run, trials


def why_left_out(trials: Iterable[Trial], metric: Metric) -> str:
    """Why some levels are not compared, if they are not: too few of their seeds have a value.

    A diversity is known of all that did not diverge.

    >>> from dico.tuning.metrics import METRICS
    >>> trials = [Trial(1, "0", 100, (math.nan,) * 3, 0.0), Trial(1, "1", 100, (0.8, 0.9, 0.7), 1.0)]
    >>> why_left_out(trials, METRICS["resilience"])
    '0 is not compared, for too few seeds have a value of resilience there: without a fault the return is 0 or less...'
    """
    few = [trial for trial in trials if len(trial.known) < min(FEWEST, len(trial.values))]
    if not few:
        return ""
    undefined = metric.undefined if any(math.isfinite(trial.measured) for trial in few) else ""
    at = f"{few[0].level} is" if len(few) == 1 else f"{', '.join(trial.level for trial in few)} are"
    return f"{at} not compared, for too few seeds have a value of {metric.name} there: {undefined or 'seeds diverged'}"


def _differing(before: Any, asked: Any) -> list[str]:
    """Names of what differs between two parts of a request, if they have names.

    >>> _differing({"value": 0.5, "evaluations": 16}, {"value": 0.5, "evaluations": 20}), _differing("reward", "return")
    (['evaluations'], [])
    """
    if not isinstance(before, dict) or not isinstance(asked, dict):
        return []
    return [name for name in {**before, **asked} if before.get(name) != asked.get(name)]


def read_request(folder: Path) -> dict[str, Any] | None:
    """What was asked for in the folder of a tuning; None if nothing was."""
    path = folder / REQUEST
    if not path.exists():
        return None
    try:
        return check(read_json(path), {"config": {"frames": COUNT, "noise_frames": COUNT}}, path)
    except RunError as error:
        raise RunError(f"{error}: choose another --folder") from None


def largest_diversity(config: Config) -> float:
    """The largest SND that the controlled team can have in its action box, rounded down to two decimals.

    >>> largest_diversity(Config())
    2.82
    """
    task = from_settings(config.task, config.task_options)
    sizes = {group.name: len(group.agents) for group in task.groups}
    n_agents = sizes[controlled_groups(sizes, config.controlled)[0]]
    if config.metric != "snd" or n_agents < 2:
        raise ValueError(
            f"high must be given for {config.task} controlled by {config.metric}: its largest is not known"
        )
    return math.floor(100 * max_snd(n_agents, task.action_low, task.action_high).value) / 100


def text_of_level(value: float) -> str:
    """A level as a text, short.

    >>> text_of_level(0.0), text_of_level(0.7071067), text_of_level(2.82 * 0.4)
    ('0', '0.707107', '1.128')
    """
    return f"{value:.6g}"


def _sources(run: Run, config: Config, leader: str) -> Iterable[int]:
    """Of each member, the one that it takes over: of its own level, or of the leader's."""
    places = {(member.constraint, member.seed): member.index for member in run.members}
    for member in config.members:
        yield places.get((member.constraint, member.seed), places[leader, member.seed])


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
