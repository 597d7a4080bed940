"""The tanh of hidden layers is a tanh: its values, slopes and curvature, whatever it is computed from."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dico.activations import BySigmoid, Tanh
from dico.nets import StackedMLP
from dico.policy import DiCo


@given(st.floats(-100, 100, width=32))
def test_it_is_a_tanh_to_the_digits_that_float32_has_near_one(x):
    assert Tanh()(torch.tensor(x)).item() == pytest.approx(math.tanh(x), abs=2.5e-7)


def test_it_is_the_same_with_and_without_a_gradient():
    x = torch.linspace(-9, 9, 1001)
    with torch.no_grad():
        acting = Tanh()(x)
    assert torch.equal(acting, Tanh()(x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_are_pytorchs_own(dtype):
    x = torch.linspace(-5, 5, 101, dtype=dtype)
    assert torch.equal(Tanh()(x), torch.tanh(x))


def test_what_is_no_number_stays_none_and_infinities_are_the_bounds():
    value = Tanh()(torch.tensor([math.nan, math.inf, -math.inf, 0.0]))
    assert value[0].isnan()
    assert value[1:].tolist() == [1, -1, 0]


def test_slope_and_curvature_are_right():
    x = torch.linspace(-3, 3, 13, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(BySigmoid.apply, x)
    assert torch.autograd.gradgradcheck(BySigmoid.apply, x)


def test_functional_transforms_know_it():
    x = torch.randn(3, 4)
    slopes = torch.func.vmap(torch.func.grad(lambda row: Tanh()(row).sum()))(x)
    torch.testing.assert_close(slopes, 1 - x.tanh().square(), rtol=0, atol=1e-6)


def test_it_is_differentiated_forward_too():
    x, tangent = torch.randn(2, 5)
    along = torch.func.jvp(Tanh(), (x,), (tangent,))[1]
    torch.testing.assert_close(along, tangent * (1 - x.tanh().square()), rtol=0, atol=1e-6)
    policy = DiCo.mlp(2, 3, 1, 0.5, hidden=(4,))
    obs = torch.randn(2, 3)
    backward, forward = torch.func.jacrev(policy)(obs), torch.func.jacfwd(policy)(obs)
    torch.testing.assert_close(forward, backward)


@pytest.mark.unchecked
def test_compiled_slopes_of_a_policy_are_the_same():
    policy, obs = DiCo.mlp(2, 3, 1, 0.5, hidden=(4,)), torch.randn(6, 2, 3)
    slopes = torch.vmap(torch.func.grad(lambda rows: policy(rows).sum()))
    torch.testing.assert_close(torch.compile(slopes, fullgraph=True)(obs), slopes(obs), rtol=1e-5, atol=1e-6)


@pytest.mark.unchecked
def test_what_is_given_away_has_the_tanh_that_others_know():
    networks = StackedMLP((), 3, 1, (4, 4))
    assert all(isinstance(layer, Tanh) for layer in list(networks)[1::2])
    exported = torch.export.export(networks, (torch.randn(5, 3),)).graph
    names = [str(node.target) for node in exported.nodes]
    assert names.count("aten.tanh.default") == 2
    assert not any("sigmoid" in name for name in names)
    traced = torch.jit.trace(networks, (torch.randn(5, 3),))
    assert "aten::tanh" in str(traced.inlined_graph)  # pyright: ignore[reportAttributeAccessIssue]


def test_the_input_is_left_alone():
    x = torch.ones(3, requires_grad=True)
    Tanh()(x).sum().backward()
    assert x.tolist() == [1, 1, 1]
