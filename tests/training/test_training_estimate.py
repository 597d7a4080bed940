"""The diversity estimate on some of the frames of a minibatch, and from some of the agents."""

from dataclasses import replace

import pytest
import torch
from populations import ALGORITHMS, PAIRS, TEAM, batch_of, config, learner, minibatch_of, population

from dico import max_snd, snd
from dico._measuring import measured_frames, spaced
from dico.training.experience import Comparison
from dico.training.measure import measure

MANY = {"snd": ("0.3",), "seeds": 40, "tau": 1.0, "lr": 1e-3, "estimate_on": "minibatch"}
"""Members enough for a mean, which learn slowly: what is left between estimate and measurement is chance."""


def assert_met(rows, desired):
    """The mean SND of many members is the desired one, up to five standard errors: some 5 % of it."""
    reached = torch.tensor([row["snd"] for row in rows])
    allowed = 5 * reached.std() / len(rows) ** 0.5
    assert abs(reached.mean() - desired) < allowed < 0.07 * desired


@pytest.mark.parametrize("frames", [1, 7, 1000])
def test_the_estimate_is_made_on_the_first_frames(frames):
    one = learner("ippo", estimate_frames=frames, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    params, snd_hat = one.act_and_estimate(obs, Comparison())
    torch.testing.assert_close(snd_hat, one.policy.estimate(obs[:, :frames]))
    torch.testing.assert_close(params, one.policy(obs, snd_hat))


@pytest.mark.parametrize("agents", [None, 2])
@pytest.mark.parametrize("frames", [None, 7])
def test_the_estimates_gradient_goes_through_the_parameters_alone(frames, agents):
    one = learner("ippo", estimate_frames=frames, estimate_agents=agents, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    how = one.compare(obs)
    params, snd_hat = one.act_and_estimate(obs, how)
    assert not snd_hat.requires_grad
    expected = one.policy(obs, one.policy.estimate(obs[:, :frames], how.offsets))
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
    ours = population(algorithm=algorithm, estimate_frames=8, task_options=("n_agents=4",), **MANY)
    assert_met(ours.iterate(), 0.3)


@pytest.mark.parametrize("algorithm", ["iddpg", "maddpg"])
def test_both_renews_the_estimate_at_the_next_observations_first(algorithm):
    """As the original's DDPG did: two soft updates a step, the first of which scales the target's actions."""
    ours = learner(algorithm, estimate_on="both", tau=0.3)
    ours.policy.commit_(torch.tensor([0.5, 0.9]))
    obs, next_obs = torch.randn(2, 2, 10, TEAM.n_agents, TEAM.obs_dim)
    first = ours.policy.estimate(next_obs).detach()
    second = ours.policy.estimate(obs, current=first).detach()
    zeros = torch.zeros(2, 10, TEAM.n_agents, 2)
    minibatch = minibatch_of(algorithm, obs, next_obs, zeros, zeros[..., 0], zeros[..., 0, 0])
    next_params, current = ours.act_next(minibatch)
    torch.testing.assert_close(current, first)
    torch.testing.assert_close(next_params, ours.policy(next_obs, first))
    ours.update(minibatch)
    torch.testing.assert_close(ours.policy.snd_hat, second)


@pytest.mark.parametrize("algorithm", ["maddpg", "isac"])
def test_the_estimate_on_the_newest_batch_sees_none_but_its_frames(algorithm):
    """Every frame of a batch is marked; the replay holds two batches, and has wrapped around."""
    ours = learner(algorithm, estimate_on="newest", replay=100, frames_per_batch=40, batch=64, tau=1.0)
    for mark in (1.0, 2.0, 3.0):
        batch = batch_of(ours)
        batch.obs.fill_(mark)
        batch.obs[..., 0] = torch.arange(40.0).reshape(5, 8, 1)
        ours.store(batch)
    minibatch = ours.sample()
    newest = minibatch.how.newest
    assert newest.shape == minibatch.obs.shape
    assert (newest[..., 1:] == 3.0).all()
    assert (minibatch.obs[..., 1:] != 3.0).any()
    assert len(newest[0, :, 0, 0].unique()) > 20  # from all over it
    expected = ours.policy.estimate(newest).detach()
    ours.update(minibatch)
    torch.testing.assert_close(ours.policy.snd_hat, expected)


@pytest.mark.parametrize("algorithm", ["maddpg", "isac"])
def test_snd_train_is_measured_on_what_the_estimate_is_made_of(algorithm):
    for estimate_on in ("minibatch", "newest"):
        ours = learner(algorithm, estimate_on=estimate_on, replay=100, frames_per_batch=40)
        batches = [batch_of(ours, seed=seed) for seed in range(3)]
        for batch in batches:
            ours.store(batch)
        measured = measure(ours, batches[-1])
        if estimate_on == "newest":
            torch.testing.assert_close(measured["snd_train"], measured["snd"])
        else:
            spaced = ours.replay_buffer["obs"][:, torch.arange(40) * 100 // 40]
            torch.testing.assert_close(measured["snd_train"], snd(ours.policy.everyone(spaced)))
            assert (measured["snd_train"] != measured["snd"]).all()


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_snd_acted_is_of_actions_in_the_box(algorithm):
    ours = learner(algorithm, goals=("30", "free"))
    ours.policy.commit_(torch.tensor([0.5, 0.9]))
    batch = batch_of(ours)
    measured = measure(ours, batch)
    everyone = ours.policy.everyone(batch.obs.flatten(1, 2))[..., :2]
    low, high = torch.tensor(TEAM.low), torch.tensor(TEAM.high)
    squashed = algorithm.endswith(("ppo", "sac"))
    acted = low + (high - low) * (everyone.tanh() + 1) / 2 if squashed else everyone.clamp(low, high)
    torch.testing.assert_close(measured["snd_acted"], snd(acted))
    assert measured["snd_acted"][0] <= max_snd(TEAM.n_agents, TEAM.low, TEAM.high).value < measured["snd"][0]
    beyond = (everyone - everyone.clamp(low, high)).norm(dim=-1).amax(-1).mean(1)
    torch.testing.assert_close(measured["action_bound_violation_all"], beyond)
    assert (measured["action_bound_violation_all"] != measured["action_bound_violation"]).all()


@pytest.mark.parametrize("frames", [None, 7])
def test_some_agents_are_compared_at_each_frame(frames):
    one = learner("ippo", estimate_agents=2, estimate_frames=frames, tau=0.5)
    obs = batch_of(one).obs.flatten(1, 2)
    offsets = one.draw_offsets(obs)
    assert offsets.shape == (2, frames or 40, 2)
    assert (offsets[..., 0] != offsets[..., 1]).all()
    params, snd_hat = one.act_and_estimate(obs, Comparison(offsets))
    torch.testing.assert_close(snd_hat, one.policy.estimate(obs[:, :frames], offsets))
    torch.testing.assert_close(params, one.policy(obs, snd_hat))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_update_compares_the_agents_it_has_drawn(algorithm, monkeypatch):
    ours = population(algorithm=algorithm, **PAIRS, **MANY, policy_delay=1)
    policy, drawn, used = ours.learners[0].policy, [], []
    draw, estimate = ours.learners[0].draw_offsets, policy.estimate
    monkeypatch.setattr(ours.learners[0], "draw_offsets", lambda obs: drawn.append(draw(obs)) or drawn[-1])
    monkeypatch.setattr(policy, "estimate", lambda obs, offsets, **_: used.append(offsets) or estimate(obs, offsets))
    rows = ours.iterate()
    assert len(used) == 8  # two passes over two minibatches, or four updates; each for the actor's and the action loss
    assert all(mine is its for mine, its in zip(used, drawn, strict=True))
    assert_met(rows, 0.3)


def test_all_pairs_are_as_likely_in_every_frame_of_every_member():
    one = learner("ippo", team=replace(TEAM, n_agents=5), estimate_agents=2)
    offsets = one.draw_offsets(torch.zeros(2, 10_000, 5, 4))
    for member in offsets:
        counts = (5 * member[:, 0] + member[:, 1]).bincount(minlength=25).reshape(5, 5)
        assert counts.diagonal().tolist() == 5 * [0]
        assert counts[~torch.eye(5, dtype=torch.bool)].tolist() == pytest.approx(20 * [500], rel=0.22)  # 5 deviations
        same_as_next = (member[1:] == member[:-1]).all(-1).double().mean()
        assert same_as_next == pytest.approx(1 / 20, rel=0.22)
    same_in_both = (offsets[0] == offsets[1]).all(-1).double().mean()
    assert same_in_both == pytest.approx(1 / 20, rel=0.22)


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


@pytest.mark.parametrize("sampled", [{}, {"estimate_frames": 7}, {"estimate_agents": 2}], ids=str)
def test_both_estimates_of_a_step_are_made_alike(sampled):
    """With some frames, or some agents, the second starts from the first, which is made at the same agents."""
    ours = learner("maddpg", estimate_on="both", tau=0.3, **sampled)
    obs, next_obs = torch.randn(2, 2, 10, TEAM.n_agents, TEAM.obs_dim)
    ours.policy.commit_(torch.tensor([0.5, 0.9]))
    offsets, frames = ours.draw_offsets(obs), sampled.get("estimate_frames", 10)
    first = ours.policy.estimate(next_obs[:, :frames], offsets).detach()
    zeros = torch.zeros(2, 10, TEAM.n_agents, 2)
    how = Comparison(offsets)
    minibatch = minibatch_of("maddpg", obs, next_obs, zeros, zeros[..., 0], zeros[..., 0, 0], how=how)
    torch.testing.assert_close(ours.act_next(minibatch)[1], first)
    second = ours.act_and_estimate(obs, how, first).snd_hat
    torch.testing.assert_close(second, ours.policy.estimate(obs[:, :frames], offsets, current=first).detach())


@pytest.mark.parametrize("sampled", [{}, {"estimate_frames": 7}, {"estimate_agents": 2}], ids=str)
@pytest.mark.parametrize("rows", ["own", "all"])
def test_the_action_loss_is_scaled_by_the_newest_frames_too(sampled, rows):
    ours = learner("maddpg", estimate_on="newest", tau=1.0, action_loss_rows=rows, goals=("2", "2"), **sampled)
    obs, recent = torch.randn(2, 2, 10, TEAM.n_agents, TEAM.obs_dim)
    recent = 3 * recent  # where the deviations are another size
    offsets, frames = ours.draw_offsets(obs), sampled.get("estimate_frames", 10)
    snd_hat = ours.policy.estimate(recent[:, :frames], offsets)
    params = ours.policy(obs, snd_hat) if rows == "own" else ours.policy.everyone(obs, snd_hat)
    how = Comparison(offsets, newest=recent)
    torch.testing.assert_close(ours.separate_action_loss(obs, how), ours.action_loss(params))
    handed = []
    ours._separate_action_loss = lambda obs, how: handed.append(how) or ours.separate_action_loss(obs, how)
    zeros = torch.zeros(2, 10, TEAM.n_agents, 2)
    ours.update(minibatch_of("maddpg", obs, obs, zeros, zeros[..., 0], zeros[..., 0, 0], how=how))
    assert handed[0].newest is recent


@pytest.mark.parametrize(("frames", "envs"), [(60_000, 600), (65_536, 512), (8_192, 64), (61_200, 600), (6_000, 60)])
@pytest.mark.parametrize("n", [2, 8])
def test_diversity_is_measured_all_over_a_batch(frames, envs, n):
    """Every tenth of the environments, and of the steps, is met about as often, however many frames are left out."""
    picked = spaced(frames, n)
    assert len(picked.unique()) == len(picked) == min(frames, measured_frames(n))
    assert len((picked % envs).unique()) > 0.9 * min(envs, len(picked) // 4)
    for place, of in ((picked % envs, envs), (picked // envs, frames // envs)):
        met = (place * 10 // of).bincount(minlength=10)
        assert met.tolist() == pytest.approx(10 * [len(picked) / 10], rel=0.2)


def test_a_group_that_never_learns_is_measured_on_what_it_does():
    ours = learner("maddpg", estimate_on="minibatch")
    batch = batch_of(ours)
    measured = measure(ours, batch)
    torch.testing.assert_close(measured["snd_train"], measured["snd"])
