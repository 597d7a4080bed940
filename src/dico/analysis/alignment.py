"""Which agent of one seed is which of another: agents of a team are exchangeable, so seeds number them by chance."""

from itertools import permutations

import numpy as np
from jaxtyping import Float, Int

TRIED = 7
"""Up to so many agents, all numberings are tried; more are put in order of how far they are from the others."""


def align_agents(distances: Float[np.ndarray, "seeds n n"]) -> Int[np.ndarray, "seeds n"]:
    r"""For each seed, its agents in the order in which they behave most like those of the first.

    Behaviour is told by distances alone: of all numberings :math:`\pi` of a seed's agents the one with the least
    :math:`\sum_{ij}(d_{\pi_i\pi_j}-d^0_{ij})^2`.

    >>> first = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [5.0, 5.0, 0.0]])  # the last one differs
    >>> other = np.array([[0.0, 5.1, 4.9], [5.1, 0.0, 0.9], [4.9, 0.9, 0.0]])  # here it is the first
    >>> align_agents(np.stack([first, other]))[1, 2].item()
    0
    """
    n = distances.shape[-1]
    if n > TRIED:
        return np.argsort(distances.sum(-1), axis=-1, kind="stable")
    numberings = np.array(list(permutations(range(n))))
    renumbered = distances[:, numberings[:, :, None], numberings[:, None, :]]  # (seeds, numberings, n, n)
    apart = ((renumbered - distances[0]) ** 2).sum((-2, -1))
    return numberings[apart.argmin(1)]


def square(pairs: Float[np.ndarray, "*shape pairs"]) -> Float[np.ndarray, "*shape n n"]:
    """The symmetric matrix of distances that are given for each pair, in the order of ``pairwise_w2``.

    >>> square(np.array([1.0, 2.0, 3.0]))
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    n = round((1 + np.sqrt(1 + 8 * pairs.shape[-1])) / 2)
    i, j = np.triu_indices(n, 1)
    full = np.zeros((*pairs.shape[:-1], n, n))
    full[..., i, j] = full[..., j, i] = pairs
    return full


def renumber(
    distances: Float[np.ndarray, "seeds times n n"], order: Int[np.ndarray, "seeds n"]
) -> Float[np.ndarray, "seeds times n n"]:
    """The distances of agents in another order, each seed's own."""
    seed = np.arange(len(distances))[:, None, None, None]
    time = np.arange(distances.shape[1])[None, :, None, None]
    return distances[seed, time, order[:, None, :, None], order[:, None, None, :]]
