"""Fresh states: VMAS's distributions, and one member's states whatever the population."""

from dataclasses import fields

import pytest
import torch
from judge import judge, read, small_task

from dico.random import Random
from dico.tasks import TASKS, make, where_done
from dico.tasks.navigation import SEPARATION, spread_out
from dico.tasks.sampling import nearest_corner

DRAWS = 4096
names = pytest.mark.parametrize("name", TASKS)


def numbers(state):
    return {field.name: getattr(state, field.name) for field in fields(state)}


def moments(x):
    """Ends, means, spreads and the distances between things: what tells one spawning rule from another."""
    x = x.double()
    middle = [x.mean(0), x.std(0)]
    if x.ndim == 3:
        apart = torch.cdist(x, x).flatten(1)
        middle += [apart.mean(0), apart.std(0)]
    return torch.cat([each.flatten() for each in middle]), torch.stack([x.amin(), x.amax()])


@names
def test_fresh_states_are_distributed_as_in_vmas(name):
    task = make(name)
    worlds = 512 if name == "sampling" else DRAWS  # where VMAS takes long
    ours = numbers(task.reset(DRAWS, Random([0])))
    theirs = numbers(read(task, judge(task, worlds=worlds)))
    assert ours.keys() == theirs.keys()
    for field, value in ours.items():
        value = value[0]
        assert value.dtype == theirs[field].dtype
        assert value.shape[1:] == theirs[field].shape[1:]
        for mine, its, tolerance in zip(moments(value), moments(theirs[field]), (0.08, 0.02), strict=True):
            torch.testing.assert_close(mine, its, rtol=0, atol=tolerance, msg=lambda m, f=field: f"{f}: {m}")


@pytest.mark.parametrize("name", ["navigation", "same-goal"])
def test_agents_and_goals_start_as_far_apart_as_in_vmas(name):
    task = make(name)
    nearest = []
    for state in (task.reset(DRAWS, Random(torch.tensor(0))), read(task, judge(task, worlds=DRAWS))):
        agents = torch.linalg.vector_norm(state.position[:, 0] - state.position[:, 1], dim=-1)
        nearest.append(torch.stack([agents.amin(), torch.cdist(state.position, state.goal).amin()]))
    torch.testing.assert_close(nearest[0], nearest[1], rtol=0, atol=5e-3)


def test_the_value_is_1_where_it_is_in_vmas():
    task = make("sampling", covariance=0.05)
    theirs = read(task, judge(task, worlds=512))
    torch.testing.assert_close(nearest_corner(theirs.centre), theirs.nearest, rtol=0, atol=1e-6)
    assert (theirs.centre < -0.98).any(), "no mean is beyond where agents can stand"


def test_offsets_from_the_package_are_distributed_as_in_vmas():
    task = make("reverse-transport", package_length=0.8, package_width=0.3)
    for state in (task.reset(DRAWS, Random(torch.tensor(0))), read(task, judge(task, worlds=DRAWS))):
        offset = (state.position - state.package[:, None]).abs().flatten(0, 1)
        assert (offset < torch.tensor([0.37, 0.12]) + 1e-6).all()
        torch.testing.assert_close(offset.amax(0), torch.tensor([0.37, 0.12]), rtol=0, atol=1e-3)
        torch.testing.assert_close(offset.mean(0), torch.tensor([0.185, 0.06]), rtol=0, atol=5e-3)


@pytest.mark.parametrize("things", [1, 4, 10, 20])
def test_things_are_spread_out(things):
    places = spread_out(2000, things, Random([5]))[0]
    apart = torch.cdist(places, places) + 9 * torch.eye(things)
    assert places.shape == (2000, things, 2)
    assert things == 1 or apart.min() >= SEPARATION - 1e-6
    assert places.abs().max() <= 1
    assert places.mean(0).abs().max() < 0.1


def test_a_crowd_is_still_placed():
    places = spread_out(10, 200, Random([0]))
    assert places.shape == (1, 10, 200, 2)
    assert places.isfinite().all()


def test_the_same_goal_is_the_same_for_all():
    goal = make("same-goal", n_agents=4).reset(50, Random([0])).goal
    assert torch.equal(goal, goal[..., :1, :].expand_as(goal))
    assert not torch.equal(goal[0, 0], goal[0, 1])


@names
def test_a_member_is_the_same_alone_and_in_a_population(name):
    task = small_task(name)
    alone, population = Random([3]), Random([1, 3, 5])
    bare = Random(torch.tensor(3))
    for _ in range(2):
        one, many, plain = (task.reset(7, rng) for rng in (alone, population, bare))
        for field, value in numbers(one).items():
            assert torch.equal(value[0], numbers(many)[field][1]), field
            assert torch.equal(value[0], numbers(plain)[field]), field
    # the same numbers at another place in memory may be rounded otherwise
    actions = torch.randn(3, 7, task.n_agents, 2, generator=torch.Generator().manual_seed(0))
    (many, *rest), (one, *own) = task.step(many, actions), task.step(one, actions[1:2])
    for a, b in zip((*rest, *task.observe(many)), (*own, *task.observe(one)), strict=True):
        torch.testing.assert_close(a[1], b[0], rtol=0, atol=5e-5)


@names
def test_fresh_states_differ_from_draw_to_draw_world_to_world_and_member_to_member(name):
    task = small_task(name)
    rng = Random([0, 1])
    first, second = task.reset(3, rng), task.reset(3, rng)
    place = {"dispersion": "food", "sampling": "centre"}.get(name, "position")
    drawn = torch.cat([getattr(state, place).reshape(6, -1) for state in (first, second)])
    assert len(drawn.unique(dim=0)) == 12


@names
def test_only_worlds_that_are_done_start_afresh(name):
    task = small_task(name)
    rng = Random([0, 1])
    state, fresh = task.reset(3, rng), task.reset(3, rng)
    state = task.step(state, torch.ones(2, 3, 5, 2))[0]
    done = torch.tensor([[True, False, True], [False, False, True]])
    mixed = numbers(where_done(done, fresh, state))
    for field, value in mixed.items():
        assert torch.equal(value[done], numbers(fresh)[field][done])
        assert torch.equal(value[~done], numbers(state)[field][~done])
