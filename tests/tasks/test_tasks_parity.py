"""The same actions from the same state give what VMAS 1.5.2 gives."""

from dataclasses import fields

import pytest
import torch
from judge import WORLDS, judge, read, stacked, step

from dico.tasks import make
from dico.tasks.physics import WALL, repulsion
from dico.tasks.reverse_transport import AGENT_RADIUS

STEPS = 100
CLOSE = {"rtol": 0, "atol": 1e-5}


def assert_same_state(ours, theirs):
    for field in fields(ours):
        torch.testing.assert_close(
            getattr(ours, field.name),
            getattr(theirs, field.name),
            **CLOSE,
            msg=lambda m, name=field.name: f"{name}: {m}",
        )


def random_actions(task, generator):
    """Some beyond the box, to be clamped."""
    return 3 * torch.rand(WORLDS, task.n_agents, 2, generator=generator) - 1.5


def seeking(task, state, target, generator):
    """Towards the targets in half of the worlds, so that tasks are solved; at random in the others."""
    actions = random_actions(task, generator)
    actions[::2] = (8 * (target - state.position) - 3 * state.velocity)[::2]
    return actions


def run_freely(task, target=None):
    """100 steps of both simulators, each from its own state; returns all rewards and endings."""
    generator = torch.Generator().manual_seed(1)
    env = judge(task)
    state = read(task, env)
    history = []
    for _ in range(STEPS):
        actions = random_actions(task, generator) if target is None else seeking(task, state, target(state), generator)
        state, rewards, done = task.step(state, actions)
        their_rewards, their_done = step(env, actions)
        assert_same_state(state, read(task, env))
        torch.testing.assert_close(rewards, their_rewards, **CLOSE)
        assert torch.equal(done, their_done)
        history.append((rewards, done))
    rewards, done = zip(*history, strict=True)
    return torch.stack(rewards), torch.stack(done)


@pytest.mark.parametrize("name", ["navigation", "same-goal"])
@pytest.mark.parametrize("n_agents", [1, 2, 5])
def test_navigation(name, n_agents):
    task = make(name, n_agents=n_agents, final_reward=3.0)
    rewards, done = run_freely(task, target=lambda state: state.goal)
    assert done[:, ::2].any(0).all()
    assert not done[0].any()
    assert (rewards > 2.9).any(), "the final reward was never paid"


@pytest.mark.parametrize("share_reward", [True, False])
@pytest.mark.parametrize("n_agents", [1, 4, 6])
def test_dispersion(n_agents, share_reward):
    task = make("dispersion", n_agents=n_agents, share_reward=share_reward)
    rewards, done = run_freely(task, target=lambda state: state.food)
    assert done[-1, ::2].all()
    eaten = rewards.sum((0, 2)) / (n_agents if share_reward else 1)
    torch.testing.assert_close(eaten[::2], torch.full((WORLDS // 2,), float(n_agents)))


def test_food_touched_by_several_agents_is_split():
    task = make("dispersion", n_agents=4, share_reward=False)
    rewards, _ = run_freely(task, target=lambda state: state.food[:, :1].expand(-1, 4, -1))
    assert (rewards[:, ::2] == 0.25).any()


@pytest.mark.parametrize(("n_agents", "covariance"), [(3, 50.0), (1, 50.0), (4, 0.05)])
def test_sampling(n_agents, covariance):
    task = make("sampling", n_agents=n_agents, covariance=covariance)
    rewards, done = run_freely(task)
    assert not done.any()
    assert (rewards > 0.01).any()
    assert (rewards == 0).any(), "no cell was visited twice"


@pytest.mark.parametrize("n_agents", [2, 3, 5])
def test_tag_step_by_step(n_agents):
    task = make("tag", n_agents=n_agents)
    generator = torch.Generator().manual_seed(2)
    env = judge(task)
    catches = obstructed = crowded = 0
    for _ in range(STEPS):
        state = read(task, env)
        green = state.position[:, -1:]
        after, rewards, done = task.step(state, actions := seeking(task, state, green, generator))
        their_rewards, their_done = step(env, actions)
        assert_same_state(after, read(task, env))
        torch.testing.assert_close(rewards, their_rewards, **CLOSE)
        assert torch.equal(done, their_done)
        catches += int((rewards > 0).sum())
        obstructed += int((torch.cdist(after.position, after.obstacle) < 0.25).sum())
        among = torch.cdist(after.position[:, :-1], after.position[:, :-1]) < 0.15
        crowded += int(among.sum()) - among.shape[0] * among.shape[1]
    assert catches > 100
    assert obstructed > 100
    assert n_agents == 2 or crowded > 100


@pytest.mark.parametrize(
    "options",
    [{}, {"n_agents": 1}, {"n_agents": 7, "package_length": 0.8, "package_width": 0.4, "package_mass": 5.0}],
    ids=str,
)
def test_reverse_transport_step_by_step(options):
    task = make("reverse-transport", **options)
    generator = torch.Generator().manual_seed(3)
    env = judge(task)
    contacts = crowded = endings = 0
    for t in range(STEPS):
        if t % 10 == 0:  # for long enough in one direction to reach the walls
            actions = random_actions(task, generator)
        state = read(task, env)
        half = torch.tensor(task.half)
        gap = (half - (state.position - state.package[:, None]).abs()).amin(-1)
        contacts += int((gap < AGENT_RADIUS + WALL).sum())
        among = torch.cdist(state.position, state.position) < 2 * AGENT_RADIUS
        crowded += int(among.sum()) - among.shape[0] * among.shape[1]
        after, rewards, done = task.step(state, actions)
        their_rewards, their_done = step(env, actions)
        assert_same_state(after, read(task, env))
        # a reward is 100 times the difference of two lengths, each rounded to 1e-7
        torch.testing.assert_close(rewards / 100, their_rewards / 100, rtol=0, atol=2e-7)
        assert torch.equal(done, their_done)
        assert not env.world.landmarks[1].state.rot.any(), "the package does not turn"
        endings += int(done.sum())
    assert contacts > 100
    assert task.n_agents == 1 or crowded > 100
    assert endings > 0


def put(entities, positions, velocities):
    for entity, position, velocity in zip(entities, positions.unbind(1), velocities.unbind(1), strict=True):
        entity.set_pos(position, batch_index=None)
        entity.set_vel(velocity, batch_index=None)


def test_tag_from_any_state():
    task = make("tag", n_agents=6)
    generator = torch.Generator().manual_seed(7)
    env = judge(task, worlds=512)
    positions, velocities = (torch.rand(512, 6, 2, generator=generator) - 0.5 for _ in range(2))
    put(env.world.agents, positions, 5 * velocities)  # crowded, and faster than allowed
    state, actions = read(task, env), torch.rand(512, 6, 2, generator=generator)
    after, rewards, _ = task.step(state, actions)
    their_rewards, _ = step(env, actions)
    assert_same_state(after, read(task, env))
    assert torch.equal(rewards, their_rewards)
    assert (rewards >= 20).any(), "no green agent was caught by two"


def test_bodies_that_coincide_do_not_push_each_other():
    apart = torch.tensor([[0.0, 5e-7, 2e-6], [0.0, 0.0, 0.0]])
    force = repulsion(apart, 0.1, stiffness=500.0, margin=1e-3)
    torch.testing.assert_close(force, torch.tensor([[0.0, 0.0, 49.999], [0.0, 0.0, 0.0]]))


def test_reverse_transport_from_any_state():
    task = make("reverse-transport", package_length=0.7, package_width=0.5, package_mass=3.0)
    generator = torch.Generator().manual_seed(8)
    env = judge(task, worlds=512)
    half = torch.tensor(task.half)
    package = env.scenario.package.state.pos[:, None]
    offset = (torch.rand(512, 4, 2, generator=generator) - 0.5) * 2 * (half + 0.06)  # inside, outside and at corners
    outline = (half - offset.abs()).amin(-1)
    # on the very outline, the direction in which the wall pushes is a matter of rounding
    offset = torch.where(outline.abs()[..., None] < 0.01, torch.zeros(()), offset)
    put(env.world.agents, package + offset, torch.rand(512, 4, 2, generator=generator) - 0.5)
    state, actions = read(task, env), torch.rand(512, 4, 2, generator=generator)
    after, rewards, done = task.step(state, actions)
    their_rewards, their_done = step(env, actions)
    assert_same_state(after, read(task, env))
    torch.testing.assert_close(rewards / 100, their_rewards / 100, rtol=0, atol=2e-7)
    assert torch.equal(done, their_done)
    assert done.any()
    assert (outline < -0.01).any()


@pytest.mark.parametrize("name", ["navigation", "same-goal", "dispersion"])
def test_observations_are_the_released_ones_without_own_position_and_velocity(name):
    task = make(name, n_agents=4)
    env = judge(task)
    generator = torch.Generator().manual_seed(4)
    for _ in range(20):
        state = read(task, env)
        actions = seeking(task, state, state.food if name == "dispersion" else state.goal, generator)
        seen = env.step(list(actions.unbind(1)))[0]
        (observation,) = task.observe(read(task, env))
        assert torch.equal(observation, torch.stack(seen, 1)[..., 4:])


@pytest.mark.parametrize("name", ["tag", "reverse-transport"])
@pytest.mark.parametrize("n_agents", [2, 5])
def test_observations_are_the_released_ones(name, n_agents):
    task = make(name, n_agents=n_agents)
    env = judge(task)
    generator = torch.Generator().manual_seed(5)
    for _ in range(20):
        seen = env.step(list(random_actions(task, generator).clamp(-1, 1).unbind(1)))[0]
        for group, observation in zip(task.groups, task.observe(read(task, env)), strict=True):
            assert torch.equal(observation, torch.stack([seen[i] for i in group.agents], 1))


@pytest.mark.parametrize("covariance", [50.0, 0.1])
def test_sampling_observes_its_place_and_the_values_around_it(covariance):
    task = make("sampling", covariance=covariance)
    env = judge(task)
    generator = torch.Generator().manual_seed(6)
    steps = [(dx, dy) for dy in (-0.05, 0, 0.05) for dx in (-0.05, 0, 0.05) if (dx, dy) != (0, 0)]
    for _ in range(STEPS):
        step(env, random_actions(task, generator) + torch.tensor([0.5, 0.5]))  # into a corner, to look out of the world
        position = stacked(env.world.agents)
        values = [
            env.scenario.sample(position[:, agent] + torch.tensor(delta)) for agent in range(3) for delta in steps
        ]
        (observation,) = task.observe(read(task, env))
        assert torch.equal(observation[..., :2], position)
        torch.testing.assert_close(observation[..., 2:], torch.stack(values, 1).unflatten(1, (3, 8)), **CLOSE)
    assert (observation[..., 2:] == 0).any()
