"""DiCo inside TorchRL's actors, collectors and losses."""

import copy

import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchrl.data import Bounded
from torchrl.modules import MultiAgentMLP, ProbabilisticActor, TanhDelta, TanhNormal
from torchrl.objectives import ClipPPOLoss, DDPGLoss, SACLoss, SoftUpdate, TD3Loss

import dico
from dico.adapters.torchrl import DiCoModule, update_targets_
from dico.analytical import DENSITIES, box_snd
from dico.kinds import KINDS

BATCH, AGENTS, OBS, ACT = 16, 3, 4, 2
BOX = {"obs_low": [-3] * OBS, "obs_high": [3] * OBS}
controls = pytest.mark.parametrize("control", ["empirical", *DENSITIES])
"""DiCo, and analytical DiCo with each density."""
analytical = pytest.mark.parametrize("control", DENSITIES)


def policy_of(kind, control="empirical", constraint=0.3, **options):
    torch.manual_seed(0)
    options = {"kind": kind, "hidden": (16,)} | options
    if control == "empirical":
        return dico.DiCo.mlp(AGENTS, OBS, ACT, constraint, **options)
    policy = dico.AnalyticalDiCo.mlp(AGENTS, OBS, ACT, constraint, density=control, **BOX, **options)
    with torch.no_grad():  # the density would be uniform
        for parameter in policy.density.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape))
    return policy


def actor_of(policy):
    module = DiCoModule(policy)
    if policy.kind.width == 2:
        return ProbabilisticActor(
            module,
            in_keys=module.out_keys,
            out_keys=[("agents", "action")],
            distribution_class=TanhNormal,
            return_log_prob=True,
            log_prob_key=("agents", "sample_log_prob"),
        )
    spec = {"low": -1.0, "high": 1.0}
    keys = {"param": ("agents", "loc")}
    return ProbabilisticActor(
        module, in_keys=keys, out_keys=[("agents", "action")], distribution_class=TanhDelta, distribution_kwargs=spec
    )


def data():
    agents = {"observation": torch.randn(BATCH, AGENTS, OBS)}
    return TensorDict({"agents": TensorDict(agents, [BATCH, AGENTS])}, [BATCH])


def ppo_loss(actor):
    critic = TensorDictModule(
        MultiAgentMLP(OBS, 1, AGENTS, centralized=False, share_params=True, num_cells=8, depth=1),
        in_keys=[("agents", "observation")],
        out_keys=[("agents", "state_value")],
    )
    loss = ClipPPOLoss(actor, critic, normalize_advantage=False)
    loss.set_keys(
        action=("agents", "action"),
        value=("agents", "state_value"),
        sample_log_prob=("agents", "sample_log_prob"),
        advantage="advantage",
        value_target="value_target",
    )
    return loss


def collected(actor):
    with torch.no_grad():
        batch = actor(data())
    batch["advantage"] = torch.randn(BATCH, AGENTS, 1)
    batch["value_target"] = torch.randn(BATCH, AGENTS, 1)
    return batch


@pytest.mark.parametrize(
    ("kind", "control"),
    [(kind, "empirical") for kind in KINDS]
    + [(kind, density) for kind in ("deterministic", "shared_std", "agent_std") for density in DENSITIES],
)
def test_writes_what_the_policy_outputs(kind, control):
    policy = policy_of(kind, control)
    batch = data()
    with torch.no_grad():
        output = actor_of(policy)(batch)
        expected = policy(batch["agents", "observation"])
    keys = [("agents", "loc"), ("agents", "scale")][: policy.kind.width]
    torch.testing.assert_close(torch.cat([output[key] for key in keys], -1), expected)
    assert output["agents", "action"].shape == (BATCH, AGENTS, ACT)


@controls
def test_the_estimate_is_renewed_in_the_loss_and_never_while_collecting(control):
    policy = policy_of("shared_std", control)
    actor = actor_of(policy)
    before = policy.snd_hat.clone()
    batch = collected(actor)
    assert torch.equal(policy.snd_hat, before)
    assert not policy.has_estimate

    expected = policy.estimate(batch["agents", "observation"])
    ppo_loss(actor)(batch)["loss_objective"].backward()
    torch.testing.assert_close(policy.snd_hat, expected.detach())
    assert policy.has_estimate
    assert all(p.grad.isfinite().all() and p.grad.any() for p in policy.parameters())


def test_refresh_never_leaves_the_estimate_alone():
    policy = policy_of("shared_std")
    module = DiCoModule(policy, refresh="never")
    module(data())
    assert not policy.has_estimate


@pytest.mark.parametrize("kind", ["shared_std", "agent_std"])
@analytical
def test_the_gradient_of_ppo_is_that_of_a_plain_loop(control, kind):
    policy = policy_of(kind, control)
    actor = actor_of(policy)
    batch = collected(actor)
    ppo_loss(actor)(batch)["loss_objective"].backward()
    mean, std = policy(batch["agents", "observation"], policy.snd_hat).chunk(2, -1)
    log_prob = TanhNormal(mean, std).log_prob(batch["agents", "action"])  # the ratio's gradient, which is at 1
    expected = torch.autograd.grad(-(batch["advantage"].squeeze(-1) * log_prob).mean(), list(policy.parameters()))
    torch.testing.assert_close([p.grad for p in policy.parameters()], list(expected), rtol=1e-3, atol=1e-6)


@controls
def test_ppo_training_keeps_the_desired_diversity(control):
    policy = policy_of("shared_std", control, constraint=0.7, tau=0.1)
    actor = actor_of(policy)
    loss = ppo_loss(actor)
    optimiser = torch.optim.Adam(loss.parameters(), lr=1e-3)
    before = copy.deepcopy(policy)
    for _ in range(30):
        batch = collected(actor)
        for _ in range(3):
            losses = loss(batch)
            optimiser.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            optimiser.step()
    if control == "empirical":
        observations = torch.randn(512, AGENTS, OBS)
        assert dico.snd(policy.everyone(observations)).item() == pytest.approx(0.7, rel=0.05)
    else:
        assert box_snd(policy).item() == pytest.approx(0.7, rel=0.01)  # so many points know it to a percent
        moved = policy.allocated(data()["agents", "observation"]) - before.allocated(data()["agents", "observation"])
        assert moved.abs().max() > 0.01


def action_value():
    """A critic of each agent's observation and action."""
    both = TensorDictModule(
        lambda obs, action: torch.cat((obs, action), -1),
        in_keys=[("agents", "observation"), ("agents", "action")],
        out_keys=[("agents", "both")],
    )
    value = TensorDictModule(
        MultiAgentMLP(OBS + ACT, 1, AGENTS, centralized=False, share_params=True, num_cells=8, depth=1),
        in_keys=[("agents", "both")],
        out_keys=[("agents", "state_action_value")],
    )
    return TensorDictSequential(both, value)


def off_policy(make, actor, critic, **options):
    """A loss of TorchRL's with actions and values under agents' keys."""
    loss = make(actor, critic, **options)
    loss.set_keys(
        state_action_value=("agents", "state_action_value"),
        reward=("agents", "reward"),
        done=("agents", "done"),
        terminated=("agents", "terminated"),
        **({"action": ("agents", "action")} if make is SACLoss else {}),
    )
    loss.make_value_estimator(gamma=0.9)
    return loss


def transitions():
    batch = data()
    batch["agents", "action"] = torch.rand(BATCH, AGENTS, ACT)
    batch["next"] = data()
    for key, fill in (("reward", torch.rand), ("done", torch.zeros), ("terminated", torch.zeros)):
        dtype = torch.float32 if key == "reward" else torch.bool
        batch["next", "agents", key] = fill(BATCH, AGENTS, 1).to(dtype)
    return batch


@controls
def test_ddpg_loss_trains_the_deterministic_kind(control):
    policy, batch = policy_of("deterministic", control), transitions()
    loss = off_policy(DDPGLoss, actor_of(policy), action_value(), delay_value=True)
    targets = SoftUpdate(loss, tau=0.005)
    expected = policy.estimate(batch["agents", "observation"]).detach()
    for _ in range(2):  # a pass at the next observations would show, by the soft update, the second time
        losses = loss(batch)
        torch.testing.assert_close(policy.snd_hat, expected)
        expected = policy.estimate(batch["agents", "observation"]).detach()
    losses["loss_actor"].backward()
    targets.step()
    assert policy.has_estimate
    assert all(p.grad.isfinite().all() and p.grad.any() for p in policy.parameters())


@analytical
def test_the_gradient_of_ddpg_is_that_of_a_plain_loop(control):
    policy, critic, batch = policy_of("deterministic", control), action_value(), transitions()
    loss = off_policy(DDPGLoss, actor_of(policy), critic, delay_value=True)
    SoftUpdate(loss, tau=0.005)
    loss(batch)["loss_actor"].backward()
    obs = batch["agents", "observation"]
    agents = TensorDict({"observation": obs, "action": policy(obs, policy.snd_hat).tanh()}, [BATCH, AGENTS])
    with loss.value_network_params.to_module(loss.value_network):
        value = loss.value_network(TensorDict({"agents": agents}, [BATCH]))["agents", "state_action_value"]
    expected = torch.autograd.grad(-value.mean(), list(policy.parameters()))
    torch.testing.assert_close([p.grad for p in policy.parameters()], list(expected), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["shared_std", "agent_std"])
@analytical
def test_sac_loss_trains_the_gaussian_kinds(control, kind):
    policy, batch = policy_of(kind, control), transitions()
    spec = Bounded(-1, 1, (AGENTS, ACT))
    loss = off_policy(SACLoss, actor_of(policy), action_value(), action_spec=spec, num_qvalue_nets=2)
    targets = SoftUpdate(loss, tau=0.005)
    optimiser = torch.optim.Adam(loss.parameters(), 1e-2)
    expected = policy.estimate(batch["agents", "observation"])
    for _ in range(3):
        losses = loss(batch)
        torch.testing.assert_close(policy.snd_hat, expected)
        optimiser.zero_grad()
        sum(losses[name] for name in ("loss_actor", "loss_qvalue", "loss_alpha")).backward()
        assert all(p.grad.isfinite().all() and p.grad.any() for p in policy.parameters())
        optimiser.step()
        targets.step()
        expected = policy.estimate(batch["agents", "observation"])
    assert box_snd(policy).item() == pytest.approx(0.3, rel=0.01)


@analytical
def test_a_target_actor_follows_with_its_density(control):
    """It acts as a policy of the averaged parameters, over the same box and with the same desired diversity."""
    policy = policy_of("deterministic", control, constraint=">=0.3")
    loss = off_policy(DDPGLoss, actor_of(policy), action_value(), delay_actor=True, delay_value=True)
    targets = SoftUpdate(loss, tau=0.1)
    averaged = copy.deepcopy(policy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn_like(parameter))
        for old, new in zip(averaged.parameters(), policy.parameters(), strict=True):
            old.lerp_(new, 0.1)
    targets.step()
    batch = data()
    with torch.no_grad(), loss.target_actor_network_params.to_module(loss.actor_network):
        found = loss.actor_network(batch)["agents", "loc"]
    torch.testing.assert_close(found, averaged(batch["agents", "observation"]))
    assert not torch.allclose(found, policy(batch["agents", "observation"]))


@pytest.mark.parametrize("make", [DDPGLoss, TD3Loss, SACLoss])
def test_a_delayed_actor_is_scaled_to_the_desired_diversity(make):
    rising = dico.scheduled(lambda frames: 0.7 if frames else 0.2)
    kind, spec = ("shared_std" if make is SACLoss else "deterministic"), Bounded(-1, 1, (AGENTS, ACT))
    policy, batch = policy_of(kind, constraint=rising, tau=1.0), transitions()
    options = {"action_spec": spec} if make is TD3Loss else {}
    loss = off_policy(make, actor_of(policy), action_value(), delay_actor=True, **options)
    targets, seen = SoftUpdate(loss, tau=0.2), batch["next", "agents", "observation"]

    def diversity_of_target():
        with loss.target_actor_network_params.to_module(loss.actor_network):
            return dico.snd(policy.everyone(seen)).item()

    rising.at_(1)
    policy.commit_(policy.estimate(seen))
    own = policy.snd_hat.clone()
    with torch.no_grad():
        for parameter in policy.deviations.parameters():
            parameter.mul_(3)
    targets.step()
    assert diversity_of_target() != pytest.approx(0.7, rel=0.1)
    update_targets_(loss, batch["next"])
    assert diversity_of_target() == pytest.approx(0.7, rel=1e-5)
    torch.testing.assert_close(policy.snd_hat, own)


def test_actors_without_delay_have_no_target_to_update():
    policy, batch = policy_of("deterministic", constraint=lambda snd: snd.clamp(max=0.3)), transitions()
    update_targets_(off_policy(DDPGLoss, actor_of(policy), action_value(), delay_value=True), batch["next"])
    assert not policy.has_estimate


@pytest.mark.parametrize("options", [{"refresh": "always"}, {"in_keys": ["a", "b"]}, {"out_keys": ["loc"]}], ids=str)
def test_bad_input(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        DiCoModule(policy_of("shared_std"), **options)
