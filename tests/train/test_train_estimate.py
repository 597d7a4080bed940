"""The diversity estimate on some of the frames of a minibatch, and from some of the agents."""

import pytest
import torch
from populations import ALGORITHMS, batch_of, config, learner, population


@pytest.mark.parametrize("frames", [1, 7, 1000])
def test_the_estimate_is_made_on_the_first_frames(frames):
    one = learner("ippo", estimate_frames=frames, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    params, snd_hat = one.act_and_estimate(obs)
    torch.testing.assert_close(snd_hat, one.policy.estimate(obs[:, :frames]))
    torch.testing.assert_close(params, one.policy(obs, snd_hat))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_frames_or_as_many_are_the_same(algorithm):
    whole, counted = population(algorithm=algorithm), population(algorithm=algorithm, estimate_frames=24)
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
def test_as_many_agents_as_there_are_is_all_of_them(algorithm):
    whole, counted = population(algorithm=algorithm), population(algorithm=algorithm, estimate_agents=2)
    for row, other in zip(whole.iterate(), counted.iterate(), strict=True):
        assert row | {"seconds": 0} == other | {"seconds": 0}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_estimate_of_a_pair_trains_as_that_of_all(algorithm):
    options = {"algorithm": algorithm, "task_options": ("n_agents=4",), "lr": 1e-3}
    whole, pair = population(**options), population(**options, estimate_agents=2)
    for _ in range(3):
        (row, _), (other, _) = pair.iterate(), whole.iterate()
    assert row["snd"] != other["snd"]
    assert row["snd"] == pytest.approx(other["snd"], rel=0.1)


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
