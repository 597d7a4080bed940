"""Metrics against closed forms, brute force and each other."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dico import METRICS, pairwise_w2, snd, snd_at
from dico._pairs import cyclic_pairs
from dico.metrics import behavioural_distances, det_root, hse, mst_length

seeds = st.integers(0, 2**31)


def points(*values):
    """Deterministic agents on a line, at one observation."""
    return torch.tensor(values, dtype=torch.float64)[None, :, None]


def random_team(seed, n, d=2, obs=5, batch=()):
    return torch.randn(*batch, obs, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def equidistant(n, distance):
    return (torch.eye(n, dtype=torch.float64) * distance / math.sqrt(2))[None]


def by_hand(params):
    """SND pair by pair, as eq:snd is written."""
    n = params.shape[-2]
    pairs = itertools.combinations(range(n), 2)
    total = sum((params[..., i, :] - params[..., j, :]).norm(dim=-1).mean(-1) for i, j in pairs)
    return 2 * total / (n * (n - 1))


@given(st.integers(1, 40))
def test_cyclic_shifts_visit_every_pair_once(n):
    visited = [frozenset((i, (i + s) % n)) for s, rows in cyclic_pairs(n) for i in range(rows)]
    assert sorted(map(sorted, visited)) == [list(p) for p in itertools.combinations(range(n), 2)]


@given(seeds, st.integers(2, 12), st.integers(1, 4), st.sampled_from([(), (2,), (2, 3)]))
def test_snd_equals_the_double_sum(seed, n, d, batch):
    params = random_team(seed, n, d, batch=batch)
    torch.testing.assert_close(snd(params), by_hand(params))
    torch.testing.assert_close(snd_at(params), pairwise_w2(params).mean(-1))


def test_pairs_come_in_the_order_of_triu_indices():
    assert pairwise_w2(points(0, 1, 3, 7)[0]).tolist() == [1, 3, 7, 2, 6, 4]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_equidistant_agents(name, n):
    """The number of equidistant agents leaves all but tree length and entropy unchanged."""
    expected = {"hse": 3 * math.log2(n), "mst": 3.0 * (n - 1)}.get(name, 3.0)
    torch.testing.assert_close(METRICS[name].fn(equidistant(n, 3.0)).item(), expected)


@pytest.mark.parametrize("name", METRICS)
def test_one_agent_and_identical_agents_have_no_diversity(name):
    assert METRICS[name].fn(torch.randn(4, 1, 2)).item() == 0
    assert METRICS[name].fn(torch.ones(4, 3, 2)).item() == 0


@pytest.mark.parametrize(
    ("team", "clustering", "expected"),
    [((0, 0, 10, 10), "single", 10.0), ((0, 1, 3), "single", 2.50326), ((0, 1, 3), "cliques", 3.50326)],
)
def test_hse_values(team, clustering, expected):
    assert hse(points(*team), clustering=clustering).item() == pytest.approx(expected, abs=5e-6)


def entropy(sizes):
    shares = [s / sum(sizes) for s in sizes]
    return -sum(p * math.log2(p) for p in shares)


def clusters(distances, h, clustering):
    """Sizes of the clusters at threshold h, by brute force over all subsets."""
    n = len(distances)
    subsets = [set(c) for k in range(1, n + 1) for c in itertools.combinations(range(n), k)]
    if clustering == "cliques":
        near = [s for s in subsets if all(distances[i][j] <= h for i in s for j in s)]
        return [len(s) for s in near if not any(s < t for t in near)]
    label = list(range(n))
    for i, j in itertools.combinations(range(n), 2):
        if distances[i][j] <= h:
            label = [label[i] if x == label[j] else x for x in label]
    return [label.count(x) for x in set(label)]


@pytest.mark.parametrize("clustering", ["single", "cliques"])
@given(seed=seeds, n=st.integers(2, 6))
def test_hse_equals_the_integral_of_entropy_over_thresholds(clustering, seed, n):
    params = random_team(seed, n)
    distances = behavioural_distances(params).tolist()
    levels = sorted({0.0, *itertools.chain(*distances)})
    integral = sum(
        (b - a) * entropy(clusters(distances, (a + b) / 2, clustering)) for a, b in itertools.pairwise(levels)
    )
    assert hse(params, clustering=clustering).item() == pytest.approx(integral, rel=1e-9)


@given(seeds, st.integers(2, 9))
def test_mst_length_equals_prims_tree(seed, n):
    params = random_team(seed, n)
    distances = behavioural_distances(params).tolist()
    tree, length = {0}, 0.0
    while len(tree) < n:
        d, j = min((distances[i][j], j) for i in tree for j in range(n) if j not in tree)
        tree.add(j)
        length += d
    assert mst_length(params).item() == pytest.approx(length, rel=1e-9)


@given(seeds, st.integers(2, 6))
def test_det_root_equals_its_definition(seed, n):
    params = random_team(seed, n)
    det = torch.linalg.det(behavioural_distances(params)).abs().item()
    assert det_root(params).item() == pytest.approx((det / (n - 1)) ** (1 / n), rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
@given(seed=seeds, n=st.integers(2, 6))
def test_gradients_follow_from_homogeneity(name, seed, n):
    """Euler: <gradient, params> = degree * value; and every metric ignores a shift common to all agents."""
    params = random_team(seed, n).requires_grad_()
    value = METRICS[name].fn(params)
    (gradient,) = torch.autograd.grad(value, params)
    torch.testing.assert_close((gradient * params).sum(), METRICS[name].degree * value, rtol=1e-7, atol=0)
    torch.testing.assert_close(gradient.sum(-2), torch.zeros_like(gradient[:, 0]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_snd_first_and_second_derivatives_against_finite_differences(n):
    params = random_team(0, n, obs=3).requires_grad_()
    assert torch.autograd.gradcheck(snd, params)
    assert torch.autograd.gradgradcheck(snd, params)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_snd_has_finite_second_derivatives_where_agents_coincide(n):
    params = torch.zeros(2, n, 2, requires_grad=True)
    (gradient,) = torch.autograd.grad(snd(params), params, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), params)
    assert second.isfinite().all()


@pytest.mark.parametrize("name", METRICS)
def test_finite_gradients_where_agents_coincide(name):
    params = torch.randn(4, 3, 2)
    params[:, 1] = params[:, 0]
    for team in (params, torch.zeros(4, 3, 2)):
        team.requires_grad_()
        METRICS[name].fn(team).backward()
        assert team.grad.isfinite().all()


@pytest.mark.parametrize("options", [{"pairs": 5}, {"pairs": 17}, {"observations": 2}, {"pairs": 4, "observations": 3}])
def test_sampled_estimates_are_unbiased(options):
    params = random_team(0, 6, obs=8)
    generator = torch.Generator().manual_seed(1)
    draws = torch.stack([snd(params, generator=generator, **options) for _ in range(4000)])
    error = draws.std() / len(draws) ** 0.5
    assert abs(draws.mean() - snd(params)) < 4 * error
    assert error > 0


def test_sampled_pairs_have_lower_error_with_more_pairs():
    params = random_team(0, 64)
    generator = torch.Generator().manual_seed(0)
    few, many = (torch.stack([snd(params, pairs=k, generator=generator) for _ in range(300)]).std() for k in (16, 256))
    assert many < few / 2


def test_metrics_broadcast_over_a_population():
    params = random_team(0, 4, batch=(3,))
    for metric in METRICS.values():
        together = metric.fn(params)
        torch.testing.assert_close(together, torch.stack([metric.fn(member) for member in params]))
