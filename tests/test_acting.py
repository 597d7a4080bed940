"""Acting: actions in the box, for every kind and every sort of policy, the same as in training and evaluation."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import dico
from dico.kinds import KINDS
from dico.nets import mixes_rows
from dico.runs.episodes import record
from dico.tasks import make

AGENTS, OBS, ACT = 3, 4, 2
LOW, HIGH = [-1.0, 0.5], [1.0, 3.0]
BOX = {"low": LOW, "high": HIGH, "hidden": (8,)}


def policy_of(sort="dico", kind="shared_std", desired=5.0, **options):
    torch.manual_seed(0)
    if sort == "dial":
        dial = dico.DialDiCo.mlp(AGENTS, OBS, ACT, [0, desired], kind=kind, **BOX, **options)
        dial.commit_(torch.tensor([0.3, 0.4]))
        return dial
    if sort == "analytical":
        over = {"obs_low": [-2] * OBS, "obs_high": [2] * OBS}
        return dico.AnalyticalDiCo.mlp(AGENTS, OBS, ACT, desired, kind=kind, **over, **BOX, **options)
    return dico.DiCo.mlp(AGENTS, OBS, ACT, desired, kind=kind, **BOX, **options)


def is_in_box(actions):
    return bool((actions >= torch.tensor(LOW)).all() and (actions <= torch.tensor(HIGH)).all())


SORTS = [(sort, kind) for sort in ("dico", "analytical", "dial") for kind in KINDS]
SORTS.remove(("analytical", "agent_std_paper"))  # which it does not have


@pytest.mark.filterwarnings("ignore:a desired diversity of 5")
@pytest.mark.parametrize(("sort", "kind"), SORTS)
@pytest.mark.parametrize("squash_shared", [False, True])
@given(st.integers(0, 2**31), st.floats(0.1, 50))
@settings(max_examples=15)
def test_actions_are_in_the_box_whatever_is_seen(sort, kind, squash_shared, seed, size):
    policy = policy_of(sort, kind, squash_shared=squash_shared)
    generator = torch.Generator().manual_seed(seed)
    obs = size * torch.randn(*policy.members, 5, AGENTS, OBS, generator=generator)
    for deterministic in (False, True):
        actions = policy.act(obs, deterministic, generator=generator)
        assert actions.shape == (*obs.shape[:-1], ACT)
        assert is_in_box(actions)
        assert not actions.requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_decides_and_determinism_takes_the_mean(kind):
    policy, obs = policy_of(kind=kind, desired=0.5), torch.randn(7, AGENTS, OBS)
    draw = [policy.act(obs, generator=torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert torch.equal(draw[0], draw[1])
    assert torch.equal(draw[0], draw[2]) == (kind == "deterministic")
    mean = policy(obs)[..., :ACT].detach()
    low, high = torch.tensor(LOW), torch.tensor(HIGH)
    expected = mean.clamp(low, high) if kind == "deterministic" else low + (high - low) * (mean.tanh() + 1) / 2
    torch.testing.assert_close(policy.act(obs, deterministic=True), expected)
    assert policy.act(obs[0]).shape == (AGENTS, ACT)  # one team alone


def test_samples_have_the_policys_mean_and_standard_deviation():
    policy, obs = policy_of(desired=0.5), torch.randn(AGENTS, OBS)
    low, high = torch.tensor(LOW), torch.tensor(HIGH)
    mean, std = policy(obs).detach().chunk(2, -1)
    drawn = policy.act(obs.expand(40_000, AGENTS, OBS), generator=torch.Generator().manual_seed(0)).double()
    raw = torch.atanh((2 * (drawn - low) / (high - low) - 1).clamp(-1 + 1e-7, 1 - 1e-7))
    error = 5 * std.double() / math.sqrt(40_000)
    assert ((raw.mean(0) - mean).abs() < error).all()
    torch.testing.assert_close(raw.std(0), std.double(), rtol=0.03, atol=0)


def test_episodes_are_played_by_the_same_actions():
    torch.manual_seed(0)
    policy = dico.DiCo.mlp(2, 4, 2, dico.equal([0.5]), kind="shared_std", members=(1,), low=[-1, -1], high=[1, 1])
    played = record(make("navigation", horizon=5), [policy], episodes=4, seed=0, deterministic=True)
    torch.testing.assert_close(played.actions.transpose(0, 1)[:, 0], policy.act(played.obs[0], True)[0])
    torch.testing.assert_close(played.returns, played.reward.sum(1))
    assert played.lengths.tolist() == [[5] * 4]


@pytest.mark.unchecked
def test_without_a_box_nothing_is_acted():
    policy = dico.DiCo.mlp(2, 4, 2, 0.5)
    with pytest.raises(ValueError, match="act needs the action box"):
        policy.act(torch.zeros(2, 4))
    with pytest.raises(ValueError, match="deterministic must be True or False"):
        policy_of().act(torch.zeros(AGENTS, OBS), "yes")


# networks that look at the whole team


class Messages(nn.Module):
    """Row i through agent i's weights, beside the mean of the team: a GNN given as one module."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(AGENTS, 2 * OBS, ACT))

    def forward(self, obs):
        seen = torch.cat((obs, obs.mean(-2, keepdim=True).expand_as(obs)), -1)
        return torch.einsum("...ni,nio->...no", seen, self.weight)


class Causal(Messages):
    """Row i sees those before it alone."""

    def forward(self, obs):
        return torch.einsum("...ni,nio->...no", obs.cumsum(-2), self.weight[:, :OBS])


@pytest.mark.parametrize("network", [Messages, Causal])
@pytest.mark.parametrize("call", ["estimate", "everyone", "forward_and_estimate"])
def test_one_module_that_mixes_agents_is_refused_before_it_trains(network, call):
    policy = dico.DiCo(nn.Linear(OBS, ACT), network(), 0.7, n_agents=AGENTS)
    policy(torch.randn(5, AGENTS, OBS))  # acting is well defined
    with pytest.raises(ValueError, match=r"looks at several rows at once, as a GNN does: give one network for each"):
        getattr(policy, call)(torch.randn(5, AGENTS, OBS))


def test_one_module_that_treats_rows_one_by_one_is_taken_in_training_mode_too():
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.drop = nn.Parameter(torch.randn(AGENTS, OBS, ACT)), nn.Dropout(0.5)

        def forward(self, obs):
            return self.drop(torch.einsum("...ni,nio->...no", obs, self.weight))

    module = Rows()
    policy = dico.DiCo(nn.Linear(OBS, ACT), module, 0.7, n_agents=AGENTS)
    assert policy.forward_and_estimate(torch.randn(5, AGENTS, OBS)).params.shape == (5, AGENTS, ACT)
    assert module.drop.training
    assert not mixes_rows(module, torch.randn(5, AGENTS, OBS))
