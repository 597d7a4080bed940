"""Must learn: small populations that reach what they should within seconds, from fixed seeds."""

import functools

import pytest
import torch

from dico import snd
from dico.experiments import preset
from dico.train.config import ALGORITHMS
from dico.train.population import Population
from dico.train.rollout import Rollout

SMALL = {
    "seeds": 2, "hidden": (32, 32), "lr": 3e-3, "gradient": "straight_through", "action_loss": "merged",
}  # fmt: skip
PPO = {"frames": 12_000, "frames_per_batch": 1_000, "envs": 20, "tau": 0.2, "epochs": 6, "minibatch": 250}
REPLAY = {
    "frames": 10_000, "frames_per_batch": 400, "envs": 20, "tau": 0.2, "updates": 60, "batch": 128, "replay": 4_000,
    "noise_frames": 4_000, "alpha": 0.05,
}  # fmt: skip
LAST: dict[Population, list[dict]] = {}
"""The rows of each population's last iteration."""


@functools.cache
def trained(task, **options) -> tuple[Population, torch.Tensor]:
    """A population after training, and its rewards ``(iterations, members)``."""
    options = dict(options)
    horizon = options.pop("horizon")
    population = Population(preset("quick", task, **(SMALL | options | {"task_options": {"horizon": horizon}})))
    rewards = []
    while not population.finished:
        LAST[population] = population.iterate()
        rewards.append([row["reward"] for row in LAST[population]])
    return population, torch.tensor(rewards)


def learned(rewards):
    """Each member's reward over the last batches."""
    return rewards[-3:].mean(0)


@torch.no_grad()
def snd_on(learner, obs):
    return snd(learner.policy.everyone(obs))


def measured_again(population):
    """Diversity over new episodes, of the policies as trained."""
    (learner,) = population.learners
    seeds = [1000 + k for k in population.indices]
    rollout = Rollout(population.task, 200, seeds, stream=0, device=population.device)
    (batch,) = rollout.collect([learner], population.task.horizon, population.frames)
    return snd_on(learner, batch.obs)


def six(algorithm):
    settings = PPO if algorithm.endswith("ppo") else REPLAY
    return trained("navigation", algorithm=algorithm, snd=("0.5", "free"), horizon=20, **settings)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_to_navigate(algorithm):
    _, rewards = six(algorithm)
    assert rewards[0].abs().max() < 0.004  # aimless at first
    assert learned(rewards).min() > 0.008


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_keeps_the_desired_diversity(algorithm):
    """Of the policies as trained, on what the estimate is made of: the last batch, or the replayed frames."""
    population, _ = six(algorithm)
    (learner,) = population.learners
    if population.config.on_policy:
        measured = torch.tensor([row["snd"] for row in LAST[population]])
    else:
        measured = snd_on(learner, learner.kept["obs"])
    assert [text for text, _ in population.members] == ["0.5", "0.5", "free", "free"]
    torch.testing.assert_close(measured[:2], torch.full((2,), 0.5), rtol=0.05, atol=0)
    assert ((measured[2:] / 0.5 - 1).abs() > 0.1).any()  # where it is free, it is another


def test_two_goals_need_diversity():
    settings = PPO | {"frames": 40_000}
    population, rewards = trained("navigation", algorithm="ippo", snd=("0", "0.3", "1"), horizon=50, **settings)
    final = learned(rewards).reshape(3, 2)
    assert final[0].min() > 0.007  # without diversity, all go between the goals
    assert final[2].min() > 1.25 * final[0].max()
    desired = torch.tensor([[0.0, 0.0], [0.3, 0.3], [1.0, 1.0]])
    measured = torch.tensor([row["snd"] for row in LAST[population]]).reshape(3, 2)
    torch.testing.assert_close(measured, desired, rtol=0.05, atol=1e-6)
    # in episodes it never trained on, it is near
    torch.testing.assert_close(measured_again(population).reshape(3, 2), desired, rtol=0.2, atol=1e-6)


def test_one_goal_needs_none():
    _, rewards = trained("same-goal", algorithm="ippo", snd=("0", "1"), horizon=50, **PPO)
    final = learned(rewards).reshape(2, 2)
    assert final[0].min() > 1.25 * final[1].max()
    assert final[0].min() > 0.014
