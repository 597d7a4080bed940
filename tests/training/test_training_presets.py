"""The presets: `paper` is what the original's experiments ran with, `tuned` and `quick` are ours."""

from pathlib import Path

import pytest
import torch
from torch import nn

from dico.commands.eval import Options as Eval
from dico.experiments import PAPER, preset
from dico.kinds import KINDS
from dico.tasks import TASKS
from dico.training.algorithms import ALGORITHMS
from dico.training.measure import measure
from dico.training.population import Population

TASK = {
    #                    agents, algorithm, horizon, frames, seeds, environments, levels
    "navigation": (2, "ippo", 100, 10_000_000, 4, 600, {"0", "0.3", "1", "free"}),
    "same-goal": (2, "ippo", 100, 10_000_000, 4, 600, {"0", "0.1", "0.3", "0.4", "0.5", "1", "free"}),
    "dispersion": (4, "maddpg", 100, 10_000_000, 4, 60, {"0", "6", "free"}),
    "sampling": (3, "iddpg", 100, 5_000_000, 3, 60, {"0", "5", "free"}),
    "tag": (3, "ippo", 100, 12_000_000, 5, 600, {"0", "0.3", "0.6", "free"}),
    "reverse-transport": (4, "iddpg", 200, 8_000_000, 3, 30, {"0", "0.1", "1.2", "free"}),
}
EVERYWHERE = {
    "hidden": (256, 256), "gamma": 0.9, "lr": 5e-5, "adam_eps": 1e-5, "max_grad_norm": 5.0,
    "tau": 0.01, "gradient": "soft", "metric": "snd", "kind": "auto",
    "action_loss": "separate", "action_loss_weight": 1.0, "action_loss_lr": 3e-5, "action_loss_eps": 1e-8,
    "estimate_frames": None, "estimate_agents": None,
}  # fmt: skip
PPO = {
    "frames_per_batch": 60_000, "epochs": 45, "minibatch": 4096, "clip": 0.2, "gae_lambda": 0.9, "entropy": 0.0,
}  # fmt: skip
DDPG = {
    "frames_per_batch": 6_000, "updates": 1000, "batch": 128, "replay": 1_000_000, "polyak": 0.005,
    "noise": (0.8, 0.01), "noise_frames": 1_000_000, "estimate_on": "both",
}  # fmt: skip
OURS = ("gradient", "tau", "estimate_on", "action_loss", "squash_shared")


@pytest.mark.parametrize("task", TASK)
def test_paper_is_what_the_original_ran_with(task):
    agents, algorithm, horizon, frames, seeds, envs, levels = TASK[task]
    config, made = preset("paper", task), TASKS[task]()
    assert (made.n_agents, made.horizon) == (agents, horizon)
    assert (config.algorithm, config.frames, config.seeds, config.envs) == (algorithm, frames, seeds, envs)
    assert levels <= set(config.snd)
    assert config.steps == horizon  # batches are whole episodes
    expected = EVERYWHERE | (PPO if algorithm == "ippo" else DDPG)
    assert {name: getattr(config, name) for name in expected} == expected
    alone = task == "reverse-transport"  # the one that starts at the desired value, and squashes no shared mean
    assert (config.initial, config.squash_shared) == (("desired", False) if alone else ("batch", True))
    assert config.freeze == (("agent=3000000",) if task == "tag" else ())


def test_an_evaluation_is_the_originals():
    """200 episodes, with the actions that the policies draw."""
    command = Eval(Path("runs/any"))
    assert (command.episodes, command.deterministic) == (200, False)


@pytest.mark.parametrize("task", ["navigation", "dispersion", "tag"])
def test_paper_has_the_originals_networks(task):
    population = Population(preset("paper", task, snd=("0.3",), seeds=1, replay=6_000))
    learner = population.learners[0]
    assert KINDS[population.config.policy_kind] == learner.policy.kind
    for network in (learner.policy.shared.mlp, learner.policy.deviations.mlp, learner.critic.net.mlp):
        assert [type(layer).__name__ for layer in network] == 2 * ["StackedLinear", "Tanh"] + ["StackedLinear"]
        assert [layer.weight.shape[-1] for layer in network if not isinstance(layer, nn.Tanh)][:2] == [256, 256]
    central = task == "dispersion"  # one critic for the team, or one for each agent
    assert learner.critic.net.mlp[0].weight.ndim == (3 if central else 4)
    names = {"actor": (5e-5, 1e-5), "critic": (5e-5, 1e-5), "action": (3e-5, 1e-8)}
    for name, optimiser in learner.optimisers().items():
        assert (optimiser.lr.item(), optimiser.eps) == pytest.approx(names[name])


@pytest.mark.parametrize("task", PAPER)
def test_tuned_is_paper_but_for_our_conditioning(task):
    paper, tuned = preset("paper", task), preset("tuned", task)
    assert set(tuned.differs_from(paper)) <= {*OURS, "lr"}
    assert tuned.lr == (2e-4 if "ddpg" in tuned.algorithm else paper.lr)
    action_loss = ("separate", paper.squash_shared) if "ddpg" in tuned.algorithm else ("off", False)
    assert [getattr(tuned, name) for name in OURS] == ["straight_through", 0.3, "newest", *action_loss]
    quick = preset("quick", task)
    assert [getattr(quick, name) for name in OURS[:4]] == [getattr(tuned, name) for name in OURS[:4]]
    assert quick.action_loss_lr / quick.lr == pytest.approx(paper.action_loss_lr / paper.lr)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["paper", "tuned", "quick"])
def test_a_preset_follows_the_algorithm(name, algorithm):
    for task in ("navigation", "dispersion", "vmas:balance"):
        config = preset(name, task, algorithm=algorithm)
        assert config.algorithm == algorithm
        if name != "quick":
            assert config.frames_per_batch == (60_000 if algorithm.endswith("ppo") else 6_000)
        if name != "paper":
            assert config.action_loss == ("separate" if ALGORITHMS[algorithm].deterministic else "off")
    for task, made in TASKS.items():  # batches are whole episodes
        assert preset(name, task, algorithm=algorithm).steps == made().horizon


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@pytest.mark.parametrize("task", [task for task in PAPER if task != "tag"])
def test_the_theorem_stays_exact_under_our_conditioning(task):
    """With tau 1: on the frames that the estimate was made on, the desired diversity is met to rounding."""
    tiny = {"envs": 2, "frames_per_batch": 2 * TASKS[task]().horizon, "minibatch": 1000, "replay": 1000}
    levels = tuple(level for level in TASKS[task].snd_levels if level not in ("free", "0"))
    config = preset("tuned", task, snd=levels, seeds=1, hidden=(8,), frames=tiny["frames_per_batch"], **tiny, tau=1.0)
    population = Population(config)
    (learner,) = population.learners
    (batch,) = population.rollout.collect(population.learners, config.steps, 0)
    obs = batch.obs.flatten(1, 2)
    for _ in range(2):  # the first may be the desired value itself
        learner.policy.commit_(learner.policy.estimate(obs))
    torch.testing.assert_close(
        measure(learner, batch)["snd"], torch.tensor([float(level) for level in levels]), rtol=1e-5, atol=0
    )


def test_a_preset_takes_no_setting_that_there_is_not():
    with pytest.raises(ValueError, match=r"setting must be one of 'task', .* got 'fraems'; did you mean 'frames'\?"):
        preset("quick", fraems=6_000)
