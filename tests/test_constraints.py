"""Constraints: what they map to, their slopes, and their texts."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dico import at_least, at_most, between, equal, free, parse_constraint, stack_constraints

numbers = st.floats(0, 1e3)


@given(numbers, numbers, numbers)
def test_constraints_are_clamps(x, a, b):
    lo, hi = sorted((a, b))
    measured = torch.tensor(x, dtype=torch.float64)
    assert equal(a)(measured) == a
    assert at_least(a)(measured) == max(x, a)
    assert at_most(a)(measured) == min(x, a)
    assert between(lo, hi)(measured) == min(max(x, lo), hi)
    assert free()(measured) == x


@pytest.mark.parametrize(
    ("constraint", "slopes"),
    [(equal(0.3), [0, 0, 0]), (at_least(0.3), [0, 0, 1]), (at_most(0.3), [1, 0, 0]), (free(), [1, 1, 1])],
    ids=str,
)
def test_slopes_below_at_and_above_the_value(constraint, slopes):
    x = torch.tensor([0.1, 0.3, 0.9], dtype=torch.float64, requires_grad=True)
    constraint(x).sum().backward()
    assert x.grad.tolist() == slopes


@pytest.mark.parametrize("text", ["0.3", ">=0.3", "<=0.5", "0.2..0.5", "free", "0", "1e-05", ">=2"])
def test_texts_are_read_and_written(text):
    assert parse_constraint(text).texts() == [text]


@pytest.mark.parametrize(
    ("loose", "text"),
    [(" 0.30 ", "0.3"), (">= 1.", ">=1"), (".2 .. .5", "0.2..0.5"), ("FREE", "free"), (">=0", "free")],
)
def test_loose_texts_are_understood(loose, text):
    assert parse_constraint(loose).texts() == [text]


def test_a_population_mixes_all_sorts():
    mixed = stack_constraints([equal(0.3), at_least(0.3), at_most(0.3), between(0.1, 0.3), free()])
    assert mixed(torch.full((5,), 0.5)).tolist() == pytest.approx([0.3, 0.5, 0.3, 0.3, 0.5])
    assert mixed(torch.full((5,), 0.05)).tolist() == pytest.approx([0.3, 0.3, 0.05, 0.1, 0.05])
    assert mixed.texts() == ["0.3", ">=0.3", "<=0.3", "0.1..0.3", "free"]


def test_values_stay_exact_in_float64():
    assert equal(0.3).double()(torch.tensor(1.0, dtype=torch.float64)).item() == 0.3
