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


@pytest.mark.parametrize("lr", [1e-2, (1e-2, 1e-3, 0.1)], ids=str)
def test_adam_equals_pytorchs_for_each_member(lr):
    ours = [nn.Parameter(torch.zeros(MEMBERS, *shape)) for shape in SHAPES]
    adam = PopulationAdam(ours, lr, eps=1e-5)
    theirs = [[nn.Parameter(torch.zeros(shape)) for shape in SHAPES] for _ in range(MEMBERS)]
    rates = [lr] * MEMBERS if isinstance(lr, float) else lr
    judges = [torch.optim.Adam(alone, lr=rate, eps=1e-5) for alone, rate in zip(theirs, rates, strict=True)]
    for step in range(20):
        # from tiny, where epsilon counts, to large
        given = gradients(step + 1, scales=(1e-5, 1.0, 100.0))
        adam.step(flat(given))
        for k, (alone, judge) in enumerate(zip(theirs, judges, strict=True)):
            for p, g in zip(alone, given, strict=True):
                p.grad = g[k].clone()
            judge.step()
            for mine, p in zip(ours, alone, strict=True):
                torch.testing.assert_close(mine[k], p, rtol=2e-6, atol=4e-6 * rates[k])


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
def test_a_step_takes_each_members_factor(lr):
    factors = torch.tensor([0.5, 1.0, 0.01])
    ours, theirs = ([nn.Parameter(torch.zeros(MEMBERS, *shape)) for shape in SHAPES] for _ in range(2))
    gradient = flat(gradients(0))
    PopulationAdam(ours, lr, eps=1.0).step(gradient, factors)
    PopulationAdam(theirs, lr, eps=1.0).step(factors[:, None] * gradient)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)
        assert not torch.equal(mine[0], mine[1])


def test_targets_follow_by_a_share_of_the_way():
    source = SharedMLP(3, 2, hidden=(4,), members=(2,))
    target = copy.deepcopy(source)
    for p in source.parameters():
        p.data.add_(torch.randn_like(p))
    before = [p.detach().clone() for p in target.parameters()]
    polyak_update_(target, source, 0.3)
    for b, t, s in zip(before, target.parameters(), source.parameters(), strict=True):
        torch.testing.assert_close(t.data, torch.lerp(b, s.data, 0.3))
        assert not torch.equal(t, b)
