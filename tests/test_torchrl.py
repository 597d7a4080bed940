"""DiCo inside TorchRL's actors, collectors and losses."""

import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchrl.modules import MultiAgentMLP, ProbabilisticActor, TanhDelta, TanhNormal
from torchrl.objectives import ClipPPOLoss, DDPGLoss, SoftUpdate

import dico
from dico.adapters.torchrl import DiCoModule
from dico.kinds import KINDS

BATCH, AGENTS, OBS, ACT = 16, 3, 4, 2


def policy_of(kind, **options):
    torch.manual_seed(0)
    return dico.DiCo.mlp(AGENTS, OBS, ACT, options.pop("constraint", 0.3), kind=kind, hidden=(16,), **options)


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


@pytest.mark.parametrize("kind", KINDS)
def test_writes_what_the_policy_outputs(kind):
    policy = policy_of(kind)
    batch = data()
    with torch.no_grad():
        output = actor_of(policy)(batch)
        expected = policy(batch["agents", "observation"])
    keys = [("agents", "loc"), ("agents", "scale")][: policy.kind.width]
    torch.testing.assert_close(torch.cat([output[key] for key in keys], -1), expected)
    assert output["agents", "action"].shape == (BATCH, AGENTS, ACT)


def test_the_estimate_is_renewed_in_the_loss_and_never_while_collecting():
    policy = policy_of("shared_std")
    actor = actor_of(policy)
    before = policy.snd_hat.clone()
    batch = collected(actor)
    assert torch.equal(policy.snd_hat, before)
    assert not policy.has_estimate

    expected = policy.estimate(batch["agents", "observation"])
    ppo_loss(actor)(batch)["loss_objective"].backward()
    torch.testing.assert_close(policy.snd_hat, expected.detach())
    assert policy.has_estimate
    assert all(p.grad is not None and p.grad.isfinite().all() for p in policy.parameters())


def test_refresh_never_leaves_the_estimate_alone():
    policy = policy_of("shared_std")
    module = DiCoModule(policy, refresh="never")
    module(data())
    assert not policy.has_estimate


def test_ppo_training_keeps_the_desired_diversity():
    policy = policy_of("shared_std", constraint=0.7, tau=0.1)
    actor = actor_of(policy)
    loss = ppo_loss(actor)
    optimiser = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for _ in range(30):
        batch = collected(actor)
        for _ in range(3):
            losses = loss(batch)
            optimiser.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            optimiser.step()
    observations = torch.randn(512, AGENTS, OBS)
    assert dico.snd(policy.everyone(observations)).item() == pytest.approx(0.7, rel=0.05)


def test_ddpg_loss_trains_the_deterministic_kind():
    policy = policy_of("deterministic")
    critic = TensorDictSequential(
        TensorDictModule(
            lambda obs, action: torch.cat((obs, action), -1),
            in_keys=[("agents", "observation"), ("agents", "action")],
            out_keys=[("agents", "both")],
        ),
        TensorDictModule(
            MultiAgentMLP(OBS + ACT, 1, AGENTS, centralized=False, share_params=True, num_cells=8, depth=1),
            in_keys=[("agents", "both")],
            out_keys=[("agents", "state_action_value")],
        ),
    )
    loss = DDPGLoss(actor_of(policy), critic, delay_value=True)
    loss.set_keys(
        state_action_value=("agents", "state_action_value"),
        reward=("agents", "reward"),
        done=("agents", "done"),
        terminated=("agents", "terminated"),
    )
    loss.make_value_estimator(gamma=0.9)
    targets = SoftUpdate(loss, tau=0.005)
    batch = data()
    batch["agents", "action"] = torch.rand(BATCH, AGENTS, ACT)
    batch["next"] = data()
    for key, fill in (("reward", torch.rand), ("done", torch.zeros), ("terminated", torch.zeros)):
        dtype = torch.float32 if key == "reward" else torch.bool
        batch["next", "agents", key] = fill(BATCH, AGENTS, 1).to(dtype)
    expected = policy.estimate(batch["agents", "observation"]).detach()
    for _ in range(2):  # a pass at the next observations would show, by the soft update, the second time
        losses = loss(batch)
        torch.testing.assert_close(policy.snd_hat, expected)
        expected = policy.estimate(batch["agents", "observation"]).detach()
    losses["loss_actor"].backward()
    targets.step()
    assert policy.has_estimate
    assert all(p.grad is not None for p in policy.parameters())


@pytest.mark.parametrize("options", [{"refresh": "always"}, {"in_keys": ["a", "b"]}, {"out_keys": ["loc"]}], ids=str)
def test_bad_input(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        DiCoModule(policy_of("shared_std"), **options)
