"""The fixed integral network (app:finn): its mixed partial, its integral, and what it can draw."""

import math
import re
import warnings
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from dico.finn import FLOOR, FixedIntegralNetwork, gaussian_integrals, set_partitions

pytestmark = pytest.mark.filterwarnings("ignore:[56] inputs make:UserWarning")
DEPTHS = [(6,), (4, 5), (3, 4, 3)]


def make(d, hidden=(16,), seed=0, **options):
    torch.manual_seed(seed)
    return FixedIntegralNetwork(d, hidden, **options)


def sobol(d, power=16):
    return torch.quasirandom.SobolEngine(d, scramble=True, seed=0).draw(2**power, dtype=torch.float64)


def corners(d):
    return torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * d).reshape(-1, d)


@torch.no_grad()
def perturb(net, size, seed=0):
    """Shares too: at the start, nearly all of it is uniform."""
    net.logits.zero_()
    generator = torch.Generator().manual_seed(seed)
    for parameter in net.parameters():
        parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return net


def fit(net, target, steps, lr=0.05):
    generator = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(net.parameters(), lr)
    for _ in range(steps):
        u = torch.rand(512, net.inputs, generator=generator)
        loss = (net(u) - target(u)).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return net


def ridge(u):
    """Of mean 1 and along x1 = x2; further inputs change nothing."""
    width = 0.1
    mean = width * math.sqrt(2 * math.pi) - 2 * width**2
    return torch.exp(-0.5 * ((u[..., 0] - u[..., 1]) / width).square()) / mean


def explained(net, target):
    """R^2 over the cube."""
    u = sobol(net.inputs, 13)
    with torch.no_grad():
        return 1 - (net(u) - target(u)).square().mean() / target(u).var(correction=0)


def test_partitions_are_all_and_each_once():
    for d, bell in enumerate([1, 1, 2, 5, 15, 52, 203]):
        splits = {frozenset(split) for split in set_partitions(range(d))}
        assert len(splits) == len(set_partitions(range(d))) == bell
        assert all(sum(split) == 2**d - 1 for split in splits)


def test_each_integral_is_the_derivative_of_the_next():
    z = torch.linspace(-8, 8, 201, dtype=torch.float64, requires_grad=True)
    integrals = gaussian_integrals(z, 5)
    for below, above in pairwise(integrals):
        derivative = torch.autograd.grad(above.sum(), z, retain_graph=True)[0]
        torch.testing.assert_close(derivative, below, rtol=1e-9, atol=1e-15)
        assert below.min() > 0
        assert above.min() > 0
    assert all(each.min() >= 0 for each in gaussian_integrals(torch.linspace(-60, 60, 9999).double(), 5))


class Integral(torch.autograd.Function):
    """I_n, with I_(n-1) for its derivative: autograd through the recurrence loses digits in the tails."""

    @staticmethod
    def forward(ctx, z, n):
        ctx.save_for_backward(z)
        ctx.n = n
        return gaussian_integrals(z, n)[-1]

    @staticmethod
    def backward(ctx, gradient):
        return gradient * Integral.apply(*ctx.saved_tensors, ctx.n - 1), None


def through_the_recurrence(z, n):
    return gaussian_integrals(z, n)[-1]


@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_the_mixed_partial_equals_nested_differentiation(d, hidden):
    finn = make(d, hidden)
    network, _ = finn.network()
    u = torch.rand(1, 7, d, dtype=torch.float64)
    found = finn.mixed_partial(network, u)
    for integral, close in ((Integral.apply, {"rtol": 1e-12, "atol": 0}), (through_the_recurrence, {"rtol": 1e-12})):
        inputs = [column.requires_grad_() for column in u.unbind(-1)]
        values = torch.stack(inputs, -1)
        for weight, offset in network:
            values = integral(values @ weight - offset, d - 1)
        torch.testing.assert_close(values, finn.antiderivative(network, u))
        expected = []
        for partial in values.unbind(-1):
            for column in inputs:
                partial = torch.autograd.grad(partial.sum(), column, create_graph=True)[0]
            expected.append(partial)
        close = {"atol": 1e-12 * found.max().item()} | close
        torch.testing.assert_close(found, torch.stack(expected, -1), **close)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
@pytest.mark.parametrize("d", [1, 2])
def test_the_integral_is_one_by_quadrature(d, hidden, signed):
    """Gauss-Legendre with 64 points along each of 8 pieces of each input."""
    finn = perturb(make(d, hidden, signed=signed), 1.0)
    i = torch.arange(1, 64, dtype=torch.float64)
    off = i / (4 * i.square() - 1).sqrt()
    points, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
    points, weights = (points + 1) / 2, vectors[0].square()
    points = ((torch.arange(8)[:, None] + points) / 8).flatten()
    weights = (weights / 8).repeat(8)
    u = torch.cartesian_prod(*[points] * d).reshape(-1, d)
    weights = torch.cartesian_prod(*[weights] * d).reshape(-1, d).prod(-1)
    q = finn(u)
    assert q.std() > 0.05
    assert (q * weights).sum().item() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("d", [2, 4])
def test_the_mean_over_the_cube_is_one_at_the_start_and_after_fitting(d, signed):
    finn, u = make(d, signed=signed), sobol(d)
    start = finn(u).detach()
    fitted = fit(finn, ridge, steps=100)(u).detach()
    assert start.min() > 0.5
    assert abs(start.mean() - 1) < 1e-3
    assert abs(fitted.mean() - 1) < 1e-3
    assert (fitted - start).std() > 0.1


@pytest.mark.parametrize("d", [3, 5, 6])
@pytest.mark.parametrize("signed", [False, True])
def test_the_mean_over_the_cube_is_one_in_other_dimensions(d, signed):
    """As far as points can tell, of one hidden layer: two make peaks that points miss."""
    finn = make(d, signed=signed)
    finn.logits.data.zero_()
    with torch.no_grad():
        q = finn(sobol(d, 14))
    assert q.std() > 0.1
    assert q.mean().item() == pytest.approx(1, abs=5e-3)


@settings(max_examples=40)
@given(
    st.integers(1, 6), st.sampled_from(DEPTHS[:2]), st.booleans(), st.floats(0, 1e3), st.integers(0, 2**31),
    st.sampled_from([torch.float32, torch.float64]),
)  # fmt: skip
def test_q_is_positive_and_its_gradients_finite_whatever_the_parameters(d, hidden, signed, size, seed, dtype):
    finn = perturb(make(d, hidden, seed, signed=signed), size, seed)
    u = torch.cat((torch.rand(50, d), corners(d))).to(dtype).requires_grad_()
    network, integral = finn.network()
    assert finn.mixed_partial(network, u[None].double()).min() >= 0
    assert integral.min() > 0
    q = finn(u)
    assert q.min() >= FLOOR
    assert q.isfinite().all()
    q.sum().backward()
    assert all(each.grad.isfinite().all() for each in (u, *finn.parameters()))


def test_a_ridge_along_equal_inputs_takes_flipped_inputs():
    assert explained(fit(make(2, (32,)), ridge, 200), ridge) < 0.5
    assert explained(fit(make(2, (32,), signed=True), ridge, 200), ridge) > 0.95


def test_a_ridge_in_four_dimensions():
    assert explained(fit(make(4), ridge, 200), ridge) < 0.5
    assert explained(fit(make(4, signed=True), ridge, 200), ridge) > 0.95


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_q_has_the_precision_of_u(dtype):
    finn = perturb(make(3), 1.0)
    u = torch.rand(500, 3).to(dtype)
    assert finn(u).dtype == dtype
    torch.testing.assert_close(finn(u), finn(u.double()).to(dtype), rtol=max(2e-6, torch.finfo(dtype).eps), atol=0)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("size", [5.0, 50.0])
@pytest.mark.parametrize("d", [1, 2, 4, 6])
@pytest.mark.parametrize("hidden", [(128,), (4, 4, 4)], ids=str)
def test_single_precision_keeps_the_integral_whatever_the_parameters(d, hidden, size, signed):
    finn = perturb(make(d, hidden, signed=signed), size)
    u = sobol(d, 14).float()
    with torch.no_grad():
        single, exact = finn(u).double(), finn(u.double())
    torch.testing.assert_close(single, exact, rtol=1e-5, atol=0)
    assert single.mean().item() == pytest.approx(exact.mean().item(), rel=1e-6)


@pytest.mark.parametrize("hidden", [(128,), (4, 5)], ids=str)
def test_products_that_round_do_not_reach_it(hidden):
    """A share of the ridges that autocast would spoil: their first product is a difference of large numbers."""
    finn = perturb(make(4, hidden, signed=True), 3.0)
    u = torch.rand(500, 4)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = finn(u)
    torch.testing.assert_close(rounded, finn(u), rtol=1e-6, atol=0)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
def test_a_population_equals_its_members_alone(hidden, signed):
    population = perturb(make(3, hidden, signed=signed, members=(2, 3)), 1.0)
    u = torch.rand(2, 3, 4, 5, 3, dtype=torch.float64)
    together = population(u)
    assert together.shape == (2, 3, 4, 5)
    for i, j in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        alone = make(3, hidden, signed=signed)
        alone.load_state_dict({name: value[i, j] for name, value in population.state_dict().items()})
        torch.testing.assert_close(alone(u[i, j]), together[i, j], rtol=1e-12, atol=0)


def test_the_gradient_reaches_u_and_every_parameter():
    finn = perturb(make(2, (4, 4), signed=True), 0.5)
    u = torch.rand(64, 2, dtype=torch.float64, requires_grad=True)
    finn(u).square().sum().backward()
    assert all((each.grad != 0).any() for each in (u, *finn.parameters()))
    assert torch.autograd.gradcheck(finn, (u[:5].detach().requires_grad_(),))


def test_draws_anew_from_given_numbers():
    finn = perturb(make(2, (4, 4), members=(2,)), 1.0)
    finn.reset_parameters(lambda shape: torch.rand(shape[1:], generator=torch.Generator().manual_seed(0)))
    q = finn(sobol(2, 10).expand(2, -1, 2))
    assert torch.equal(q[0], q[1])
    assert q.mean().item() == pytest.approx(1, abs=0.01)
    assert 0.5 < q.min()


@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
def test_runs_on_tensors_without_data(hidden):
    with FakeTensorMode():
        finn = FixedIntegralNetwork(3, hidden, signed=True, members=(2,))
        q = finn(torch.rand(2, 5, 3))
        q.sum().backward()
    assert q.shape == (2, 5)


@pytest.mark.unchecked
@pytest.mark.parametrize("options", [{}, {"signed": True}, {"hidden": (4, 4), "members": (2,)}], ids=str)
def test_compiles_as_one_graph_with_equal_values_and_gradients(options):
    torch.compiler.reset()
    finn = perturb(make(3, **options), 0.5)
    u = torch.rand(*finn.members, 6, 3)
    results = []
    for run in (finn, torch.compile(finn, fullgraph=True, backend="aot_eager")):
        finn.zero_grad()
        q = run(u)
        q.square().sum().backward()
        results.append((q, [parameter.grad for parameter in finn.parameters()]))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.unchecked
def test_compiles_to_machine_code():
    torch.compiler.reset()
    finn = perturb(make(2, signed=True), 0.5)
    u = torch.rand(6, 2)
    torch.testing.assert_close(torch.compile(finn, fullgraph=True)(u), finn(u))


@pytest.mark.filterwarnings("default")
def test_more_inputs_than_recommended_are_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FixedIntegralNetwork(4)
    with pytest.warns(UserWarning, match="5 inputs make 32 corners, less exact to sum; 4 or fewer are recommended"):
        FixedIntegralNetwork(5)


CASES = {
    "too many inputs": (lambda: FixedIntegralNetwork(7), "inputs must be at most 6 (beyond, the corners cancel in"),
    "no inputs": (lambda: FixedIntegralNetwork(0), "inputs must be a positive integer, got 0"),
    "no layers": (lambda: FixedIntegralNetwork(2, ()), "hidden must hold at least one layer's size, got ()"),
    "empty layer": (lambda: FixedIntegralNetwork(2, (0,)), "each of hidden must be a positive integer, got 0"),
    "hidden as a number": (lambda: FixedIntegralNetwork(2, 8), "hidden must be a sequence of positive integers, got 8"),
    "members as a number": (lambda: FixedIntegralNetwork(2, members=3), "members must be a sequence of positive"),
    "signed as text": (lambda: FixedIntegralNetwork(2, signed="yes"), "signed must be True or False, got 'yes'"),
    "u as a list": (lambda: make(2)([0.5, 0.5]), "u must be a tensor, got [0.5, 0.5]"),
    "u of other inputs": (lambda: make(2)(torch.rand(5, 3)), "u must have shape (..., 2), got (5, 3)"),
    "scalar u": (lambda: make(2)(torch.tensor(0.5)), "u must have shape (..., 2), got ()"),
    "u of other members": (lambda: make(2, members=(3,))(torch.rand(5, 2)), "u must have shape (3, ..., 2), got"),
    "integer u": (lambda: make(2)(torch.zeros(5, 2, dtype=torch.long)), "u must be a floating-point tensor, got torch"),
}  # fmt: skip


@pytest.mark.unchecked
@pytest.mark.parametrize("case", CASES)
def test_bad_input(case):
    call, message = CASES[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
