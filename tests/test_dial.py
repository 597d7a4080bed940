"""A dial: thm:scaling at every trained level, one set of networks, and levels between."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dico
from dico import DialDiCo
from dico.kinds import KINDS

LEVELS = [0.0, 0.2, 0.7, 1.5]


def dial_of(seed=0, **options):
    torch.manual_seed(seed)
    return DialDiCo.mlp(3, 4, 2, LEVELS, **({"hidden": (8,), "tau": 1.0} | options)).double()


def observations(seed=0, rows=24):
    return torch.randn(len(LEVELS), rows, 3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(st.integers(0, 2**31), st.sampled_from(list(KINDS)))
@settings(max_examples=20)
def test_thm_scaling_holds_at_every_level(seed, kind):
    dial, obs = dial_of(seed, kind=kind), observations(seed)
    dial.commit_(dial.estimate(obs))
    torch.testing.assert_close(dico.snd(dial.everyone(obs)), torch.tensor(LEVELS).double(), rtol=1e-6, atol=1e-9)
    for k, level in enumerate(LEVELS):
        policy = dial.at(level)
        torch.testing.assert_close(policy.everyone(obs[k]), dial.everyone(obs)[k], rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(policy(obs[k]), dial(obs)[k], rtol=1e-6, atol=1e-9)


def test_a_training_step_moves_the_same_weights_for_all_levels():
    dial, obs = dial_of(), observations()
    count = sum(parameter.numel() for parameter in dial.parameters())
    assert count == sum(p.numel() for p in dico.DiCo.mlp(3, 5, 2, 1.0, hidden=(8,)).parameters())
    outputs, snd_hat = dial.forward_and_estimate(obs)
    outputs[1].square().sum().backward()  # a loss of one level alone
    dial.commit_(snd_hat)
    before = dial.everyone(obs).detach().clone()
    with torch.no_grad():
        for parameter in dial.parameters():
            parameter -= 0.1 * parameter.grad
    assert all((dial.everyone(obs)[k] - before[k]).abs().max() > 0 for k in range(len(LEVELS)))


def test_the_desired_value_is_an_input():
    dial = dial_of()
    obs = observations()[:1].expand(len(LEVELS), -1, -1, -1)
    shared = dial.shared(obs)
    assert all((shared[k] - shared[0]).abs().max() > 1e-3 for k in range(1, len(LEVELS)))


def test_between_two_levels_the_estimate_is_between_theirs_and_the_diversity_near():
    dial, obs = dial_of(), observations(rows=200)
    dial.commit_(dial.estimate(obs[:1].expand_as(obs)))
    middle = dial.at(0.45)
    assert middle.snd_hat == pytest.approx(dial.snd_hat[1:3].mean().item())
    assert dico.snd(middle.everyone(obs[0])).item() == pytest.approx(0.45, rel=0.05)


def test_a_copy_is_a_dial_too():
    dial, obs = dial_of(), observations()
    dial.commit_(dial.estimate(obs))
    for same in (copy.deepcopy(dial), pickle.loads(pickle.dumps(dial))):
        torch.testing.assert_close(same.at(0.4)(obs[0]), dial.at(0.4)(obs[0]))


def test_at_zero_the_shared_network_acts_alone_in_the_box():
    dial = DialDiCo.mlp(3, 4, 2, LEVELS, hidden=(8,), low=[-1, -1], high=[1, 1], squash_shared=True)
    obs = observations().float()
    dial.commit_(dial.estimate(obs))
    assert dial.at(0).everyone(obs[0]).abs().max() <= 1  # the shared network alone


BAD = {
    "levels must be two diversities or more": lambda: DialDiCo.mlp(2, 4, 2, [0.3]),
    "each greater than the one before": lambda: DialDiCo.mlp(2, 4, 2, [0.3, 0.3]),
    "levels must be a diversity": lambda: DialDiCo.mlp(2, 4, 2, [-1, 0.3]),
    r"snd must be a number in \[0, 1.5\], got 2": lambda: dial_of().at(2),
    "must come after an estimate of every level": lambda: dial_of().at(1),
}


@pytest.mark.unchecked
@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_told(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()


@pytest.mark.unchecked
def test_it_compiles_whole():
    dial, obs = dial_of(), observations()
    compiled = torch.compile(dial.forward_and_estimate, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(obs).params, dial.forward_and_estimate(obs).params)
