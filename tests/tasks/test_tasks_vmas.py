"""Any VMAS scenario behind the same functions."""

import itertools
import sys
from dataclasses import replace

import pytest
import torch
import vmas
from judge import judge, read, step

from dico.random import Random
from dico.tasks import make, where_done
from dico.tasks import vmas as wrap

KEEP_MORE = ("het_mass", "simple_adversary", "simple_push", "simple_reference")
"""Masses and goals that are the same in all worlds; road_traffic does so too, and takes long."""


def their_seed(seed):
    return int(Random([seed]).bits(1) & 0x7FFFFFFF)


@pytest.mark.parametrize(
    ("scenario", "options"),
    [("balance", {"n_agents": 3}), ("simple_tag", {}), ("dispersion", {}), ("joint_passage", {}), ("navigation", {})],
)
def test_a_wrapped_scenario_runs_as_it_does_alone(scenario, options):
    task = wrap(scenario, **options)
    state, other = task.reset(4, Random([7])), task.reset(4, Random([8]))
    env = vmas.make_env(scenario, num_envs=4, **options)
    env.reset(seed=their_seed(7))
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        actions = 2 * torch.rand(1, 4, task.n_agents, task.act_dim, generator=generator) - 1
        other = task.step(other, -actions)[0]  # leaves no trace
        state, rewards, done = task.step(state, actions)
        seen, their_rewards, their_done, _ = env.step(list(actions[0].unbind(1)))
        assert torch.equal(rewards[0], torch.stack(their_rewards, -1))
        assert torch.equal(done[0], their_done)
        for group, observation in zip(task.groups, task.observe(state), strict=True):
            assert torch.equal(observation[0], torch.stack([seen[i] for i in group.agents], 1))


SCRIPTED = {"n_blue_agents": 2, "n_red_agents": 2}
repeated = pytest.mark.parametrize(
    ("scenario", "options"),
    [
        ("football", SCRIPTED),
        ("football", {**SCRIPTED, "ai_precision_strength": 0.5, "ai_decision_strength": 0.5}),
        ("football", {**SCRIPTED, "ai_red_agents": False, "enable_shooting": True}),
        ("simple_tag", {"respawn_at_catch": True}),
        ("wind_flocking", {}),
        ("asym_joint", {}),
    ],
    ids=[
        "football",
        "football of weak players",
        "football without scripts",
        "simple_tag",
        "wind_flocking",
        "asym_joint",
    ],
)


def go_on(task, state, seed=0, steps=6):
    """All that the task does and shows, with actions of that seed."""
    rng, low, high = Random([seed]), torch.tensor(task.action_low), torch.tensor(task.action_high)
    seen = [*state.tensors, *task.observe(state)]
    for _ in range(steps):
        actions = rng.uniform(*state.noise.shape[1:], task.n_agents, task.act_dim, low=low, high=high)
        state, rewards, done = task.step(state, actions)
        seen += [*state.tensors, rewards, done, *task.observe(state)]
    return state, seen


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


@repeated
def test_steps_follow_from_the_state_and_the_actions(scenario, options):
    """So a training that is resumed, in a process of its own, goes on as if it had not stopped."""
    task = wrap(scenario, **options)
    state, _ = go_on(task, task.reset(4, Random([0])))
    _, expected = go_on(task, state)
    go_on(task, task.reset(4, Random([1])), seed=1)
    assert same(go_on(task, state)[1], expected)
    assert same(go_on(wrap(scenario, **options), state)[1], expected)


@repeated
def test_a_reset_forgets_what_was_before(scenario, options):
    task, new = wrap(scenario, **options), wrap(scenario, **options)
    go_on(task, task.reset(4, Random([0])))
    assert same(go_on(task, task.reset(4, Random([1])))[1], go_on(new, new.reset(4, Random([1])))[1])


def test_a_world_that_is_done_forgets_its_past_and_the_others_keep_theirs():
    task = wrap("football", **SCRIPTED)
    state, fresh = go_on(task, task.reset(4, Random([0])))[0], task.reset(4, Random([1]))
    plans = [k for k, path in enumerate(task.paths) if "objectives" in path]
    assert len(plans) == 7 * SCRIPTED["n_red_agents"]
    assert any(state.tensors[k].any() for k in plans)
    assert not any(fresh.tensors[k].any() for k in plans)
    done = torch.tensor([[True, False, True, False]])
    mixed = where_done(done, fresh, state)
    assert torch.equal(mixed.noise, torch.where(done, fresh.noise, state.noise))
    for old, new, both in zip(state.tensors, fresh.tensors, mixed.tensors, strict=True):
        assert torch.equal(both[done], new[done])
        assert torch.equal(both[~done], old[~done])


def test_noise_differs_from_step_to_step_and_from_seed_to_seed():
    task = wrap("asym_joint")
    state = task.reset(4, Random([0, 1]))
    later, _, _ = task.step(state, torch.zeros(2, 4, 2, 2))
    assert torch.equal(task.observe(state)[0], task.observe(state)[0])
    noise = [
        task.observe(replace(state, noise=each))[0] for each in (state.noise, later.noise, state.noise.flip(0) + 1)
    ]
    assert all((a != b).any() for a, b in itertools.combinations(noise, 2))


def test_worlds_that_are_done_go_on_from_the_fresh_state():
    task = wrap("reverse_transport")
    rng = Random([0, 1])
    state, fresh = task.reset(3, rng), task.reset(3, rng)
    actions = torch.ones(2, 3, 4, 2)
    done = torch.tensor([[True, False, True], [False, False, True]])
    (mixed,), (new,), (old,) = (
        task.observe(task.step(each, actions)[0]) for each in (where_done(done, fresh, state), fresh, state)
    )
    torch.testing.assert_close(mixed[done], new[done])
    torch.testing.assert_close(mixed[~done], old[~done])


def test_a_member_is_the_same_alone_and_in_a_population():
    task = wrap("balance")
    alone, population = task.reset(5, Random([3])), task.reset(5, Random([1, 3]))
    assert all(torch.equal(a[0], b[1]) for a, b in zip(alone.tensors, population.tensors, strict=True))


def test_the_wrapper_agrees_with_our_own_task():
    task, ours = wrap("reverse_transport"), make("reverse-transport")
    env = judge(ours, worlds=6)
    env.reset(seed=their_seed(2))
    state, own = task.reset(6, Random([2])), read(ours, env)
    actions = torch.rand(6, 4, 2, generator=torch.Generator().manual_seed(0))
    state, rewards, _ = task.step(state, actions[None])
    own, own_rewards, _ = ours.step(own, actions)
    torch.testing.assert_close(rewards[0], own_rewards, rtol=0, atol=1e-4)
    torch.testing.assert_close(task.observe(state)[0][0], ours.observe(own)[0], rtol=0, atol=1e-5)
    step(env, actions)
    drawn = task.scene(state), ours.scene(own)
    assert [len(scene.boxes) for scene in drawn] == [1, 1]
    assert [len(scene.circles) for scene in drawn] == [5, 5]
    torch.testing.assert_close(drawn[0].boxes[0].centre[0], drawn[1].boxes[0].centre, rtol=0, atol=1e-5)


def test_groups_and_actions_are_the_scenarios():
    task = wrap("simple_tag", num_adversaries=2, num_good_agents=1, horizon=50)
    assert [(group.name, group.agents) for group in task.groups] == [("adversary", (0, 1)), ("agent", (2,))]
    assert [group.obs_dim for group in task.groups] == [14, 12]
    assert (task.act_dim, task.action_low, task.action_high, task.horizon) == (2, (-1, -1), (1, 1), 50)
    assert wrap("balance").groups[0].name == "agents"
    assert wrap("wheel").scene(wrap("wheel").reset(2, Random([0]))).lines


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("balanse", "scenario must be one of .* did you mean 'balance'"),
        ("diff_drive", "scenario must give all agents the same actions"),
        *(
            (name, f"{name}' keeps more than tensors of its worlds, .* choose another, or .* BenchMARL")
            for name in KEEP_MORE
        ),
    ],
)
def test_what_cannot_be_wrapped_is_told(scenario, words):
    with pytest.raises(ValueError, match=words):
        wrap(scenario)


def test_a_scenario_without_agents_of_ours_is_refused():
    with pytest.raises(ValueError, match="scenario must give all agents the same actions, 'football' has \\[\\]"):
        wrap("football", **SCRIPTED, ai_blue_agents=True)


def test_an_unknown_option_is_refused():
    with pytest.raises(ValueError, match=r"options must be known to scenario 'navigation'.*n_agent'"):
        wrap("navigation", n_agent=3)


def test_actions_of_another_shape_are_refused():
    task = wrap("balance")
    with pytest.raises(ValueError, match=r"actions must have shape \(1, 4, 3, 2\), got \(1, 4, 1, 2\)"):
        task.step(task.reset(4, Random([0])), torch.zeros(1, 4, 1, 2))


def test_without_vmas_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "vmas", None)
    with pytest.raises(ImportError, match=r'pip install "dico-marl\[vmas\]"'):
        wrap("balance")
