"""Bad configurations: a ValueError that names the argument, the value and what is allowed."""

import json
import math
import re
from contextlib import suppress
from dataclasses import asdict, fields

import numpy as np
import pytest
from fuzzing.folders import HOSTILE
from populations import config, population

from dico.experiments import preset
from dico.training.algorithms import ALGORITHMS
from dico.training.config import Config

pytestmark = pytest.mark.unchecked
nan, inf = float("nan"), float("inf")

CASES = {
    "task": ({"task": "navigaton"}, "task must be one of 'navigation', .*, got 'navigaton'; did you mean 'navigation'"),
    "algorithm": ({"algorithm": "ipo"}, "algorithm must be one of 'ippo', .*, got 'ipo'; did you mean 'ippo'"),
    "kind": ({"kind": "gaussian"}, "kind must be one of 'auto', 'deterministic', .*, got 'gaussian'"),
    "kind of ppo": ({"kind": "deterministic"}, "kind must be auto, shared_std, .* for ippo, got 'deterministic'"),
    "kind of ddpg": (
        {"algorithm": "iddpg", "kind": "shared_std"},
        "kind must be auto, deterministic for iddpg, got 'shared_std'",
    ),
    "gradient": ({"gradient": "hard"}, "gradient must be one of 'soft', 'detached', 'straight_through', got 'hard'"),
    "initial": ({"initial": "zero"}, "initial must be one of 'batch', 'desired', got 'zero'"),
    "metric": ({"metric": "sdn"}, "metric must be one of .*, got 'sdn'; did you mean 'snd'"),
    "action_loss": ({"action_loss": "no"}, "action_loss must be one of 'separate', 'merged', 'off', got 'no'"),
    "action_loss_rows": ({"action_loss_rows": "some"}, "action_loss_rows must be one of 'own', 'all', got 'some'"),
    "merged of all rows": (
        {"action_loss": "merged", "action_loss_rows": "all"},
        "action_loss_rows must be own for action_loss='merged', got 'all'",
    ),
    "estimate_on": ({"estimate_on": "all"}, "estimate_on must be one of 'minibatch', 'both', 'newest', got 'all'"),
    "no snd": ({"snd": ()}, r"snd must be a sequence of desired diversities such as '0.3', .*, got \(\)"),
    "snd as text": ({"snd": "0.3"}, "snd must be a sequence of desired diversities such as '0.3', .*, got '0.3'"),
    "snd of text": ({"snd": ("0.3", "lots")}, "snd must hold desired diversities such as '0.3', .*, got 'lots'"),
    "snd below 0": ({"snd": ("-1",)}, "snd must hold desired diversities such as '0.3', .*, got '-1'"),
    "snd as number": ({"snd": (0.3,)}, "snd must hold desired diversities such as '0.3', .*, got 0.3"),
    "frames below a batch": ({"frames": 39}, "frames must be at least one batch, frames_per_batch=40, got 39"),
    "uneven batch": ({"frames_per_batch": 42}, "frames_per_batch must be a multiple of envs=4, got 42"),
    "replay": ({"algorithm": "isac", "replay": 39}, "replay must hold at least one batch, frames_per_batch=40, got 39"),
    "noise rises": ({"noise": (0.1, 0.2)}, r"noise must be two numbers, falling and at least 0, got \(0.1, 0.2\)"),
    "noise below 0": ({"noise": (0.1, -0.2)}, "noise must be a number from 0 up, got -0.2"),
    "noise of a text": ({"noise": ("0.8", 0.1)}, "noise must be a number from 0 up, got '0.8'"),
    "rate of a text": ({"lr": "1e-3"}, "lr must be a finite number above 0, got '1e-3'"),
    "one noise": ({"noise": (0.1,)}, "noise must be two numbers"),
    "hidden": ({"hidden": (8, 0)}, "hidden must be a positive integer, got 0"),
    "share without %": (
        {"freeze": ("agent=0.25",)},
        "freeze of 'agent' must be frames, or a share such as 25%, got 0.25",
    ),
    "share of more than all": ({"freeze": ("agent=101%",)}, "freeze of 'agent' must be a whole number from 0 up"),
    "freeze": ({"freeze": ("agent=-1",)}, "freeze of 'agent' must be a whole number from 0 up, got -1"),
    "seeds beyond": ({"first_seed": 2**63 - 1, "seeds": 2}, "first_seed must leave all seeds below"),
    "first_seed": ({"first_seed": 0.5}, "first_seed must be a whole number from 0 up, got 0.5"),
}
COUNTS = ("seeds", "frames", "envs", "frames_per_batch", "epochs", "minibatch", "updates", "batch", "replay")
for name in (*COUNTS, "noise_frames"):
    for value in (0, 2.5, True):
        CASES[f"{name} {value}"] = ({name: value}, f"{name} must be a positive integer, got {value}")
for name in ("gamma", "gae_lambda", "tau", "polyak"):
    for value in (-0.1, 1.1, nan):
        CASES[f"{name} {value}"] = ({name: value}, re.escape(f"{name} must be a number in [0, 1], got {value}"))
for name in ("lr", "adam_eps", "max_grad_norm", "alpha", "action_loss_lr", "action_loss_eps"):
    for value in (0, -1.0, inf, nan):
        CASES[f"{name} {value}"] = ({name: value}, f"{name} must be a finite number above 0, got {value}")
for name in ("entropy", "action_loss_weight"):
    for value in (-1.0, inf, nan):
        CASES[f"{name} {value}"] = ({name: value}, f"{name} must be a number from 0 up, got {value}")
for value in (0.0, 1.0):
    CASES[f"clip {value}"] = ({"clip": value}, re.escape(f"clip must be a number in [0.001, 0.999], got {value}"))


@pytest.mark.parametrize("case", CASES)
def test_bad_configuration(case):
    options, message = CASES[case]
    with pytest.raises(ValueError, match=message):
        config(**options)


@pytest.mark.parametrize("argument", ["freeze", "controlled"])
def test_groups_must_exist(argument):
    value = {"freeze": ("green=3",), "controlled": ("green",)}[argument]
    message = f"group in {argument} must be one of 'adversary', 'agent', got 'green'"
    with pytest.raises(ValueError, match=message):
        population(task="tag", **{argument: value})


def test_defaults_are_the_papers():
    """Those of its navigation; the levels are four of them."""
    numbers = {
        "task": "navigation", "algorithm": "ippo", "frames": 10_000_000, "seeds": 4, "envs": 600, "tau": 0.01,
        "frames_per_batch": 60_000, "hidden": (256, 256), "gamma": 0.9, "lr": 5e-5, "max_grad_norm": 5.0,
        "epochs": 45, "minibatch": 4096, "clip": 0.2, "gae_lambda": 0.9, "entropy": 0.0,
    }  # fmt: skip
    assert {name: getattr(Config(), name) for name in numbers} == numbers
    paper = preset("paper", "navigation")
    assert Config().differs_from(paper) == ["snd"]
    assert set(Config().snd) < set(paper.snd)


def test_what_follows_from_the_settings():
    settings = Config()
    assert (settings.steps, settings.iterations) == (100, 167)  # 60,000 / 600; 10,000,000 / 60,000, the last one whole
    assert config(frames=120, frames_per_batch=40).iterations == 3
    assert config(frames=121, frames_per_batch=40).iterations == 4
    named = [(member.constraint, member.seed) for member in settings.members]
    assert named[:5] == [("0", 0), ("0", 1), ("0", 2), ("0", 3), ("0.3", 0)]
    later = config(snd=("0.30", "free"), seeds=1, first_seed=7).members
    assert [(member.constraint, member.seed) for member in later] == [("0.3", 7), ("free", 7)]
    assert (config().estimate_rows(24), config(estimate_frames=7).estimate_rows(24)) == (24, 7)
    assert config(estimate_frames=25).estimate_rows(24) == 24
    assert (config().agents_compared(4), config(estimate_agents=3).agents_compared(4)) == (4, 3)
    assert config(estimate_agents=5).agents_compared(4) == 4
    frozen = config(frames=120, freeze=("agent=40", "green=25%"))
    assert [frozen.frozen_after(group) for group in ("agent", "green", "none")] == [40, 30, math.inf]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_kinds_and_critics_follow_the_algorithm(algorithm):
    settings = config(algorithm=algorithm)
    assert settings.policy_kind == ("deterministic" if algorithm.endswith(("ddpg", "td3")) else "shared_std")
    assert settings.spec.central == algorithm.startswith("ma")
    assert settings.on_policy == algorithm.endswith("ppo")


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg", "isac"])
@pytest.mark.parametrize("name", [field.name for field in fields(Config)])
def test_any_hostile_value_of_a_saved_setting_is_taken_or_refused(algorithm, name):
    saved = json.loads(json.dumps(asdict(preset("quick", "navigation", algorithm=algorithm))))
    for hostile in (*HOSTILE, *([value] for value in HOSTILE), *([value, value] for value in HOSTILE)):
        with suppress(ValueError):
            Config.from_json({**saved, name: hostile})


def test_numbers_of_numpy_are_numbers(tmp_path):
    """They come out of sweeps; a run folder holds Python's alone."""
    given = {
        "seeds": np.int64(2),
        "lr": np.float32(0.5),
        "hidden": (np.int32(8),),
        "noise": [np.float64(1), np.float32(0.5)],
    }
    settings = config(**given)
    assert settings == config(seeds=2, lr=0.5, hidden=(8,), noise=[1.0, 0.5])
    assert json.loads(json.dumps(asdict(settings)))["lr"] == 0.5
