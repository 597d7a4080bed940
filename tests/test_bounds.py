"""The maximum SND against the table of exact values, brute force and its own certificate."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dico import max_snd, snd
from dico.bounds import snd_upper_bound

TABLE = {
    2: (2.0000, 2.8284, 3.4641),
    3: (1.3333, 2.2761, 2.8284),
    4: (1.3333, 2.2761, 2.8284),
    5: (1.2000, 2.0485, 2.6435),
    6: (1.2000, 2.0095, 2.6242),
    7: (1.1429, 1.9510, 2.5642),
    8: (1.1429, 1.9510, 2.5642),
}


@pytest.mark.parametrize("n", TABLE)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_table_of_exact_values(n, m):
    best = max_snd(n, [-1] * m, [1] * m)
    assert best.exact
    assert best.value == pytest.approx(TABLE[n][m - 1], abs=5e-5)


boxes = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 5)), min_size=1, max_size=3)


@given(st.integers(2, 5), boxes)
@settings(max_examples=25)
def test_unequal_boxes_against_all_vertex_choices(n, box):
    low, high = [a for a, _ in box], [a + side for a, side in box]
    best = max_snd(n, low, high)
    vertices = torch.tensor(list(itertools.product(*zip(low, high, strict=True))), dtype=torch.float64)
    teams = vertices[torch.tensor(list(itertools.product(range(len(vertices)), repeat=n)))]
    assert best.value == pytest.approx(snd(teams[:, None]).max().item(), rel=1e-9)


@given(st.integers(2, 5), boxes, st.integers(0, 2**31))
@settings(max_examples=25)
def test_nothing_inside_the_box_exceeds_the_value_or_the_bound(n, box, seed):
    low, high = torch.tensor([a for a, _ in box]), torch.tensor([a + side for a, side in box])
    best = max_snd(n, low, high)
    torch.manual_seed(seed)
    inside = low + (high - low) * torch.rand(200, 1, n, len(box))
    assert snd(inside).max() <= best.value + 1e-5
    assert best.value <= snd_upper_bound(n, low, high) * (1 + 1e-6)


@pytest.mark.parametrize(("n", "m"), [(3, 2), (9, 4), (20, 3), (16, 4), (50, 6), (5, 12), (2, 30), (40, 20), (300, 2)])
def test_actions_attain_the_value_within_the_box_and_the_certificate(n, m):
    low, high = -torch.arange(1.0, m + 1), torch.arange(1.0, m + 1) / 2
    best = max_snd(n, low, high)
    assert best.actions.shape == (n, m)
    assert ((best.actions >= low) & (best.actions <= high)).all()
    assert snd(best.actions[None]).item() == pytest.approx(best.value, rel=1e-6)
    assert best.value <= best.upper_bound * (1 + 1e-12)
    assert best.upper_bound / best.value < 1.06


@pytest.mark.parametrize(("n", "m"), [(2, 9), (16, 4), (32, 5)])
def test_the_search_proves_itself_exact_where_a_bound_is_tight(n, m):
    assert max_snd(n, [-1] * m, [1] * m).exact


@pytest.mark.parametrize(("n", "m"), [(10**6, 1), (10**6 + 3, 2), (10**5 + 7, 6), (50_000, 10)])
def test_a_crowd_is_spread_within_a_millionth_of_the_bound(n, m):
    low, high = -torch.arange(1.0, m + 1), torch.arange(1.0, m + 1) / 2
    best = max_snd(n, low, high)
    assert best.actions.shape == (n, m)
    assert ((best.actions == low) | (best.actions == high)).all()
    assert best.value <= best.upper_bound < best.value * (1 + 1e-6)
    some = snd(best.actions[None], pairs=20_000, generator=torch.Generator().manual_seed(0))
    assert some.item() == pytest.approx(best.value, rel=0.05)


@pytest.mark.parametrize(("n", "m"), [(9, 4), (21, 2), (37, 3)])
def test_no_single_agent_would_better_move(n, m):
    low, high = -torch.arange(1.0, m + 1), torch.arange(1.0, m + 1) / 2
    best = max_snd(n, low, high)
    vertices = torch.tensor(list(itertools.product(*zip(low.tolist(), high.tolist(), strict=True))))
    for i in range(n):
        moved = best.actions.float().repeat(len(vertices), 1, 1)
        moved[:, i] = vertices
        assert snd(moved[:, None]).max() <= best.value * (1 + 1e-6)


@pytest.mark.unchecked
@pytest.mark.parametrize(("n", "m", "most"), [(10**6, 12, 416), (10**9, 2, 50_000_000)])
def test_what_would_never_end_is_refused(n, m, most):
    with pytest.raises(ValueError, match=f"n_agents must be at most {most} with {m} action components, got {n}"):
        max_snd(n, [-1] * m, [1] * m)


def test_one_agent_has_none():
    assert max_snd(1, [-1], [1]).value == 0
