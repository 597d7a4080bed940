"""Measures of behaviour on made-up episodes whose answers are known."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dico.analysis.behaviour.dispersion import distinct, food_targets
from dico.analysis.behaviour.maps import RESOLUTION, log_ratio, maps_of, roughness
from dico.analysis.behaviour.navigation import goal_directions, mean_angle, midpoint, on_goal
from dico.analysis.behaviour.playing import at_end
from dico.analysis.behaviour.reverse_transport import is_delivered
from dico.analysis.behaviour.sampling import overlap, smallest_angle, visits
from dico.analysis.behaviour.tag import seen_angles
from dico.analysis.fields import diversity_field, grid
from dico.analysis.ranks import rank_correlation
from dico.metrics import snd_at
from dico.policy import DiCo
from dico.random import Random
from dico.tasks import make, map_state

SQUARE = (-1.0, 1.0, -1.0, 1.0)
numbers = st.lists(st.integers(-20, 20), min_size=3, max_size=12)


def points_of(resolution):
    x, y = grid(SQUARE, resolution)
    return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)


def test_the_end_of_an_episode_is_where_its_last_step_led():
    states = torch.arange(4.0)[:, None, None].expand(4, 3, 2)
    running = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 0, 0]], dtype=torch.bool)
    assert at_end(states, running)[:, 0].tolist() == [3, 1, 2]


# ranks


def test_ranks_of_equal_values_are_shared():
    a, b = torch.tensor([1.0, 2.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0, 4.0])
    # ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: covariance 4.5, variances 4.5 and 5
    assert rank_correlation(a, b).item() == pytest.approx(4.5 / math.sqrt(4.5 * 5))


def test_a_constant_correlates_with_nothing():
    assert rank_correlation(torch.zeros(5), torch.arange(5.0)).isnan()


def test_each_of_a_batch_has_its_own_ranks():
    a, b = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), torch.tensor([[5.0, 6.0, 7.0], [9.0, 8.0, 0.0]])
    assert rank_correlation(a, b).tolist() == pytest.approx([1, -1])


@given(numbers, st.randoms(use_true_random=False))
def test_rank_correlation_is_the_same_under_growing_maps(values, random):
    a = torch.tensor(values, dtype=torch.float64)
    b = torch.tensor(random.sample(values, len(values)), dtype=torch.float64)
    expected = rank_correlation(a, b)
    torch.testing.assert_close(rank_correlation((a / 10).exp(), b**3 + b), expected, equal_nan=True)
    torch.testing.assert_close(rank_correlation(a, -b), -expected, equal_nan=True)
    torch.testing.assert_close(rank_correlation(b, a), expected, equal_nan=True)
    assert expected.isnan() or abs(expected) <= 1 + 1e-9


# maps


def test_a_ratio_of_no_cells_is_none():
    values, some, none = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bool), torch.zeros(2, 2, dtype=torch.bool)
    assert log_ratio(values, some, some) == 0
    assert log_ratio(values, some, none).isnan()
    assert log_ratio(0 * values, some, some).isnan()


def test_a_slope_is_smooth_and_a_chequerboard_is_rough():
    slope = torch.arange(30.0).expand(30, 30)
    board = (torch.arange(30)[:, None] + torch.arange(30)) % 2.0
    # neighbours in a row differ by 1, in a column by 0; the standard deviation of 0 .. 29 is that of a uniform
    assert roughness(slope).item() == pytest.approx(0.5 / math.sqrt((30**2 - 1) / 12), rel=1e-5)
    assert roughness(board).item() == pytest.approx(2)
    torch.testing.assert_close(roughness(5 * slope + 3), roughness(slope))
    assert roughness(torch.zeros(30, 30)).isnan()


def test_maps_are_those_of_each_start():
    torch.manual_seed(0)
    task, policy = make("navigation"), DiCo.mlp(2, 4, 2, 0.5, hidden=(8,), members=(1,))
    starts = task.reset(3, Random([0]))
    snd, points = maps_of(policy, task, starts)
    state = map_state(lambda tensor: tensor[:, 2], starts)
    torch.testing.assert_close(snd[2], diversity_field(policy, task, state, SQUARE, RESOLUTION).snd[0])
    torch.testing.assert_close(points, points_of(RESOLUTION))
    assert points.abs().max() < 1  # not beyond where agents start


# navigation


def test_the_midpoint_is_0_and_the_goals_are_1():
    goal = torch.tensor([[[-0.5, 0.0], [0.5, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
    middle = goal.mean(-2, keepdim=True)
    assert midpoint(middle.expand_as(goal), goal) == 0
    assert midpoint(goal, goal) == 1
    assert midpoint(goal.flip(-2), goal) == 1
    torch.testing.assert_close(midpoint(middle + 3 * (goal - middle), goal), torch.tensor(3.0))


def test_an_agent_reaches_its_own_goal():
    goal = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    assert on_goal(goal + torch.tensor([[0.09, 0.0], [0.0, 0.11]]), goal).tolist() == [True, False]
    assert not on_goal(goal.flip(0), goal).any()


def test_the_ideal_map_is_2_between_the_goals_and_0_beyond():
    goal = torch.tensor([[[-0.5, 0.0], [0.5, 0.0]]])
    points = torch.tensor([[[0.0, 0.0], [0.9, 0.0], [0.0, 0.5]]])
    directions = goal_directions(points, goal)
    torch.testing.assert_close(snd_at(directions)[0, 0], torch.tensor([2.0, 0.0, math.sqrt(2)]))
    torch.testing.assert_close(mean_angle(directions)[0, 0], torch.tensor([180.0, 0.0, 90.0]))


def test_angles_of_many_directions_are_averaged():
    directions = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    torch.testing.assert_close(mean_angle(directions), torch.tensor((90 + 180 + 90) / 3))


def test_agents_that_head_straight_for_their_goals_have_the_ideal_map():
    goal, points = torch.tensor([[[-0.4, 0.3], [0.6, -0.2]]]), points_of(12)
    directions = goal_directions(points, goal)
    ideal = snd_at(directions)
    assert rank_correlation((0.1 * ideal).flatten(1), ideal.flatten(1)).item() == pytest.approx(1)
    assert log_ratio(ideal, mean_angle(directions) > 90, mean_angle(directions) < 45).item() > math.log(2)


# dispersion


def targets_of(paths, food, running=None, reach=0.115):
    """Of one episode: each agent's x over time, all food on the x axis."""
    position = torch.tensor(paths).T[:, None, :, None] * torch.tensor([1.0, 0.0])
    food = torch.tensor(food)[None, :, None] * torch.tensor([1.0, 0.0])
    running = torch.ones(len(position), dtype=torch.bool) if running is None else torch.tensor(running)
    return food_targets(position, food, running[:, None], reach)[0].tolist()


def test_an_agent_goes_for_the_first_food_it_touches():
    assert targets_of([[0.3, 0.45, 0.9, 1.0]], [1.0, 0.5, -1.0]) == [1]  # it is nearer to food 0 later


def test_an_agent_that_touches_none_goes_for_what_it_came_nearest_to():
    assert targets_of([[0.0, 0.6, 0.3, -0.1]], [1.0, -1.0]) == [0]


def test_food_counts_for_all_who_touch_it():
    assert targets_of([[0.2, 0.5, 0.5], [0.0, 0.2, 0.5]], [0.5, -0.2]) == [0, 0]


def test_what_comes_after_the_end_does_not_count():
    path, food = [[0.0, 0.3, 0.8]], [1.0, -0.5]
    assert targets_of(path, food) == [0]
    assert targets_of([[-0.1, 0.0, 1.0]], food, [True, True, False]) == [1]


def test_different_food_is_counted_once():
    targets = torch.tensor([[0, 1, 2, 3], [0, 0, 2, 2], [3, 3, 3, 3]])
    assert distinct(targets, 4).tolist() == [4, 2, 1]


# sampling


def test_cells_are_those_that_the_task_marks():
    position = torch.tensor([[0.01, 0.01], [0.06, 0.01], [-0.01, -0.99]])[:, None, None]
    visited = visits(position)[0, 0].reshape(40, 40)
    assert visited.nonzero().tolist() == [[19, 0], [20, 20], [21, 20]]


def test_overlap_is_the_share_of_cells_of_several_agents():
    visited = torch.zeros(2, 3, 10, dtype=torch.bool)
    visited[0, 0, :4] = True
    visited[0, 1, 3:5] = True
    visited[0, 2, 3:5] = True
    assert overlap(visited)[0].item() == pytest.approx(2 / 5)  # cells 0 to 4; 3 and 4 are of several
    assert overlap(visited)[1].isnan()


@pytest.mark.parametrize("turn", [0.0, 1.0, 2.0, 3.1])
@pytest.mark.parametrize(
    ("degrees", "smallest"),
    [((0, 120, 240), 120), ((0, 90, 180), 90), ((10, 350), 20), ((-170, 170, 0), 20), ((5, 5), 0)],
)
def test_the_smallest_angle_goes_around_the_circle(degrees, smallest, turn):
    angle = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64)) + turn
    actions = torch.stack([angle.cos(), angle.sin()], -1) * torch.tensor([0.3])
    assert smallest_angle(actions).item() == pytest.approx(smallest, abs=1e-9)


# tag


def test_the_angle_between_agents_is_seen_from_the_green_one():
    eye, red = torch.tensor([1.0, 1.0]), torch.tensor([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
    torch.testing.assert_close(seen_angles(eye, red), torch.tensor([90.0, 180.0, 90.0]))
    assert seen_angles(eye, torch.tensor([[2.0, 2.0], [3.0, 3.0]])).item() == 0


# reverse transport


def test_a_package_is_delivered_where_the_task_ends():
    task = make("reverse-transport")
    state = task.reset(300, Random([0]))
    after, _, done = task.step(state, torch.zeros(1, 300, 4, 2))
    assert 0 < done.sum() < 300
    assert torch.equal(is_delivered(after.package, after.goal, task.half), done)
