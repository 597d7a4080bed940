"""Observations that count more than others, or not at all."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dico
from dico.kinds import KINDS

AGENTS, OBS, ACT = 3, 4, 2
counts = st.lists(st.integers(0, 3), min_size=2, max_size=6).filter(any)


def make(**options):
    torch.manual_seed(0)
    return dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, hidden=(8,), tau=0.7, **options).double()


def batch(*leading, seed=1):
    return torch.randn(*leading, AGENTS, OBS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def derivative(policy, snd_hat):
    return torch.autograd.grad(snd_hat, list(policy.deviations.parameters()))


@given(counts, st.sampled_from(list(dico.METRICS)), st.sampled_from(list(KINDS)), st.floats(1e-3, 1e3))
def test_a_weight_is_how_often_a_row_was_seen(counts, metric, kind, unit):
    policy, obs = make(metric=metric, kind=kind), batch(len(counts))
    often = policy.estimate(obs.repeat_interleave(torch.tensor(counts), 0))
    weighed = policy.estimate(obs, weight=unit * torch.tensor(counts, dtype=torch.float64)[:, None])
    torch.testing.assert_close(weighed, often)
    torch.testing.assert_close(derivative(policy, weighed), derivative(policy, often))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_weight_might_as_well_not_be_there(kind):
    policy, obs = make(kind=kind), batch(8)
    acting = torch.tensor([[True, False, True], [False, True, False]]).repeat(4, 1)  # some agents of each team
    kept = policy.estimate(obs[acting])
    torch.testing.assert_close(policy.estimate(obs, weight=acting), kept)
    params, snd_hat = policy.forward_and_estimate(obs, weight=acting)
    torch.testing.assert_close(snd_hat, kept)
    torch.testing.assert_close(params, policy(obs, kept))


def test_members_weigh_on_their_own():
    policy, obs = make(members=(2,)), batch(2, 8)
    first, last = torch.arange(8) < 5, torch.arange(8) >= 2
    weighed = policy.estimate(obs, weight=torch.stack((first, last))[..., None])
    torch.testing.assert_close(weighed[0], policy.estimate(obs[:, :5])[0])
    torch.testing.assert_close(weighed[1], policy.estimate(obs[:, 2:])[1])


def test_weights_go_with_offsets():
    policy, obs, offsets = make(), batch(6), torch.tensor([[0, 1], [2, 0], [1, 2], [0, 2], [1, 0], [2, 1]])
    first = torch.arange(6) < 4
    torch.testing.assert_close(
        policy.estimate(obs, offsets, weight=first[:, None]), policy.estimate(obs[:4], offsets[:4])
    )


def test_no_weight_at_all_measures_nothing():
    policy = make()
    policy.commit_(policy.estimate(batch(5)))
    before = policy.snd_hat.clone()
    policy.commit_(policy.estimate(batch(5, seed=2), weight=torch.zeros(5, 1)))
    assert torch.equal(policy.snd_hat, before)


@pytest.mark.unchecked
@pytest.mark.parametrize("method", ["estimate", "forward_and_estimate"])
def test_weights_compile_as_one_graph(method):
    torch.compiler.reset()
    call, obs, weight = getattr(make(), method), batch(6), torch.arange(6)[:, None] < 4
    compiled = torch.compile(call, fullgraph=True)
    torch.testing.assert_close(compiled(obs, weight=weight), call(obs, weight=weight))


def test_rounded_networks_are_weighed_in_the_precision_of_the_estimate():
    policy, obs = make().bfloat16(), batch(9).bfloat16()
    policy.snd_hat = policy.snd_hat.float()
    weight = torch.linspace(1, 2, 9)[:, None]
    everyone = policy.deviations.everyone(obs).float()
    expected = (dico.snd_at(everyone) * weight).sum() / (AGENTS * weight.sum())
    torch.testing.assert_close(policy.estimate(obs, weight=weight), expected)


@pytest.mark.unchecked
@pytest.mark.parametrize("method", ["estimate", "forward_and_estimate"])
@pytest.mark.parametrize("weight", [torch.ones(6), torch.ones(2, 6, 3), torch.ones(6, 2), 1.0], ids=str)
def test_weights_are_of_rows(weight, method):
    with pytest.raises(ValueError, match=r"weight must be a tensor that broadcasts to \(6, 3\), got"):
        getattr(make(), method)(batch(6), weight=weight)


@pytest.mark.unchecked
def test_a_metric_that_is_not_made_of_means_has_no_weights():
    policy = make(metric=dico.Metric(lambda params: dico.snd(params) ** 2, degree=2))
    with pytest.raises(ValueError, match=r"weight must be left out for this metric: .* \(of_means\)"):
        policy.estimate(batch(6), weight=torch.ones(6, 3))
