"""The original DiCo's training update as the judge: 20 updates from the same weights give the same parameters.

The reference below does what the original code, on BenchMARL and TorchRL, did in one update. It is written down anew in
plain PyTorch, for one team at a time, with a loop wherever our learner has an axis. Our learner trains all desired
diversities as the members of one population; each is compared with a reference of its own.
"""

import math
from contextlib import contextmanager
from itertools import combinations, pairwise

import pytest
import torch
from populations import TEAM, learner, minibatch_of
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

N, OBS, ACT = TEAM.n_agents, TEAM.obs_dim, len(TEAM.low)
HIDDEN, ROWS, UPDATES = (8, 8), 12, 20
GAMMA = 0.9
LR, ACTION_LR = 1e-3, 6e-4  # faster than in the original, so that 20 updates go somewhere
DESIRED = ("0", "0.3", "1", "free")  # of the members of our population, in this order
WITHIN = {torch.float64: 1e-11, torch.float32: 1e-4}


def tanh_mlp(inputs, outputs):
    sizes = (inputs, *HIDDEN)
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.Tanh())]
    return nn.Sequential(*layers, nn.Linear(HIDDEN[-1], outputs))


def parameters_of(*networks):
    return [p for network in networks for p in network.parameters()]


class Original:
    """What both algorithms had in common: the policy, its diversity estimate, the optimisers and the action-space loss.

    All networks are tanh MLPs. Each agent acts on its own observation. Tensors are ``(rows, agents, ...)``, a row being
    a frame of the minibatch.
    """

    TAU = 0.01
    """How far the estimate moves towards what is measured."""
    MAX_NORM = 5.0
    """Of each optimiser's gradient, over all its parameters together."""
    EPS = 1e-5
    """Adam's epsilon for actor and critic; its betas are PyTorch's."""
    ACTION_EPS = 1e-8
    """Adam's epsilon for the action-space loss: PyTorch's."""
    SHARED_OUTPUTS = ACT

    def __init__(self, desired):
        self.desired = desired
        self.low, self.high = torch.tensor(TEAM.low), torch.tensor(TEAM.high)
        self.shared = tanh_mlp(OBS, self.SHARED_OUTPUTS)
        self.deviations = [tanh_mlp(OBS, ACT) for _ in range(N)]
        self.critics = self.make_critics()
        self.kept = None
        """The diversity estimate; there is none before the first training pass."""
        self.policy_parameters = parameters_of(self.shared, *self.deviations)
        self.critic_parameters = parameters_of(*self.critics)
        self.actor_adam = torch.optim.Adam(self.policy_parameters, lr=LR, eps=self.EPS)
        self.critic_adam = torch.optim.Adam(self.critic_parameters, lr=LR, eps=self.EPS)
        self.action_adam = torch.optim.Adam(self.policy_parameters, lr=ACTION_LR, eps=self.ACTION_EPS)
        self.seen = {"actor norm": [], "critic norm": [], "action norm": [], "action loss": [], "PPO ratio": []}

    def measured(self, obs):
        """SND of the unscaled deviations: their mean Euclidean distance, over all pairs of agents and all rows.

        Every agent's network is evaluated at every agent's observations.
        """
        distances = []
        for someone in range(N):
            outputs = [network(obs[:, someone]) for network in self.deviations]
            for one, other in combinations(outputs, 2):
                distances.append((one - other).square().sum(-1).sqrt())
        return torch.cat(distances).mean()

    def estimate(self, obs):
        """The first is what is measured; later ones move towards that by tau, and have a gradient through this part."""
        measured = self.measured(obs)
        return measured if self.kept is None else (1 - self.TAU) * self.kept + self.TAU * measured

    def renewed_estimate(self, obs):
        """A training pass with gradients makes a new estimate, keeps its value, and scales its outputs with it."""
        estimate = self.estimate(obs)
        self.kept = estimate.detach()
        return estimate

    def ratio(self, estimate):
        """Desired diversity over estimate; 0 leaves the shared network alone, and a free team is not scaled."""
        if self.desired == "free":
            return 1.0
        return 0.0 if float(self.desired) == 0 else float(self.desired) / estimate

    def means(self, obs, estimate):
        """The shared mean goes through a tanh into the box; then the scaled deviation is added, and may lead out."""
        means = []
        for agent, deviation in enumerate(self.deviations):
            own = obs[:, agent]
            shared = self.low + (self.high - self.low) * (self.shared(own)[:, :ACT].tanh() + 1) / 2
            means.append(shared + self.ratio(estimate) * deviation(own))
        return torch.stack(means, 1)

    def update(self, obs, *rest):
        """Both losses are computed before either is stepped on; the action-space loss is, after both, on its own."""
        actor_loss, critic_loss = self.losses(obs, *rest)
        self.step("actor", actor_loss, self.policy_parameters, self.actor_adam)
        self.step("critic", critic_loss, self.critic_parameters, self.critic_adam)
        self.follow()
        self.step_on_action_loss(obs)

    def step(self, name, loss, parameters, adam):
        """Each loss moves its own parameters alone, by the gradient clipped to its norm."""
        adam.zero_grad()
        loss.backward(inputs=parameters)
        norm = nn.utils.clip_grad_norm_(parameters, self.MAX_NORM)
        adam.step()
        self.seen[f"{name} norm"].append(norm.item())

    def follow(self):
        """Nothing follows the critics of PPO."""

    def step_on_action_loss(self, obs):
        """Squared distance to the box of the agent that is farthest out, the mean over rows; a step of an own Adam.

        It moves all of the policy's parameters.
        """
        means = self.means(obs, self.action_estimate(obs))
        out = means - means.clamp(self.low, self.high)
        farthest = torch.linalg.vector_norm(out, dim=-1).max(1).values
        loss = farthest.square().mean()
        self.step("action", loss, self.policy_parameters, self.action_adam)
        self.seen["action loss"].append(loss.item())

    def action_estimate(self, obs):
        """New once more, of the policy as it is after the actor's step; it has its gradient, and is not kept."""
        return self.estimate(obs)


class OriginalIPPO(Original):
    """Gaussian policies, and a critic for each agent on what that agent sees.

    The shared network says the standard deviation too, as a raw number; the deviations are of means alone.
    """

    SHARED_OUTPUTS = 2 * ACT
    STD_FLOOR = 0.01
    CLIP = 0.2

    def make_critics(self):
        return [tanh_mlp(OBS, 1) for _ in range(N)]

    def stds(self, obs):
        """Softplus above the floor, shifted so that a raw 0 becomes 1."""
        shift = math.log(math.expm1(1 - self.STD_FLOOR))
        raws = [self.shared(obs[:, agent])[:, ACT:] for agent in range(N)]
        return F.softplus(torch.stack(raws, 1) + shift) + self.STD_FLOOR

    def losses(self, obs, raw, old_log_prob, advantage, value_target):
        """Clipped PPO without entropy, on advantages as they are; the mean squared error of values, its weight 1.

        ``raw`` is the Gaussian's sample before a tanh brings it into the box: the tanh's Jacobian cancels in the ratio.
        """
        means = self.means(obs, self.renewed_estimate(obs))
        ratio = (Normal(means, self.stds(obs)).log_prob(raw).sum(-1) - old_log_prob).exp()
        clipped = ratio.clamp(1 - self.CLIP, 1 + self.CLIP)
        actor_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        values = torch.stack([critic(obs[:, agent])[:, 0] for agent, critic in enumerate(self.critics)], 1)
        self.seen["PPO ratio"] += ratio.flatten().tolist()
        return actor_loss, (values - value_target).square().mean()


class OriginalMADDPG(Original):
    """Deterministic policies, clamped to the box, and one critic of what all see and do, with a delayed copy."""

    POLYAK = 0.005
    """How far the delayed critic moves towards the critic."""

    def make_critics(self):
        central, self.delayed = tanh_mlp(N * (OBS + ACT), 1), tanh_mlp(N * (OBS + ACT), 1)
        return [central]

    def value(self, critic, obs, action):
        """Of the team: the agents' observations and actions, agent by agent, in one row."""
        team = torch.cat([x[:, agent] for agent in range(N) for x in (obs, action)], -1)
        return critic(team)

    def losses(self, obs, next_obs, action, reward, done):
        """The critic's loss comes first, and its targets pass the policy too: the estimate is renewed twice.

        The team's value is each agent's; rewards are their own. The actor's gradient goes through the clamp, so there
        is none outside the box, and through the critic, which it leaves as it is.
        """
        with torch.no_grad():
            next_action = self.means(next_obs, self.target_estimate(next_obs)).clamp(self.low, self.high)
            next_value = self.value(self.delayed, next_obs, next_action)
            target = reward + GAMMA * (1 - done[:, None]) * next_value
        critic_loss = (self.value(self.critics[0], obs, action) - target).square().mean()
        new_action = self.means(obs, self.renewed_estimate(obs)).clamp(self.low, self.high)
        return -self.value(self.critics[0], obs, new_action).mean(), critic_loss

    def target_estimate(self, next_obs):
        """Renewed at the next observations, and kept; the targets have no gradient."""
        return self.renewed_estimate(next_obs)

    @torch.no_grad()
    def follow(self):
        """After each step, the delayed critic moves towards the critic."""
        for target, source in zip(self.delayed.parameters(), self.critic_parameters, strict=True):
            target.copy_((1 - self.POLYAK) * target + self.POLYAK * source)


ORIGINALS = {"ippo": OriginalIPPO, "maddpg": OriginalMADDPG}


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def our_learner(algorithm):
    """All desired diversities in one population, set as the original was."""
    ours = learner(
        algorithm, len(DESIRED), goals=DESIRED, hidden=HIDDEN, gamma=GAMMA, lr=LR, adam_eps=1e-5, max_grad_norm=5.0,
        tau=0.01, gradient="soft", initial="batch", squash_shared=True, action_loss="separate",
        action_loss_lr=ACTION_LR,
    )  # fmt: skip
    for p in ours.policy.parameters():
        p.data.mul_(1.5)  # some means lie outside the box
    for p in getattr(ours, "target_critic", nn.Module()).parameters():
        p.add_(0.3 * torch.randn_like(p))  # apart from the critic: it has some way to go
    return ours


def counterparts(reference, ours):
    """Each parameter of a reference by name, beside that of the member of our learner with the same desired diversity.

    Ours has inputs before outputs in its weights, and a row of biases.
    """
    k = DESIRED.index(reference.desired)
    networks = [("shared", reference.shared, ours.policy.shared.mlp, (k,))]
    for i, deviation in enumerate(reference.deviations):
        networks.append((f"deviation {i}", deviation, ours.policy.deviations.mlp, (k, i)))
    if isinstance(reference, OriginalMADDPG):
        networks.append(("critic", *reference.critics, ours.critic.net.mlp, (k,)))
        networks.append(("delayed critic", reference.delayed, ours.target_critic.net.mlp, (k,)))
    else:
        for i, critic in enumerate(reference.critics):
            networks.append((f"critic {i}", critic, ours.critic.net.mlp, (k, i)))
    for name, network, stacked, place in networks:
        for number, (linear, layer) in enumerate(zip(network, stacked, strict=True)):
            if isinstance(linear, nn.Linear):
                yield f"{name}.{number}.weight", linear.weight.data, layer.weight.data[place].mT
                yield f"{name}.{number}.bias", linear.bias.data, layer.bias.data[place][0]


def minibatch(algorithm, ours, size):
    """Anything that members might have experienced; rewards, or advantages and values, are as large as ``size``."""
    shape = (ours.n_members, ROWS, N)
    obs, next_obs = 2 * torch.randn(2, *shape, OBS)
    if algorithm == "ippo":
        with torch.no_grad():  # the policy that acted was another: some ratios are clipped, on either side
            distribution = Normal(*ours.policy(obs).chunk(2, -1))
            raw = distribution.sample()
            old_log_prob = distribution.log_prob(raw).sum(-1) + 0.3 * torch.randn(shape)
        return obs, raw, old_log_prob, size * torch.randn(shape), size * torch.randn(shape)
    action = ours.low + (ours.high - ours.low) * torch.rand(*shape, ACT)
    return obs, next_obs, action, size * torch.randn(shape), (torch.rand(shape[:2]) < 0.3).to(obs)


def side_by_side(algorithm, dtype, desired=DESIRED, **wrong):
    """Our learner and a reference for each of ``desired`` after the same updates, and how far each parameter moved.

    ``wrong`` are attributes in which the references are not the original. The learner and its minibatches are always
    the same.
    """
    torch.manual_seed(0)
    with default_dtype(dtype):
        ours = our_learner(algorithm)
        original = type("Reference", (ORIGINALS[algorithm],), wrong)
        references = {each: original(each) for each in desired}
        start = {}
        for each, reference in references.items():
            for name, theirs, mine in counterparts(reference, ours):
                theirs.copy_(mine)
                start[each, name] = theirs.clone()
        torch.manual_seed(1)
        for i in range(UPDATES):
            batch = minibatch(algorithm, ours, size=20 if i % 4 == 1 else 1)  # now and then, gradients are clipped
            for each, reference in references.items():
                reference.update(*(x[DESIRED.index(each)] for x in batch))
            ours.update(minibatch_of(algorithm, *batch))
    moved = {
        (each, name): (theirs - start[each, name]).abs().max().item()
        for each, reference in references.items()
        for name, theirs, _ in counterparts(reference, ours)
    }
    return ours, references, moved


CASES = {f"{algorithm}-{str(dtype)[6:]}": (algorithm, dtype) for dtype in WITHIN for algorithm in ORIGINALS}


@pytest.fixture(scope="module", params=CASES)
def trained(request):
    return *CASES[request.param], *side_by_side(*CASES[request.param])


@pytest.mark.parametrize("desired", DESIRED)
def test_the_same_parameters_and_estimate(trained, desired):
    _, dtype, ours, references, _ = trained
    close = {"rtol": 0, "atol": WITHIN[dtype]}
    for name, theirs, mine in counterparts(references[desired], ours):
        assert mine.dtype == theirs.dtype == dtype
        torch.testing.assert_close(mine, theirs, **close, msg=lambda text, name=name: f"{name}: {text}")
    torch.testing.assert_close(ours.policy.snd_hat[DESIRED.index(desired)], references[desired].kept, **close)


def test_all_that_is_compared_took_place(trained):
    """All weights moved; means lay outside the box; probability ratios and gradients were clipped, but not always.

    A team without diversity is always in the box, by the tanh, and its deviations have nothing to learn from.
    """
    algorithm, dtype, _, references, moved = trained
    for (desired, name), distance in moved.items():
        if desired == "0" and "deviation" in name:
            assert distance == 0, name
        elif "weight" in name:  # a single bias may end where it started
            assert distance > 10 * WITHIN[dtype], (desired, name)
    seen = {desired: reference.seen for desired, reference in references.items()}
    assert max(seen["0"]["action loss"]) == 0
    assert min(seen["1"]["action loss"] + seen["free"]["action loss"]) > 0
    # the values of a small new critic are too flat for MADDPG's actors to have large gradients
    for name in ("actor norm", "critic norm") if algorithm == "ippo" else ("critic norm",):
        for each in seen.values():
            assert min(each[name]) < Original.MAX_NORM < max(each[name])
    if algorithm == "ippo":
        for each in seen.values():
            assert 0.1 < sum(not 0.8 < ratio < 1.2 for ratio in each["PPO ratio"]) / (UPDATES * ROWS * N) < 0.9


WRONG = {
    "action loss with the other losses' epsilon": ("ippo", {"ACTION_EPS": 1e-5}),
    "action loss at the kept estimate": ("ippo", {"action_estimate": lambda self, obs: self.kept}),
    "action loss without the gradient of its estimate": (
        "ippo", {"action_estimate": lambda self, obs: self.estimate(obs).detach()},
    ),
    "action loss that keeps its estimate": (
        "ippo", {"action_estimate": lambda self, obs: self.renewed_estimate(obs)},
    ),
    "standard deviations from 1e-4": ("ippo", {"STD_FLOOR": 1e-4}),
    "one estimate kept in an update": ("maddpg", {"target_estimate": lambda self, obs: self.estimate(obs)}),
    "gradients not clipped": ("ippo", {"MAX_NORM": math.inf}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_reference_that_is_wrong_in_one_thing_does_not_agree(what):
    """Each fact is seen in the parameters, by more than either tolerance."""
    algorithm, wrong = WRONG[what]
    ours, references, _ = side_by_side(algorithm, torch.float64, ("1",), **wrong)
    apart = [(theirs - mine).abs().max().item() for _, theirs, mine in counterparts(references["1"], ours)]
    assert max(apart) > max(WITHIN.values())
