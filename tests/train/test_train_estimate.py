"""The diversity estimate on some of the frames of a minibatch, and from some of the agents."""

from dataclasses import replace

import pytest
import torch
from populations import ALGORITHMS, PAIRS, TEAM, batch_of, config, learner, population


@pytest.mark.parametrize("frames", [1, 7, 1000])
def test_the_estimate_is_made_on_the_first_frames(frames):
    one = learner("ippo", estimate_frames=frames, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    params, snd_hat = one.act_and_estimate(obs)
    torch.testing.assert_close(snd_hat, one.policy.estimate(obs[:, :frames]))
    torch.testing.assert_close(params, one.policy(obs, snd_hat))


@pytest.mark.parametrize("agents", [None, 2])
@pytest.mark.parametrize("frames", [None, 7])
def test_the_estimates_gradient_goes_through_the_parameters_alone(frames, agents):
    one = learner("ippo", estimate_frames=frames, estimate_agents=agents, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    offsets = one.draw_offsets(obs)
    params, snd_hat = one.act_and_estimate(obs, offsets)
    assert not snd_hat.requires_grad
    expected = one.policy(obs, one.policy.estimate(obs[:, :frames], offsets))
    weights = list(one.policy.deviations.parameters())
    for mine, other in zip(*(torch.autograd.grad(x.square().sum(), weights) for x in (params, expected)), strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("as_many", [{"estimate_frames": 24}, {"estimate_agents": 2}], ids=["frames", "agents"])
def test_all_or_as_many_as_there_are_is_the_same(algorithm, as_many):
    whole, counted = population(algorithm=algorithm), population(algorithm=algorithm, **as_many)
    for row, other in zip(whole.iterate(), counted.iterate(), strict=True):
        assert row | {"seconds": 0} == other | {"seconds": 0}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fewer_frames_train(algorithm):
    (row, _) = population(algorithm=algorithm, estimate_frames=4).iterate()
    assert row["snd"] == pytest.approx(0.3, rel=0.5)


@pytest.mark.parametrize("frames", [None, 7])
def test_some_agents_are_compared_at_each_frame(frames):
    one = learner("ippo", estimate_agents=2, estimate_frames=frames, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    offsets = one.draw_offsets(obs)
    assert offsets.shape == (2, frames or 40, 2)
    assert (offsets[..., 0] != offsets[..., 1]).all()
    params, snd_hat = one.act_and_estimate(obs, offsets)
    torch.testing.assert_close(snd_hat, one.policy.estimate(obs[:, :frames], offsets))
    torch.testing.assert_close(params, one.policy(obs, snd_hat))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_update_compares_the_agents_it_has_drawn(algorithm, monkeypatch):
    ours = population(algorithm=algorithm, **PAIRS)
    policy, drawn, used = ours.learners[0].policy, [], []
    draw, estimate = ours.learners[0].draw_offsets, policy.estimate
    monkeypatch.setattr(ours.learners[0], "draw_offsets", lambda obs: drawn.append(draw(obs)) or drawn[-1])
    monkeypatch.setattr(policy, "estimate", lambda obs, offsets, **_: used.append(offsets) or estimate(obs, offsets))
    (row, _) = ours.iterate()
    assert len(used) == 4  # two passes over two minibatches, or four updates
    assert all(mine is its for mine, its in zip(used, drawn, strict=True))
    assert row["snd"] == pytest.approx(0.3, rel=0.5)


def test_all_pairs_are_as_likely_in_every_frame_of_every_member():
    one = learner("ippo", team=replace(TEAM, n_agents=5), estimate_agents=2)
    offsets = one.draw_offsets(torch.zeros(2, 10_000, 5, 4))
    for member in offsets:
        counts = (5 * member[:, 0] + member[:, 1]).bincount(minlength=25).reshape(5, 5)
        assert counts.diagonal().tolist() == 5 * [0]
        assert counts[~torch.eye(5, dtype=torch.bool)].tolist() == pytest.approx(20 * [500], rel=0.2)  # 4.6 deviations
        same_as_next = (member[1:] == member[:-1]).all(-1).double().mean()
        assert same_as_next == pytest.approx(1 / 20, rel=0.3)
    same_in_both = (offsets[0] == offsets[1]).all(-1).double().mean()
    assert same_in_both == pytest.approx(1 / 20, rel=0.3)


@pytest.mark.unchecked
def test_a_comparison_needs_two_agents_and_a_mean_over_pairs():
    with pytest.raises(ValueError, match="estimate_agents must be a whole number from 2 up, got 1"):
        config(estimate_agents=1)
    with pytest.raises(ValueError, match="estimate_agents must be unset for metric='hse'"):
        config(estimate_agents=2, metric="hse")


@pytest.mark.unchecked
def test_there_is_at_least_one():
    with pytest.raises(ValueError, match="estimate_frames must be a positive integer, got 0"):
        config(estimate_frames=0)
