"""What every task promises: shapes, purity, scenes, maps, and clear words for bad input."""

import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest
import torch
from judge import small_task
from shuffled import GreenFirst, Interleaved
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dico import parse_constraint
from dico._checks import check_number, check_switch
from dico.random import Random
from dico.tasks import TASKS, MappedTask, join_groups, make, map_state, of_group, where_done

names = pytest.mark.parametrize("name", TASKS)
MAPPED = ["navigation", "same-goal", "sampling"]


def test_the_registry_holds_the_papers_tasks():
    assert list(TASKS) == ["navigation", "same-goal", "dispersion", "sampling", "tag", "reverse-transport"]
    assert all(make(name).name == name for name in TASKS)
    assert [make(name).n_agents for name in TASKS] == [2, 2, 4, 3, 3, 4]
    assert [make(name).horizon for name in TASKS] == [100, 100, 100, 100, 100, 200]
    assert [make(name).obs_dim for name in TASKS] == [4, 4, 12, 10, 14, 10]


@names
def test_levels_are_constraints(name):
    levels = make(name).snd_levels
    assert {"0", "free"} <= set(levels)
    assert all(parse_constraint(level) for level in levels)


@names
def test_groups_share_out_the_agents(name):
    task = small_task(name)
    assert sorted(i for group in task.groups for i in group.agents) == list(range(task.n_agents))
    expected = ["adversary", "agent"] if name == "tag" else ["agents"]
    assert [group.name for group in task.groups] == expected
    assert task.obs_dim == task.groups[0].obs_dim
    assert (task.act_dim, task.action_low, task.action_high) == (2, (-1, -1), (1, 1))


@names
@pytest.mark.parametrize("members", [(), (2,), (2, 3)])
def test_shapes_and_types(name, members):
    task = small_task(name)
    state = task.reset(4, Random(torch.arange(math.prod(members)).reshape(members)))
    batch = (*members, 4)
    state, rewards, done = task.step(state, torch.zeros(*batch, task.n_agents, 2))
    assert all(getattr(state, field.name).shape[: len(batch)] == batch for field in fields(state))
    assert (rewards.shape, rewards.dtype) == ((*batch, task.n_agents), torch.float32)
    assert (done.shape, done.dtype) == (batch, torch.bool)
    for group, observation in zip(task.groups, task.observe(state), strict=True):
        assert observation.shape == (*batch, len(group.agents), group.obs_dim)
        assert observation.dtype == torch.float32
    assert all(tensor.is_contiguous() for tensor in (rewards, done, *vars(state).values()))


@names
def test_stepping_changes_nothing_it_is_given(name):
    task = small_task(name)
    state = task.reset(4, Random([0]))
    actions = torch.full((1, 4, 5, 2), 3.0)
    before = map_state(torch.clone, state)
    task.step(state, actions)
    task.observe(state)
    assert all(torch.equal(a, b) for a, b in zip(vars(before).values(), vars(state).values(), strict=True))
    assert (actions == 3).all()


@names
def test_actions_are_clamped_to_the_box(name):
    task = small_task(name)
    state = task.reset(4, Random([0]))
    actions = 5 * torch.randn(1, 4, 5, 2, generator=torch.Generator().manual_seed(0))
    ends = [task.step(state, each)[0] for each in (actions, actions.clamp(-1, 1))]
    assert torch.equal(ends[0].position, ends[1].position)


@names
def test_a_member_that_diverges_leaves_the_others_as_they_are(name):
    task = small_task(name)
    state = task.reset(4, Random([0, 1]))
    actions = torch.zeros(2, 4, 5, 2)
    expected = task.observe(task.step(state, actions)[0])
    actions[0] = math.nan
    after, _, _ = task.step(state, actions)
    assert all(result[1].isfinite().all() for result in task.observe(task.step(after, actions)[0]))
    for result, other in zip(task.observe(after), expected, strict=True):
        assert torch.equal(result[1], other[1])


@names
def test_only_mapped_tasks_have_maps(name):
    assert isinstance(make(name), MappedTask) == (name in MAPPED)


@pytest.mark.parametrize("name", MAPPED)
def test_a_map_holds_what_agents_see_at_their_places(name):
    task = small_task(name)
    state = task.reset(6, Random([0, 1]))
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        state = task.step(state, torch.randn(2, 6, 5, 2, generator=generator))[0]
    points = torch.cat([torch.rand(2, 6, 9, 2, generator=generator), state.position], -2)
    observation = task.observation_at(state, points)
    assert observation.shape == (2, 6, 14, task.obs_dim)
    torch.testing.assert_close(observation[..., 9:, :], task.observe(state)[0])


@names
def test_a_scene_shows_every_agent_where_it_is(name):
    task = small_task(name)
    state = task.reset(4, Random([0, 1]))
    scene = task.scene(state)
    agents = [circle for circle in scene.circles if circle.role in ("agent", "adversary")]
    assert torch.equal(torch.stack([agent.centre for agent in agents], -2), state.position)
    assert len({(agent.role, agent.label) for agent in agents}) == task.n_agents
    for thing in (*scene.circles, *scene.boxes):
        assert thing.centre.shape == (2, 4, 2)
        assert len(thing.colour) == 7
    low_x, high_x, low_y, high_y = scene.extent
    assert (state.position[..., 0] > low_x).all()
    assert (state.position[..., 1] < high_y).all()
    assert (high_x, high_y) == (-low_x, -low_y)


def test_eaten_food_is_not_shown():
    task = make("dispersion", n_agents=1)
    state = task.reset(64, Random([0]))
    for _ in range(100):
        state, _, _ = task.step(state, 5 * (state.food - state.position) - 2 * state.velocity)
    (food, _) = task.scene(state).circles
    assert state.eaten.all()
    assert not food.visible.any()


def test_visited_cells_are_shown_empty():
    task = make("sampling", n_agents=1)
    state = task.reset(2, Random([0]))
    state, _, _ = task.step(state, torch.tensor([1.0, 0.0]).expand(1, 2, 1, 2))
    field = task.scene(state).field
    assert field.shape == (1, 2, 40, 40)
    assert (field == 0).sum() == 2
    assert (field[..., 20, 20] == 0).all()  # at (0.01, 0): row and column 20


@names
def test_runs_on_tensors_without_data(name):
    task = small_task(name)
    with FakeTensorMode():
        rng = Random([0, 1])
        state, fresh = task.reset(4, rng), task.reset(4, rng)
        state, rewards, done = task.step(state, torch.zeros(2, 4, 5, 2))
        observations = task.observe(where_done(done, fresh, state))
        task.scene(state)
    assert rewards.shape == (2, 4, 5)
    assert observations[0].shape[:2] == (2, 4)


class NoHostCopies(TorchDispatchMode):
    """Refuses tensors of the host, so whatever is made is made on the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        for tensor in tree_leaves((args, kwargs, output)):
            assert not isinstance(tensor, torch.Tensor) or tensor.device.type == "meta", func
        return output


@names
def test_everything_is_made_on_the_device(name):
    task = small_task(name)
    rng, actions = Random([0, 1], device="meta"), torch.zeros(2, 4, 5, 2, device="meta")
    with NoHostCopies():
        state, fresh = task.reset(4, rng), task.reset(4, rng)
        state, rewards, done = task.step(state, actions)
        observations = task.observe(where_done(done, fresh, state))
        scene = task.scene(state)
    assert {tensor.device.type for tensor in (rewards, *observations, scene.circles[0].centre)} == {"meta"}


@pytest.mark.parametrize("task", [make("tag"), GreenFirst(), Interleaved()], ids=lambda task: task.name)
def test_joining_groups_copies_nothing_to_the_device(task):
    with NoHostCopies():
        parts = [torch.zeros(2, 4, len(group.agents), 3, device="meta") for group in task.groups]
        joined = join_groups(task.groups, parts)
        shares = [of_group(group, joined[..., 0]) for group in task.groups]
    assert joined.shape == (2, 4, task.n_agents, 3)
    assert [share.shape for share in shares] == [part.shape[:-1] for part in parts]


@pytest.mark.parametrize("task", [make("tag"), GreenFirst(), Interleaved()], ids=lambda task: task.name)
def test_what_groups_are_joined_to_is_shared_out_again(task):
    parts = [torch.randn(2, 4, len(group.agents), 3) for group in task.groups]
    joined = join_groups(task.groups, parts)
    for group, part in zip(task.groups, parts, strict=True):
        assert torch.equal(joined[..., list(group.agents), :], part)
        assert torch.equal(of_group(group, joined[..., 0]), part[..., 0])


def test_tasks_do_not_import_vmas():
    code = "import sys; sys.modules['vmas'] = None; from dico.tasks import TASKS, make; [make(name) for name in TASKS]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("navigatoin", {}, "task must be one of 'navigation', .* got 'navigatoin'; did you mean 'navigation'"),
        ("tag", {"n_agent": 2}, "option of 'tag' must be one of 'n_agents', .* did you mean 'n_agents'"),
        ("navigation", {"n_agents": 0}, "n_agents must be a whole number from 1 up, got 0"),
        ("navigation", {"n_agents": True}, "n_agents must be a whole number from 1 up, got True"),
        ("same-goal", {"horizon": 0}, "horizon must be a whole number from 1 up, got 0"),
        ("navigation", {"final_reward": math.nan}, "final_reward must be a number in .* got nan"),
        ("dispersion", {"food_radius": 2}, r"food_radius must be a number in \[0.001, 1\], got 2"),
        ("sampling", {"covariance": 0}, "covariance must be a number from 0.001 up, got 0"),
        ("sampling", {"covariance": math.inf}, "covariance must be a number from 0.001 up, got inf"),
        ("tag", {"n_agents": 1}, "n_agents must be a whole number from 2 up, got 1"),
        ("reverse-transport", {"package_width": 0.05}, r"package_width must be a number in \[0.12, 10\], got 0.05"),
    ],
)
def test_bad_settings_are_told_with_what_is_allowed(name, options, words):
    with pytest.raises(ValueError, match=words):
        make(name, **options)


@pytest.mark.parametrize("shape", [(4, 1, 2), (1, 5, 2), (4, 6, 2)])
@names
def test_actions_of_another_shape_are_refused(name, shape):
    task = small_task(name)
    state = task.reset(4, Random(torch.tensor(0)))
    with pytest.raises(ValueError, match=r"actions must have shape \(4, 5, 2\), got "):
        task.step(state, torch.zeros(shape))


@pytest.mark.parametrize("value", [2.0, "two", None, math.nan])
def test_a_whole_number_is_asked_for(value):
    with pytest.raises(ValueError, match="n must be a whole number from 1 up, got"):
        check_number("n", value, 1, whole=True)


def test_a_switch_is_on_or_off():
    with pytest.raises(ValueError, match="share_reward must be True or False, got 1"):
        check_switch("share_reward", 1)


def test_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        make("tag").n_agents = 4
