"""Analytical DiCo (app:finn): the desired diversity over a whole box, at the start and whatever has been learned."""

import copy
import re
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, stack_module_state, vmap

import dico
from dico import AnalyticalDiCo, snd_at
from dico.analytical import DENSITIES, Density, box_snd
from dico.density import AutoregressiveDensity
from dico.finn import FixedIntegralNetwork

AGENTS, OBS, ACT = 3, 4, 2
LOW, HIGH = [-1.0, 0.0, -2.0, 5.0], [1.0, 3.0, 2.0, 5.5]
KINDS = ["deterministic", "shared_std", "agent_std"]
METHODS = ["forward", "everyone", "forward_and_estimate"]
FINN = ["finn", "finn-signed"]
densities = pytest.mark.parametrize("density", DENSITIES)


def make(constraint=0.5, n=AGENTS, learned=True, **options):
    """Of float64, with a density that is not uniform."""
    torch.manual_seed(0)
    options = {"hidden": (8,), "obs_low": LOW, "obs_high": HIGH} | options
    policy = AnalyticalDiCo.mlp(n, OBS, ACT, constraint, **options)
    if learned:
        make_uneven_(policy.density)
    return policy.double()


@torch.no_grad()
def make_uneven_(density):
    """As if learned: all densities start as good as uniform."""
    if isinstance(density, FixedIntegralNetwork):
        density.logits.zero_()
        return
    for parameter in density.mlp[-1].parameters():
        parameter.normal_(0, 0.1)


def batch(*shape, seed=1, n=AGENTS):
    """Observations in the box."""
    low, high = torch.tensor(LOW, dtype=torch.float64), torch.tensor(HIGH, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    return low + (high - low) * torch.rand(*shape, n, OBS, generator=generator, dtype=torch.float64)


def train(policy, steps, optimiser=None):
    """A few steps towards actions that differ most along a diagonal."""
    optimiser = optimiser or torch.optim.Adam(policy.parameters(), 1e-3)
    signs = torch.linspace(-1, 1, policy.n_agents)[:, None]
    for k in range(steps):
        obs = batch(64, seed=k, n=policy.n_agents).to(policy.snd_hat.dtype)
        params, snd_hat = policy.forward_and_estimate(obs)
        wanted = 3 * signs * torch.exp(-3 * (obs[..., :1] - obs[..., 1:2]).square())
        optimiser.zero_grad()
        (params[..., :ACT] - wanted).square().mean().backward()
        optimiser.step()
        policy.commit_(snd_hat)
    return policy


def first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


# the diversity


@pytest.mark.parametrize("desired", [0.1, 1.0])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_thm_finn_diversity_over_the_box_is_the_desired_one(n, desired):
    """In single precision, with the paper's activations and initial weights."""
    policy = make(desired, n, learned=False, hidden=(64, 64)).float()
    assert box_snd(policy, 2**16).item() == pytest.approx(desired, rel=1e-5)
    train(policy, 60)
    assert policy.allocated(batch(500).float()).std() > 0.1  # some of it has been placed
    assert box_snd(policy, 2**16).item() == pytest.approx(desired, rel=1e-4)


@pytest.mark.parametrize("coordinates", [None, [3, 0, 2]])
def test_narrow_peaks_are_measured(coordinates):
    """Evenly spread points would miss a corner that has nearly all diversity: of the box it is a hundred-thousandth."""
    policy = make(0.3, members=(2,), coordinates=coordinates)
    with torch.no_grad():
        policy.density.mlp[-1].bias.zero_()[..., -1] = 8.0
    assert policy.allocated(policy.obs_high.expand(2, 1, -1)).min() > 3e3
    for seed in range(3):
        found = box_snd(policy, 2**10, seed)
        torch.testing.assert_close(found, torch.full_like(found, 0.3), rtol=1e-2, atol=0)


@pytest.mark.parametrize("desired", [0.1, 1.0])
def test_thm_finn_holds_with_the_papers_network(desired):
    policy = AnalyticalDiCo.mlp(2, 2, 2, desired, hidden=(16,), obs_low=[-1, -2], obs_high=[1, 3], density="finn")
    assert box_snd(policy).item() == pytest.approx(desired, rel=1e-4)
    learn = torch.optim.Adam(policy.parameters(), 1e-2)
    for _ in range(20):  # diversity is worth something at one side of the box
        obs = torch.rand(256, 2, 2) * torch.tensor([2.0, 5.0]) - torch.tensor([1.0, 2.0])
        learn.zero_grad()
        (-snd_at(policy.everyone(obs)) * obs.flatten(0, -2)[:, 0].exp()).mean().backward()
        learn.step()
    assert (policy.allocated(torch.tensor([[0.9, 0.0]])) > policy.allocated(torch.tensor([[-0.9, 0.0]]))).all()
    assert box_snd(policy, points=2**15).item() == pytest.approx(desired, rel=1e-3)


def test_the_points_over_the_box_follow_from_the_seed():
    policy = make()
    first, again, other = (box_snd(policy, 64, seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@given(st.integers(0, 2**31), st.integers(2, 6), st.sampled_from(KINDS), st.floats(1e-3, 1e3), st.floats(0.01, 100))
def test_at_each_observation_the_diversity_is_what_the_density_allots(seed, n, kind, desired, size):
    policy = make(desired, n, kind=kind)
    with torch.no_grad():
        policy.deviations.mlp[-1].weight.mul_(size)
        obs = 3 * batch(20, seed=seed, n=n)  # some of it outside the box
        natural = snd_at(policy._deviations_of_everyone(obs)).flatten()
        apart = natural > 1e-5
        assert apart.any()
        found, allotted = snd_at(policy.everyone(obs)), desired * policy.allocated(obs).flatten()
    torch.testing.assert_close(found[apart], allotted[apart], rtol=1e-6, atol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [">=0.5", "<=0.05", "0.2..0.3", "0.5", ">=0.01", "<=9"])
def test_inequalities_hold_over_the_box(text, kind):
    policy = make(text, kind=kind)
    lo, hi = policy.constraint.lo.item(), policy.constraint.hi.item()
    for _ in range(2):
        found = box_snd(policy, 2**12).item()
        assert lo * (1 - 0.01) <= found <= hi * (1 + 0.01)  # so few points know the density's mean to a percent
        train(policy, 3)


@pytest.mark.parametrize("text", [">=0.5", "<=0.05", "0.2..0.3"])
def test_within_its_bounds_at_an_observation_an_inequality_leaves_diversity_alone(text):
    policy, obs = make(text), batch(50)
    share, natural = policy.allocated(obs).flatten(), snd_at(policy._deviations_of_everyone(obs)).flatten()
    expected = natural.clamp(policy.constraint.lo * share, policy.constraint.hi * share)
    torch.testing.assert_close(snd_at(policy.everyone(obs)), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_desired_zero_is_exactly_the_shared_policy(kind):
    policy, obs = make(0.0, kind=kind), batch(16)
    expected = policy.kind.homogeneous(policy.shared(obs))
    assert torch.equal(policy(obs), expected)
    assert torch.equal(policy.forward_and_estimate(obs).params, expected)
    apart = policy.estimate(obs[:3])
    assert torch.equal(policy.forward_and_estimate(obs, on=obs[:3]).snd_hat, apart)


@pytest.mark.parametrize("kind", KINDS)
def test_free_is_exactly_shared_plus_deviation(kind):
    policy, obs = make("free", kind=kind), batch(16)
    deviation = policy.kind.deviation(policy.deviations(obs))
    torch.testing.assert_close(policy(obs), policy.kind.homogeneous(policy.shared(obs)) + deviation, rtol=0, atol=1e-14)


@pytest.mark.filterwarnings("ignore:a lone agent has no diversity:UserWarning")
@pytest.mark.parametrize("constraint", [0.0, 0.5, "free"])
def test_one_agent_passes_through_as_in_dico(constraint):
    policy, obs = make(constraint, 1), batch(16, n=1)
    expected = policy.shared(obs) + (0 if constraint == 0.0 else policy.deviations(obs))
    torch.testing.assert_close(policy(obs), expected)


@given(
    st.integers(0, 2**31), st.integers(2, 6), st.sampled_from(["0.01", "0.5", "3", ">=1", "<=0.1", "0.2..0.3"]),
    st.floats(0.01, 100), st.sampled_from(list(DENSITIES)),
)  # fmt: skip
def test_centring_leaves_the_team_s_mean_to_the_shared_policy_and_its_standard_deviation_as_the_least(
    seed, n, constraint, size, density
):
    """Of each component, somebody has the shared standard deviation and nobody less; means are around the shared."""
    policy = make(constraint, n, kind="agent_std", density=density, coordinates=[0, 2])
    obs = 3 * batch(8, seed=seed, n=n)  # some of it outside the box
    with torch.no_grad():
        policy.deviations.mlp[-1].weight.mul_(size)
        everyone, shared = policy.everyone(obs), policy.kind.homogeneous(policy.shared(obs)).flatten(0, -2)
        (mean, std), (shared_mean, shared_std) = everyone.chunk(2, -1), shared.chunk(2, -1)
        natural, share = snd_at(policy._deviations_of_everyone(obs)).flatten(), policy.allocated(obs).flatten()
        f = natural.clamp(policy.constraint.lo * share, policy.constraint.hi * share)
        rounding = 1e-12 * everyone.abs().amax(-2)
    assert f.std() > 0
    torch.testing.assert_close(snd_at(everyone), f, rtol=1e-6, atol=1e-12)
    assert ((mean.mean(-2) - shared_mean).abs() <= rounding[..., :ACT]).all()
    assert ((std.amin(-2) - shared_std).abs() <= rounding[..., ACT:]).all()


def test_the_names_in_signatures_are_those_of_the_densities():
    assert get_args(Density) == tuple(DENSITIES)


@given(st.integers(0, 2**31), st.floats(1e-2, 1e2))
def test_centring_bounds_how_far_an_agent_moves(seed, desired):
    """And no standard deviation falls below the shared one."""
    policy, obs = make(desired, 4, kind="agent_std"), batch(8, seed=seed, n=4)
    with torch.no_grad():
        for p in policy.deviations.parameters():
            p[1:] = p[:1] + 1e-4 * p[1:]  # nearly alike
        moved = policy(obs) - policy.kind.homogeneous(policy.shared(obs))
        mean, std = moved.chunk(2, -1)
        assert (mean.norm(dim=-1) <= 1.5 * desired * policy.allocated(obs) * (1 + 1e-9)).all()
        assert (std >= -1e-12).all()


# the calls


@pytest.mark.parametrize("kind", KINDS)
def test_forward_is_each_agents_own_entry_of_everyone(kind):
    policy, obs = make(kind=kind), batch(6)
    everyone = policy.everyone(obs).reshape(6, AGENTS, AGENTS, -1)
    own = torch.stack([everyone[:, i, i] for i in range(AGENTS)], 1)
    torch.testing.assert_close(policy(obs), own)
    torch.testing.assert_close(policy.forward_and_estimate(obs).params, own)


def test_the_estimate_is_dicos_and_changes_no_output():
    policy = make(tau=0.1)
    plain = dico.DiCo(policy.shared, policy.deviations, 0.5, tau=0.1).double()
    obs, before = batch(16), policy(batch(16))
    for each in (policy, plain):
        for seed in (1, 2):
            each.commit_(each.estimate(batch(16, seed=seed)))
    torch.testing.assert_close(policy.snd_hat, plain.snd_hat)
    torch.testing.assert_close(policy.scale(), plain.scale())
    weight = torch.arange(16.0).double()[:, None]
    expected = plain.estimate(obs, weight=weight)
    torch.testing.assert_close(policy.estimate(obs, weight=weight), expected)
    torch.testing.assert_close(policy.forward_and_estimate(obs, weight=weight).snd_hat, expected)
    assert not policy.estimate(obs).requires_grad
    torch.testing.assert_close(policy(obs), before)
    torch.testing.assert_close(policy(obs, torch.tensor(7.0).double()), before)


def test_only_commit_writes():
    policy, obs = make(), batch(16)
    before = copy.deepcopy(policy.state_dict())
    for method in (*METHODS, "estimate", "outside", "allocated"):
        getattr(policy, method)(obs)
    box_snd(policy, 64)
    for name, value in policy.state_dict().items():
        assert torch.equal(value, before[name])


def test_observations_outside_the_box_count_as_the_nearest_in_it():
    policy, inside = make(), batch(10)
    assert policy.outside(inside) == 0
    outside = inside.clone()
    outside[:5, :, 0] = 40.0
    corner = outside.clone()
    corner[:5, :, 0] = HIGH[0]
    assert policy.outside(corner) == 0
    assert policy.outside(outside) == 0.5
    torch.testing.assert_close(policy.allocated(outside), policy.allocated(corner))
    assert not torch.allclose(policy(outside), policy(corner))  # the networks see it as it is


def test_outside_is_counted_for_each_member():
    policy = make(members=(2,))
    obs = batch(2, 4)
    obs[1, :, 0] -= 100
    torch.testing.assert_close(policy.outside(obs), torch.tensor([0, 1 / 3]).double())


def test_the_density_may_depend_on_some_coordinates():
    policy, obs = make(coordinates=[3, 0]), batch(50)
    share, other = policy.allocated(obs), obs.clone()
    other[..., 1:3] = batch(50, seed=9)[..., 1:3]
    torch.testing.assert_close(policy.allocated(other), share)
    assert share.std() > 0.01
    low, high = policy.obs_low, policy.obs_high
    torch.testing.assert_close(policy.density(((obs - low) / (high - low))[..., [3, 0]]), share)  # in that order
    assert box_snd(policy).item() == pytest.approx(0.5, rel=2e-3)


def test_any_networks_and_any_density():
    networks = dico.PerAgent([nn.Linear(OBS, ACT) for _ in range(AGENTS)], sees="self")
    density = AutoregressiveDensity(OBS, bins=3, hidden=(5,))
    policy = AnalyticalDiCo(nn.Linear(OBS, ACT), networks, 0.7, obs_low=LOW, obs_high=HIGH, density=density)
    assert box_snd(policy, 2**10).item() == pytest.approx(0.7, rel=1e-4)
    policy(batch(5).float()).sum().backward()
    assert density.mlp[-1].bias.grad.abs().sum() > 0


# gradients


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constraint", ["0.5", "0", ">=0.5", "<=0.5", "free"])
@pytest.mark.parametrize("coincide", ["two", "all"])
def test_finite_gradients_where_agents_coincide(kind, constraint, coincide):
    policy = make(constraint, kind=kind).float()
    with torch.no_grad():
        for p in policy.deviations.parameters():
            p[1 if coincide == "two" else slice(1, None)] = p[0]
    for _ in range(2):
        policy.zero_grad()
        params, snd_hat = policy.forward_and_estimate(batch(16).float())
        policy.commit_(snd_hat)
        params.square().mean().backward()
        assert params.isfinite().all()
        assert all(p.grad.isfinite().all() for p in policy.parameters())


@pytest.mark.parametrize(("constraint", "least"), [(1.0, 0.99), (">=1", 0.99), ("<=1", 1e-3), ("free", 1e-3)])
def test_agents_that_coincide_can_come_apart(constraint, least):
    policy = make(constraint)
    with torch.no_grad():
        for p in policy.deviations.parameters():
            p[1:] = p[0]
    assert box_snd(policy, 64) < 1e-6
    train(policy, 3)
    assert least < box_snd(policy, 2**12).item() < (1.01 if constraint == 1.0 else 2.0)


def test_two_agents_with_one_action_can_change_sides():
    """The formula is a sign there, whose gradient is 0: they learn by the smoothing."""
    torch.manual_seed(0)
    policy = AnalyticalDiCo.mlp(2, 1, 1, 1.0, hidden=(16,), obs_low=[-1], obs_high=[1])
    optimiser = torch.optim.Adam(policy.parameters(), 1e-2)
    side = torch.tensor([[-0.5], [0.5]])
    for _ in range(200):
        obs = torch.rand(128, 2, 1) * 2 - 1
        params, snd_hat = policy.forward_and_estimate(obs)
        loss = (params - side * obs.sign()).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        policy.commit_(snd_hat)
    assert loss < 0.05  # 0.25 on the wrong side half of the time, at best
    assert box_snd(policy).item() == pytest.approx(1, rel=1e-4)


def test_where_agents_differ_the_gradient_is_the_formulas():
    policy, obs = make(kind="agent_std"), batch(16)
    policy.commit_(torch.tensor(1e-3).double())  # far below what they differ by
    deviations = policy._deviations_of_everyone(obs)
    assert snd_at(deviations).min() > 0.02
    common = torch.cat((deviations[..., :ACT].mean(-2, keepdim=True), deviations[..., ACT:].amin(-2, keepdim=True)), -1)
    factor = 0.5 * policy.allocated(obs) / snd_at(deviations)
    formula = policy._homogeneous(obs).unsqueeze(-2) + factor[..., None, None] * (deviations - common)
    parameters = list(policy.parameters())
    found, expected = (torch.autograd.grad(x.flatten(0, 1).cos().sum(), parameters) for x in (
        policy.everyone(obs).reshape(formula.shape), formula))  # fmt: skip
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)


def test_the_estimate_of_a_pass_is_what_smooths_its_gradient():
    policy, obs = make(tau=0.5), batch(16)
    policy.commit_(torch.tensor(10.0).double())
    apart = batch(3, seed=2)
    for options in ({}, {"on": apart}):
        params, snd_hat = policy.forward_and_estimate(obs, **options)
        found = gradients(params.square().sum(), policy)
        torch.testing.assert_close(found, gradients(policy(obs, snd_hat).square().sum(), policy))
        kept = gradients(policy(obs).square().sum(), policy)
        assert not all(torch.allclose(one, other) for one, other in zip(found, kept, strict=True))


@pytest.mark.parametrize(("text", "inward"), [("<=0.01", 1), (">=10", -1)])
def test_an_inequality_lets_the_deviations_back_inside(text, inward):
    """By the common size of all deviations, a loss falls if they shrink (+1) or grow (-1)."""

    def pull(constraint, direction):
        policy = make(constraint)
        policy.commit_(torch.tensor(1e-6).double())
        (direction * (policy(batch(16)) - policy.shared(batch(16))).square().mean()).backward()
        last = policy.deviations.mlp[-1]
        return sum((p.grad * p.detach()).sum().item() for p in (last.weight, last.bias))

    assert pull(text, inward) * inward > 1e-6
    assert pull(text, -inward) == pytest.approx(0, abs=1e-9)
    assert pull(text.strip("<>="), inward) == pytest.approx(0, abs=1e-9)  # an equality has no inside


# populations, state, compilation


def gradients(loss, policy):
    return torch.autograd.grad(loss, list(policy.parameters()), materialize_grads=True)


@densities
def test_a_population_equals_its_members(density):
    texts = ["0.2", "free", "0", ">=0.4", "<=0.1"]
    goals = dico.stack_constraints([dico.parse_constraint(t) for t in texts])
    population = make(goals, members=(5,), density=density)
    assert population.allocated(batch(5, 8)).std() > 0.05
    obs = batch(5, 8)
    population.commit_(population.estimate(batch(5, 8, seed=2)))
    outputs = [first(getattr(population, method)(obs)) for method in METHODS]
    slopes = [gradients(output.square().sum(), population) for output in outputs]
    over_box = box_snd(population, 256)
    for k, text in enumerate(texts):
        member = make(text, density=density)
        with torch.no_grad():
            for p, stacked in zip(member.parameters(), population.parameters(), strict=True):
                p.copy_(stacked[k])
        member.commit_(member.estimate(batch(5, 8, seed=2)[k]))
        for method, output, slope in zip(METHODS, outputs, slopes, strict=True):
            found = first(getattr(member, method)(obs[k]))
            torch.testing.assert_close(found, output[k])
            torch.testing.assert_close(gradients(found.square().sum(), member), tuple(each[k] for each in slope))
        torch.testing.assert_close(box_snd(member, 256), over_box[k])


@densities
def test_vmap_over_a_stacked_population_equals_a_loop_over_its_members(density):
    members = [make(text, density=density) for text in ("0.2", "0.1..0.3", "free")]
    obs = batch(3, 5)
    params, buffers = stack_module_state(members)
    together = vmap(lambda p, b, o: functional_call(members[0], (p, b), (o,)))(params, buffers, obs)
    alone = torch.stack([policy(o) for policy, o in zip(members, obs, strict=True)])
    torch.testing.assert_close(together, alone)


@densities
def test_state_dict_carries_box_density_and_constraint(density):
    policy = train(make(density=density), 2)
    other = make(constraint=0.1, learned=False, obs_low=[-9] * OBS, obs_high=[9] * OBS, density=density)
    torch.manual_seed(7)
    for module in other.modules():
        getattr(module, "reset_parameters", lambda: None)()
    assert not torch.allclose(other.allocated(batch(4)), policy.allocated(batch(4)))
    other.load_state_dict(policy.state_dict())
    assert torch.equal(other(batch(4)), policy(batch(4)))
    assert torch.equal(other.obs_low, policy.obs_low)
    assert torch.equal(copy.deepcopy(policy)(batch(4)), policy(batch(4)))


@pytest.mark.parametrize(("theirs", "ours"), [([0, 2], [0, 1]), ([0, 2], [2, 0]), ([1, 0, 2, 3], None), (None, [3, 2])])
def test_weights_of_other_coordinates_are_refused(theirs, ours):
    policy, other = make(coordinates=theirs), make(coordinates=ours, learned=False)
    told, wanted = theirs or list(range(OBS)), ours or list(range(OBS))
    for strict in (True, False):
        with pytest.raises(RuntimeError, match=re.escape(f"coordinates {told}, and this one is of {wanted}: make")):
            other.load_state_dict(policy.state_dict(), strict=strict)
    assert other.state_dict()["coordinates"].tolist() == wanted
    parent = torch.nn.ModuleDict({"team": other})
    with pytest.raises(RuntimeError, match="make the policy with coordinates="):
        parent.load_state_dict({f"team.{name}": value for name, value in policy.state_dict().items()})


@pytest.mark.parametrize("coordinates", [None, [2, 0]])
def test_weights_are_loaded_where_coordinates_are_the_same_or_not_told(coordinates):
    """Earlier versions did not save them."""
    policy, obs = make(coordinates=coordinates), batch(5)
    saved = policy.state_dict()
    untold = {name: value for name, value in saved.items() if name != "coordinates"}
    for state in (saved, untold):
        other = make(coordinates=coordinates, learned=False)
        assert not torch.equal(other(obs), policy(obs))
        other.load_state_dict(state)
        assert torch.equal(other(obs), policy(obs))
    assert "coordinates" in saved  # of which TorchRL's losses and their optimisers are not to know
    assert "coordinates" not in dict(make(coordinates=None).named_buffers())


@densities
def test_training_goes_on_exactly_from_a_saved_state(density, tmp_path):
    policy, again = (make(density=density, kind="shared_std", tau=0.1) for _ in range(2))
    optimiser = torch.optim.Adam(policy.parameters(), 1e-2)
    train(policy, 3, optimiser)
    torch.save({"policy": policy.state_dict(), "optimiser": optimiser.state_dict()}, tmp_path / "state.pt")
    train(policy, 3, optimiser)
    saved = torch.load(tmp_path / "state.pt", weights_only=True)
    continued = torch.optim.Adam(again.parameters(), 1e-2)
    again.load_state_dict(saved["policy"])
    continued.load_state_dict(saved["optimiser"])
    assert not torch.equal(again.allocated(batch(4)), policy.allocated(batch(4)))
    train(again, 3, continued)
    for name, value in again.state_dict().items():
        assert torch.equal(value, policy.state_dict()[name]), name


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounded_networks_leave_the_control_in_full_precision(dtype):
    policy, obs = make().to(dtype), batch(64).to(dtype)
    params = policy.forward_and_estimate(obs).params
    assert params.dtype == dtype
    assert policy.obs_low.dtype == policy.constraint.lo.dtype == torch.float64
    found, allotted = snd_at(policy.everyone(obs).float()), 0.5 * policy.allocated(obs).flatten()
    assert (found.mean() / allotted.mean()).item() == pytest.approx(1, rel=0.02)


def test_mixed_precision_measures_in_full_precision():
    policy = make().float()
    with torch.autocast("cpu", torch.bfloat16):
        params, snd_hat = policy.forward_and_estimate(batch(8).float())
    assert snd_hat.dtype == torch.float32
    assert params.isfinite().all()


@densities
@pytest.mark.parametrize("method", [*METHODS, "estimate"])
def test_runs_on_tensors_without_data(method, density):
    with FakeTensorMode():
        box = {"obs_low": LOW, "obs_high": HIGH, "low": [-1, -1], "high": [1, 1], "squash_shared": True}
        options = {"kind": "agent_std", "hidden": (8,), "coordinates": [0, 1], "density": density}
        policy = AnalyticalDiCo.mlp(AGENTS, OBS, ACT, 0.5, **options, **box)
        output = first(getattr(policy, method)(torch.randn(5, AGENTS, OBS)))
        if method != "estimate":
            output.sum().backward()
        policy.commit_(policy.estimate(torch.randn(5, AGENTS, OBS)))
    shapes = {"forward": (5, 3, 4), "estimate": (), "everyone": (15, 3, 4), "forward_and_estimate": (5, 3, 4)}
    assert output.shape == shapes[method]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    "options",
    [{"kind": kind} for kind in KINDS]
    + [{"members": (2,), "constraint": dico.stack_constraints([dico.equal(0.2), dico.free()])}]
    + [{"constraint": dico.at_most(0.01)}, {"coordinates": [1, 2]}]
    + [{"density": density, "coordinates": [0, 2, 1]} for density in FINN]
    + [{"density": density, "members": (2,), "constraint": dico.equal([0.2, 0.4])} for density in FINN],
    ids=str,
)
def test_compiles_as_one_graph_with_equal_values_and_gradients(options):
    torch.compiler.reset()
    policy = make(**options)
    obs = batch(*policy.members, 5)
    for method in (*METHODS, "estimate", "outside"):
        results = []
        for run in (
            getattr(policy, method),
            torch.compile(getattr(policy, method), fullgraph=True, backend="aot_eager"),
        ):
            policy.zero_grad()
            output = run(obs)
            if first(output).requires_grad:
                first(output).square().sum().backward()
            results.append((output, [p.grad for p in policy.parameters()]))
        torch.testing.assert_close(*results)


# bad input


CASES = {
    "box of the wrong size": ({"obs_low": [0] * 3, "obs_high": [1] * 3}, "obs_low and obs_high must hold obs_dim=4"),
    "corners of other sizes": ({"obs_low": [0] * 3}, "obs_low and obs_high must hold as many numbers as each other"),
    "low above high": ({"obs_low": [0, 0, 0, 6]}, "obs_low must be below obs_high, both finite, got obs_low=[0, 0"),
    "endless box": ({"obs_high": [1, 3, 2, float("inf")]}, "obs_low must be below obs_high, both finite"),
    "unknown density": ({"density": "autoregresive"}, "did you mean 'autoregressive'?"),
    "density of other coordinates": ({"density": AutoregressiveDensity(2)}, "density must be of 4 coordinates, as is"),
    "density of nothing": ({"density": None}, "density must be a module or one of 'autoregressive'"),
    "coordinates as a number": ({"coordinates": 1}, "coordinates must be different numbers from 0 to 3, got 1"),
    "coordinates outside": ({"coordinates": [0, 4]}, "coordinates must be different numbers from 0 to 3, got [0, 4]"),
    "coordinates twice": ({"coordinates": [0, 0]}, "coordinates must be different numbers"),
    "no coordinates": ({"coordinates": []}, "coordinates must be different numbers"),
    "std as published": ({"kind": "agent_std_paper"}, "got 'agent_std_paper'; did you mean 'agent_std'?"),
    "function g": ({"constraint": torch.relu}, "constraint must be bounds such as equal(0.3) for a box"),
    "other metric": ({"metric": "hse"}, "metric must be 'snd' for a box, got 'hse'; DiCo controls any other"),
}


@pytest.mark.unchecked
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_told_in_one_line(case):
    options, message = CASES[case]
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        make(**options)
    assert "\n" not in str(error.value)


@pytest.mark.unchecked
@pytest.mark.parametrize("density", FINN)
def test_a_network_with_too_many_inputs_names_the_ways_out(density):
    box = {"obs_low": [-1] * 7, "obs_high": [1] * 7, "density": density}
    message = f"density={density!r} takes at most 6 observed numbers, got 7: name some of them by coordinates, such as "
    with pytest.raises(ValueError, match=re.escape(message + "0 1, or take density='autoregressive'")):
        AnalyticalDiCo.mlp(2, 7, 2, 0.5, **box)
    few = AnalyticalDiCo.mlp(2, 7, 2, 0.5, coordinates=[0, 6], **box)
    assert few.density.inputs == 2


@pytest.mark.unchecked
def test_bad_observations_are_told():
    with pytest.raises(ValueError, match=re.escape("obs must have shape (..., 3, 4), got (5, 2, 4)")):
        make()(torch.zeros(5, 2, 4))
    with pytest.raises(ValueError, match=re.escape("obs must have shape (..., 4), got (5, 3)")):
        make().outside(torch.zeros(5, 3))
