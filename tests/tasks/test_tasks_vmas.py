"""Any VMAS scenario behind the same functions."""

import sys

import pytest
import torch
import vmas
from judge import judge, read, step

from dico.random import Random
from dico.tasks import make, where_done
from dico.tasks import vmas as wrap


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
    ],
)
def test_what_cannot_be_wrapped_is_told(scenario, words):
    with pytest.raises(ValueError, match=words):
        wrap(scenario)


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
