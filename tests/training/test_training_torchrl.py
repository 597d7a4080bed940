"""TorchRL's loss modules as the judge: the same networks and minibatch give the same losses and gradients.

The judge is built as BenchMARL builds it: its actor around one member's policy, its critics of TorchRL's own
``MultiAgentMLP`` with that member's weights.
"""

import pytest
import torch
from populations import TEAM, learner, minibatch_of
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchrl.data import Bounded, Composite
from torchrl.modules import Delta, MultiAgentMLP, ProbabilisticActor, TanhNormal
from torchrl.objectives import ClipPPOLoss, DDPGLoss, SACLoss, SoftUpdate, TD3Loss, ValueEstimators

from dico import DiCo
from dico.adapters.torchrl import DiCoModule
from dico.squashed import gaussian_log_prob, squash, squashed_log_prob

ROWS, N, OBS, ACT = 12, TEAM.n_agents, TEAM.obs_dim, len(TEAM.low)
LOW, HIGH = (torch.tensor(x, dtype=torch.float64) for x in (TEAM.low, TEAM.high))
GAMMA = 0.9
CLOSE = {"rtol": 1e-5, "atol": 1e-7}
members = pytest.mark.parametrize("members", [1, 2])


def judged(algorithm, members, **options):
    """A learner in float64, its estimate and delayed critic apart from where they started, and a minibatch."""
    torch.manual_seed(0)
    ours = learner(algorithm, members, gamma=GAMMA, tau=0.3, **options)
    for module in ours.modules().values():
        module.double()
    ours.low, ours.high = LOW, HIGH
    ours.policy.commit_(torch.rand(members, dtype=torch.float64) + 0.2)
    for p in ours.policy.parameters():
        p.data.mul_(1.5)  # some means lie outside the box
    for p in getattr(ours, "target_critic", torch.nn.Module()).parameters():
        p.add_(0.1 * torch.randn_like(p))
    obs, next_obs = 2 * torch.randn(2, members, ROWS, N, OBS, dtype=torch.float64)
    action = LOW + (HIGH - LOW) * torch.rand(members, ROWS, N, ACT, dtype=torch.float64)
    reward = torch.randn(members, ROWS, N, dtype=torch.float64)
    done = (torch.rand(members, ROWS) < 0.4).double()
    return ours, obs, next_obs, action, reward, done


def policy_of(ours, k):
    """Member k's policy by itself, as a plain module."""
    alone = DiCo.mlp(
        N, OBS, ACT, "free", kind=ours.settings.policy_kind, hidden=ours.settings.hidden, tau=0.3,
        low=TEAM.low, high=TEAM.high, squash_shared=True,
    ).double()  # fmt: skip
    mine = ours.policy.state_dict()
    state = {name: v if v.shape == mine[name].shape else mine[name][k] for name, v in alone.state_dict().items()}
    alone.load_state_dict(state | {"tau": mine["tau"][k]})
    return alone


def actor_of(policy, distribution, **options):
    module = DiCoModule(policy)
    keys = module.out_keys if len(module.out_keys) == 2 else {"param": module.out_keys[0]}
    return ProbabilisticActor(
        module, in_keys=keys, out_keys=[("agents", "action")], distribution_class=distribution,
        log_prob_key=("agents", "sample_log_prob"), **options,
    )  # fmt: skip


def critic_of(ours, inputs, out):
    """The critic's network, as BenchMARL makes it: unshared local ones, or a shared central one."""
    central = ours.settings.spec.central
    net = MultiAgentMLP(
        inputs, 1, N, centralized=central, share_params=central,
        depth=len(ours.settings.hidden), num_cells=list(ours.settings.hidden), activation_class=torch.nn.Tanh,
    ).double()  # fmt: skip
    keys = [("agents", "observation")]
    if inputs == OBS:
        return TensorDictModule(net, in_keys=keys, out_keys=[("agents", out)])
    both = TensorDictModule(
        lambda obs, action: torch.cat((obs, action), -1), in_keys=[*keys, ("agents", "action")], out_keys=["both"]
    )
    return TensorDictSequential(both, TensorDictModule(net, in_keys=["both"], out_keys=[("agents", out)]))


def by_layer(params):
    """A judge's critic's parameters by our names."""
    flat = params.flatten_keys(".").items()
    return {"net.mlp." + ".".join(key.split(".")[-2:]): p for key, p in flat if key.endswith(("weight", "bias"))}


def theirs(name, ours):
    """Our layout of a parameter as theirs."""
    return ours.mT if name.endswith("weight") else ours.squeeze(-2)


def load_critic(params, critic, k):
    named = dict(critic.named_parameters())
    layers = by_layer(params)
    assert layers.keys() == named.keys()
    for name, p in layers.items():
        p.data.copy_(theirs(name, named[name].data[k]))


def check_critic(loss, params, our_loss, critic, k):
    """The judge's loss and its gradients are our member's."""
    torch.testing.assert_close(our_loss[k], loss, **CLOSE)
    layers = by_layer(params)
    expected = torch.autograd.grad(loss, list(layers.values()))
    names, parameters = zip(*critic.named_parameters(), strict=True)
    gradients = torch.autograd.grad(our_loss.sum(), parameters, retain_graph=True)
    found = {name: theirs(name, g[k]) for name, g in zip(names, gradients, strict=True)}
    for name, gradient in zip(layers, expected, strict=True):
        assert gradient.abs().max() > 1e-6
        torch.testing.assert_close(found[name], gradient, **CLOSE)


def check_actor(loss, alone, our_loss, policy, k):
    torch.testing.assert_close(our_loss[k], loss, **CLOSE)
    expected = torch.autograd.grad(loss, list(alone.parameters()))
    gradients = torch.autograd.grad(our_loss.sum(), list(policy.parameters()), retain_graph=True)
    for (name, _), gradient, found in zip(alone.named_parameters(), expected, gradients, strict=True):
        assert gradient.abs().max() > 1e-8, name
        torch.testing.assert_close(found[k], gradient, **CLOSE)


def minibatch(k, obs, next_obs, action, reward, done):
    ended = done[k, :, None, None].expand(ROWS, N, 1).bool()
    following = {"observation": next_obs[k], "reward": reward[k, ..., None], "done": ended, "terminated": ended}
    group = TensorDict({"observation": obs[k], "action": action[k]}, [ROWS, N])
    return TensorDict({"agents": group, "next": {"agents": TensorDict(following, [ROWS, N])}}, [ROWS])


def of_actions(loss, **keys):
    """Set up a judge whose critics value actions, as BenchMARL does: its keys, its targets, its target networks."""
    loss.set_keys(
        state_action_value=("agents", "state_action_value"), reward=("agents", "reward"), done=("agents", "done"),
        terminated=("agents", "terminated"), **keys,
    )  # fmt: skip
    loss.make_value_estimator(ValueEstimators.TD0, gamma=GAMMA)
    SoftUpdate(loss, tau=0.005)


@members
@pytest.mark.parametrize("algorithm", ["ippo", "mappo"])
def test_ppo(algorithm, members):
    ours, obs, _, _, _, _ = judged(algorithm, members)
    raw = torch.randn(members, ROWS, N, ACT, dtype=torch.float64)
    advantage, value_target = torch.randn(2, members, ROWS, N, dtype=torch.float64)
    with torch.no_grad():  # the policy that acted was another: some ratios are clipped on either side
        mean, std = ours.policy(obs).chunk(2, -1)
        drift = 0.4 * torch.randn(members, ROWS, N, dtype=torch.float64)
        old = gaussian_log_prob(raw, mean, std) + drift
        old_squashed = squashed_log_prob(raw, mean, std, LOW, HIGH) + drift
    params, snd_hat = ours.policy.forward_and_estimate(obs)
    given = minibatch_of(algorithm, obs, raw, old, advantage, value_target)
    actor_loss, critic_loss = ours.actor_loss(params, given), ours.critic_loss(given)

    for k in range(members):
        alone = policy_of(ours, k)
        actor = actor_of(alone, TanhNormal, distribution_kwargs={"low": LOW, "high": HIGH}, return_log_prob=True)
        loss = ClipPPOLoss(
            actor, critic_of(ours, OBS, "state_value"), clip_epsilon=0.2, entropy_coeff=0.0, critic_coeff=1.0,
            loss_critic_type="l2", normalize_advantage=False,
        )  # fmt: skip
        loss.set_keys(
            action=("agents", "action"), value=("agents", "state_value"),
            sample_log_prob=("agents", "sample_log_prob"), advantage="advantage", value_target="value_target",
        )  # fmt: skip
        load_critic(loss.critic_network_params, ours.critic, k)
        group = {"observation": obs[k], "action": squash(raw[k], LOW, HIGH), "sample_log_prob": old_squashed[k]}
        data = TensorDict({"agents": TensorDict(group, [ROWS, N])}, [ROWS])
        data["advantage"], data["value_target"] = advantage[k, ..., None], value_target[k, ..., None]
        judgement = loss(data)
        assert 0.1 < judgement["clip_fraction"] < 0.9
        check_actor(judgement["loss_objective"], alone, actor_loss, ours.policy, k)
        check_critic(judgement["loss_critic"], loss.critic_network_params, critic_loss, ours.critic, k)
        torch.testing.assert_close(snd_hat[k], alone.snd_hat, **CLOSE)


@members
@pytest.mark.parametrize("algorithm", ["iddpg", "maddpg"])
@pytest.mark.parametrize("estimate_on", ["minibatch", "both"])
def test_ddpg(algorithm, members, estimate_on):
    """TorchRL's targets pass the actor with gradients enabled, where the original renewed the estimate (both)."""
    ours, obs, next_obs, action, reward, done = judged(
        algorithm, members, goals=("1.5", "free"), estimate_on=estimate_on
    )
    given = minibatch_of(algorithm, obs, next_obs, action, reward, done)
    next_params, current = ours.act_next(given)
    params, snd_hat = ours.act_and_estimate(obs, given.how, current)
    outside = (params < LOW) | (params > HIGH)
    assert outside.any() and not outside.all()  # noqa: PT018
    actor_loss = ours.actor_loss(obs, params)
    critic_loss = ours.critic_loss(given, next_params)

    for k in range(members):
        alone = policy_of(ours, k)
        spec = Bounded(LOW.expand(N, ACT), HIGH.expand(N, ACT), dtype=torch.float64)
        actor = actor_of(alone, Delta, spec=spec, safe=True, return_log_prob=False)
        loss = DDPGLoss(actor, critic_of(ours, OBS + ACT, "state_action_value"), delay_value=True, loss_function="l2")
        of_actions(loss)
        load_critic(loss.value_network_params, ours.critic, k)
        load_critic(loss.target_value_network_params, ours.target_critic, k)
        data = minibatch(k, obs, next_obs, action, reward, done)
        policies = [m for m in loss.actor_critic.modules() if isinstance(m, DiCoModule)]
        assert policies
        for each in policies:
            each.refresh = "both" if estimate_on == "both" else "grad"
        value_loss, _ = loss.loss_value(data)
        objective, _ = loss.loss_actor(data)
        check_critic(value_loss, loss.value_network_params, critic_loss, ours.critic, k)
        check_actor(objective, alone, actor_loss, ours.policy, k)
        torch.testing.assert_close(snd_hat[k], alone.snd_hat, **CLOSE)


@members
@pytest.mark.parametrize("algorithm", ["itd3", "matd3"])
def test_td3(algorithm, members, monkeypatch):
    """Without a target actor, as ours; what the judge would draw as noise is given, and clipped by each in its way."""
    ours, obs, next_obs, action, reward, done = judged(algorithm, members, goals=("1.5", "free"))
    drawn = torch.randn(members, ROWS, N, ACT, dtype=torch.float64)
    noise = (0.2 * drawn).clamp(-0.3, 0.3)
    given = minibatch_of(algorithm, obs, next_obs, action, reward, done, noise=noise)
    with torch.no_grad():
        next_params = ours.policy(next_obs)
    assert ((ours.executed(next_params) + noise) != (ours.executed(next_params) + noise).clamp(LOW, HIGH)).any()
    critic_loss = ours.lone_critic_loss(given)
    torch.testing.assert_close(critic_loss, ours.critic_loss(given, next_params))
    params, snd_hat = ours.act_and_estimate(obs, given.how)
    actor_loss = ours.actor_loss(obs, params)

    for k in range(members):
        alone = policy_of(ours, k)
        spec = Bounded(LOW.expand(N, ACT), HIGH.expand(N, ACT), dtype=torch.float64)
        actor = actor_of(alone, Delta, spec=spec, safe=True, return_log_prob=False)
        loss = TD3Loss(
            actor, critic_of(ours, OBS + ACT, "state_action_value"), num_qvalue_nets=2, loss_function="l2",
            policy_noise=0.2, noise_clip=0.3, delay_actor=False, delay_qvalue=True, action_spec=spec,
        )  # fmt: skip
        of_actions(loss, action=("agents", "action"), priority=("agents", "td_error"))
        load_critic(loss.qvalue_network_params, ours.critic, k)
        load_critic(loss.target_qvalue_network_params, ours.target_critic, k)
        data = minibatch(k, obs, next_obs, action, reward, done)
        with monkeypatch.context() as patch:
            patch.setattr(torch, "randn_like", lambda _, k=k: drawn[k])
            value_loss, _ = loss.value_loss(data)
        objective, _ = loss.actor_loss(data)
        check_critic(value_loss, loss.qvalue_network_params, critic_loss, ours.critic, k)
        check_actor(objective, alone, actor_loss, ours.policy, k)
        torch.testing.assert_close(snd_hat[k], alone.snd_hat, **CLOSE)


class GivenNoise(TanhNormal):
    """TanhNormal that samples with noise from a list in place of random noise."""

    noise: list[torch.Tensor]

    def rsample(self, sample_shape=()):
        x = self.root_dist.loc + self.root_dist.scale * self.noise.pop(0)
        for transform in self.transforms:
            x = transform(x)
        return x


@members
@pytest.mark.parametrize("algorithm", ["isac", "masac"])
def test_sac(algorithm, members):
    ours, obs, next_obs, action, reward, done = judged(algorithm, members)
    ours.log_alpha.data = torch.tensor([-0.7, 0.4], dtype=torch.float64)[:members]
    noise, next_noise = torch.randn(2, members, ROWS, N, ACT, dtype=torch.float64)
    params, snd_hat = ours.policy.forward_and_estimate(obs)
    new_action, log_prob = ours.reparametrise(params, noise)
    actor_loss = ours.actor_loss(obs, new_action, log_prob)
    given = minibatch_of(algorithm, obs, next_obs, action, reward, done, noise=noise, next_noise=next_noise)
    critic_loss = ours.critic_loss(given)
    alpha_loss = ours.temperature_loss(log_prob.detach())

    for k in range(members):
        alone = policy_of(ours, k)
        actor = actor_of(alone, GivenNoise, distribution_kwargs={"low": LOW, "high": HIGH}, return_log_prob=True)
        spec = Bounded(LOW.expand(N, ACT), HIGH.expand(N, ACT), dtype=torch.float64)
        loss = SACLoss(
            actor, critic_of(ours, OBS + ACT, "state_action_value"), num_qvalue_nets=2, loss_function="l2",
            alpha_init=1.0, action_spec=Composite(agents=Composite(action=spec, shape=(N,))), target_entropy="auto",
            delay_qvalue=True,
        )  # fmt: skip
        of_actions(
            loss, action=("agents", "action"), priority=("agents", "td_error"), log_prob=("agents", "sample_log_prob")
        )
        loss.log_alpha.data = ours.log_alpha.data[k].clone()
        load_critic(loss.qvalue_network_params, ours.critic, k)
        load_critic(loss.target_qvalue_network_params, ours.target_critic, k)
        GivenNoise.noise = [next_noise[k], noise[k]]  # in the order of TorchRL's draws
        judgement = loss(minibatch(k, obs, next_obs, action, reward, done))
        assert not GivenNoise.noise
        assert ours.target_entropy == loss.target_entropy.item() == -ACT
        check_actor(judgement["loss_actor"], alone, actor_loss, ours.policy, k)
        check_critic(judgement["loss_qvalue"], loss.qvalue_network_params, critic_loss, ours.critic, k)
        torch.testing.assert_close(alpha_loss[k], judgement["loss_alpha"], **CLOSE)
        (expected,) = torch.autograd.grad(judgement["loss_alpha"], [loss.log_alpha])
        (found,) = torch.autograd.grad(alpha_loss.sum(), [ours.log_alpha], retain_graph=True)
        torch.testing.assert_close(found[k], expected, **CLOSE)
        torch.testing.assert_close(snd_hat[k], alone.snd_hat, **CLOSE)
