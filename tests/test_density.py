"""Densities on the unit cube: positive, of integral 1 whatever was learned, a population in one module."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dico.density import LEAST, AutoregressiveDensity
from dico.nets import StackedLinear


def make(inputs, **options):
    torch.manual_seed(0)
    return AutoregressiveDensity(inputs, **{"hidden": (16, 16)} | options)


def trained(inputs, steps=100, **options):
    """Far from uniform: it has been drawn to a curved ridge."""
    density = make(inputs, **options)
    optimiser = torch.optim.Adam(density.parameters(), 0.02)
    for _ in range(steps):
        u = torch.rand(256, inputs)
        ridge = torch.exp(-30 * (u[:, 0] - u[:, -1].square()).square())
        optimiser.zero_grad()
        (-(ridge * density(u).log()).mean()).backward()
        optimiser.step()
    return density


def sobol(inputs, points=2**16):
    return torch.quasirandom.SobolEngine(inputs, scramble=True, seed=0).draw(points)


def any_weights(density, size):
    with torch.no_grad():
        for parameter in density.parameters():
            parameter.normal_(0, size)
    return density


def grid(bins, inside=7):
    """Gauss-Legendre points and weights in each bin: exact for what is a polynomial there."""
    # of the Jacobi matrix of Legendre's polynomials
    k = torch.arange(1, inside, dtype=torch.float64)
    off = k / (4 * k.square() - 1).sqrt()
    points, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
    points, weights = (points + 1) / 2, vectors[0].square()
    return ((torch.arange(bins)[:, None] + points) / bins).flatten(), (weights / bins).repeat(bins)


@pytest.mark.parametrize("inputs", [1, 2, 4, 9])
def test_it_starts_uniform(inputs):
    torch.testing.assert_close(make(inputs)(torch.rand(3, 5, inputs)), torch.ones(3, 5))


@pytest.mark.parametrize("inputs", [2, 4])
def test_positive_with_mean_one_after_learning(inputs):
    density = trained(inputs)
    with torch.no_grad():
        q = density(sobol(inputs))
    assert q.min() >= LEAST > 0
    assert q.std() > 0.5  # it has learned something
    assert abs(q.double().mean() - 1) < 1e-3


@pytest.mark.parametrize("size", [0.3, 1, 10])
def test_the_integral_in_one_dimension_is_one(size):
    density = any_weights(make(1), size).double()
    points, weights = grid(density.bins)
    assert abs(weights @ density(points[:, None]) - 1) < 1e-12


@pytest.mark.parametrize("weights", ["trained", "any"])
def test_the_integral_in_two_dimensions_is_one(weights):
    density = (trained(2) if weights == "trained" else any_weights(make(2), 0.5)).double()
    points, share = grid(density.bins, 20)
    with torch.no_grad():
        q = density(torch.cartesian_prod(points, points)).reshape(len(points), -1)
    assert q.std() > 0.1
    assert abs(share @ q @ share - 1) < 1e-9


@pytest.mark.parametrize("members", [(), (2,)])
def test_points_are_drawn_as_the_density_has_them(members):
    """Any mean over drawn points is that over even ones, weighed by the density."""
    density = any_weights(make(3, members=members), 1.0)
    even = sobol(3).expand(*members, -1, 3)
    with torch.no_grad():
        drawn, product = density.draw(even), density.product(even)
    assert product.amax() > 10
    assert ((drawn >= 0) & (drawn <= 1)).all()
    for power in (1, 2, 3):
        there = (product.unsqueeze(-1) * even**power).mean(-2)
        torch.testing.assert_close((drawn**power).mean(-2), there, rtol=5e-3, atol=1e-3)
    product = (drawn[..., 0] * drawn[..., 1] * drawn[..., 2]).mean(-1)  # the first bears on the others
    torch.testing.assert_close(product, (density.product(even) * even.prod(-1)).mean(-1), rtol=5e-3, atol=1e-3)


def test_a_coordinate_integrates_to_one_whatever_those_before_it_are():
    """So the density of the first two, once the third is integrated out, is the product of theirs."""
    density = any_weights(make(3, bins=5), 1.0).double()
    points, share = grid(5)
    others = torch.rand(10, 2, dtype=torch.float64)
    at = torch.cat((others.repeat_interleave(len(points), 0), points.repeat(10)[:, None]), -1)
    integrated = density(at).reshape(10, -1) @ share
    less = AutoregressiveDensity(2, bins=5, hidden=(16, 16)).double()
    with torch.no_grad():
        for mine, its in zip(less.parameters(), density.parameters(), strict=True):
            mine.copy_(its[:2, : mine.shape[1]])
    torch.testing.assert_close(less(others), integrated)


@pytest.mark.parametrize("members", [(3,), (2, 2)])
def test_a_population_equals_its_members(members):
    population = any_weights(make(3, members=members), 0.5)
    u = torch.rand(*members, 5, 2, 3)
    together = population(u)
    assert together.shape == u.shape[:-1]
    for index in torch.cartesian_prod(*map(torch.arange, members)).reshape(-1, len(members)).tolist():
        member = make(3)
        with torch.no_grad():
            for p, stacked in zip(member.parameters(), population.parameters(), strict=True):
                p.copy_(stacked[tuple(index)])
        torch.testing.assert_close(member(u[tuple(index)]), together[tuple(index)])


def test_a_point_alone_is_a_number():
    assert make(3)(torch.rand(3)).shape == ()


def test_drawing_its_weights_anew_leaves_it_uniform():
    """As the trainer does, from each member's seed."""
    density = trained(2, steps=5)
    for layer in density.modules():
        if isinstance(layer, StackedLinear):
            layer.reset_parameters()
    torch.testing.assert_close(density(torch.rand(9, 2)), torch.ones(9))


def test_gradients_are_finite_at_extreme_logits():
    density = any_weights(make(3), 1.0)
    with torch.no_grad():
        density.mlp[-1].bias.mul_(1e4)
    u = torch.cat((torch.rand(50, 3), torch.eye(3), torch.zeros(1, 3), torch.ones(1, 3)))
    q = density(u)
    q.log().sum().backward()
    assert q.isfinite().all()
    assert (q >= LEAST).all()
    assert all(p.grad.isfinite().all() for p in density.parameters())


def test_single_precision_is_accurate():
    density = trained(4)
    u = torch.rand(4096, 4)
    single = density(u)
    torch.testing.assert_close(single.double(), density.double()(u.double()), rtol=2e-5, atol=1e-6)


def test_rounded_networks_keep_the_integral():
    density = trained(2).bfloat16()
    assert abs(density(sobol(2)).double().mean() - 1) < 1e-3


def test_runs_on_tensors_without_data():
    with FakeTensorMode():
        q = make(3, members=(2,))(torch.rand(2, 5, 3))
        q.sum().backward()
    assert q.shape == (2, 5)


@pytest.mark.unchecked
def test_compiles_as_one_graph():
    torch.compiler.reset()
    density, u = any_weights(make(3, members=(2,)), 0.5), torch.rand(2, 5, 3)
    results = []
    for run in (density, torch.compile(density, fullgraph=True, backend="aot_eager")):
        density.zero_grad()
        q = run(u)
        q.log().sum().backward()
        results.append((q, [p.grad for p in density.parameters()]))
    torch.testing.assert_close(*results)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": 0}, "inputs must be a positive integer, got 0"),
        ({"bins": 0}, "bins must be a positive integer, got 0"),
        ({"hidden": ()}, "hidden must hold at least one width"),
        ({"members": 3}, "members must be a sequence of positive integers, got 3"),
    ],
    ids=str,
)
def test_bad_sizes_are_told(options, message):
    with pytest.raises(ValueError, match=message):
        AutoregressiveDensity(**{"inputs": 2} | options)
