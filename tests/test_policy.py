"""How the DiCo module behaves beyond its theorems: estimate, gradients, networks of any sort, state."""

import copy
from itertools import combinations, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import dico
from dico.kinds import KINDS
from dico.nets import AgentMLP, PerAgent, at_offsets

AGENTS, OBS, ACT = 3, 4, 2


def make(constraint=0.5, **options):
    torch.manual_seed(0)
    return dico.DiCo.mlp(AGENTS, OBS, ACT, constraint, hidden=(8,), **options).double()


def batch(*leading, seed=1):
    return torch.randn(*leading, AGENTS, OBS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def unscaled(policy, obs):
    """Diversity of the deviations alone, from the definition."""
    return dico.snd(policy.kind.deviation(policy.deviations.everyone(obs.reshape(-1, OBS))))


# the estimate


def test_first_estimate_is_the_first_batch_and_later_ones_move_by_tau():
    policy = make(tau=0.1)
    first, second = unscaled(policy, batch(16)), unscaled(policy, batch(16, seed=2))
    policy.commit_(policy.estimate(batch(16)))
    torch.testing.assert_close(policy.snd_hat, first)
    torch.testing.assert_close(policy.estimate(batch(16, seed=2)), 0.9 * first + 0.1 * second)


def test_initial_desired_starts_from_the_desired_value():
    """alg:cbd, lines 2 to 4; as in the original, the first training pass takes it as it is, and mixes nothing in."""
    policy = make(constraint=0.5, tau=0.1, initial="desired")
    snd_hat = policy.estimate(batch(16))
    assert snd_hat.item() == 0.5
    assert torch.autograd.grad(snd_hat, policy.deviations.parameters(), allow_unused=True)[0].abs().sum() == 0
    policy.commit_(snd_hat)
    expected = 0.9 * 0.5 + 0.1 * unscaled(policy, batch(16))
    torch.testing.assert_close(policy.estimate(batch(16)), expected)


@pytest.mark.parametrize("initial", ["batch", "desired"])
def test_an_estimate_of_just_now_is_updated_in_place_of_the_committed_one(initial):
    policy = make(tau=0.1, initial=initial)
    first, second = batch(16), batch(16, seed=2)
    kept = policy.estimate(first).detach()
    renewed = policy.estimate(second, current=kept)
    params, same = policy.forward_and_estimate(second, current=kept)
    policy.commit_(kept)
    torch.testing.assert_close(renewed, policy.estimate(second))
    torch.testing.assert_close(same, renewed)
    torch.testing.assert_close(params, policy(second, renewed))


@pytest.mark.parametrize("constraint", [0.5, ">=0.5", "<=0.5", "0.2..0.5", "free"])
def test_policies_are_unscaled_until_the_first_estimate(constraint):
    policy = make(constraint)
    assert policy.scale().item() == pytest.approx(1, abs=1e-6)


def test_initial_desired_of_bounds_is_the_bound():
    for text, start in ((">=0.4", 0.4), ("<=0.4", 0.4), ("0.2..0.4", 0.2), ("free", 1.0), ("0", 1.0)):
        assert make(text, initial="desired").snd_hat.item() == pytest.approx(start)


@pytest.mark.parametrize("constraint", ["0->1@100", "<=0->1@100"])
def test_a_desired_value_that_rises_from_zero_needs_no_estimate_to_be_small(constraint):
    """As in a group that is frozen from the start: an estimate of 0 would scale by a hundred million."""
    policy, obs = make(constraint), batch(64)
    policy.constraint.at_(1)
    assert policy.scale() <= 1
    assert dico.snd(policy.everyone(obs)) <= unscaled(policy, obs)


@pytest.mark.parametrize("initial", ["batch", "desired"])
def test_a_desired_value_that_rises_from_zero_is_met_from_the_first_estimate_on(initial):
    """There is no desired value that `initial` could start from."""
    policy, obs = make("0->1@100", initial=initial, tau=0.01), batch(64)
    for frames in (0, 1, 50):
        policy.constraint.at_(frames)
        policy.commit_(policy.estimate(obs))
        torch.testing.assert_close(dico.snd(policy.everyone(obs)).item(), frames / 100)


def test_agents_that_all_do_the_same_leave_the_estimate_as_it_was():
    """Last layers often start at zero; once they have moved, the desired value is met."""
    policy, obs = make(0.5, tau=0.3), batch(16)
    last = policy.deviations.mlp[-1]
    with torch.no_grad():
        for parameter in last.parameters():
            parameter.zero_()
    policy.commit_(policy.estimate(obs))
    assert not policy.has_estimate
    assert policy.scale() == 1
    torch.nn.init.normal_(last.weight)
    policy.commit_(policy.estimate(obs))
    assert policy.has_estimate
    torch.testing.assert_close(dico.snd(policy.everyone(obs)).item(), 0.5)


def test_only_commit_writes():
    policy = make()
    before = copy.deepcopy(policy.state_dict())
    obs = batch(16)
    policy(obs)
    policy.everyone(obs)
    policy.forward_and_estimate(obs)
    snd_hat = policy.estimate(obs)
    for name, value in policy.state_dict().items():
        assert torch.equal(value, before[name])
    policy.commit_(snd_hat)
    assert torch.equal(policy.snd_hat, snd_hat)


def test_the_observation_set_unifies_all_agents_and_all_leading_dimensions():
    policy = make(tau=1.0)
    obs = batch(4, 5)
    torch.testing.assert_close(policy.estimate(obs), policy.estimate(obs.reshape(-1, OBS)))
    assert policy.everyone(obs).shape == (4 * 5 * AGENTS, AGENTS, ACT)
    assert policy.everyone(obs[0, 0, 0]).shape == (1, AGENTS, ACT)


def test_everyone_holds_each_agents_own_output():
    policy = make()
    obs = batch(6)
    everyone = policy.everyone(obs).reshape(6, AGENTS, AGENTS, ACT)
    own = torch.stack([everyone[:, i, i] for i in range(AGENTS)], 1)
    torch.testing.assert_close(own, policy(obs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_estimates_from_some_agents_average_to_that_from_all(kind, n):
    torch.manual_seed(0)
    policy = dico.DiCo.mlp(n, OBS, ACT, 0.5, kind=kind, hidden=(8,), tau=1.0).double()
    obs = torch.randn(7, n, OBS, dtype=torch.float64)
    parameters = list(policy.deviations.parameters())
    expected = policy.estimate(obs)
    gradients = torch.autograd.grad(expected, parameters)
    for k in range(2, n + 1):
        every = [torch.tensor(offsets).expand(7, k) for offsets in combinations(range(n), k)]
        mean = torch.stack([policy.estimate(obs, offsets) for offsets in every]).mean()
        torch.testing.assert_close(mean, expected)
        torch.testing.assert_close(torch.autograd.grad(mean, parameters), gradients)


@pytest.mark.parametrize("networks", ["stacked", "any"])
def test_each_row_is_seen_by_the_agents_at_its_offsets(networks):
    torch.manual_seed(0)
    nets = AgentMLP(5, OBS, ACT, (8,)) if networks == "stacked" else PerAgent([nn.Linear(OBS, ACT) for _ in range(5)])
    obs, offsets = torch.randn(3, 4, 5, OBS), torch.randint(5, (3, 4, 2))
    some, all_of_them = at_offsets(nets, obs, offsets), nets.everyone(obs)
    for a, b, row in product(range(3), range(4), range(5)):
        agents = (row + offsets[a, b]) % 5
        torch.testing.assert_close(some[a, b, row], all_of_them[a, b, row, agents])


def test_networks_that_look_at_the_whole_team_are_shown_it_all_the_same():
    class Mixing(nn.Linear):
        def forward(self, obs):
            return super().forward(obs) + obs.cumsum(-2)[..., :ACT]

    nets = PerAgent([Mixing(OBS, ACT) for _ in range(5)])
    obs, offsets = torch.randn(6, 5, OBS), torch.tensor([[0, 3], [1, 2], [4, 0], [2, 1], [3, 4], [0, 1]])
    some, all_of_them = at_offsets(nets, obs, offsets), nets.everyone(obs)
    for team, row in product(range(6), range(5)):
        torch.testing.assert_close(some[team, row], all_of_them[team, row, (row + offsets[team]) % 5])


@pytest.mark.unchecked
@pytest.mark.parametrize(
    "offsets",
    [
        torch.zeros(2, dtype=torch.int64),
        torch.zeros(6, 2),
        torch.zeros(6, 2, dtype=torch.bool),
        torch.zeros(6, 1, dtype=torch.int64),
        torch.zeros((), dtype=torch.int64),
        [[0, 1]] * 6,
    ],
    ids=str,
)
def test_offsets_are_integers_for_each_team(offsets):
    with pytest.raises(ValueError, match=r"offsets must be integers \(6, k\), k at least 2, got"):
        make().estimate(batch(6), offsets)


@pytest.mark.unchecked
def test_offsets_are_for_a_mean_over_pairs():
    with pytest.raises(ValueError, match="offsets must be left out for this metric"):
        make(metric="hse").estimate(batch(6), torch.zeros(6, 2, dtype=torch.int64))


def test_a_metric_of_ones_own_may_be_a_mean_over_pairs():
    """What counts is what a metric says of itself, not which object it is."""
    obs, every = batch(7), [torch.tensor(pair).expand(7, 2) for pair in combinations(range(AGENTS), 2)]
    squared = dico.Metric(lambda params: dico.pairwise_w2(params).square().mean((-2, -1)), degree=2, of_pairs=True)
    for metric in (dico.Metric(dico.snd, of_means=True, of_pairs=True), squared):
        policy = make(metric=metric, tau=1.0)
        mean = torch.stack([policy.estimate(obs, offsets) for offsets in every]).mean()
        torch.testing.assert_close(mean, policy.estimate(obs))
    equal = make(metric=dico.Metric(dico.snd, of_means=True, of_pairs=True))
    torch.testing.assert_close(equal.estimate(obs, every[0]), make().estimate(obs, every[0]))


def test_out_of_reach_is_told_of_a_metric_equal_to_snd():
    box = {"low": [-1, -1], "high": [1, 1]}
    with pytest.warns(UserWarning, match="6 is out of reach"):
        make(6, metric=dico.Metric(dico.snd), **box)
    make(6, metric="max", **box)  # whose bound is not known


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gradient", ["soft", "detached", "straight_through"])
def test_one_pass_equals_estimate_then_forward(kind, gradient):
    policy = make(kind=kind, gradient=gradient)
    policy.commit_(policy.estimate(batch(8, seed=3)))
    obs = batch(16)
    snd_hat = policy.estimate(obs)
    torch.testing.assert_close(tuple(policy.forward_and_estimate(obs)), (policy(obs, snd_hat), snd_hat))


@pytest.mark.parametrize("members", [(), (2,)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gradient", ["soft", "detached", "straight_through"])
def test_one_pass_on_other_observations_equals_estimate_then_forward(kind, gradient, members):
    policy = make(kind=kind, gradient=gradient, members=members)
    policy.commit_(policy.estimate(batch(*members, 8, seed=3)))
    obs, others = batch(*members, 16), batch(*members, 5, 2, seed=4)
    snd_hat = policy.estimate(others)
    apart, together = (policy(obs, snd_hat), snd_hat), policy.forward_and_estimate(obs, on=others)
    torch.testing.assert_close(tuple(together), apart)
    weights = list(policy.parameters())
    for outputs in zip(together, apart, strict=True):
        found, expected = (
            torch.autograd.grad(out.sum(), weights, retain_graph=True, allow_unused=True, materialize_grads=True)
            if out.requires_grad
            else []
            for out in outputs
        )
        torch.testing.assert_close(found, expected)


def test_networks_of_your_own_are_measured_on_other_observations_too():
    policy = dico.DiCo(nn.Linear(OBS, ACT), [nn.Linear(OBS, ACT) for _ in range(AGENTS)], 0.3)
    obs, others = torch.randn(16, AGENTS, OBS), torch.randn(8, AGENTS, OBS)
    params, snd_hat = policy.forward_and_estimate(obs, on=others)
    assert torch.equal(snd_hat, policy.estimate(others))
    assert torch.equal(params, policy(obs, snd_hat))


def test_one_pass_never_computes_a_network_on_an_observation_twice():
    class Counting(nn.Linear):
        rows = 0

        def forward(self, obs):
            self.rows += obs[..., 0].numel()
            return super().forward(obs)

    networks = [Counting(OBS, ACT) for _ in range(AGENTS)]
    policy = dico.DiCo(nn.Linear(OBS, ACT), networks, 0.5)
    policy.forward_and_estimate(torch.randn(16, AGENTS, OBS))
    assert [net.rows for net in networks] == [16 * AGENTS] * AGENTS  # each observation once, its own among them


# gradients


@given(st.floats(0, 1))
def test_soft_gradient_keeps_one_minus_tau_of_the_radial_part(tau):
    """Growing all deviations by a common factor changes the loss as if 1 - tau of it were not scaled away."""
    fraction = radial_gradient(make(tau=tau)) / radial_gradient(make(gradient="detached"))
    assert fraction == pytest.approx(1 - tau, abs=1e-9)


def test_straight_through_removes_the_radial_part_and_keeps_the_value():
    assert radial_gradient(make(tau=0.01, gradient="straight_through")) == pytest.approx(0, abs=1e-12)
    soft, straight = make(tau=0.01), make(tau=0.01, gradient="straight_through")
    for policy in (soft, straight):
        policy.commit_(policy.estimate(batch(8, seed=5)))
    torch.testing.assert_close(straight.estimate(batch(8)), soft.estimate(batch(8)))


def radial_gradient(policy):
    """Derivative of a loss by the common size of all deviations, from a settled estimate."""
    obs, target = batch(16), torch.ones(ACT, dtype=torch.float64)
    policy.commit_(unscaled(policy, obs))
    params, _ = policy.forward_and_estimate(obs)
    (params - target).square().mean().backward()
    last = policy.deviations.mlp[-1]
    return sum((p.grad * p.detach()).sum().item() for p in (last.weight, last.bias))


@given(st.sampled_from(["soft", "detached", "straight_through"]), st.floats(0.01, 1), st.floats(1.05, 20), st.data())
def test_an_inequality_lets_the_deviations_back_inside(gradient, tau, beyond, data):
    """Outside a bound, a loss that pulls inside moves the deviations' length in full, one that pushes out no more.

    By the common size of all deviations, a loss on the scaled ones falls if they shrink (+1) or grow (-1).
    """
    reference = make("free")
    size = unscaled(reference, batch(16)).item()
    above = data.draw(st.booleans())
    bound = size / beyond if above else size * beyond
    inward = 1 if above else -1
    constraints = [f"<={bound}", f"{bound / 2}..{bound}"] if above else [f">={bound}", f"{bound}..{2 * bound}"]
    constraint = data.draw(st.sampled_from(constraints))
    found = {direction: pull(make(constraint, gradient=gradient, tau=tau), direction) for direction in (1, -1)}
    full = {direction: pull(make(constraint, gradient="detached", tau=tau), direction) for direction in (1, -1)}
    assert full[inward] * inward > 0
    assert found[inward] == pytest.approx(full[inward], rel=1e-9)
    left = {"soft": 1 - tau, "detached": 1.0, "straight_through": 0.0}[gradient]
    assert found[-inward] == pytest.approx(left * full[-inward], abs=1e-9 * abs(full[inward]))
    equality = make(bound, gradient=gradient, tau=tau)  # which has no inside
    assert pull(equality, inward) == pytest.approx(left * full[inward], abs=1e-9 * abs(full[inward]))


@given(st.sampled_from(["soft", "detached", "straight_through"]), st.floats(1.05, 20))
def test_within_its_bounds_an_inequality_is_free(gradient, factor):
    size = unscaled(make("free"), batch(16)).item()
    for text in (f">={size / factor}", f"<={size * factor}", f"{size / factor}..{size * factor}"):
        policy = make(text, gradient=gradient)
        assert pull(policy, 1) == pytest.approx(pull(make("free", gradient="detached"), 1), rel=1e-9)
        assert policy.scale().item() == pytest.approx(1, abs=1e-12)


def test_each_member_is_let_inside_by_itself():
    """Of four members above their bounds, two are pulled inside; an equality and a free one are as they were."""
    members = dico.stack_constraints([dico.parse_constraint(text) for text in ("<=0.01", "<=0.01", "0.01", "free")])
    policy = make(members, gradient="straight_through", members=(4,))
    obs = batch(16).expand(4, -1, -1, -1)
    policy.commit_(policy.estimate(obs))
    params, _ = policy.forward_and_estimate(obs)
    apart = (params - policy.shared(obs)).square().flatten(1).mean(1)
    (torch.tensor([1, -1, 1, 1]) * apart).sum().backward()
    last = policy.deviations.mlp[-1]
    radial = sum((p.grad * p.detach()).flatten(1).sum(1) for p in (last.weight, last.bias))
    assert (radial[[0, 3]] > 1e-6).all()
    assert (radial[[1, 2]].abs() < 1e-12).all()


def pull(policy, direction):
    """Derivative, by the common size of all deviations, of a loss that falls as the scaled ones shrink or grow."""
    obs = batch(16)
    policy.commit_(unscaled(policy, obs))
    params, _ = policy.forward_and_estimate(obs)
    (direction * (params - policy.shared(obs)).square().mean()).backward()
    last = policy.deviations.mlp[-1]
    return sum((p.grad * p.detach()).sum().item() for p in (last.weight, last.bias))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gradient", ["soft", "detached", "straight_through"])
@pytest.mark.parametrize("metric", dico.METRICS)
@pytest.mark.parametrize("coincide", ["two", "all"])
def test_finite_gradients_where_agents_coincide(kind, gradient, metric, coincide):
    policy = make(kind=kind, gradient=gradient, metric=metric, tau=0.5)
    with torch.no_grad():
        for p in policy.deviations.parameters():
            p[1 if coincide == "two" else slice(1, None)] = p[0]
    params, snd_hat = policy.forward_and_estimate(batch(16))
    policy.commit_(snd_hat)
    params.square().mean().backward()
    assert params.isfinite().all()
    assert all(p.grad.isfinite().all() for p in policy.parameters())


def test_committing_before_backward_leaves_the_gradient_alone():
    gradients = []
    for early in (True, False):
        policy = make(tau=0.3)
        policy.commit_(policy.estimate(batch(8)))
        params, snd_hat = policy.forward_and_estimate(batch(16, seed=4))
        if early:
            policy.commit_(snd_hat)
        params.square().mean().backward()
        gradients.append([p.grad for p in policy.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=0)


# networks of any sort


class MessagePassing(nn.Module):
    """A graph network over the team: each agent hears the mean of the others."""

    def __init__(self):
        super().__init__()
        self.own, self.heard = nn.Linear(OBS, ACT), nn.Linear(OBS, ACT)

    def forward(self, obs):
        others = (obs.sum(-2, keepdim=True) - obs) / (obs.shape[-2] - 1)
        return self.own(obs) + self.heard(others)


class Recurrent(nn.Module):
    """A GRU over time: (batch, time, n, o) -> (batch, time, n, d)."""

    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(OBS, 8, batch_first=True), nn.Linear(8, ACT)

    def forward(self, obs):
        sequences = obs.movedim(-2, 1).flatten(0, 1)
        out = self.head(self.gru(sequences)[0])
        return out.unflatten(0, (obs.shape[0], obs.shape[-2])).movedim(1, -2)


@pytest.mark.parametrize("network", [MessagePassing, Recurrent])
def test_graph_and_recurrent_networks_meet_the_desired_diversity(network):
    torch.manual_seed(0)
    policy = dico.DiCo(network(), [network() for _ in range(AGENTS)], 0.7, tau=1.0).double()
    obs = batch(5, 6)
    params, snd_hat = policy.forward_and_estimate(obs)
    policy.commit_(snd_hat)
    torch.testing.assert_close(policy(obs), params)
    assert dico.snd(policy.everyone(obs)).item() == pytest.approx(0.7, rel=1e-9)
    own = torch.stack([policy.deviations.networks[i](obs)[..., i, :] for i in range(AGENTS)], -2)
    torch.testing.assert_close(policy(obs), policy.shared(obs) + policy.scale() * own)


def test_a_module_without_everyone_is_shown_each_row_n_times():
    class Batched(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(AGENTS, OBS, ACT))

        def forward(self, obs):
            return torch.einsum("...ni,nio->...no", obs, self.weight)

    policy = dico.DiCo(nn.Linear(OBS, ACT), Batched(), 0.7, tau=1.0, n_agents=AGENTS).double()
    params, snd_hat = policy.forward_and_estimate(batch(9))
    policy.commit_(snd_hat)
    torch.testing.assert_close(policy(batch(9)), params)
    assert dico.snd(policy.everyone(batch(9))).item() == pytest.approx(0.7, rel=1e-9)


def test_networks_that_see_themselves_equal_networks_that_see_the_team():
    networks = [nn.Linear(OBS, ACT) for _ in range(AGENTS)]
    obs = torch.randn(5, AGENTS, OBS)
    team, alone = dico.PerAgent(networks), dico.PerAgent(networks, sees="self")
    torch.testing.assert_close(team(obs), alone(obs))
    torch.testing.assert_close(team.everyone(obs), alone.everyone(obs))


def test_mlps_equal_one_network_per_agent():
    policy = make()
    obs = batch(7)
    for i in range(AGENTS):
        x = obs[:, i]
        for layer in policy.deviations.mlp:
            x = x @ layer.weight[i] + layer.bias[i] if hasattr(layer, "weight") else layer(x)
        torch.testing.assert_close(policy.deviations(obs)[:, i], x)


def test_initial_weights_are_distributed_as_torchs_linear():
    policy = dico.DiCo.mlp(50, 16, 2, 0.5)
    weight = policy.deviations.mlp[0].weight
    assert weight.abs().max() <= 1 / 4
    assert weight.std().item() == pytest.approx(1 / 4 / 3**0.5, rel=0.02)


def test_a_population_equals_its_members():
    population = make(constraint=dico.equal([0.2, 0.9]), members=(2,), tau=[0.1, 1.0])
    obs = batch(2, 8)
    population.commit_(population.estimate(obs))
    params, snd_hat = population.forward_and_estimate(batch(2, 8, seed=7))
    for k, (desired, tau) in enumerate([(0.2, 0.1), (0.9, 1.0)]):
        member = make(constraint=desired, tau=tau)
        with torch.no_grad():
            for p, stacked in zip(member.parameters(), population.parameters(), strict=True):
                p.copy_(stacked[k])
        member.commit_(member.estimate(obs[k]))
        alone = member.forward_and_estimate(batch(2, 8, seed=7)[k])
        torch.testing.assert_close((params[k], snd_hat[k]), tuple(alone))


# the box


@pytest.mark.parametrize("kind", KINDS)
def test_squashing_brings_the_shared_mean_into_the_box(kind):
    low, high = [-1, 2], [3, 2.5]
    policy = make(0.0, kind=kind, low=low, high=high, squash_shared=True)
    plain = make(0.0, kind=kind)
    obs = 100 * batch(50)
    mean, rest = policy(obs).tensor_split([ACT], -1)
    raw, raw_rest = plain(obs).tensor_split([ACT], -1)
    low, high = torch.tensor(low), torch.tensor(high)
    assert ((mean >= low) & (mean <= high)).all()
    torch.testing.assert_close(mean, low + (high - low) * (raw.tanh() + 1) / 2)
    torch.testing.assert_close(rest, raw_rest)


def test_a_lone_agent_is_told_that_it_has_no_diversity():
    with pytest.warns(UserWarning, match=r"a lone agent has no diversity: the desired 0\.3 changes nothing"):
        policy = dico.DiCo.mlp(1, OBS, ACT, 0.3)
    assert policy.scale() == 1
    for constraint, scale in ((0, 0), ("free", 1), ("<=0.5", 1)):  # nothing is desired, and nothing is said
        lone = dico.DiCo.mlp(1, OBS, ACT, constraint, tau=1.0)
        obs = torch.randn(8, 1, OBS)
        lone.commit_(lone.estimate(obs))
        assert lone.scale() == scale
        if scale == 0:
            torch.testing.assert_close(lone(obs), lone.shared(obs))


def test_out_of_reach_is_warned_of_not_forbidden():
    box = {"low": [-1, -1], "high": [1, 1]}
    with pytest.warns(UserWarning, match=r"6 is out of reach.*2\.276"):
        dico.DiCo.mlp(4, OBS, ACT, 6.0, **box)
    dico.DiCo.mlp(4, OBS, ACT, 2.2, **box)
    dico.DiCo.mlp(4, OBS, ACT, 6.0, kind="agent_std", **box)


# state


def test_state_dict_carries_estimate_and_constraint():
    policy = make()
    policy.commit_(policy.estimate(batch(8)))
    other = make(constraint=0.1)
    other.load_state_dict(policy.state_dict())
    assert torch.equal(other(batch(4)), policy(batch(4)))
    assert other.has_estimate
    assert other.constraint.texts() == ["0.5"]


def test_mixed_precision_measures_in_full_precision():
    policy = dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, tau=1.0)
    with torch.autocast("cpu", torch.bfloat16):
        params, snd_hat = policy.forward_and_estimate(torch.randn(8, AGENTS, OBS))
    assert snd_hat.dtype == torch.float32
    assert params.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounded_networks_leave_the_control_in_full_precision(dtype):
    policy = dico.DiCo.mlp(AGENTS, OBS, ACT, 0.3, hidden=(8,), low=[-1, -1], high=[1, 1], squash_shared=True).to(dtype)
    obs = torch.randn(64, AGENTS, OBS, dtype=dtype)
    for _ in range(3):
        params, snd_hat = policy.forward_and_estimate(obs)
        policy.commit_(snd_hat)
    assert params.dtype == dtype
    assert policy.snd_hat.dtype == torch.float32
    assert policy.constraint.lo.item() == 0.3
    assert dico.snd(policy.everyone(obs).float()).item() == pytest.approx(0.3, rel=0.02)


def test_an_observation_that_is_not_finite_leaves_the_estimate_as_it_was():
    policy = make(tau=0.5)
    policy.commit_(policy.estimate(batch(8)))
    before = policy.snd_hat.clone()
    policy.commit_(policy.estimate(batch(8) * torch.nan))
    assert torch.equal(policy.snd_hat, before)


@pytest.mark.unchecked
def test_numpy_is_understood():
    import numpy as np

    box = np.array([-1, -1], np.float32), np.array([1, 1], np.float32)
    policy = dico.DiCo.mlp(np.int64(3), OBS, ACT, dico.equal(np.float32(0.5)), low=box[0], high=box[1])
    assert policy.constraint.texts() == ["0.5"]
    assert dico.max_snd(2, *box).value == pytest.approx(8**0.5)


def test_survives_copying_and_pickling(tmp_path):
    policy = make()
    policy.commit_(policy.estimate(batch(8)))
    torch.save(policy, tmp_path / "policy.pt")
    again = torch.load(tmp_path / "policy.pt", weights_only=False)
    for other in (again, copy.deepcopy(policy)):
        assert torch.equal(other(batch(4)), policy(batch(4)))
