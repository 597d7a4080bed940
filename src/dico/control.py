r"""Closed-loop choice of the desired diversity: the level at which a metric of the team meets a target.

A *level* is a desired diversity. Evaluating one means to train a team at it and to measure, so evaluations are dear,
and noisy. ``pid`` is the paper's controller (alg:closed_loop). ``safeguarded`` is the default: it needs no gains and no
sign, stays within bounds, tells when a target cannot be reached, and answers with a level that it has evaluated.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev
from typing import Literal, SupportsFloat

from dico._student import student_quantile

Values = SupportsFloat | Iterable[SupportsFloat]
"""What an evaluation gives: a number, or several, one for each seed."""
Outcome = Literal["converged", "saturated", "exhausted"]
"""The target is met; it is out of reach; or the evaluations were used up before either was known."""
Asking = Generator[list[float], list[tuple[float, ...]], tuple[Outcome, float]]
"""A method: it asks for levels, is sent the values of each, and returns how it ended and the level it answers with."""

METHODS = ("safeguarded", "pid")
FEWEST = 3
"""Values that an interval needs."""
RESOLUTION = 1e-4
"""Levels nearer to each other than this share of the whole range are not told apart."""
MARGIN = 0.05
"""How near to an end of a bracket the secant may look, as a share of the bracket."""
LOOKS = 2
"""Rounds beside the best level where a scan finds no crossing: a peak may lie between two of its levels."""


@dataclass(frozen=True)
class Step:
    """One evaluation, and what follows from all of them so far."""

    number: int
    """1, 2, 3, ..."""
    level: float
    """The level that was evaluated."""
    values: tuple[float, ...]
    """What the evaluation gave."""
    error: float
    """The target less the mean of the values."""
    answer: float
    """Of the levels evaluated so far, that whose metric is nearest to the target; where PID converged, the last."""
    outcome: Outcome | None = None
    """How the loop ended, in its last step."""

    @property
    def value(self) -> float:
        """The mean of the values."""
        return fmean(self.values)


def closed_loop(
    evaluate: Callable[[float], Values],
    target: SupportsFloat,
    *,
    method: str = "safeguarded",
    tolerance: SupportsFloat = 0.05,
    evaluations: int = 20,
    high: SupportsFloat = 2.0,
    scan: int = 5,
    initial: SupportsFloat = 0.0,
    gains: tuple[float, float, float] = (1.0, 0.0, 0.0),
) -> Iterator[Step]:
    r"""Find the level at which a metric is within ``tolerance`` of ``target``; a generator of steps, to break out of.

    ``safeguarded`` probes both ends of [0, ``high``] for the sign of the error, and goes on to ``scan`` evenly spaced
    levels while no two neighbours lie on either side of the target: the metric may rise, fall, or do both. Within the
    lowest such bracket it takes the secant, and halves the bracket where that was slow. It ends as

    - *converged*, when the error at a level is within the tolerance as far as chance lets it be known: the whole 95 %
      interval of the mean of three values or more is; three that are all alike are taken to be exact. While only the
      mean is, the same level is asked for again, and should be given by other seeds; all that was ever measured at a
      level counts;
    - *saturated*, when no level that was scanned lies across the target;
    - *exhausted*, when the evaluations are used up, or the bracket is too narrow to be divided.

    ``pid`` is the paper's loop: from the level ``initial``, with gains :math:`(K_p, K_d, K_i)`,

    .. math:: x' = \max(K_p e + K_d (e - e_{prev}) + K_i \textstyle\sum e, 0), \qquad e = target - M(x),

    until :math:`|e|` is below the tolerance. The level is the controller's output itself, so that ``initial`` is
    forgotten after one step, a metric that falls with diversity needs negative gains, and ``high`` does not bound it.

    Args:
        evaluate: a level's metric, or several numbers, one for each seed.
        target: what the metric should be.
        method: ``safeguarded`` or ``pid``.
        tolerance: the greatest error.
        evaluations: the most there may be.
        high: the greatest level; :func:`dico.max_snd` has that of an action box.
        scan: how many levels tell that nothing crosses the target.
        initial: PID: the first level.
        gains: PID: of the error, its change and its sum.

    Returns:
        A generator: one :class:`~dico.control.Step` for each evaluation, the last with the outcome.

    References:
        Bettini et al., ICML 2024: app:closed_control.

    >>> *_, last = closed_loop(lambda level: level**2, target=0.5)
    >>> last.outcome, round(last.answer, 2), last.number
    ('converged', 0.68, 9)
    >>> *_, last = closed_loop(lambda level: 1 - level, target=3.0)
    >>> last.outcome, last.answer
    ('saturated', 0.0)
    """
    _check_evaluate(evaluate)
    loop = closed_loop_in_batches(
        lambda levels: [evaluate(level) for level in levels], target, at_once=1, method=method, tolerance=tolerance,
        evaluations=evaluations, high=high, scan=scan, initial=initial, gains=gains,
    )  # fmt: skip
    return (step for steps in loop for step in steps)


def closed_loop_in_batches(
    evaluate: Callable[[list[float]], Sequence[Values]],
    target: SupportsFloat,
    *,
    at_once: int = 4,
    method: str = "safeguarded",
    tolerance: SupportsFloat = 0.05,
    evaluations: int = 20,
    high: SupportsFloat = 2.0,
    scan: int = 5,
    initial: SupportsFloat = 0.0,
    gains: tuple[float, float, float] = (1.0, 0.0, 0.0),
) -> Iterator[list[Step]]:
    """The same, where ``evaluate`` takes up to ``at_once`` levels at a time and gives the values of each.

    One population trains many levels in little more than the time of one. PID knows but one level at a time.

    >>> first, *_ = closed_loop_in_batches(lambda levels: [level**2 for level in levels], target=0.5, at_once=3)
    >>> [step.level for step in first]
    [0.0, 2.0, 1.0]
    """
    _check_evaluate(evaluate)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if not _is_finite(target):
        raise ValueError(f"target must be a finite number, got {target!r}")
    for name, count, least in (("at_once", at_once, 1), ("evaluations", evaluations, 1), ("scan", scan, 2)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise ValueError(f"{name} must be a whole number from {least} up, got {count!r}")
    for name, value in (("tolerance", tolerance), ("high", high)):
        if not (_is_finite(value) and float(value) > 0):
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    if not (_is_finite(initial) and float(initial) >= 0):
        raise ValueError(f"initial must be a diversity, finite and at least 0, got {initial!r}")
    if not isinstance(gains, Sequence) or len(gains) != 3 or not all(map(_is_finite, gains)):
        raise ValueError(f"gains must be three finite numbers, got {gains!r}")
    target, tolerance, high, initial = map(float, (target, tolerance, high, initial))  # of whatever library they are
    if method == "pid":
        proportional, derivative, integral = map(float, gains)
        seen = _Seen(target, tolerance, fewest=math.inf)
        asking = _pid(target, tolerance, initial, (proportional, derivative, integral))
    else:
        seen = _Seen(target, tolerance)
        asking = _Safeguarded(seen, high, scan, at_once).asking()
    return _steps(evaluate, asking, seen, evaluations)


def _check_evaluate(evaluate: object) -> None:
    if not callable(evaluate):
        raise ValueError(f"evaluate must be a function that gives a level's metric, got {evaluate!r}")


def _is_many(given: object) -> bool:
    """Whether it is several numbers; a tensor without dimensions is one."""
    return isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0 and not isinstance(given, str)


def _is_finite(value: object) -> bool:
    """Whether it is a number, of whatever library, and finite."""
    try:
        return math.isfinite(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        return False


def _steps(
    evaluate: Callable[[list[float]], Sequence[Values]], asking: Asking, seen: "_Seen", evaluations: int
) -> Iterator[list[Step]]:
    """Evaluate what a method asks for, until it knows enough or there were enough evaluations."""
    levels, number, outcome = next(asking)[:evaluations], 0, None
    while outcome is None:
        found = [_values(level, values) for level, values in zip(levels, evaluate(levels), strict=True)]
        steps = []
        for level, values in zip(levels, found, strict=True):
            seen.add(level, values)
            number += 1
            steps.append(Step(number, level, values, seen.target - fmean(values), seen.nearest()))
        last, answer = steps[-1], seen.nearest()
        try:
            levels = asking.send(found)[: evaluations - number]
            outcome = None if levels else "exhausted"
        except StopIteration as stop:
            outcome, answer = stop.value
        yield [*steps[:-1], replace(last, answer=answer, outcome=outcome)]


def _values(level: float, given: object) -> tuple[float, ...]:
    """What an evaluation gave, as numbers; those that are not finite, of seeds that diverged, do not count."""
    try:
        several = [float(value) for value in given] if _is_many(given) else [float(given)]  # pyright: ignore
    except (TypeError, ValueError):
        raise ValueError(f"evaluate must give a number or several, one for each seed, got {given!r}") from None
    known = tuple(value for value in several if math.isfinite(value))
    if not known:
        raise ValueError(f"the metric must be a finite number at every level, got {several} at {level:g}")
    return known


def _pid(target: float, tolerance: float, initial: float, gains: tuple[float, float, float]) -> Asking:
    """alg:closed_loop, line by line."""
    proportional, derivative, integral = gains
    level, error, total = initial, 0.0, 0.0
    while True:
        (values,) = yield [level]
        previous, error = error, target - fmean(values)
        total += error
        if -tolerance < error < tolerance:
            return "converged", level
        level = max(proportional * error + derivative * (error - previous) + integral * total, 0.0)
        if not math.isfinite(level):
            raise ValueError(f"gains {gains} lead to a diversity that is not finite: take smaller ones")


class _Seen:
    """All that was ever measured, by level; an interval needs the ``fewest`` values, and for PID means are all."""

    def __init__(self, target: float, tolerance: float, fewest: float = FEWEST):
        self.target, self.tolerance, self.fewest = target, tolerance, fewest
        self.values: dict[float, tuple[float, ...]] = {}
        self.dry: set[float] = set()
        """Levels at which other seeds were asked for and the same were given: nothing more is to be known of them."""

    def add(self, level: float, values: tuple[float, ...]) -> None:
        """Another evaluation of a level; the same seeds again, told by values that scatter, must not count twice."""
        before = self.values.get(level, ())
        if values == before and len(set(values)) > 1:
            self.dry.add(level)
        else:
            self.values[level] = (*before, *values)

    def error(self, level: float) -> float:
        """The target less the mean of all values of a level."""
        return self.target - fmean(self.values[level])

    def reach(self, level: float) -> float:
        """The farthest from the target that the level's interval has; that of its mean where it has no interval."""
        values, error = self.values[level], abs(self.error(level))
        if len(values) < self.fewest:
            return error
        return error + student_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))

    def meets(self, level: float) -> bool:
        """Whether the level's error is known to be within the tolerance: few values do not tell, though they agree.

        Two shares of few episodes are easily the same by chance.
        """
        return len(self.values[level]) >= self.fewest and self.reach(level) <= self.tolerance

    def nearest(self) -> float:
        """Of the levels that meet the target the nearest, as far as is known; of all where none does."""
        return min(self.values, key=lambda level: (not self.meets(level), self.reach(level), level))

    def crossing(self) -> tuple[float, float] | None:
        """The lowest two neighbours on either side of the target."""
        crossed = (pair for pair in pairwise(sorted(self.values)) if self.error(pair[0]) * self.error(pair[1]) <= 0)
        return next(crossed, None)


class _Safeguarded:
    """Where to look next, by what was seen."""

    def __init__(self, seen: _Seen, high: float, scan: int, at_once: int):
        self.seen, self.high, self.at_once = seen, high, at_once
        self.scan = [high * share for share in _from_the_ends(scan)]

    def asking(self) -> Asking:
        """Search, and answer with the best level that was ever seen."""
        outcome = yield from self.search()
        return outcome, self.seen.nearest()

    def search(self) -> Generator[list[float], list[tuple[float, ...]], Outcome]:
        """Scan until something crosses the target, then close in on it."""
        if (yield from self.look(self.scan)):
            return "converged"
        for _ in range(LOOKS):
            if (yield from self.look(self.beside_the_best())):
                return "converged"
        if self.seen.crossing() is None:
            return "saturated"
        widths = [math.inf, math.inf]
        """Of the brackets so far."""
        while (bracket := self.seen.crossing()) is not None:
            width = bracket[1] - bracket[0]
            if width <= RESOLUTION * self.high:
                break
            if (yield from self.ask(self.within(bracket, halve=width > widths[-2] / 2))):
                return "converged"
            widths.append(width)
        return "exhausted"

    def look(self, levels: list[float]) -> Generator[list[float], list[tuple[float, ...]], bool]:
        """Evaluate one batch of levels after another until something crosses the target; whether one is near enough."""
        for first in range(0, len(levels), self.at_once):
            if self.seen.crossing() is None and (yield from self.ask(levels[first : first + self.at_once])):
                return True
        return False

    def ask(self, levels: list[float]) -> Generator[list[float], list[tuple[float, ...]], bool]:
        """Evaluate levels, then again the best of those whose mean is near enough; whether one's interval is."""
        seen = self.seen
        while levels:
            yield levels
            if seen.meets(seen.nearest()):
                return True
            near = {level for level in seen.values if abs(seen.error(level)) <= seen.tolerance} - seen.dry
            levels = [min(near, key=lambda level: (seen.reach(level), level))] if near else []
        return False

    def beside_the_best(self) -> list[float]:
        """Half way from the best level to its neighbours, where it has two: at an end there is nothing to be found."""
        levels = sorted(self.seen.values)
        k = levels.index(self.seen.nearest())
        if not 0 < k < len(levels) - 1:
            return []
        return [(levels[k - 1] + levels[k]) / 2, (levels[k] + levels[k + 1]) / 2]

    def within(self, bracket: tuple[float, float], *, halve: bool) -> list[float]:
        """As many levels as are evaluated at once, evenly spaced, the secant's in place of that next to it."""
        low, high = bracket
        below, above = self.seen.error(low), self.seen.error(high)
        share = below / (below - above) if below != above else 0.5
        secant = low + (high - low) * min(max(share, MARGIN), 1 - MARGIN)
        even = [low + (high - low) * (k + 1) / (self.at_once + 1) for k in range(self.at_once)]
        if halve and self.at_once == 1:
            return even
        nearest = min(range(len(even)), key=lambda k: abs(even[k] - secant))
        return [*even[:nearest], secant, *even[nearest + 1 :]]


def _from_the_ends(count: int) -> list[float]:
    """Evenly spaced shares of 1, each as far as can be from those before it.

    >>> _from_the_ends(5)
    [0.0, 1.0, 0.5, 0.25, 0.75]
    """
    left = [k / (count - 1) for k in range(count)]
    chosen = [left.pop(0), left.pop()]
    while left:
        farthest = max(left, key=lambda share: (min(abs(share - other) for other in chosen), -share))
        chosen.append(farthest)
        left.remove(farthest)
    return chosen
