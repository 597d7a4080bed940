"""Boxes of observations from a rollout, against closed forms."""

import pytest
import torch

from dico.analytical import AnalyticalDiCo, box_snd
from dico.boxes import ROOM, obs_quantile_box, over_the_box
from dico.constraints import equal
from dico.policy import DiCo


def test_a_share_is_left_out_at_either_end_and_room_is_added():
    obs = torch.stack([torch.arange(1001.0), 7 * torch.arange(1001.0) - 100], -1)[torch.randperm(1001)]
    low, high = obs_quantile_box(obs.reshape(7, 11, 13, 2), share=0.1)
    room = ROOM * 800
    assert low == pytest.approx((100 - room, 600 - 7 * room))
    assert high == pytest.approx((900 + room, 6200 + 7 * room))


def test_no_outlier_widens_it_and_all_are_in_it_without_a_share():
    generator = torch.Generator().manual_seed(0)
    obs = torch.randn(10_000, 3, generator=generator)
    obs[0] = 1e6
    low, high = obs_quantile_box(obs)
    assert max(high) < 3.5  # the normal distribution's 99th percentile is 2.33
    policy = AnalyticalDiCo.mlp(2, 3, 1, 0.3, obs_low=low, obs_high=high)
    assert policy.outside(obs).item() < 3 * 2 * 0.01
    low, high = obs_quantile_box(obs, share=0)
    assert AnalyticalDiCo.mlp(2, 3, 1, 0.3, obs_low=low, obs_high=high).outside(obs) == 0


def test_a_number_that_does_not_vary_has_a_side_all_the_same():
    low, high = obs_quantile_box(torch.tensor([[2.0, 1.0], [2.0, 3.0]]), share=0)
    assert (low[0], high[0]) == (1.5, 2.5)
    AnalyticalDiCo.mlp(2, 2, 1, 0.3, obs_low=low, obs_high=high)


@pytest.mark.parametrize(
    ("obs", "share", "message"),
    [
        (torch.zeros(3, 2), 0.5, r"share must be a number in \[0, 0.49\], got 0.5"),
        (torch.tensor([[0.0, torch.nan]]), 0.01, "obs must hold finite observations"),
        (torch.zeros(0, 2), 0.01, "obs must hold finite observations"),
    ],
)
def test_bad_input(obs, share, message):
    with pytest.raises(ValueError, match=message):
        obs_quantile_box(obs, share)


def test_what_is_measured_over_a_box_is_of_each_member_and_of_nobody_without_one():
    policy = AnalyticalDiCo.mlp(2, 1, 2, equal([0.3, 0.6]), obs_low=[-1], obs_high=[1], members=(2,))
    found = over_the_box(policy, torch.tensor([[[0.0], [2.0]], [[0.5], [0.9]]]), seed=3)
    assert found["snd_box"].tolist() == pytest.approx([0.3, 0.6], rel=1e-5)
    assert found["outside"].tolist() == [0.5, 0]
    assert over_the_box(DiCo.mlp(2, 1, 2, 0.3), torch.zeros(1, 1), seed=0) == {}


def test_each_seed_measures_over_a_box_at_other_points(monkeypatch):
    monkeypatch.setattr("dico.boxes.BOX_POINTS", 8)
    policy = AnalyticalDiCo.mlp(2, 1, 2, 0.3, obs_low=[-1], obs_high=[1])
    torch.nn.init.normal_(policy.density.mlp[-1].bias)
    first, other = (over_the_box(policy, torch.zeros(1, 1), seed)["snd_box"] for seed in (3, 4))
    assert torch.equal(first, box_snd(policy, 8, seed=3))
    assert not torch.equal(first, other)
