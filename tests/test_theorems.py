"""The paper's theorems, named after their labels, to 1e-9 in float64."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dico
from dico.kinds import KINDS

seeds = st.integers(0, 2**31)
agents = st.integers(2, 12)
members = st.sampled_from([(), (3,), (2, 2)])
kinds = st.sampled_from(list(KINDS))
diversities = st.floats(1e-3, 1e3)


def team(seed, n, kind="deterministic", constraint=1.0, **options):
    """A policy in float64, exact on each batch, and a batch."""
    torch.manual_seed(seed)
    options = {"tau": 1.0, "hidden": (8,)} | options
    policy = dico.DiCo.mlp(n, 3, 2, constraint, kind=kind, **options).double()
    return policy, torch.randn(*policy.members, 4, n, 3, dtype=torch.float64)


def committed(policy, obs):
    policy.commit_(policy.estimate(obs))
    return policy.everyone(obs)


def close(actual, expected):
    torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=torch.float64), rtol=1e-9, atol=0)


@given(seeds, agents, kinds, members, diversities)
def test_thm_scaling_diversity_equals_the_desired_value(seed, n, kind, members, desired):
    policy, obs = team(seed, n, kind, desired, members=members)
    close(dico.snd(committed(policy, obs)), torch.full(members, desired, dtype=torch.float64))


@given(seeds, agents, kinds, st.sampled_from(["0.4", ">=0.4", "<=0.4", "0.2..0.4", "free"]), st.floats(0.01, 3))
def test_thm_scaling_for_every_constraint(seed, n, kind, text, size):
    """Diversity after scaling is g of diversity before."""
    policy, obs = team(seed, n, kind, text)
    with torch.no_grad():
        policy.deviations.mlp[-1].weight.mul_(size)
        before = policy.estimate(obs)
    lo, hi = {"0.4": (0.4, 0.4), ">=0.4": (0.4, 9e9), "<=0.4": (0, 0.4), "0.2..0.4": (0.2, 0.4), "free": (0, 9e9)}[text]
    close(dico.snd(committed(policy, obs)), before.clamp(lo, hi))


@given(seeds, agents, st.lists(diversities, min_size=3, max_size=3))
def test_thm_scaling_for_members_with_constraints_of_their_own(seed, n, desired):
    policy, obs = team(seed, n, "shared_std", dico.equal(desired), members=(3,))
    close(dico.snd(committed(policy, obs)), desired)


def test_thm_scaling_for_a_function_g():
    policy, obs = team(0, 3, constraint=lambda x: 0.1 + x.square())
    before = policy.estimate(obs)
    close(dico.snd(committed(policy, obs)), 0.1 + before.square())


@given(seeds, agents, kinds, st.sampled_from(list(dico.METRICS)), members, diversities)
def test_thm_general_metric(seed, n, kind, name, members, desired):
    policy, obs = team(seed, n, kind, desired, metric=name, members=members)
    close(dico.METRICS[name].fn(committed(policy, obs)), torch.full(members, desired, dtype=torch.float64))


@given(seeds, agents, kinds, st.sampled_from(list(dico.METRICS)), st.sampled_from([">=0.4", "<=0.4", "0.2..0.4"]))
def test_thm_general_metric_for_bounds(seed, n, kind, name, text):
    policy, obs = team(seed, n, kind, text, metric=name)
    bound = policy.constraint
    before = policy.estimate(obs).clamp(bound.lo, bound.hi)
    close(dico.METRICS[name].fn(committed(policy, obs)), before)


@given(seeds, agents, diversities, st.floats(0.5, 3))
def test_thm_general_metric_of_any_degree(seed, n, desired, degree):
    metric = dico.Metric(lambda params: dico.snd(params) ** degree, degree)
    policy, obs = team(seed, n, constraint=desired, metric=metric)
    close(metric.fn(committed(policy, obs)), desired)


@given(seeds, agents, st.integers(1, 3), st.sampled_from(list(dico.METRICS)), st.floats(1e-3, 1e3))
def test_registered_degrees_are_true(seed, n, d, name, c):
    """M(shared + c deviations) = c^p M(deviations)."""
    torch.manual_seed(seed)
    metric = dico.METRICS[name]
    shared, deviations = torch.randn(5, 1, d).double(), torch.randn(5, n, d).double()
    torch.testing.assert_close(
        metric.fn(shared + c * deviations), c**metric.degree * metric.fn(deviations), rtol=1e-8, atol=0
    )


def test_the_determinant_itself_is_of_degree_n():
    """The paper suggests it as it is (app:general_metric); its root is what has degree 1."""
    x = torch.randn(5, 4, 2).double()
    det = lambda x: torch.linalg.det(dico.metrics.behavioural_distances(x)).abs()  # noqa: E731
    close(det(3 * x) / det(x), 3.0**4)


@given(seeds, st.integers(1, 4))
def test_eq_wasserstein_closed_form_equals_the_formula_for_full_matrices(seed, m):
    torch.manual_seed(seed)
    mean, std = torch.randn(2, m).double(), torch.rand(2, m).double() + 0.1

    def root(matrix):
        values, vectors = torch.linalg.eigh(matrix)
        return vectors @ torch.diag(values.clamp_min(0).sqrt()) @ vectors.mT

    # rotate both Gaussians: the distance stays, and the matrices are no longer diagonal
    rotation = torch.linalg.qr(torch.randn(m, m).double())[0]
    a, b = (rotation @ torch.diag(s.square()) @ rotation.mT for s in std)
    trace = torch.trace(a + b - 2 * root(root(b) @ a @ root(b)))
    general = ((rotation @ (mean[0] - mean[1])).square().sum() + trace).sqrt()
    torch.testing.assert_close(dico.pairwise_w2(torch.cat((mean, std), -1)), general[None], rtol=1e-7, atol=1e-9)


@given(seeds, agents, kinds)
def test_desired_zero_is_exactly_the_shared_policy(seed, n, kind):
    policy, obs = team(seed, n, kind, 0.0)
    policy.commit_(policy.estimate(obs))
    assert torch.equal(policy(obs), policy.kind.homogeneous(policy.shared(obs)))


@given(seeds, agents, kinds, st.floats(0, 1))
def test_free_is_exactly_shared_plus_deviation(seed, n, kind, tau):
    policy, obs = team(seed, n, kind, "free", tau=tau)
    for _ in range(2):
        policy.commit_(policy.estimate(torch.randn_like(obs)))
    deviation = policy.kind.deviation(policy.deviations(obs))
    assert torch.equal(policy(obs), policy.kind.homogeneous(policy.shared(obs)) + deviation)


@pytest.mark.filterwarnings("ignore:a lone agent has no diversity:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constraint", [0.0, 0.5, "free"])
def test_one_agent_passes_through_unscaled(kind, constraint):
    """But for a desired 0, where the shared network acts alone; without it `agent_std_paper` would have no spread."""
    policy, obs = team(0, 1, kind, constraint)
    policy.commit_(policy.estimate(obs))
    alone = constraint == 0.0 and kind != "agent_std_paper"
    own = policy.kind.deviation(policy.deviations(obs))
    expected = policy.kind.homogeneous(policy.shared(obs)) + (torch.zeros_like(own) if alone else own)
    assert torch.equal(policy(obs), expected)
    assert torch.equal(policy.forward_and_estimate(obs).params, expected)


@given(seeds, agents, diversities)
def test_agent_std_never_falls_below_the_shared_std(seed, n, desired):
    policy, obs = team(seed, n, "agent_std", desired)
    policy.commit_(policy.estimate(obs))
    floor = policy.kind.homogeneous(policy.shared(obs))[..., 2:]
    assert (policy(obs)[..., 2:] >= floor).all()
    assert (floor > 0).all()


def test_the_papers_agent_std_vanishes_with_the_desired_diversity():
    policy, obs = team(0, 3, "agent_std_paper", 1e-6)
    policy.commit_(policy.estimate(obs))
    assert policy(obs)[..., 2:].max() < 1e-4
