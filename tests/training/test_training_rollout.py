"""Collected batches against stepping the task by hand with the recorded actions."""

import copy

import pytest
import torch
from populations import config, learner, population
from torchrl.modules import AdditiveGaussianModule

from dico import tasks
from dico.squashed import gaussian_log_prob, squash
from dico.tasks import map_state
from dico.training.experience import Decision, Team
from dico.training.ppo import PPO, gae
from dico.training.rollout import STARTS_PER_ENV, Rollout
from dico.training.staging import Stage

MEMBERS, ENVS, STEPS, HORIZON = 2, 5, 23, 9
BOX = (torch.tensor([-1.0, -1.0]), torch.tensor([1.0, 1.0]))


class Seeker(PPO):
    """Goes straight for the goals, so that episodes end early; member 1 does so half-heartedly."""

    def act(self, obs):
        own = torch.stack([obs[..., i, 2 * i : 2 * i + 2] for i in range(obs.shape[-2])], -2)
        action = (-4 * own * torch.tensor([1.0, 0.5])[:, None, None, None]).clamp(-1, 1)
        return Decision(action, {"sample": action, "log_prob": torch.zeros_like(action[..., 0])})


def rollout_of(make, horizon):
    task = tasks.make("navigation", horizon=horizon)
    group = task.groups[0]
    team = Team(group.name, len(group.agents), group.obs_dim, task.action_low, task.action_high)
    ours = learner("ippo", MEMBERS, team=team, make=make)
    return Rollout(task, ENVS, range(MEMBERS), 0, Stage("eager")), ours


def environment(state, m, e):
    """One environment's state, as a batch of one."""
    return map_state(lambda x: x[m, e][None], state)


def by_hand(rollout, batch, before, rng, clock):
    """Step each environment by itself with the recorded actions; check every frame; return the ends of episodes."""
    starts = rollout.task.reset(STARTS_PER_ENV * ENVS, rng)
    ends = []
    for m in range(MEMBERS):
        states = [environment(before, m, e) for e in range(ENVS)]
        fresh = iter(range(STARTS_PER_ENV * ENVS))
        for t in range(batch.done.shape[1]):
            for e in range(ENVS):
                torch.testing.assert_close(batch.obs[m, t, e], rollout.task.observe(states[e])[0][0])
                action = batch.sample[m, t, e]
                if batch.log_prob.any():
                    action = squash(action, *BOX)
                states[e], reward, ended = rollout.task.step(states[e], action[None])
                clock[m, e] += 1
                torch.testing.assert_close(batch.reward[m, t, e], reward[0])
                torch.testing.assert_close(batch.next_obs[m, t, e], rollout.task.observe(states[e])[0][0])
                assert batch.done[m, t, e] == (ended[0] or clock[m, e] == rollout.task.horizon)
                if batch.done[m, t, e]:
                    ends.append((m, t, e, bool(ended[0])))
                    states[e] = environment(starts, m, next(fresh))
                    clock[m, e] = 0
        for e in range(ENVS):
            torch.testing.assert_close(vars(environment(rollout.state, m, e)), vars(states[e]))
    assert torch.equal(rollout.clock, clock)
    return ends


@pytest.mark.parametrize(("make", "horizon"), [(Seeker, 40), (PPO, HORIZON)], ids=["early ends", "horizon"])
def test_batches_are_what_stepping_by_hand_gives(make, horizon):
    rollout, ours = rollout_of(make, horizon)
    clock = torch.zeros(MEMBERS, ENVS, dtype=torch.int64)
    ends = []
    for _ in range(2):  # environments and clocks go on from one batch to the next
        before, rng = copy.deepcopy(rollout.state), copy.deepcopy(rollout.rng)
        (batch,) = rollout.collect([ours], STEPS, 0)
        ends += by_hand(rollout, batch, before, rng, clock)
    by_itself = [end for *_, end in ends]
    if make is Seeker:
        assert any(by_itself)
    else:
        assert len(ends) == 2 * STEPS // HORIZON * MEMBERS * ENVS
        assert not all(by_itself)
    assert 0 < clock.max() < horizon


def test_every_episode_has_a_start_of_its_own():
    rollout, ours = rollout_of(PPO, 5)
    (batch,) = rollout.collect([ours], 20, 0)
    begins = torch.cat([torch.ones_like(batch.done[:, :1]), batch.done[:, :-1]], 1)
    obs = batch.obs[begins].flatten(1)
    assert len(obs) == MEMBERS * ENVS * 4
    assert torch.pdist(obs).min() > 1e-3
    ended, restarted = batch.next_obs[:, 4], batch.obs[:, 5]
    assert (ended - restarted).abs().amax((-1, -2)).min() > 1e-3  # the last observation is that before the reset


def test_recorded_log_probabilities_are_of_the_recorded_samples():
    rollout, ours = rollout_of(PPO, 5)
    (batch,) = rollout.collect([ours], 7, 0)
    mean, std = ours.policy(batch.obs).chunk(2, -1)
    torch.testing.assert_close(batch.log_prob, gaussian_log_prob(batch.sample, mean, std))
    z = (batch.sample - mean) / std
    assert z.abs().max() > 1  # it explores
    assert abs(z.mean().item()) < 0.2
    assert z.std().item() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("algorithm", ["iddpg", "isac", "ippo"])
def test_no_value_is_bootstrapped_past_the_horizon(algorithm):
    """With gamma 1 and a critic that always says 7, a target is the reward and 7 - but at an end the reward alone."""
    ours = population(algorithm=algorithm, gamma=1.0, task_options=("horizon=5",), envs=4, frames_per_batch=40)
    (batch,) = ours.rollout.collect(ours.learners, 10, 0)
    at_end = torch.zeros_like(batch.done)
    at_end[:, [4, 9]] = True
    assert torch.equal(batch.done, at_end)
    seven = torch.full_like(batch.reward, 7.0)
    if algorithm == "ippo":
        found = gae(batch.reward, 0 * seven, seven, batch.done[..., None], 1.0, 0.0)
    else:
        found = (
            ours.learners[0]
            .td_target(batch.reward.flatten(1, 2), batch.done.float().flatten(1, 2), seven.flatten(1, 2))
            .reshape(seven.shape)
        )
    torch.testing.assert_close(found, batch.reward + torch.where(at_end[..., None], 0.0, seven))


def test_exploration_noise_falls_from_batch_to_batch_as_torchrls():
    ours = learner("iddpg", MEMBERS, goals=("0",), noise=(0.3, 0.05), noise_frames=100)
    for p in ours.policy.parameters():
        p.data.zero_()  # all actions are the middle of the box
    judge = AdditiveGaussianModule(None, sigma_init=0.3, sigma_end=0.05, annealing_num_steps=100)
    obs = torch.zeros(MEMBERS, 3000, 3, 4)
    for frames in (0, 40, 80, 120):
        ours.begin_batch(frames)
        std = ours.act(obs).action[..., 1].std().item()  # the wider side: hardly ever clamped
        assert std == pytest.approx(judge.sigma.item(), rel=0.03)
        judge.step(40)


def test_the_noise_is_the_same_throughout_a_batch():
    ours = population(algorithm="iddpg", noise=(0.8, 0.01), noise_frames=40)
    seen = []
    act = ours.learners[0].act
    ours.learners[0].act = lambda obs: (seen.append(ours.learners[0].noise.item()), act(obs))[1]
    ours.iterate()
    ours.iterate()
    assert seen == pytest.approx([0.8] * config().steps + [0.01] * config().steps)


@pytest.mark.parametrize("task", ["navigation", "vmas:balance"])
def test_all_that_carries_over_has_a_name(task):
    """Put back into another population, it goes on alike."""
    one, two = (population(task=task, first_seed=seed) for seed in (0, 7))
    one.iterate()
    saved = {name: value.clone() for name, value in one.rollout.tensors().items()}
    names = two.rollout.tensors()
    assert names.keys() == saved.keys()
    for name, value in names.items():
        value.copy_(saved[name])
    two.rollout.rng.keys.copy_(one.rollout.rng.keys)
    (mine,), (other,) = (each.rollout.collect(one.learners[:1], 1, 0) for each in (one, two))
    assert torch.equal(mine.obs, other.obs)
    assert not torch.equal(mine.sample, other.sample)  # the learner's noise goes on
