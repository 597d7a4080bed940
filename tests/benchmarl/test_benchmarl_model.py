"""DiCo as a BenchMARL model: when the estimate is renewed, what the losses see, and every setting."""

import copy
import math

import pytest
import torch
from benchmarl.models import SequenceModelConfig
from benchmarl.models.mlp import Mlp, MlpConfig
from small_experiments import ALGORITHMS, make, minibatch
from tensordict.nn.utils import mappings

import dico
from dico.adapters.benchmarl import DicoConfig, DicoTask
from dico.adapters.benchmarl.callback import find_models
from dico.adapters.benchmarl.scales import unscale
from dico.kinds import KINDS


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_estimate_is_renewed_by_the_actors_loss_and_by_nothing_else(tmp_path, algorithm):
    model = DicoConfig(desired_snd=0.3, num_cells=[8], tau=0.5, estimate_on="minibatch")
    experiment = make(tmp_path, algorithm, model=model)
    policy = find_models(experiment)["agents"].policy
    batch = minibatch(experiment, "agents")
    assert not policy.has_estimate  # collecting and value targets leave it alone

    for _ in range(2):  # the second pass would show an update at the next observations
        expected = policy.estimate(batch["agents", "observation"]).detach()
        losses = experiment.losses["agents"](batch)
        torch.testing.assert_close(policy.snd_hat, expected)
    assert policy.has_estimate

    losses["loss_objective" if algorithm in ("ippo", "mappo") else "loss_actor"].backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in policy.parameters())
    kept = policy.snd_hat.clone()
    experiment._evaluation_loop()
    assert torch.equal(policy.snd_hat, kept)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_as_in_the_original_ddpgs_targets_renew_it_first_at_the_next_observations(tmp_path, algorithm):
    experiment = make(tmp_path, algorithm, model=DicoConfig(desired_snd=0.3, num_cells=[8], tau=0.5))
    policy = find_models(experiment)["agents"].policy
    batch = minibatch(experiment, "agents")
    for _ in range(2):
        kept = policy.estimate(batch["next", "agents", "observation"]).detach() if algorithm.endswith("ddpg") else None
        expected = policy.estimate(batch["agents", "observation"], current=kept).detach()
        experiment.losses["agents"](batch)
        torch.testing.assert_close(policy.snd_hat, expected)


def test_the_action_loss_takes_the_original_step(tmp_path):
    """A fresh estimate with its gradient, which is not kept; Adam's epsilon 1e-8; the gradient clipped."""
    model = DicoConfig(desired_snd=3.0, num_cells=[8], tau=0.5, action_loss_lr=0.01, action_loss_weight=100.0)
    experiment = make(tmp_path, "ippo", model=model, clip_grad_val=0.1)
    (callback,) = experiment.callbacks
    policy = find_models(experiment)["agents"].policy
    obs = minibatch(experiment, "agents")["agents", "observation"]
    policy.commit_(policy.estimate(obs) / 2)
    copied, kept = copy.deepcopy(policy), policy.snd_hat.clone()
    adam = torch.optim.Adam(copied.parameters(), lr=0.01, eps=1e-8)
    for _ in range(2):
        mean = copied.forward_and_estimate(obs).params[..., :2]
        loss = dico.action_space_loss(mean, torch.tensor([-1.0, -1.0]), torch.tensor([1.0, 1.0])).square().mean()
        adam.zero_grad()
        (100.0 * loss).backward()
        assert torch.nn.utils.clip_grad_norm_(copied.parameters(), 0.1) > 0.1
        adam.step()
        torch.testing.assert_close(callback.action_steps["agents"](obs), loss.detach())
    assert torch.equal(policy.snd_hat, kept)
    for mine, theirs in zip(policy.parameters(), copied.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_standard_deviations_are_mapped_as_the_originals():
    """The policies' own map is BenchMARL's default one, so that its floor is theirs, and small ones keep a gradient."""
    raw = torch.linspace(-12, 5, 100, dtype=torch.float64, requires_grad=True)
    zero = torch.zeros_like(raw)
    std = KINDS["shared_std"].homogeneous(torch.stack((zero, raw), -1))[..., 1]
    torch.testing.assert_close(std, mappings("biased_softplus_1.0")(raw), rtol=1e-6, atol=0)
    again = unscale(std, "biased_softplus_1.0")
    torch.testing.assert_close(again, raw, rtol=1e-5, atol=1e-5)
    (gradient,) = torch.autograd.grad(again.sum(), raw)
    torch.testing.assert_close(gradient, torch.ones_like(raw), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_losses_see_what_the_policy_outputs(tmp_path, algorithm):
    experiment = make(tmp_path, algorithm)
    policy = find_models(experiment)["agents"].policy
    batch = minibatch(experiment, "agents").select(("agents", "observation"))
    with torch.no_grad():
        seen = experiment.algorithm.get_policy_for_loss("agents")(batch)
        expected = policy(batch["agents", "observation"])
    if policy.kind.width == 1:
        torch.testing.assert_close(seen["agents", "param"], expected)
    else:
        seen = torch.cat((seen["agents", "loc"], seen["agents", "scale"]), -1)
        torch.testing.assert_close(seen, expected)


@pytest.mark.parametrize("mapping", ["biased_softplus_1.0", "biased_softplus_0.5_0.1", "softplus", "exp", "relu"])
def test_unscale_inverts_the_mapping(mapping):
    std = torch.tensor([0.12, 0.5, 1.0, 3.0, 30.0], dtype=torch.float64)
    torch.testing.assert_close(mappings(mapping)(unscale(std, mapping)), std)


def test_unscale_keeps_the_gradient_of_a_small_standard_deviation():
    std = torch.tensor([0.011, 1.0], dtype=torch.float64, requires_grad=True)
    mappings("biased_softplus_1.0")(unscale(std, "biased_softplus_1.0")).sum().backward()
    torch.testing.assert_close(std.grad, torch.ones(2, dtype=torch.float64))


SETTINGS = [
    {"desired_snd": ">=0.4"},
    {"desired_snd": "<=0.1"},
    {"desired_snd": "0.2..0.5"},
    {"desired_snd": "free"},
    {"desired_snd": 0},
    {"kind": "agent_std"},
    {"kind": "agent_std_paper"},
    {"gradient": "detached"},
    {"gradient": "straight_through"},
    {"initial": "desired"},
    {"squash_shared": False},
    *({"metric": name} for name in dico.METRICS if name != "snd"),
]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_every_setting_of_the_library_is_reachable_and_met(tmp_path, options):
    config = DicoConfig(**({"desired_snd": 0.3, "num_cells": [8], "tau": 1.0} | options))
    task = DicoTask.NAVIGATION.get_task({"max_steps": 10, "n_agents": 3})
    experiment = make(tmp_path, model=config, task=task)
    policy = find_models(experiment)["agents"].policy
    assert not policy.has_estimate
    batch = minibatch(experiment, "agents")
    for _ in range(2):  # the first estimate may be the desired value itself
        experiment.losses["agents"](batch)
    measured = policy.metric.fn(policy.everyone(batch["agents", "observation"])).item()
    low, high = config.constraint.lo.item(), config.constraint.hi.item()
    assert low * (1 - 1e-4) - 1e-6 <= measured <= high * (1 + 1e-4) + 1e-6
    assert policy.kind is KINDS[options.get("kind", "shared_std")]
    assert policy.gradient == config.gradient


def test_as_a_critic_it_is_an_mlp(tmp_path):
    critic = make(tmp_path).losses["agents"].critic_network
    assert any(isinstance(module, Mlp) for module in critic.modules())


BAD = {
    "desired_snd must be a diversity such as .* got 'about'": {"desired_snd": "about"},
    "desired_snd must be a diversity such as .* got -1": {"desired_snd": -1},
    "kind must be one of .* did you mean 'agent_std'": {"kind": "agent_sd"},
    "gradient must be one of": {"gradient": "hard"},
    "metric must be one of": {"metric": "sand"},
    "initial must be one of": {"initial": "first"},
    "action_loss must be one of 'separate', 'off'": {"action_loss": "merged"},
    r"tau must be a number in \[0, 1\], got 2\.0": {"tau": 2.0},
    r"tau must be a number in \[0, 1\], got True": {"tau": True},
    r"tau must be a number in \[0, 1\], got \[0\.1\]": {"tau": [0.1]},
    "squash_shared must be True or False, got 'no'": {"squash_shared": "no"},
    "groups must be a list of names, such as .* got 3": {"groups": 3},
    r"groups must be a list of names, such as .* got \[1\]": {"groups": [1]},
    "num_cells must be a positive integer": {"num_cells": [0]},
    "groups must be a list of names": {"groups": "agents"},
    "action_loss_lr must be a number from 0 up, got inf": {"action_loss_lr": math.inf},
    "action_loss_lr must be a number from 0 up, got 'abc'": {"action_loss_lr": "abc"},
    "scale_mapping must be softplus, .* got 'biased_softplus_1..2'": {"scale_mapping": "biased_softplus_1..2"},
    "scale_mapping must have a bias above its least value": {"scale_mapping": "biased_softplus_0.005"},
    "scale_mapping must be softplus": {"scale_mapping": "expln"},
}


@pytest.mark.unchecked
@pytest.mark.parametrize("message", BAD)
def test_bad_settings_are_refused_at_once(message):
    with pytest.raises(ValueError, match=message):
        DicoConfig(**BAD[message])


def test_what_dico_cannot_be_is_refused(tmp_path):
    small = MlpConfig(num_cells=[4], activation_class=torch.nn.Tanh, layer_class=torch.nn.Linear)
    for layers in ([small, DicoConfig()], [DicoConfig(), small]):
        with pytest.raises(ValueError, match="the whole policy of a group"):
            make(tmp_path, model=SequenceModelConfig(model_configs=layers, intermediate_sizes=[3]))
    with pytest.raises(ValueError, match="kind must be auto or one of shared_std, agent_std, agent_std_paper"):
        make(tmp_path, model=DicoConfig(kind="deterministic"))
    with pytest.raises(ValueError, match="kind must be auto or one of deterministic for this"):
        make(tmp_path, "iddpg", model=DicoConfig(kind="shared_std"))
    with pytest.raises(ValueError, match="model=dico needs continuous actions"):
        make(tmp_path, prefer_continuous_actions=False)


def test_what_the_callback_cannot_work_with_is_refused(tmp_path):
    with pytest.raises(ValueError, match="collect_with_grad must be False"):
        make(tmp_path, collect_with_grad=True)
    with pytest.raises(ValueError, match=r"model\.scale_mapping must be the algorithm's, 'biased_softplus_1\.0'"):
        make(tmp_path, model=DicoConfig(scale_mapping="exp"))
    with pytest.raises(ValueError, match=r"group in model\.groups must be one of 'agents'.*did you mean 'agents'"):
        make(tmp_path, model=DicoConfig(groups=["agent"]))
