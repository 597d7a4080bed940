"""Numbers of several seeds as tables of commands write them."""

from collections.abc import Sequence
from statistics import fmean, stdev

from dico.analysis.statistics import FEWEST, decimals_of

DECIMALS = 4
"""Of numbers whose spread is not known."""
MOST = 6
"""Decimals at most: what scatters less does so by rounding."""


def mean_text(values: Sequence[float]) -> str:
    """The mean, in as many decimals as its seeds agree about.

    >>> mean_text([0.5, 0.6, 0.7]), mean_text([0.5, 0.6])
    ('0.60', '0.5500')
    """
    return f"{fmean(values):.{_decimals(values)}f}"


def spread_text(values: Sequence[float]) -> str:
    """Mean and standard deviation; of fewer than three seeds there is none, and each value is shown.

    >>> spread_text([0.5, 0.6, 0.7]), spread_text([0.5, 0.6]), spread_text([2.0, 2.0, 2.0])
    ('0.60 ± 0.10', '0.5000, 0.6000', '2.0000 ± 0.0000')
    """
    if len(values) < FEWEST:
        return ", ".join(f"{value:.{DECIMALS}f}" for value in values)
    decimals = _decimals(values)
    return f"{fmean(values):.{decimals}f} ± {stdev(values):.{decimals}f}"


def scatter_text(scatter: float) -> str:
    """A standard deviation by itself, in two significant digits.

    >>> scatter_text(36.4652), scatter_text(0.0123), scatter_text(0.0)
    ('36', '0.012', '0')
    """
    return f"{scatter:.{decimals_of(scatter) if scatter else 0}f}"


def _decimals(values: Sequence[float]) -> int:
    spread = stdev(values) if len(values) >= FEWEST else 0.0
    return min(decimals_of(spread), MOST) if spread > 0 else DECIMALS
