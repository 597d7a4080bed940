"""Adam, clipping and target networks of a population against PyTorch's own, member by member."""

import copy

import pytest
import torch
from torch import nn

from dico.nets import SharedMLP
from dico.training.optimiser import PopulationAdam, clip_factors, flat, polyak_update_

MEMBERS = 3
SHAPES = ((4, 5), (1, 5), (2, 3, 2))


def gradients(seed, scales=(1.0, 1.0, 1.0)):
    generator = torch.Generator().manual_seed(seed)
    scale = torch.tensor(scales)
    return [scale.reshape(-1, *[1] * len(s)) * torch.randn(MEMBERS, *s, generator=generator) for s in SHAPES]


def judges_of(lr, eps):
    """Each member's parameters by themselves, and PyTorch's optimiser of them."""
    theirs = [[nn.Parameter(torch.zeros(shape)) for shape in SHAPES] for _ in range(MEMBERS)]
    rates = [lr] * MEMBERS if isinstance(lr, float) else lr
    return theirs, [torch.optim.Adam(alone, lr=rate, eps=eps) for alone, rate in zip(theirs, rates, strict=True)]


@pytest.mark.parametrize("lr", [1e-2, (1e-2, 1e-3, 0.1)], ids=str)
def test_adam_equals_pytorchs_for_each_member(lr):
    ours = [nn.Parameter(torch.zeros(MEMBERS, *shape)) for shape in SHAPES]
    adam = PopulationAdam(ours, lr, eps=1e-5)
    theirs, judges = judges_of(lr, eps=1e-5)
    for step in range(20):
        # from tiny, where epsilon counts, to large
        given = gradients(step + 1, scales=(1e-5, 1.0, 100.0))
        adam.step(flat(given))
        for k, (alone, judge) in enumerate(zip(theirs, judges, strict=True)):
            for p, g in zip(alone, given, strict=True):
                p.grad = g[k].clone()
            judge.step()
            for mine, p in zip(ours, alone, strict=True):
                torch.testing.assert_close(mine[k], p, rtol=2e-6, atol=4e-6 * judge.defaults["lr"])


def test_the_state_of_each_parameter_has_its_shape_and_name():
    """Checkpoints hold it so."""
    adam = PopulationAdam([nn.Parameter(torch.zeros(MEMBERS, *shape)) for shape in SHAPES], 1e-2)
    adam.step(flat(gradients(0)))
    state = adam.tensors()
    assert state.pop("count") == 1
    for i, gradient in enumerate(gradients(0)):
        torch.testing.assert_close(state.pop(f"first.{i}"), 0.1 * gradient)
        torch.testing.assert_close(state.pop(f"second.{i}"), 0.001 * gradient.square())
    assert not state


def test_adam_leaves_other_members_alone():
    with_nan, without = ([nn.Parameter(p) for p in gradients(0)] for _ in range(2))
    adams = [PopulationAdam(p, 1e-2) for p in (with_nan, without)]
    for step in range(3):
        for adam, scale in zip(adams, (float("nan"), 1.0), strict=True):
            adam.step(flat(gradients(step, scales=(1.0, scale, 1.0))))
    for broken, whole in zip(with_nan, without, strict=True):
        assert torch.equal(broken[[0, 2]], whole[[0, 2]])
        assert broken[1].isnan().all()


def test_clipping_equals_pytorchs_for_each_member():
    theirs = gradients(0, scales=(1e-3, 2.0, 50.0))
    factors = clip_factors(flat(theirs), 5.0)
    assert factors[0] == 1 > factors[1] > factors[2]
    for k in range(MEMBERS):
        alone = [nn.Parameter(torch.zeros_like(g[k])) for g in theirs]
        for p, g in zip(alone, theirs, strict=True):
            p.grad = g[k].clone()
        nn.utils.clip_grad_norm_(alone, 5.0)
        for p, g in zip(alone, theirs, strict=True):
            torch.testing.assert_close(factors[k] * g[k], p.grad)


@pytest.mark.parametrize("scale", [1e6, float("nan"), float("inf")])
def test_clipping_one_member_leaves_the_others(scale):
    factors = clip_factors(flat(gradients(0, scales=(1e-3, scale, 1e-3))), 5.0)
    assert factors[[0, 2]].tolist() == [1, 1]
    assert factors[1] != 1


@pytest.mark.parametrize("lr", [1e-2, (1e-2, 1e-3, 0.1)], ids=str)
def test_clipped_steps_equal_pytorchs_for_each_member(lr):
    """With an epsilon of 1 the length of a gradient counts, which Adam otherwise makes little of."""
    ours = [nn.Parameter(torch.zeros(MEMBERS, *shape)) for shape in SHAPES]
    adam = PopulationAdam(ours, lr, eps=1.0)
    theirs, judges = judges_of(lr, eps=1.0)
    for step in range(5):
        given = gradients(step, scales=(0.01, 1.0, 50.0))
        adam.step(flat(given), clip_factors(flat(given), 2.0))
        for k, (alone, judge) in enumerate(zip(theirs, judges, strict=True)):
            for p, g in zip(alone, given, strict=True):
                p.grad = g[k].clone()
            norm = nn.utils.clip_grad_norm_(alone, 2.0)
            assert (norm > 2) == (k > 0)
            judge.step()
            for mine, p in zip(ours, alone, strict=True):
                torch.testing.assert_close(mine[k], p, rtol=1e-5, atol=1e-9)


def test_targets_follow_by_a_share_of_the_way():
    source = SharedMLP(3, 2, hidden=(4,), members=(2,))
    target = copy.deepcopy(source)
    for p, q in zip(target.parameters(), source.parameters(), strict=True):
        nn.init.ones_(p)
        nn.init.constant_(q, 5.0)
    for expected in (2.0, 2.75, 3.3125):  # each time a quarter of what is left
        polyak_update_(target, source, 0.25)
        assert all((p == expected).all() for p in target.parameters())
    assert all((p == 5).all() for p in source.parameters())
