"""The diversity estimate on some of the frames of a minibatch."""

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


@pytest.mark.unchecked
def test_there_is_at_least_one():
    with pytest.raises(ValueError, match="estimate_frames must be a positive integer, got 0"):
        config(estimate_frames=0)
