"""The diversity at which a metric meets a target: alg:closed_loop, with populations as evaluations."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from dico.analysis import Answer, answer
from dico.analysis.statistics import mean_interval
from dico.control import Step, closed_loop_in_batches
from dico.tuning.trials import Bench, Tuned, text_of_level

RELATIVE = 0.05
"""What is tolerated if nothing else is said, as a share of the target."""


@dataclass(frozen=True)
class Target:
    """What is wanted, and how far the search for it may go."""

    value: float
    """What the metric should be."""
    high: float
    """The greatest level."""
    tolerance: float | None = None
    """The greatest error; by default a twentieth of the target."""
    at_once: int = 4
    """Levels that a population trains."""
    evaluations: int = 16
    """Levels that are trained in all, at most."""

    @property
    def allowed(self) -> float:
        """The greatest error, whether it was given or not."""
        return RELATIVE * (abs(self.value) or 1.0) if self.tolerance is None else self.tolerance

    def loop(self, evaluate: Callable[[list[float]], Sequence[Sequence[float]]]) -> Iterator[list[Step]]:
        """The closed loop; bad values are told before anything is evaluated."""
        return closed_loop_in_batches(
            evaluate, self.value, tolerance=self.allowed, high=self.high, at_once=self.at_once,
            evaluations=self.evaluations,
        )  # fmt: skip


def meet(bench: Bench, target: Target) -> Tuned:
    """Look for the level, one population after another; a level that is asked for again is trained with other seeds."""
    config, asked = bench.config, Counter()
    frames = config.iterations * config.frames_per_batch

    def evaluate(levels: list[float]) -> list[tuple[float, ...]]:
        again = max(asked[level] for level in levels)  # a level is asked for again alone
        asked.update(levels)
        _, trials = bench.train([text_of_level(level) for level in levels], frames, first_seed=again * config.seeds)
        for trial in trials:
            if not trial.known:
                raise ValueError(f"the search cannot go on: {trial.why_unknown(bench.metric)}")
        return [trial.values for trial in trials]

    steps: list[Step] = []
    for batch in target.loop(evaluate):
        steps += batch
        nearest = steps[-1].answer
        bench.say(
            f"nearest so far: {text_of_level(nearest)} with {_value(steps, nearest):.4g}, of {target.value:g} wanted"
        )
    low, high = _around(steps, target.value)
    finest = min((b - a for a, b in pairwise(sorted(asked))), default=target.high)
    dense = math.ceil(target.high / finest) + 1
    pays = _answer(steps, bench.metric.episodes)
    return Tuned(
        steps[-1].outcome or "exhausted", text_of_level(steps[-1].answer), low, high, pays, bench.frames,
        dense * frames * config.seeds, tuple(bench.history), "" if pays is None else pays.why,
    )  # fmt: skip


def _value(steps: list[Step], level: float) -> float:
    values = _all(steps)[level]
    return sum(values) / len(values)


def _all(steps: list[Step]) -> dict[float, tuple[float, ...]]:
    """All that was ever measured at each level."""
    found: dict[float, tuple[float, ...]] = {}
    for step in steps:
        found[step.level] = (*found.get(step.level, ()), *step.values)
    return found


def _around(steps: list[Step], target: float) -> tuple[float, float]:
    """From the answer as far down and up as no level surely misses the target, those that do included.

    Surely: the 95 % interval of its mean, or its mean where too few values tell no interval. NaN where all miss it on
    the same side.
    """
    measured, answer = _all(steps), steps[-1].answer
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


def _answer(steps: list[Step], episodes: int | None) -> Answer | None:
    """Whether diversity pays, by all that was measured."""
    found = {text_of_level(level): np.array(values) for level, values in _all(steps).items()}
    return answer(found, episodes) if len(found) > 1 else None
