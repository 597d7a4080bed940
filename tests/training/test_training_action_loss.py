"""The action-space loss: a step of its own, part of the actor's loss, or none."""

import pytest
import torch
from populations import ALGORITHMS, TEAM, batch_of, learner, parameters, same
from torch import nn

from dico import action_space_loss
from dico.training.experience import Comparison

algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)


def outside(algorithm, **options):
    """A learner whose means lie outside the box in part, and observations."""
    torch.manual_seed(0)
    ours = learner(algorithm, goals=("3", "free"), **options)
    for p in ours.policy.parameters():
        p.data.mul_(2)
    obs = torch.randn(2, 20, TEAM.n_agents, TEAM.obs_dim)
    ours.policy.commit_(torch.tensor([0.5, 0.9]))
    with torch.no_grad():
        assert (ours.action_loss(ours.policy(obs)) > 0.01).all()
    return ours, obs


def l_act_squared(ours, params):
    """By the definition: squared, averaged over observations."""
    mean = params[..., : len(TEAM.low)]
    low, high = torch.tensor(TEAM.low), torch.tensor(TEAM.high)
    return (action_space_loss(mean, low, high) ** 2).mean(1)


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@algorithms
def test_separate_takes_a_step_of_its_own(algorithm):
    ours, obs = outside(algorithm, action_loss="separate", action_loss_weight=2.0, action_loss_lr=1e-2)
    start = parameters(ours)
    loss = 2.0 * l_act_squared(ours, ours.policy.forward_and_estimate(obs).params)  # at a fresh estimate
    gradients = torch.autograd.grad(loss.sum(), list(ours.policy.parameters()))
    estimate = ours.policy.snd_hat.clone()
    actor_steps = ours.actor_adam.count.clone()
    ours.step_action_loss(obs, Comparison())

    after = parameters(ours)
    for k in range(2):  # as PyTorch's own clipping and Adam would step
        alone = {f"policy.{n}": nn.Parameter(start[f"policy.{n}"][k]) for n, _ in ours.policy.named_parameters()}
        for p, g in zip(alone.values(), gradients, strict=True):
            p.grad = g[k].clone()
        nn.utils.clip_grad_norm_(alone.values(), ours.settings.max_grad_norm)
        torch.optim.Adam(alone.values(), lr=1e-2, eps=1e-8).step()
        for name, p in alone.items():
            torch.testing.assert_close(after[name][k], p.data)
    assert all(torch.equal(start[n], after[n]) for n in start if not n.startswith("policy."))
    assert not same(start, after)
    assert torch.equal(ours.policy.snd_hat, estimate)
    assert torch.equal(ours.actor_adam.count, actor_steps)
    assert (l_act_squared(ours, ours.policy(obs)) < loss / 2.0).all()
    # and it is no part of the actor's loss
    plain = torch.zeros(2)
    assert ours.add_action_loss(plain, ours.policy(obs)) is plain


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@algorithms
def test_merged_is_part_of_the_actors_loss(algorithm):
    ours, obs = outside(algorithm, action_loss="merged", action_loss_weight=2.0)
    start = parameters(ours)
    params = ours.policy.forward_and_estimate(obs).params
    actor_loss = params.square().flatten(1).mean(1)
    merged = ours.add_action_loss(actor_loss, params)
    torch.testing.assert_close(merged, actor_loss + 2.0 * l_act_squared(ours, params))
    found = torch.autograd.grad((merged - actor_loss).sum(), list(ours.policy.parameters()), retain_graph=True)
    expected = torch.autograd.grad(2.0 * l_act_squared(ours, params).sum(), list(ours.policy.parameters()))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
    ours.step_action_loss(obs, Comparison())
    assert same(start, parameters(ours))


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@algorithms
def test_off_does_neither(algorithm):
    ours, obs = outside(algorithm, action_loss="off", action_loss_weight=2.0)
    start = parameters(ours)
    plain = torch.zeros(2)
    assert ours.add_action_loss(plain, ours.policy(obs)) is plain
    ours.step_action_loss(obs, Comparison())
    assert same(start, parameters(ours))


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@algorithms
def test_learning_takes_the_loss_into_account(algorithm):
    """On the same batch, both ways end up nearer to the box than without it, where the policy is free to move."""
    beyond = {}
    for way in ("off", "separate", "merged"):
        ours, obs = outside(
            algorithm, action_loss=way, action_loss_weight=10.0, action_loss_lr=1e-2, updates=20, lr=1e-3
        )
        ours.learn(batch_of(ours))
        with torch.no_grad():
            beyond[way] = ours.action_loss(ours.policy(obs))[1]
    assert beyond["separate"] < beyond["off"]
    assert beyond["merged"] < beyond["off"]


@algorithms
def test_a_step_of_learning_keeps_the_estimate_that_the_actors_loss_used(algorithm):
    """The estimate is renewed once by each update, from the policy before the step."""
    ours = learner(
        algorithm,
        epochs=1,
        minibatch=1000,
        updates=1,
        batch=4,
        replay=40,
        tau=0.3,
        estimate_on="minibatch",
        policy_delay=1,
    )
    batch = batch_of(ours)
    ours.policy.commit_(torch.tensor([0.5, 0.9]))
    seen = []
    update = ours.update
    ours.update = lambda minibatch: (
        seen.append(ours.policy.estimate(minibatch.obs).detach()),
        update(minibatch),
    )[1]
    ours.learn(batch)
    (expected,) = seen
    torch.testing.assert_close(ours.policy.snd_hat, expected)


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@pytest.mark.parametrize("gradient", ["soft", "straight_through"])
def test_the_step_of_its_own_follows_the_estimates_gradient(gradient):
    """An equality leaves the loss little or nothing to gain from shorter deviations, and the step must know."""
    ours, obs = outside("ippo", action_loss="separate", gradient=gradient, tau=1.0)
    (longer,) = [p for name, p in ours.policy.named_parameters() if name == "deviations.mlp.2.weight"]
    bias = dict(ours.policy.named_parameters())["deviations.mlp.2.bias"]
    gradients = torch.autograd.grad(ours.separate_action_loss(obs, Comparison()).sum(), (longer, bias))
    radial = sum((p * g).flatten(1).sum(1) for p, g in zip((longer, bias), gradients, strict=True))
    size = sum(g.square().flatten(1).sum(1) for g in gradients).sqrt()
    assert abs(radial[0]) < 1e-5 * size[0]  # desired 3
    assert radial[1] > 0.1 * size[1]  # free


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("newest", [False, True])
def test_of_all_rows_it_looks_at_every_agent_everywhere(weighted, newest):
    ours, obs = outside("ippo", action_loss="separate", action_loss_rows="all", action_loss_weight=2.0, tau=0.5)
    weight = torch.arange(20) < 15 if weighted else None
    recent = torch.randn_like(obs) if newest else None
    mean = []
    for k in range(2):  # by the definition: one agent at a time, at the observations of one at a time
        rows = obs[k, :15] if weighted else obs[k]
        compared = obs if recent is None else recent
        snd_hat = ours.policy.estimate(compared, weight=None if weight is None or newest else weight[:, None])
        own = [
            torch.stack([member(ours, k, agent, rows[:, seen], snd_hat[k]) for agent in range(TEAM.n_agents)], 1)
            for seen in range(TEAM.n_agents)
        ]
        low, high = torch.tensor(TEAM.low), torch.tensor(TEAM.high)
        mean.append(2.0 * (action_space_loss(torch.cat(own), low, high) ** 2).mean())
    expected = torch.stack(mean)
    found = ours.separate_action_loss(obs, Comparison(None, weight, recent))
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        *(torch.autograd.grad(x.sum(), list(ours.policy.parameters())) for x in (found, expected)), strict=True
    ):
        torch.testing.assert_close(a, b)


def member(ours, k, agent, obs, snd_hat):
    """The mean of one agent of one member, anywhere."""
    policy = ours.policy
    shared = policy.kind.homogeneous(policy.shared(obs.expand(2, *obs.shape)))[k, :, :2]
    shared = ours.low + (ours.high - ours.low) * (shared.tanh() + 1) / 2
    deviation = policy.deviations.everyone(obs.expand(2, *obs.shape))[k, :, agent]
    desired = snd_hat if k == 1 else 3.0
    return shared + desired / snd_hat * deviation
