"""Replay: the oldest frames give way, and draws are uniform among the frames there are, for each member."""

import pytest
import torch
from populations import batch_of, learner

ROWS = 40  # frames of a batch


def numbered(ours, first):
    """A batch whose rewards say which member's frame it is, from ``first`` on."""
    batch = batch_of(ours)
    number = first + torch.arange(ROWS).reshape(5, 8)
    reward = (1000.0 * torch.arange(ours.n_members)[:, None, None] + number)[..., None]
    batch.reward.copy_(reward.expand_as(batch.reward))
    batch.obs.copy_(reward[..., None].expand_as(batch.obs))
    batch.next_obs.copy_(reward[..., None].expand_as(batch.obs) + 0.5)
    return batch


@pytest.mark.parametrize("algorithm", ["iddpg", "masac"])
def test_the_oldest_frames_give_way(algorithm):
    ours = learner(algorithm, replay=100)
    for k in range(4):  # 160 frames into 100 places
        ours.store(numbered(ours, k * ROWS))
    for m in range(2):
        kept = ours.replay_buffer["reward"][m, :, 0].sort().values
        torch.testing.assert_close(kept, 1000.0 * m + torch.arange(60.0, 160.0))
    assert ours.count == 160


def test_a_frame_stays_together():
    ours = learner("iddpg", replay=100, batch=50)
    batches = [numbered(ours, k * ROWS) for k in range(3)]
    for batch in batches:
        ours.store(batch)
    sampled = ours.sample()
    action, reward, done = sampled.action, sampled.reward, sampled.done
    torch.testing.assert_close(sampled.obs[..., 0], reward)
    torch.testing.assert_close(sampled.next_obs[..., 0], reward + 0.5)
    for m in range(2):
        for row in range(50):
            number = int(reward[m, row, 0]) - 1000 * m
            batch, frame = batches[number // ROWS], number % ROWS
            assert torch.equal(action[m, row], batch.action[m].flatten(0, 1)[frame])
            assert done[m, row] == batch.done[m].flatten()[frame]


@pytest.mark.parametrize(("batches", "filled"), [(1, 40), (2, 80), (3, 100), (4, 100)])
def test_draws_are_uniform_among_the_filled_frames(batches, filled):
    ours = learner("iddpg", replay=100)
    for k in range(batches):
        ours.store(numbered(ours, k * ROWS))
    index = ours.draw(filled * 500)
    assert index.shape == (2, filled * 500)
    for member in index:
        counts = member.bincount()
        assert len(counts) == filled
        # chi-square over its degrees of freedom: 1 give or take sqrt(2 / filled)
        assert 0.4 < (counts - 500).square().mul(1 / 500).sum() / (filled - 1) < 1.8
    assert (index[0] == index[1]).float().mean() < 0.1  # each member's own


def test_members_draw_their_own_frames():
    ours = learner("isac", replay=100, batch=64)
    ours.store(numbered(ours, 0))
    reward = ours.sample().reward
    assert (reward[0] < 1000).all()
    assert (reward[1] >= 1000).all()
