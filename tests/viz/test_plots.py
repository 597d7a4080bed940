"""The plots, which take axes and give axes, and the scenes in them."""

import inspect
import re
from dataclasses import replace

import pytest
import torch
from drawn import known_fixture
from folders import fixture_of
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver

from dico import viz
from dico.random import Random
from dico.runs import RunError
from dico.tasks import from_settings
from dico.tasks.scene import TEAM, Scene, discs, square
from dico.viz.scenes import Picture
from dico.viz.selection import choose
from dico.viz.style import new_figure
from dico.viz.views import extent_around, extent_within, legend

known = known_fixture()
navigation, dispersion, sampling = map(fixture_of, ("navigation", "dispersion", "sampling"))


def test_eaten_food_leaves_a_ring(dispersion):
    selection = choose(dispersion)
    scene = selection.scene(selection.record(0), 0)
    food = next(circle for circle in scene.circles if circle.role == "food")
    eaten = torch.zeros_like(food.visible)
    scene = replace(scene, circles=(replace(food, visible=~eaten), replace(food, visible=eaten)))
    axes = new_figure(2, 2).subplots()
    Picture(axes, scene).show(5)
    left, gone = (patch for patch in axes.patches if isinstance(patch, Circle))
    assert left.get_facecolor()[3] == 1
    assert gone.get_facecolor()[3] == 0
    assert gone.get_linestyle() != "-"


def test_sampled_cells_are_white(sampling):
    selection = choose(sampling)
    picture = Picture(new_figure(2, 2).subplots(), selection.scene(selection.record(0), 0))
    picture.show(100)
    cells = picture.axes.images[0].get_array()
    visited = (cells == 1).all(-1)
    assert 3 <= visited.sum() <= 301
    assert (cells[~visited][:, 0] < 0.9).all()


def test_scenes_are_told_apart_in_words():
    def words(name):
        task = from_settings(name)
        return legend(task, task.scene(task.reset(1, Random([0]))))

    assert words("tag") == ["black discs: obstacle", "discs: adversary", "green discs: agent"]
    assert words("dispersion")[:2] == ["grey discs: food", "discs: agent"]
    pytest.importorskip("vmas")
    balance = words("vmas:balance")
    assert len({told.split(": ")[0] for told in balance}) == len(balance) == 5, balance
    assert not any("landmark" in told for told in balance)


def test_food_has_no_agents_colour(dispersion):
    selection = choose(dispersion)
    circles = selection.scene(selection.record(0), 0).circles
    assert not {c.colour for c in circles if c.role == "food"} & {c.colour for c in circles if c.role == "agent"}


@pytest.mark.parametrize("name", ["reward", "diversity", "tracking", "action_bound_violation"])
def test_plots_of_a_run_take_axes_and_give_axes(known, name):
    axes = new_figure(4, 3).subplots()
    assert getattr(viz, f"plot_{name}")(axes, known) is axes
    assert axes.get_lines()


def test_other_plots_take_axes_and_give_axes(navigation):
    selection = choose(navigation)
    state = selection.start(0)
    field = selection.fields(state, resolution=5)[1]
    row = new_figure(12, 3).subplots(1, 5)
    assert viz.plot_decision(row[0], [navigation]) is row[0]
    assert viz.plot_map(row[1], field, selection.task, state) is row[1]
    assert viz.plot_slice(row[2], field, (0, 1), torch.zeros(3, 4)) is row[2]
    assert viz.plot_distances(row[3], viz.matrices(navigation)[0, -1]) is row[3]
    for axes in row[1:4]:
        assert axes.images[0].get_array().size
    assert viz.plot_strip(row[4:], selection.scene(selection.record(0), 0), [3])[0] is row[4]


def test_what_draws_takes_a_run(navigation):
    titles = ["desired SND 0", "desired SND 0.5", "free"]
    assert [axes.get_title() for axes in viz.draw_map(navigation, resolution=4).axes[:3]] == titles
    assert [axes.get_title() for axes in viz.draw_slice(navigation, resolution=4).axes[:3]] == titles
    assert viz.draw_trajectories(navigation, pictures=2).axes[0].get_ylabel() == "desired SND\n0"
    assert viz.draw_decision(navigation).axes[0].get_xlabel() == "desired SND"
    assert viz.animate_episode(navigation).count > 100
    assert viz.plot_outcome(navigation).get_title() == "Return"
    assert viz.draw_figures(navigation).keys() >= {"curves", "map"}
    pyplot.close("all")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plot_map", r"takes axes, a field, a task and a state, got a run: dico.viz.draw_map\(run\) draws one"),
        ("plot_slice", r"dico.viz.draw_slice\(run\) draws one"),
        ("plot_strip", r"dico.viz.draw_trajectories\(run\) draws one"),
        ("plot_distances", r"takes axes and a matrix, got a run: dico.viz.draw_distances\(run\) draws one"),
        ("plot_difference", "takes two runs or more"),
        ("draw_differences", "takes two runs or more"),
        ("plot_outside", "has no box of observations: train with --control analytical"),
        ("plot_box_diversity", "has no box of observations"),
        ("draw_box", "has no box of observations"),
    ],
)
def test_what_a_run_is_not_enough_for_says_what_to_pass(navigation, name, told):
    with pytest.raises((ValueError, RunError), match=told):
        getattr(viz, name)(navigation)
    pyplot.close("all")


@pytest.mark.unchecked  # types are checked elsewhere
@pytest.mark.parametrize("name", ["draw_map", "draw_trajectories", "animate_episode", "draw_curves", "draw_distances"])
def test_a_path_is_no_run(name):
    with pytest.raises(ValueError, match=r"run.*, got 'runs/a'"):
        getattr(viz, name)("runs/a")


@pytest.mark.parametrize(("agents", "expected"), [(None, (0, 1)), ((3, 1), (3, 1))])
def test_arrows_have_their_agents_colours(navigation, agents, expected):
    selection = choose(navigation)
    state = selection.start(0)
    field = selection.fields(state, resolution=5)[1]
    axes = viz.plot_map(
        new_figure(3, 3).subplots(), field, selection.task, state, None, selection.actions(field), agents
    )
    arrows = [each for each in axes.get_children() if isinstance(each, Quiver)]
    assert [to_hex(each.get_facecolor()[0]) for each in arrows] == [TEAM[agent] for agent in expected]


def test_what_there_is_can_be_listed():
    assert set(viz.__all__) <= set(dir(viz))
    assert not any(name.startswith("check_") for name in viz.__all__)  # for commands
    assert all(callable(getattr(viz, name)) for name in viz.__all__)


@pytest.mark.parametrize("name", [name for name in viz.__all__ if name.startswith(("draw_", "plot_", "animate_"))])
def test_what_draws_says_what_it_takes_and_gives(name):
    function = getattr(viz, name)
    told = inspect.getdoc(function)
    args, _, returns = told.partition("Args:\n")[2].partition("\nReturns:\n")
    assert returns.strip()
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^    {parameter}: \S", args, re.MULTILINE), parameter


def test_strips_show_what_is_used_of_a_scene(navigation, sampling):
    """All that moves, and no empty half; a world with cells is shown whole."""
    selection = choose(navigation)
    scene = selection.scene(selection.record(0), 0)
    left, right, bottom, top = extent_within([scene])
    whole = extent_around([scene])
    assert whole[0] <= left < right <= whole[1]
    assert whole[2] <= bottom < top <= whole[3]
    assert (top - bottom) >= 0.4 * (right - left) - 1e-6
    assert (right - left) * (top - bottom) < 0.9 * (whole[1] - whole[0]) * (whole[3] - whole[2])
    for circle in scene.circles:
        places = circle.centre.reshape(-1, 2)
        assert left <= places[:, 0].min()
        assert places[:, 0].max() <= right
        assert bottom <= places[:, 1].min()
        assert places[:, 1].max() <= top
    cells = choose(sampling)
    scenes = [cells.scene(cells.record(0), 0)]
    assert extent_within(scenes) == extent_around(scenes)


def test_no_agent_is_cut_off_at_the_edge_of_a_picture():
    agent = discs("agent", torch.tensor([[[0.0, -1.0]], [[1.1, -1.0]]]), 1e-3)
    left, right, bottom, _ = extent = extent_around([Scene(extent=square(1.0), circles=agent)])
    axes = new_figure(2, 2).subplots()
    picture = Picture(axes, Scene(extent=square(1.0), circles=agent), extent=extent)
    picture.show(1)
    (disc,) = axes.patches
    assert disc.radius > 0.01 * (right - left)
    assert bottom < -1 - 0.95 * disc.radius
    assert right > 1.1 + 0.95 * disc.radius
