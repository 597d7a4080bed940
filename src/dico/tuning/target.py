"""The diversity at which a metric meets a target: alg:closed_loop, with populations as evaluations."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np
from jaxtyping import Float

from dico.analysis import Answer, answer
from dico.analysis.statistics import mean_interval
from dico.control import Step, closed_loop_in_batches
from dico.tuning.trials import Bench, Trial, Tuned, text_of_level, why_left_out

RELATIVE = 0.05
"""What is tolerated if nothing else is said, as a share of the target."""
FINEST = 20
"""Steps that the sweep has at most, which a search is compared with."""


@dataclass(frozen=True)
class PID:
    """The paper's controller (alg:closed_loop)."""

    gains: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Of the error, its change and its sum."""
    initial: float = 0.0
    """The first level."""


@dataclass(frozen=True)
class Target:
    """What is wanted, and how far the search for it may go."""

    value: float
    """What the metric should be."""
    high: float | None
    """The greatest level; PID knows none."""
    tolerance: float | None = None
    """The greatest error; by default a twentieth of the target."""
    at_once: int = 4
    """Levels that a population trains."""
    evaluations: int = 16
    """Levels that are trained in all, at most."""
    pid: PID | None = None
    """In place of the safeguarded search; then each population trains one level."""

    @property
    def allowed(self) -> float:
        """The greatest error, whether it was given or not."""
        return RELATIVE * (abs(self.value) or 1.0) if self.tolerance is None else self.tolerance

    def loop(self, evaluate: Callable[[list[float]], Sequence[Sequence[float]]]) -> Iterator[list[Step]]:
        """The closed loop; bad values are told before anything is evaluated."""
        if self.pid is None:
            if self.high is None:
                raise ValueError("high must be given: the search needs a greatest level, only PID has none")
            options: dict[str, Any] = {"high": self.high, "at_once": self.at_once}
        else:
            options = {"method": "pid", **asdict(self.pid)}
        return closed_loop_in_batches(
            evaluate, self.value, tolerance=self.allowed, evaluations=self.evaluations, **options
        )

    def to_json(self) -> dict[str, Any]:
        """What was asked for, by name; without PID as versions that had none wrote it.

        >>> Target(0.9, 2.0).to_json()
        {'value': 0.9, 'high': 2.0, 'tolerance': None, 'at_once': 4, 'evaluations': 16}
        """
        return {name: value for name, value in asdict(self).items() if name != "pid" or value is not None}


class _UnmeasuredError(Exception):
    """Of some level no seed has a value; the message says why."""


def meet(bench: Bench, target: Target) -> Tuned:
    """Look for the level, one population after another; a level that is asked for again is trained with other seeds.

    Where a level has no value, the search ends with what is known of the others.
    """
    config, asked = bench.config, Counter()
    frames = config.iterations * config.frames_per_batch

    def evaluate(levels: list[float]) -> list[tuple[float, ...]]:
        chosen = [text_of_level(level) for level in levels]
        again = max(asked[text] for text in chosen)  # a level is asked for again alone
        asked.update(chosen)
        _, trials = bench.train(chosen, frames, first_seed=again * config.seeds)
        if not all(trial.known for trial in trials):
            raise _UnmeasuredError(why_left_out(trials, bench.metric))
        return [trial.values for trial in trials]

    outcome, nearest, why = "exhausted", None, ""
    try:
        for batch in target.loop(evaluate):
            outcome, nearest = batch[-1].outcome or "exhausted", _rounded(batch[-1].answer)
            bench.say(
                f"nearest so far: {text_of_level(nearest)} with {fmean(_all(bench.history)[nearest]):.4g}, "
                f"of {target.value:g} wanted"
            )
    except _UnmeasuredError as stuck:
        why, measured = str(stuck), _all(bench.history)
        if not measured:
            raise ValueError(why) from None
        nearest = min(measured, key=lambda level: (abs(fmean(measured[level]) - target.value), level))
    assert nearest is not None
    measured = _all(bench.history)
    low, high = _around(measured, nearest, target.value)
    dense = _dense(map(float, asked), target.high)
    pays = _answer(measured, bench.metric.episodes)
    return Tuned(
        outcome, text_of_level(nearest), low, high, pays, bench.frames, dense * frames * config.seeds,
        tuple(bench.history), why or ("" if pays is None else pays.why),
    )  # fmt: skip


def _dense(levels: Iterable[float], high: float | None) -> int:
    """How many levels a sweep has up to the highest, or to the greatest that was tried, at the finest step tried.

    A search that closes in takes steps much finer than a sweep's would be: a twentieth of the range will do.

    >>> _dense([0, 2, 1, 0.5], 2.0), _dense([0, 0.6, 0.4], None), _dense([0], None), _dense([0, 1, 0.999], 1.0)
    (5, 4, 1, 21)
    """
    tried = sorted(levels)
    greatest = tried[-1] if high is None else high
    finest = min((b - a for a, b in pairwise(tried)), default=greatest)
    return min(math.ceil(round(greatest / finest, 3)), FINEST) + 1 if greatest else 1


def _rounded(level: float) -> float:
    """As a member's constraint has it."""
    return float(text_of_level(level))


def _all(history: Sequence[Trial]) -> dict[float, list[float]]:
    """All values that were ever measured at each level."""
    found: dict[float, list[float]] = {}
    for trial in history:
        if trial.known:
            found.setdefault(float(trial.level), []).extend(trial.known)
    return found


def _around(measured: Mapping[float, Sequence[float]], answer: float, target: float) -> tuple[float, float]:
    """From the answer as far down and up as no level surely misses the target, those that do included.

    Surely: the 95 % interval of its mean, or its mean where too few values tell no interval. NaN where all miss it on
    the same side.
    """
    ends = {level: _ends(np.array(values)) for level, values in measured.items()}
    if all(low > target for low, _ in ends.values()) or all(high < target for _, high in ends.values()):
        return math.nan, math.nan
    missing = [level for level, (low, high) in ends.items() if not low <= target <= high]
    below, above = (level for level in missing if level < answer), (level for level in missing if level > answer)
    return max(below, default=min(measured)), min(above, default=max(measured))


def _ends(values: Float[np.ndarray, " seeds"]) -> tuple[float, float]:
    """Of the interval of a mean."""
    found = mean_interval(values)
    return (found.effect, found.effect) if math.isnan(found.low) else (found.low, found.high)


def _answer(measured: Mapping[float, Sequence[float]], episodes: int | None) -> Answer | None:
    """Whether diversity pays, by all that was measured."""
    found = {text_of_level(level): np.array(values) for level, values in measured.items()}
    return answer(found, episodes) if len(found) > 1 else None
