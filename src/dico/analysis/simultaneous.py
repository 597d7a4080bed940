"""Several levels compared at once: how far means stray from that of one level if nothing but chance is at work."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

from dico.analysis.statistics import FEWEST, variance

DRAWS = 4000
"""Experiments that are made up, the same every time."""


@dataclass(frozen=True)
class Means:
    """What is known of each level: its mean over seeds, and how far that may be from the truth."""

    mean: Float[np.ndarray, " levels"]
    squared_error: Float[np.ndarray, " levels"]
    r"""Of the mean: :math:`s_k^2/n_k`."""
    degrees: Float[np.ndarray, " levels"]
    r"""Of freedom: :math:`n_k-1`."""

    @classmethod
    def of(cls, samples: list[Float[np.ndarray, " _"]], episodes: int | None = None) -> "Means":
        """Of the values of each level, at least three; if they are shares, of how many ``episodes`` each."""
        assert all(len(values) >= FEWEST for values in samples)
        counts = np.array([len(values) for values in samples])
        squared = np.array([variance(values) or _of_episodes(values, episodes) for values in samples]) / counts
        return cls(np.array([values.mean() for values in samples]), squared, counts - 1.0)

    def over(self, reference: int) -> Float[np.ndarray, " levels"]:
        """How much more than the reference each level has."""
        return self.mean - self.mean[reference]

    def error(self, reference: int) -> Float[np.ndarray, " levels"]:
        r"""Standard errors of these differences, :math:`\sqrt{s_k^2/n_k+s_r^2/n_r}`; variances may differ."""
        return np.sqrt(self.squared_error + self.squared_error[reference])

    def chance(self, reference: int) -> Float[np.ndarray, "draws levels"]:
        r"""What the differences would be, in standard errors, if all levels had the same mean.

        .. math:: t_k = \frac{z_k-z_r}{\sqrt{\hat e_k^2+\hat e_r^2}}, \quad z_k\sim N(0, e_k^2), \quad
            \hat e_k^2\sim e_k^2\,\chi^2_{n_k-1}/(n_k-1)

        Their greatest is what the best of several seems to be worth when none is. The reference is in all of them,
        which tables for independent comparisons do not know.

        >>> means = Means.of([np.array([0.0, 1.0, 2.0])] * 8)
        >>> alone, all_of_them = means.chance(0)[:, 1:2], means.chance(0)[:, 1:]
        >>> [round(float(np.quantile(t.max(1), 0.975)), 1) for t in (alone, all_of_them)]
        [2.9, 4.9]
        """
        normal, spread = _drawn(tuple(self.degrees.tolist()))
        means, errors = normal * np.sqrt(self.squared_error), spread * self.squared_error
        return in_errors(means - means[:, [reference]], np.sqrt(errors + errors[:, [reference]]))


def in_errors(
    difference: Float[np.ndarray, "*shape"], error: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """A difference in standard errors; where there is no error, infinitely many, and none of no difference.

    >>> in_errors(np.array([1.0, 1.0, -1.0, 0.0]), np.array([0.5, 0.0, 0.0, 0.0]))
    array([  2.,  inf, -inf,   0.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / error)


def greatest(chance: Float[np.ndarray, "draws levels"], among: Int[np.ndarray, " some"]) -> Float[np.ndarray, " draws"]:
    """The greatest of some levels in each draw."""
    return chance[:, among].max(1)


def _of_episodes(values: Float[np.ndarray, " seeds"], episodes: int | None) -> float:
    r"""What shares scatter by for being of so many episodes; 0 if they are no shares.

    Seeds that agree exactly, as where every episode succeeds, do not scatter, but their episodes might have ended
    otherwise: :math:`p(1-p)/m` of m episodes, with :math:`p=(k+1/2)/(nm+1)` of all k that succeeded with n seeds, for
    a share that was never seen to be other than 0 or 1 may be.

    >>> _of_episodes(np.ones(3), None), round(_of_episodes(np.ones(3), 200) ** 0.5, 4)
    (0.0, 0.002)
    """
    if episodes is None:
        return 0.0
    count = len(values) * episodes
    share = (values.mean() * count + 0.5) / (count + 1)
    return float(share * (1 - share) / episodes)


@lru_cache(maxsize=4)
def _drawn(degrees: tuple[float, ...]) -> tuple[Float[np.ndarray, "draws levels"], Float[np.ndarray, "draws levels"]]:
    """Means and variances of levels whose truth is 0 and 1."""
    draw, size = np.random.default_rng(0), (DRAWS, len(degrees))
    return draw.standard_normal(size), draw.chisquare(degrees, size) / np.array(degrees)
