"""Agents of different seeds, brought together by how they behave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dico.analysis.alignment import TRIED, align_agents, renumber


def distances_of(seed, n):
    """Of points in the plane, all different."""
    points = np.random.default_rng(seed).normal(size=(n, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 8), data=st.data())
def test_a_renumbered_team_is_found_to_be_the_same(seed, n, data):
    first = distances_of(seed, n)
    order = np.array(data.draw(st.permutations(range(n))))
    both = np.stack([first, first[np.ix_(order, order)]])
    aligned = renumber(both[:, None], align_agents(both))[:, 0]
    np.testing.assert_allclose(aligned[1], aligned[0], atol=1e-12)


def test_an_average_over_seeds_keeps_the_one_that_differs():
    """One agent of three differs, each time another one; without alignment all look alike."""
    seeds = []
    for odd in range(3):
        matrix = np.full((3, 3), 1.0)
        matrix[odd] = matrix[:, odd] = 5.0
        np.fill_diagonal(matrix, 0.0)
        seeds.append(matrix)
    both = np.stack(seeds)
    mean = renumber(both[:, None], align_agents(both)).mean(0)[0]
    np.testing.assert_allclose(mean, both[0])
    assert np.ptp(both.mean(0)[~np.eye(3, dtype=bool)]) == pytest.approx(0)


def test_large_teams_are_put_in_order():
    both = np.stack([distances_of(seed, TRIED + 3) for seed in range(2)])
    totals = np.take_along_axis(both.sum(-1), align_agents(both), 1)
    assert (np.diff(totals) >= 0).all()
