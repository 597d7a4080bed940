"""Statistics over seeds: a centre and an interval."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from dico._checks import check_choice
from dico._student import student_quantile

STATISTICS: dict[str, str] = {
    "mean": "mean and standard deviation",
    "iqm": "interquartile mean and 95 % bootstrap interval",
}
"""What each statistic is called under a figure."""
RESAMPLES = 2000
"""Bootstrap samples."""
FEWEST = 3
"""Values that an interval needs."""
ROUNDING = 1e-12
"""Numbers that scatter by less than this, in units of their mean, are the same but for rounding."""
BOOTSTRAP_NUMBERS = 4_000_000
"""Numbers drawn at once: longer curves are taken in parts."""


@dataclass(frozen=True)
class Band:
    """A statistic over seeds; where there are fewer than three values there is no interval: low and high are NaN."""

    centre: Float[np.ndarray, "*shape"]
    low: Float[np.ndarray, "*shape"]
    high: Float[np.ndarray, "*shape"]

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval anywhere."""
        return bool(np.isfinite(self.low).any())

    def within(self, least: float, most: float) -> "Band":
        """The same of what lies between bounds: an interval does not reach beyond them."""
        return replace(self, low=np.maximum(self.low, least), high=np.minimum(self.high, most))


def aggregate(values: Float[np.ndarray, "seeds *shape"], stat: str = "mean") -> Band:
    """A statistic over seeds.

    Args:
        values: NaN is a value that a seed does not have.
        stat: ``mean`` is the mean and the sample standard deviation on either side. ``iqm`` is the interquartile mean
            (the values without the lowest and the highest quarter, rounded down) and the 95 % percentile interval of a
            bootstrap that is stratified: the seeds of a level are drawn among themselves, the same way every time.

    Returns:
        Its centre, and how far the seeds lie around it where there are enough.

    >>> band = aggregate(np.array([1.0, 2.0, 3.0, 10.0]), "iqm")
    >>> float(band.centre)
    2.5
    >>> aggregate(np.array([1.0, 2.0])).has_interval
    False
    """
    check_choice("stat", stat, STATISTICS)
    values = np.asarray(values, dtype=float)
    flat = values.reshape(len(values), -1)
    count = np.isfinite(flat).sum(0)
    flat = np.where(np.isfinite(flat), flat, np.nan)
    if stat == "iqm":
        centre = interquartile_mean(flat)
        low, high = _bootstrap(flat)
    else:
        centre = mean_of(np.nansum(flat, 0), count)
        spread = np.sqrt(_unrounded(mean_of(np.nansum((flat - centre) ** 2, 0), count - 1), centre))
        low, high = centre - spread, centre + spread
    few = count < FEWEST
    low, high = np.where(few, np.nan, low), np.where(few, np.nan, high)
    return Band(*(part.reshape(values.shape[1:]) for part in (centre, low, high)))


def interquartile_mean(values: Float[np.ndarray, "seeds *shape"]) -> Float[np.ndarray, "*shape"]:
    """The mean without the lowest and the highest quarter of the values, each rounded down; NaN is left out.

    >>> interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0, np.nan])).item()
    1.5
    """
    ordered = np.sort(values, axis=0)  # NaN comes last
    count = np.isfinite(values).sum(0)
    cut = count // 4
    rank = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    kept = (rank >= cut) & (rank < count - cut)
    return mean_of(np.where(kept, ordered, 0.0).sum(0), count - 2 * cut)


@dataclass(frozen=True)
class Interval:
    """An effect and its confidence interval, mostly of 95 %; NaN where there are fewer than three values."""

    effect: float
    low: float
    high: float


def mean_interval(values: Float[np.ndarray, " seeds"]) -> Interval:
    """The mean and Student's interval of it; NaN is a value that a seed does not have.

    >>> mean_interval(np.array([1.0, 2.0, 3.0, np.nan]))
    Interval(effect=2.0, low=-0.484..., high=4.484...)
    """
    known = values[np.isfinite(values)]
    return _around(known.mean() if len(known) else np.nan, *_squared_error(known))


def difference(
    a: Float[np.ndarray, " seeds"],
    b: Float[np.ndarray, " others"],
    resolution: float = 0.0,
    confidence: float = 0.95,
) -> Interval:
    r"""The difference of the means of two samples, and Welch's interval of it: their variances may differ.

    Values that are told in steps of ``resolution`` scatter by half a step at least. Without any scatter
    there is no interval.

    .. math:: \bar a-\bar b \pm t_\nu\sqrt{s_a^2/n_a+s_b^2/n_b}

    >>> difference(np.array([3.0, 3.2, 2.8]), np.array([1.0, 1.2, 0.8]))
    Interval(effect=2.0, low=1.546..., high=2.453...)
    """
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    (error_a, free_a), (error_b, free_b) = _squared_error(a, resolution), _squared_error(b, resolution)
    error, effect = error_a + error_b, a.mean() - b.mean() if len(a) and len(b) else np.nan
    if not error > 0:
        return Interval(float(effect), np.nan, np.nan)
    free = error**2 / (error_a**2 / free_a + error_b**2 / free_b)  # Welch and Satterthwaite's degrees of freedom
    return _around(effect, error, free, confidence)


def variance(values: Float[np.ndarray, " seeds"]) -> float:
    """Of a sample; none where its values differ by rounding alone, which tells nothing of chance.

    >>> variance(np.array([1.0, 2.0, 3.0])), variance(np.array([0.1 + 0.2, 0.3, 0.3]))
    (1.0, 0.0)
    """
    return float(_unrounded(values.var(ddof=1), values.mean()))


def _unrounded(squared: Any, mean: Any) -> np.ndarray:
    return np.where(squared > (ROUNDING * np.abs(mean)) ** 2, squared, 0.0 * squared)  # what is NaN stays so


def _squared_error(values: Float[np.ndarray, " seeds"], resolution: float = 0.0) -> tuple[float, float]:
    """Of the mean, squared, and its degrees of freedom; NaN for too few values."""
    if len(values) < FEWEST:
        return np.nan, np.nan
    return float(max(variance(values), (resolution / 2) ** 2) / len(values)), len(values) - 1.0


def _around(effect: float, squared_error: float, degrees: float, confidence: float = 0.95) -> Interval:
    if not np.isfinite(squared_error):
        return Interval(float(effect), np.nan, np.nan)
    reach = student_quantile(degrees, confidence) * np.sqrt(squared_error)
    return Interval(float(effect), float(effect - reach), float(effect + reach))


def decimals_of(spread: float) -> int:
    """How many decimals numbers are worth that scatter so much, more than not at all: two significant ones of that.

    >>> [decimals_of(spread) for spread in (0.0052, 0.31, 12.0)]
    [4, 2, 0]
    """
    return max(0, 1 - int(np.floor(np.log10(spread))))


def mean_of(total: Any, count: Any) -> np.ndarray:
    """A mean, from the sum; NaN where there is nothing to be summed."""
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _bootstrap(values: Float[np.ndarray, "seeds columns"]) -> Float[np.ndarray, "2 columns"]:
    seeds, columns = values.shape
    drawn = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
    at_once = max(1, BOOTSTRAP_NUMBERS // drawn.size)
    parts = []
    for first in range(0, columns, at_once):
        part = values[:, first : first + at_once]
        means = interquartile_mean(np.moveaxis(part[drawn], 1, 0))
        parts.append(_percentiles(means))
    return np.concatenate(parts, 1) if parts else np.empty((2, 0))


def _percentiles(means: Float[np.ndarray, "samples columns"]) -> Float[np.ndarray, "2 columns"]:
    """The middle 95 %; NaN where no sample has a value."""
    known = np.isfinite(means).any(0)
    filled = np.where(known, means, 0.0)
    return np.where(known, np.nanpercentile(filled, (2.5, 97.5), axis=0), np.nan)
