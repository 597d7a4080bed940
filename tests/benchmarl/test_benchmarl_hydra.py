"""The command line: BenchMARL's syntax, the paper's experiments by name, and multirun."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from benchmarl.hydra_config import load_experiment_config_from_hydra
from commands import SMALL, command, configuration
from hydra.core.hydra_config import HydraConfig

import dico
from dico.adapters.benchmarl import DicoAnalyticalConfig
from dico.adapters.benchmarl.configuration import check_keys
from dico.adapters.benchmarl.main import main
from dico.adapters.benchmarl.tasks import TASKS
from dico.experiments import preset

pytestmark = pytest.mark.unchecked

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "benchmarl_experiment.py"
GUIDE = (ROOT / "docs" / "benchmarl.md").read_text()


def test_one_word_on_benchmarls_own_task(monkeypatch, tmp_path, capsys):
    words = ("algorithm=ippo", "task=vmas/navigation", "model=dico", "model.desired_snd=0.4", "seed=3")
    assert command(monkeypatch, tmp_path, *words, *SMALL) == 0
    assert "look at it: dico report" in capsys.readouterr().out
    run = dico.load(tmp_path / "outputs")
    assert [(member.constraint, member.seed) for member in run.members] == [("0.4", 3)]
    assert run.config["task"] == "vmas:navigation"
    assert run.task().groups[0].obs_dim == run.groups[0]["obs_dim"]  # of the released observations
    assert "task=vmas/navigation model=dico model.desired_snd=0.4" in run.session["command"]
    assert run.policy(0.4, seed=3) is not None  # checkpoints are the default here


def test_a_multirun_opens_as_one_population(tmp_path):
    words = ["algorithm=ippo", "task=dico/navigation", "model.desired_snd=0,0.2..0.5,free", "seed=0,1", *SMALL]
    arguments = [sys.executable, "-m", "dico.adapters.benchmarl", "-m", *words]
    subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True, env=os.environ | {"TQDM_DISABLE": "1"})
    run = dico.load(tmp_path / "multirun")
    assert [(member.constraint, member.seed) for member in run.members] == [
        (level, seed) for level in ("0", "0.2..0.5", "free") for seed in (0, 1)
    ]
    assert run.metric("snd").shape == (6, 2)
    assert run.config["snd"] == ["0", "0.2..0.5", "free"]
    assert run.config["seeds"] == 2
    assert run.session["command"].endswith("-m model.desired_snd=0,0.2..0.5,free seed=0,1")
    assert run.policies().constraint.texts() == ["0", "0", "0.2..0.5", "0.2..0.5", "free", "free"]


def test_the_entry_returns_the_final_reward(monkeypatch, tmp_path):
    cfg = configuration("algorithm=ippo", "task=dico/navigation", *SMALL, f"experiment.save_folder={tmp_path}")
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)  # and back, as it was
    HydraConfig.instance().set_config(cfg)
    del cfg.hydra
    reward = main(cfg)
    assert reward == pytest.approx(dico.load(tmp_path).metric("reward")[0, -1].item())


SAME = {
    "frames": "max_n_frames", "gamma": "gamma", "lr": "lr", "adam_eps": "adam_eps", "max_grad_norm": "clip_grad_val",
    "epochs": "on_policy_n_minibatch_iters", "minibatch": "on_policy_minibatch_size",
    "updates": "off_policy_n_optimizer_steps", "batch": "off_policy_train_batch_size",
    "replay": "off_policy_memory_size", "polyak": "polyak_tau", "noise_frames": "exploration_anneal_frames",
}  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_the_papers_experiments_by_name(name):
    cfg = configuration(name=name)
    paper = preset("paper", name.replace("_", "-"))
    choices = cfg.hydra.runtime.choices
    assert choices["algorithm"] == paper.algorithm
    assert choices["task"] == f"dico/{name}"
    params = cfg.hydra.sweeper.params
    assert str(params["model.desired_snd"]).split(",") == list(paper.snd)
    assert params["seed"] == f"range({paper.seeds})"
    assert [f"{group}={frames}" for group, frames in cfg.freeze.items()] == list(paper.freeze)
    del cfg.hydra
    check_keys(cfg, choices["task"])
    experiment = load_experiment_config_from_hydra(cfg.experiment)
    experiment.validate(paper.on_policy)
    assert {ours: getattr(experiment, theirs) for ours, theirs in SAME.items()} == {
        ours: getattr(paper, ours) for ours in SAME
    }
    assert experiment.collected_frames_per_batch(paper.on_policy) == paper.frames_per_batch
    assert experiment.n_envs_per_worker(paper.on_policy) == paper.envs
    assert (experiment.exploration_eps_init, experiment.exploration_eps_end) == paper.noise
    assert cfg.algorithm.share_param_critic == (paper.algorithm == "maddpg")
    if paper.on_policy:
        assert (cfg.algorithm.clip_epsilon, cfg.algorithm.lmbda) == (paper.clip, paper.gae_lambda)
        assert cfg.algorithm.entropy_coef == paper.entropy
    else:
        assert not cfg.algorithm.use_tanh_mapping
    for setting in ("tau", "gradient", "initial", "metric", "squash_shared", "action_loss", "action_loss_lr"):
        assert cfg.model[setting] == getattr(paper, setting)
    assert tuple(cfg.model.num_cells) == tuple(cfg.critic_model.num_cells) == paper.hidden


def test_the_models_scale_mapping_follows_the_algorithms():
    cfg = configuration("algorithm=ippo", "task=dico/tag", "algorithm.scale_mapping=exp")
    assert cfg.model.scale_mapping == "exp"
    assert configuration("algorithm=iddpg", "task=dico/tag").model.scale_mapping == "biased_softplus_1.0"


def test_the_defaults_need_neither_a_display_nor_an_account():
    cfg = configuration("algorithm=ippo", "task=vmas/balance").experiment
    assert not cfg.render
    assert cfg.loggers == ["csv"]


@pytest.mark.parametrize(
    "line", re.findall(r"^python -m dico.adapters.benchmarl (.*?)(?: +#.*)?$", GUIDE, re.MULTILINE)
)
def test_the_guides_commands_compose(line):
    words = iter(shlex.split(line))
    name, overrides = "config", []
    for word in words:
        if word == "--config-name":
            name = next(words)
        elif word != "-m":
            overrides.append(word.split(",")[0])  # the first of a sweep
    cfg = configuration(*overrides, name=name)
    task = cfg.hydra.runtime.choices["task"]
    del cfg.hydra
    check_keys(cfg, task)


def test_the_guide_tells_every_setting_and_default():
    table = dict(re.findall(r"^\| `(\w+)` \| (?:`(.+?)`|the algorithm's) \|", GUIDE, re.MULTILINE))
    told = {name: yaml.safe_load(value) for name, value in table.items() if value}
    default = asdict(DicoAnalyticalConfig()) | {"num_cells": [256, 256]}
    assert {name: default[name] for name in told} == told
    beside = {"action_loss_lr", "action_loss_eps", "action_loss_weight", "obs_low", "obs_high"}
    assert default.keys() - table.keys() == beside


def test_the_example_is_short_and_runs(tmp_path):
    environment = os.environ | {"TQDM_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, check=True, capture_output=True, text=True, env=environment
    )
    measured = [float(number) for number in re.findall(r"0\.\d+", done.stdout.splitlines()[-1])]
    assert measured == pytest.approx([0.3, 0.3], rel=0.2)
    code = EXAMPLE.read_text().split('"""')[2]
    assert len([line for line in code.splitlines() if line]) < 15
