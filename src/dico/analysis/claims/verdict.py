"""What becomes of a claim: holds, fails or undecided, with the effect and its 95 % interval over seeds.

A claim that an effect is above a bound holds if the whole interval is, fails if the whole interval is below, and is
undecided otherwise. A claim of several parts holds if each part does, each at its own 95 %, and fails if one fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from dico.analysis.statistics import Interval, difference, mean_interval

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"


@dataclass(frozen=True)
class Verdict:
    """How one claim fared."""

    verdict: str
    """holds, fails or undecided."""
    effect: float
    low: float
    high: float
    """The ends of the interval; NaN from fewer than three seeds."""
    measure: str
    """What the effect is, in words."""
    why: str = ""
    """Anything else there is to say: which of several parts it is of, or what is missing."""
    margin: float = np.nan
    """How far the effect is on the claim's side of its bound, in half widths of the interval: 1 is just decided."""


def unknown(why: str) -> Verdict:
    """Nothing can be said, for want of something.

    >>> unknown("no member desires 1.5").verdict
    'undecided'
    """
    return Verdict(UNDECIDED, np.nan, np.nan, np.nan, "", why)


def above(interval: Interval, bound: float, measure: str, why: str = "") -> Verdict:
    """The claim that an effect is above a bound.

    >>> [above(Interval(2, low, high), 1.5, "ratio").verdict for low, high in ((1.6, 2.4), (1.4, 2.6), (1, 1.2))]
    ['holds', 'undecided', 'fails']
    """
    verdict = HOLDS if interval.low > bound else FAILS if interval.high < bound else UNDECIDED
    return _verdict(verdict, interval, interval.effect - bound, measure, why)


def below(interval: Interval, bound: float, measure: str, why: str = "") -> Verdict:
    """The claim that an effect is below a bound."""
    verdict = HOLDS if interval.high < bound else FAILS if interval.low > bound else UNDECIDED
    return _verdict(verdict, interval, bound - interval.effect, measure, why)


def between(interval: Interval, low: float, high: float, measure: str, why: str = "") -> Verdict:
    """The claim that an effect lies in a range, which is what "alike" means.

    >>> between(Interval(0.05, -0.1, 0.2), -0.25, 0.25, "relative difference").verdict
    'holds'
    """
    inside = low <= interval.low and interval.high <= high
    verdict = HOLDS if inside else FAILS if interval.high < low or interval.low > high else UNDECIDED
    return _verdict(verdict, interval, min(interval.effect - low, high - interval.effect), measure, why)


def greater(
    a: Float[np.ndarray, " seeds"],
    b: Float[np.ndarray, " others"],
    measure: str,
    why: str = "",
    resolution: float = 0.0,
) -> Verdict:
    """The claim that the first sample's mean is the greater one; values may be told in steps of ``resolution``.

    >>> greater(np.array([3.0, 3.2, 3.1]), np.array([1.0, 1.2, 0.9]), "reward per step").verdict
    'holds'
    """
    return above(difference(a, b, resolution), 0.0, measure, why)


def positive(values: Float[np.ndarray, " seeds"], measure: str, why: str = "") -> Verdict:
    """The claim that a mean is above 0."""
    return above(mean_interval(values), 0.0, measure, why)


def every(parts: Sequence[Verdict]) -> Verdict:
    """The claim that all parts hold, told by its weakest part.

    >>> parts = [above(Interval(effect, effect - 1, effect + 1), 0.0, "reward", f"{effect}") for effect in (3.0, 0.5)]
    >>> every(parts).verdict, every(parts).why
    ('undecided', '0.5; 1 of 2 parts hold')
    """
    order = (FAILS, UNDECIDED, HOLDS)
    weakest = min(parts, key=lambda part: (order.index(part.verdict), np.nan_to_num(part.margin, nan=-np.inf)))
    if len(parts) == 1:
        return weakest
    held = sum(part.verdict == HOLDS for part in parts)
    return replace(weakest, why=f"{weakest.why}; {'all' if held == len(parts) else held} of {len(parts)} parts hold")


def _verdict(verdict: str, interval: Interval, inside: float, measure: str, why: str) -> Verdict:
    """``inside`` is how far the effect is on the claim's side of its bound."""
    half = (interval.high - interval.low) / 2
    margin = inside / half if half > 0 else np.nan if np.isnan(half) else np.copysign(np.inf, inside)
    return Verdict(verdict, interval.effect, interval.low, interval.high, measure, why, float(margin))
