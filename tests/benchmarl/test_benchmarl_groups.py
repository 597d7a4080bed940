"""Several groups in an experiment, the freeze, and what DiCo policies cannot be used for."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from benchmarl.algorithms import EnsembleAlgorithmConfig
from benchmarl.environments import VmasTask
from benchmarl.experiment import Callback
from benchmarl.models import EnsembleModelConfig
from benchmarl.models.mlp import MlpConfig
from small_experiments import ALGORITHMS, FRAMES, make, run

import dico
from dico.adapters.benchmarl import DicoCallback, DicoConfig, DicoTask
from dico.runs import RunError


def test_groups_of_unequal_size_and_the_freeze(tmp_path):
    callback = DicoCallback(freeze={"agent": 2 * FRAMES})
    model = DicoConfig(desired_snd=0.3, num_cells=[8], tau=1.0)
    task = DicoTask.TAG.get_task({"n_agents": 4, "max_steps": 10})
    experiment = make(tmp_path, model=model, task=task, callback=callback, max_n_iters=4, evaluation=False)
    seen = []

    class Watch(Callback):
        def on_batch_collected(self, batch):
            policies = {group: model.policy for group, model in callback.models.items()}
            seen.append({g: torch.cat([p.detach().flatten() for p in x.parameters()]) for g, x in policies.items()})

    experiment.callbacks.append(Watch())
    experiment.run()
    assert list(callback.models) == ["adversary", "agent"]
    assert [callback.models[group].n_agents for group in callback.models] == [3, 1]
    assert [callback.models[group].controlled for group in callback.models] == [True, False]
    moved = {group: [not torch.equal(a[group], b[group]) for a, b in pairwise(seen)] for group in seen[0]}
    assert moved == {"adversary": [True, True, True], "agent": [True, True, False]}
    opened = dico.load(experiment.folder_name)
    assert opened.metric("reward", "agent").shape == (1, 4)  # frozen, and still told of
    assert opened.metric("reward", "agent").isfinite().all()
    assert opened.config["freeze"] == [f"agent={2 * FRAMES}"]
    assert opened.config["controlled"] == ["adversary"]


def test_next_to_a_group_without_dico(tmp_path):
    mlp = MlpConfig(num_cells=[8], activation_class=torch.nn.Tanh, layer_class=torch.nn.Linear)
    model = EnsembleModelConfig({"adversary": DicoConfig(desired_snd=0.2, num_cells=[8]), "agent": mlp})
    task = VmasTask.SIMPLE_TAG.get_from_yaml()  # as BenchMARL has it, where the original's run fails
    task.config |= {"num_adversaries": 2, "max_steps": 10}
    opened = dico.load(run(tmp_path, model=model, task=task, max_n_iters=2).folder_name)
    assert [group["name"] for group in opened.groups] == ["adversary"]
    assert opened.config["task"] == "vmas:simple_tag"
    assert opened.members[0].constraint == "0.2"
    assert len(opened.rows()) == 2
    with pytest.raises(RunError, match=r"group agent of .* has no DiCo policy, so its episodes cannot be played"):
        opened.task()


def test_groups_with_settings_of_their_own(tmp_path):
    red = DicoConfig(desired_snd=0.2, num_cells=[8])
    green = DicoConfig(desired_snd=0.5, num_cells=[16], squash_shared=False, tau=0.5, metric="max")
    task = VmasTask.SIMPLE_TAG.get_from_yaml()
    task.config |= {"num_adversaries": 2, "num_good_agents": 2, "max_steps": 10}
    model = EnsembleModelConfig({"adversary": red, "agent": green})
    ippo, mappo = (ALGORITHMS[name].get_from_yaml() for name in ("ippo", "mappo"))
    mixed = EnsembleAlgorithmConfig(
        {"adversary": replace(ippo, lmbda=0.5), "agent": replace(mappo, use_tanh_normal=False)}
    )
    experiment = run(tmp_path, mixed, model=model, task=task, max_n_iters=1, checkpoint_at_end=True)
    opened = dico.load(experiment.folder_name)
    own = {"constraint": "0.5", "hidden": [16], "squash_shared": False, "tau": 0.5, "metric": "max"}
    assert {name: opened.groups[1][name] for name in own} == own
    assert not opened.groups[0].keys() & own.keys()
    assert (opened.config["algorithm"], opened.config["gae_lambda"]) == ("ippo", 0.5)  # of the first group
    with pytest.raises(RunError, match=r"by clamp, and dico plays by tanh: train with algorithm\.use_tanh_normal=True"):
        opened.task()  # as the second group's actions were
    for group, trained in experiment.callbacks[0].models.items():
        obs = 3 * torch.randn(5, 2, trained.obs_dim)
        torch.testing.assert_close(opened.policy(0.2, group=group)(obs), trained.policy(obs))


def test_one_callback_serves_one_experiment_after_the_other(tmp_path):
    callback = DicoCallback(freeze={"agents": FRAMES})
    for seed in (0, 1):
        opened = dico.load(run(tmp_path, callback=callback, seed=seed, max_n_iters=2).folder_name)
        assert opened.members[0].seed == seed
        assert len(opened.rows()) == 2


class Slow(Callback):
    """Each iteration takes 0.1 s longer, and each evaluation a second, which is none of it."""

    def on_batch_collected(self, batch):
        time.sleep(0.1)

    def on_evaluation_end(self, rollouts):
        time.sleep(1)


def test_all_groups_take_as_long_as_the_iteration_frozen_or_not(tmp_path):
    task = DicoTask.TAG.get_task({"max_steps": 10})
    experiment = make(tmp_path, task=task, callback=DicoCallback(freeze={"agent": FRAMES}), max_n_iters=2)
    experiment.callbacks.insert(0, Slow())
    experiment.run()
    opened = dico.load(experiment.folder_name)
    red, green = (opened.metric("seconds", group)[0] for group in ("adversary", "agent"))
    assert torch.equal(red, green)
    assert (red >= 0.1).all()
    assert red[1] < 1


def test_a_diversity_that_nobody_would_have_is_refused(tmp_path):
    alone = {"task": DicoTask.NAVIGATION.get_task({"max_steps": 10, "n_agents": 1})}
    one_each = {"task": DicoTask.TAG.get_task({"max_steps": 10, "n_agents": 2})}
    for options in (alone, one_each, {"model": DicoConfig(groups=[], num_cells=[8])}):
        with pytest.raises(ValueError, match=r"model\.desired_snd=0\.3 controls no group of two or more agents"):
            make(tmp_path, **options)
    assert make(tmp_path, model=DicoConfig(desired_snd="free", num_cells=[8]), **alone)


@pytest.mark.filterwarnings("ignore:Scenario kwargs")  # of VMAS, before BenchMARL hands over to the callback
def test_vmas_settings_that_are_none_are_refused(tmp_path):
    task = VmasTask.BALANCE.get_from_yaml()
    task.config["n_agnts"] = 3
    with pytest.raises(ValueError, match=r"VMAS does not know: .*n_agnts"):
        make(tmp_path, task=task)


@pytest.mark.parametrize(
    ("algorithm", "changed", "actions"),
    [
        ("ippo", {}, "tanh"),
        ("ippo", {"use_tanh_normal": False}, "clamp"),
        ("iddpg", {}, "tanh"),
        ("iddpg", {"use_tanh_mapping": False}, "clamp"),
        ("isac", {}, "tanh"),
    ],
)
def test_the_folder_tells_what_brings_actions_into_their_box(tmp_path, algorithm, changed, actions):
    chosen = replace(ALGORITHMS[algorithm].get_from_yaml(), **changed)
    assert dico.load(make(tmp_path, chosen).folder_name).session["actions"] == actions
