"""Must learn: small populations that reach what they should within seconds, from fixed seeds."""

import functools

import pytest
import torch

from dico import snd
from dico.experiments import preset
from dico.training.algorithms import ALGORITHMS
from dico.training.population import Population
from dico.training.rollout import Rollout

pytestmark = pytest.mark.unchecked  # thousands of updates, at a third of the time; shorter trainings check the shapes
SMALL = {
    "seeds": 2, "hidden": (32, 32), "lr": 3e-3, "gradient": "straight_through", "action_loss": "merged",
}  # fmt: skip
PPO = {"frames": 12_000, "frames_per_batch": 1_000, "envs": 20, "tau": 0.2, "epochs": 6, "minibatch": 250}
REPLAY = {
    "frames": 10_000, "frames_per_batch": 400, "envs": 20, "tau": 0.2, "updates": 60, "batch": 128, "replay": 4_000,
    "noise_frames": 4_000, "alpha": 0.05,
}  # fmt: skip


SLOW = ("iddpg", "matd3", "masac")
"""Their learners and their critics are other algorithms' too."""
algorithms = pytest.mark.parametrize(
    "algorithm", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ALGORITHMS]
)


@functools.cache
def trained(task, **options) -> tuple[Population, torch.Tensor, torch.Tensor]:
    """A population after training, its rewards and its diversities ``(iterations, members)``.

    Diversity is that of the policies after each iteration, on what the estimate is made of.
    """
    options = dict(options)
    horizon = options.pop("horizon")
    population = Population(preset("quick", task, **(SMALL | options | {"task_options": (f"horizon={horizon}",)})))
    rewards, diversities = [], []
    while not population.finished:
        rows = population.iterate()
        rewards.append(torch.tensor([row["reward"] for row in rows]))
        diversities.append(torch.tensor([row["snd_train"] for row in rows]))
    return population, torch.stack(rewards), torch.stack(diversities)


def learned(rewards):
    """Each member's reward over the last batches."""
    return rewards[-3:].mean(0)


@torch.no_grad()
def snd_on(learner, obs):
    return snd(learner.policy.everyone(obs))


def in_new_episodes(population):
    """Diversity of the policies as trained, in episodes that they never trained on."""
    (learner,) = population.learners
    seeds = [1000 + member.index for member in population.members]
    rollout = Rollout(population.task, 200, seeds, stream=0, stage=population.stage)
    (batch,) = rollout.collect([learner], population.task.horizon, population.frames)
    return snd_on(learner, batch.obs)


def six(algorithm):
    settings = PPO if algorithm.endswith("ppo") else REPLAY
    if ALGORITHMS[algorithm].deterministic:  # shorter steps: by longer ones diversity jumps by a third now and then
        settings = settings | {"lr": SMALL["lr"] / 2}
    if algorithm.endswith("td3"):  # as many steps of the actor
        settings = settings | {"updates": 2 * REPLAY["updates"]}
    return trained("navigation", algorithm=algorithm, snd=("0.5", "free"), horizon=20, **settings)


@algorithms
def test_every_algorithm_learns_to_navigate(algorithm):
    _, rewards, _ = six(algorithm)
    assert rewards[0].abs().max() < 0.004  # aimless at first
    assert learned(rewards).min() > 0.008


@algorithms
def test_every_algorithm_keeps_the_desired_diversity(algorithm):
    """To 5 % over the last five iterations, and never far off, as such large steps of the optimiser shake it."""
    population, _, diversities = six(algorithm)
    assert [member.constraint for member in population.members] == ["0.5", "0.5", "free", "free"]
    last = diversities[-5:]
    torch.testing.assert_close(last[:, :2].mean(0), torch.full((2,), 0.5), rtol=0.05, atol=0)
    torch.testing.assert_close(last[:, :2], torch.full((5, 2), 0.5), rtol=0.15, atol=0)
    assert ((last[:, 2:] / 0.5 - 1).abs() > 0.1).any()  # where it is free, it is another


def test_two_goals_need_diversity():
    settings = PPO | {"frames": 40_000}
    goals = ("0", "0.3", "1")
    population, rewards, diversities = trained("navigation", algorithm="ippo", snd=goals, horizon=50, **settings)
    final = learned(rewards).reshape(3, 2)
    assert final[0].min() > 0.007  # without diversity, all go between the goals
    assert final[2].min() > 1.25 * final[0].max()
    desired = torch.tensor([[0.0, 0.0], [0.3, 0.3], [1.0, 1.0]])
    torch.testing.assert_close(diversities[-1].reshape(3, 2), desired, rtol=0.05, atol=1e-6)
    torch.testing.assert_close(in_new_episodes(population).reshape(3, 2), desired, rtol=0.2, atol=1e-6)


def test_one_goal_needs_none():
    _, rewards, _ = trained("same-goal", algorithm="ippo", snd=("0", "1"), horizon=50, **PPO)
    final = learned(rewards).reshape(2, 2)
    assert final[0].min() > 1.25 * final[1].max()
    assert final[0].min() > 0.014


def test_quick_learns_more_the_more_diversity_navigation_is_given():
    """Far beyond 1, which the paper's settings do not learn at such a length; and every level is met."""
    levels = (0.0, 0.3, 1.0, 2.0)
    population = Population(preset("quick", snd=tuple(map(str, levels)), seeds=1))
    history = [population.iterate() for _ in range(population.config.iterations)]
    reward, snd = (torch.tensor([[row[name] for row in rows] for rows in history[-8:]]) for name in ("reward", "snd"))
    zero, low, one, two = reward.mean(0).tolist()
    assert zero < 0.007
    assert zero * 1.2 < low < one / 2
    assert one * 1.2 < two
    assert two > 0.024
    torch.testing.assert_close(snd.mean(0), torch.tensor(levels), rtol=0.05, atol=1e-6)


@pytest.mark.parametrize(("gradient", "tau"), [("straight_through", 0.3), ("soft", 1.0)])
def test_an_inequality_is_one_in_every_gradient_mode(gradient, tau):
    """Navigation wants more than 1, the same goal less than 0.2; as equalities the bounds would hold exactly."""
    ended = {}
    for task, bound in (("navigation", ">=1"), ("same-goal", "<=0.2")):
        settings = preset("quick", task, snd=(bound,), seeds=2, frames=60_000, gradient=gradient, tau=tau)
        population = Population(settings)
        history = [population.iterate() for _ in range(settings.iterations)]
        ended[bound] = torch.tensor([[row["snd"] for row in rows] for rows in history[-3:]]).mean(0)
    assert (ended[">=1"] > 1.5).all()
    assert (ended["<=0.2"] < 0.17).all()
