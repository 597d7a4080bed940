"""What figures show and say: their artists and texts, not their pixels."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from folders import trained, write_run
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver
from matplotlib.text import Text

from dico.analysis import best_level, curves, final, levels, tracking_error
from dico.bounds import max_snd
from dico.runs import RunError, load
from dico.viz.cast import choose, one_of_each, seeds_of
from dico.viz.colours import level_colours
from dico.viz.curves import plot_diversity, plot_tracking
from dico.viz.decision import plot_decision
from dico.viz.distances import matrices
from dico.viz.fields import diversity_field
from dico.viz.figures import (
    draw_curves,
    draw_decision,
    draw_distances,
    draw_map,
    draw_slice,
    draw_tracking,
    draw_trajectories,
    write_figures,
)
from dico.viz.limits import wall
from dico.viz.style import new_figure, save


@pytest.fixture
def navigation():
    return trained("navigation")


@pytest.fixture
def dispersion():
    return trained("dispersion")


@pytest.fixture
def sampling():
    return trained("sampling")


@pytest.fixture
def tag():
    return trained("tag")


def texts(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def said(figure):
    return " ".join(texts(figure)).replace("\n", " ")


def steady(level, seed, iteration):
    """Reward peaks at 0.5; SND a tenth above what is desired, 1.6 for free."""
    desired = 1.6 if level == "free" else float(level)
    return {"reward": 1 - (desired - 0.5) ** 2 + 0.01 * seed, "snd": 1.1 * desired, "overflow": 0.02 * desired}


@pytest.fixture
def known(tmp_path):
    return write_run(tmp_path / "known", steady, snd=("0", "0.5", "1.5", "free"), seeds=3)


def test_curves_have_a_line_a_band_and_a_dash_for_each_level(known):
    axes = plot_diversity(new_figure(4, 3).subplots(), known)
    lines = {line.get_gid(): line for line in axes.get_lines() if line.get_gid()}
    assert list(lines) == levels(known) == ["0", "0.5", "1.5", "free"]
    for level, colour in level_colours(levels(known)).items():
        assert lines[level].get_color() == colour
    np.testing.assert_allclose(lines["0.5"].get_ydata(), 0.55)
    np.testing.assert_allclose(lines["0.5"].get_xdata()[:2], [6, 12])  # thousands
    dashed = [line.get_ydata()[0] for line in axes.get_lines() if line.is_dashed()]
    assert dashed == [0, 0.5, 1.5]
    assert len(axes.collections) == 4


def test_bounds_have_a_dash_each(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"snd": 0.3, "reward": 0.0}, snd=("0.2..0.5", "<=0.4", ">=0.3", "0"))
    axes = plot_diversity(new_figure(4, 3).subplots(), run)
    assert sorted(line.get_ydata()[0] for line in axes.get_lines() if line.is_dashed()) == [0, 0.2, 0.3, 0.4, 0.5]


def test_single_seeds_are_thin_lines_on_request(known):
    figures = [draw_curves(known, seeds=wanted) for wanted in (False, True)]
    thin = [
        [line for line in figure.axes[1].get_lines() if not line.get_gid() and not line.is_dashed()]
        for figure in figures
    ]
    assert [len(lines) for lines in thin] == [0, 12]


def test_one_seed_has_no_band_and_says_so(tmp_path):
    run = write_run(tmp_path / "run", steady, seeds=1)
    figure = draw_curves(run, "iqm")
    assert not figure.axes[0].collections
    assert "one seed for each level, so no interval" in said(figure)


def test_tracking_shows_the_error_of_all_but_free(known):
    axes = plot_tracking(new_figure(4, 3).subplots(), known)
    lines = {line.get_gid(): line.get_ydata() for line in axes.get_lines()}
    assert list(lines) == ["0", "0.5", "1.5"]
    np.testing.assert_allclose(lines["0.5"], tracking_error(known)[3])


@pytest.mark.parametrize("stat", ["mean", "iqm"])
@pytest.mark.parametrize("draw", [draw_curves, draw_tracking, lambda run, stat: draw_decision([run], stat)])
def test_every_statistic_says_what_it_is_of(known, draw, stat):
    words = said(draw(known, stat))
    spelled = {"mean": "mean and standard deviation", "iqm": "interquartile mean and 95 % bootstrap interval"}
    for word in ("navigation", "IPPO", "3 seeds", "240,000 frames", "desired SND", spelled[stat]):
        assert word in words


def test_a_run_in_training_says_how_far_it_is(tmp_path):
    run = write_run(tmp_path / "run", lambda level, seed, i: steady(level, seed, i) if i == 1 else None)
    written = write_figures([run], tmp_path / "figures", formats=("png",))
    assert [path.name for path in written] == ["curves.png", "decision.png", "tracking.png"]
    assert "after 6,000 of 240,000 frames" in said(draw_curves(run))


def test_members_that_diverged_are_counted_in_the_legend(tmp_path):
    def values(level, seed, iteration):
        lost = {"reward": None, "snd": None, "overflow": None, "diverged": True}
        return lost if (level, seed) == ("0.5", 1) else steady(level, seed, iteration)

    run = write_run(tmp_path / "run", values, seeds=3)
    for figure in (draw_curves(run), draw_decision([run]), draw_tracking(run)):
        assert "0.5 (1 of 3 diverged)" in texts(figure)


def test_the_wall_is_the_largest_snd_of_the_box(known):
    axes = plot_decision(new_figure(4, 3).subplots(), [known])
    (drawn,) = (line for line in axes.get_lines() if line.get_gid() == "wall")
    assert drawn.get_xdata()[0] == wall(known).value == max_snd(2, [-1, -1], [1, 1]).value
    assert "largest SND in the action box: 2.83" in said(axes.figure)


def test_no_wall_for_another_metric(tmp_path):
    run = write_run(tmp_path / "run", lambda *a: steady(*a) | {"hse": 0.2}, metric="hse")
    axes = plot_decision(new_figure(4, 3).subplots(), [run])
    assert wall(run) is None
    assert not [line for line in axes.get_lines() if line.get_gid() == "wall"]
    assert axes.get_xlabel() == "desired HSE"


def test_the_decision_plot_has_each_level_where_it_belongs(known):
    figure = draw_decision([known])
    (axes,) = figure.axes
    points = {line.get_gid(): (line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines() if line.get_gid()}
    reward = final(known, "reward").reshape(4, 3).mean(1)
    assert points["0.5"] == pytest.approx((0.5, reward[1]))
    assert points["free"] == pytest.approx((1.76, reward[3]))  # where its diversity landed
    assert points["best"] == points["0.5"]
    assert best_level(known) == "0.5"
    assert {"best: 0.5", "free (landed at 1.76)", "1.5"} <= set(texts(figure))


def test_several_runs_are_compared_by_name(known, tmp_path):
    other = write_run(tmp_path / "other", steady, snd=("0", "1"))
    written = write_figures([known, other], tmp_path / "figures", formats=("svg",))
    assert written[0] == tmp_path / "figures" / "decision.svg"
    assert {path.parent.name for path in written[1:]} == {"known", "other"}
    legend = [text.get_text() for text in draw_decision([known, other]).axes[0].get_legend().get_texts()]
    assert legend == ["known", "other"]


def test_runs_of_different_tasks_are_refused_before_anything_is_written(known, tmp_path):
    other = write_run(tmp_path / "other", steady, task="same-goal")
    with pytest.raises(RunError, match="must have the same task"):
        write_figures([known, other], tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_all_figures_of_a_run_are_written_whole(navigation, tmp_path):
    written = write_figures([navigation], tmp_path, formats=("png", "svg", "pdf"))
    names = ["curves", "decision", "tracking", "map", "trajectories", "distances"]
    assert [path.name for path in written] == [f"{name}.{end}" for name in names for end in ("png", "svg", "pdf")]
    assert sorted(tmp_path.iterdir()) == sorted(written)
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert all(path.read_bytes().startswith(starts[path.suffix]) for path in written)


def test_a_map_is_the_field_of_each_level_on_one_scale(navigation):
    cast = choose(navigation, seed=1)
    figure = draw_map(cast, 3, resolution=12, arrows=True)
    axes = figure.axes[:3]
    assert [each.get_title() for each in axes] == ["desired SND 0", "desired SND 0.5", "free"]
    norms = {(each.images[0].norm.vmin, each.images[0].norm.vmax) for each in axes}
    assert len(norms) == 1
    alone = diversity_field(navigation.policy("0.5", seed=1), cast.task, cast.start(3), resolution=12)
    np.testing.assert_allclose(axes[1].images[0].get_array(), alone.snd.numpy(), rtol=1e-4, atol=1e-6)
    arrows = [child for child in axes[1].get_children() if isinstance(child, Quiver)]
    assert len(arrows) == 2
    for word in ("navigation", "IPPO", "seed 1", "start 3", "SND at each position", "arrows: mean actions"):
        assert word in said(figure)


def test_a_map_over_observed_numbers_shows_what_was_seen(dispersion):
    figure = draw_slice(choose(dispersion), (4, 1), resolution=8)
    first = figure.axes[0]
    assert (first.get_xlabel(), first.get_ylabel()) == ("observation 4", "observation 1")
    assert first.images[0].get_array().shape == (8, 8)
    assert len(first.get_lines()[0].get_xdata()) > 100
    with pytest.raises(ValueError, match="dispersion has no map over positions"):
        draw_map(choose(dispersion))


def test_strips_have_a_row_for_each_level_from_the_same_start(navigation):
    figure = draw_trajectories(choose(navigation), seed=2, frames=4)
    axes = np.array(figure.axes).reshape(3, 4)
    assert [each.get_title() for each in axes[0]][::3] == ["step 0", "step 100"]
    assert [row[0].get_ylabel() for row in axes] == ["desired SND\n0", "desired SND\n0.5", "free"]
    starts = [[tuple(patch.center) for patch in row[0].patches if isinstance(patch, Circle)] for row in axes]
    assert starts[0] == starts[1] == starts[2]
    assert len(axes[1, 3].collections) == 2  # a trail for each agent, none for a goal
    assert len(axes[1, 3].collections[0].get_segments()) == 100


def test_eaten_food_leaves_a_ring(dispersion):
    from dataclasses import replace

    from dico.viz.scenes import Picture

    cast = choose(dispersion)
    scene = cast.scene(cast.record(0), 0)
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
    from dico.viz.scenes import Picture

    cast = choose(sampling)
    picture = Picture(new_figure(2, 2).subplots(), cast.scene(cast.record(0), 0))
    picture.show(100)
    cells = picture.axes.images[0].get_array()
    visited = (cells == 1).all(-1)
    assert 3 <= visited.sum() <= 301
    assert (cells[~visited][:, 0] < 0.9).all()


def test_distances_are_those_of_the_metrics(dispersion):
    every = matrices(dispersion)
    assert every.shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(every, every.transpose(0, 1, 3, 2))
    i, j = np.triu_indices(4, 1)
    np.testing.assert_allclose(every[..., i, j].mean(-1), curves(dispersion, "snd"), rtol=1e-5, atol=1e-7)
    figure = draw_distances(dispersion)
    assert f"{every[1, -1, 0, 1]:.2f}" in texts(figure)


def test_a_group_that_is_controlled_is_named(tag):
    assert "group adversary" in said(draw_curves(tag))
    assert matrices(tag).shape[-1] == 2
    draw_slice(choose(tag), (0, 1), resolution=4)


def test_a_run_without_distances_says_so(known):
    with pytest.raises(RunError, match="has no distances"):
        draw_distances(known)


def test_a_member_that_diverged_is_left_out_of_pictures(tmp_path):
    run = write_run(tmp_path / "run", lambda *a: steady(*a) | ({"diverged": True} if a[0] == "0.5" else {}), seeds=1)
    with pytest.warns(UserWarning, match="snd 0.5 diverged and is left out"):
        assert [member.constraint for member in one_of_each(run)] == ["0", "free"]
    with pytest.warns(match="left out"), pytest.raises(RunError, match="asked for diverged: choose other levels"):
        one_of_each(run, [0.5])


def test_the_first_seed_that_did_not_diverge_is_shown(tmp_path):
    gone = {("0", 0), ("free", 0), ("free", 1)}
    run = write_run(tmp_path / "run", lambda *a: steady(*a) | ({"diverged": True} if a[:2] in gone else {}), seeds=3)
    members = one_of_each(run)
    assert [(member.constraint, member.seed) for member in members] == [("0", 1), ("0.5", 0), ("free", 2)]
    assert seeds_of(members) == "seeds 1, 0, 2"


def test_a_checkpoint_that_cannot_be_played_leaves_maps_out(navigation, tmp_path, monkeypatch):
    def refuse(*_):
        raise RunError("trained with other actions")

    monkeypatch.setattr("dico.runs.Run.task", refuse)
    with pytest.warns(UserWarning, match="no map and no trajectories: trained with other actions"):
        written = write_figures([navigation], tmp_path, formats=("png",))
    assert [path.stem for path in written] == ["curves", "decision", "tracking", "distances"]


@pytest.mark.parametrize("name", ["curves", "decision", "tracking", "map", "slice", "trajectories", "distances"])
def test_no_texts_overlap(navigation, known, name):
    draw = {
        "curves": lambda: draw_curves(known, "iqm"), "decision": lambda: draw_decision([known]),
        "tracking": lambda: draw_tracking(known), "map": lambda: draw_map(choose(navigation), resolution=5),
        "slice": lambda: draw_slice(choose(navigation), (0, 1), resolution=5),
        "trajectories": lambda: draw_trajectories(choose(navigation)), "distances": lambda: draw_distances(navigation),
    }  # fmt: skip
    figure = draw[name]()
    figure.canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn_texts(figure) if text.get_text().strip()]
    assert len(boxes) > 5
    frame = figure.bbox.padded(1)
    for text, box in boxes:
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1, text
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1, text
    for (one, box), (other, another) in itertools.combinations(boxes, 2):
        assert not box.padded(-0.5).overlaps(another.padded(-0.5)), (one, other)


def drawn_texts(figure):
    """All texts that a reader sees; ticks beyond the limits have labels that are never drawn."""
    yield from (text for text in figure.get_children() if isinstance(text, Text))
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        yield from (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts)
        if axes.get_legend():
            yield from (axes.get_legend().get_title(), *axes.get_legend().get_texts())
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            places = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
            yield from (label for place, label in places if min(limits) <= place <= max(limits))


def test_a_figure_is_the_same_every_time(known, tmp_path):
    one, other = (save(draw_curves(known), tmp_path / name, ["svg"])[0].read_bytes() for name in "ab")
    assert one == other


def test_an_unknown_format_is_named(known, tmp_path):
    with pytest.raises(ValueError, match="format must be one of 'png', 'svg', 'pdf', got 'jpg'"):
        save(draw_curves(known), tmp_path / "a", ["jpg"])
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        save(draw_curves(known), tmp_path / "file" / "a", ["png"])


def test_figures_need_no_display_and_leave_no_style_behind(navigation, tmp_path):
    code = (
        "import sys, dico, matplotlib; from pathlib import Path; from dico.viz.figures import write_figures;"
        "from dico.viz.style import STYLE; before = [matplotlib.rcParams[key] for key in STYLE];"
        f"write_figures([dico.load({str(navigation.folder)!r})], Path({str(tmp_path)!r}), formats=('png',));"
        "assert 'matplotlib.pyplot' not in sys.modules; assert [matplotlib.rcParams[key] for key in STYLE] == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_drawn_of_a_folder_without_metrics(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: None)
    with pytest.raises(RunError, match="has no metrics yet"):
        write_figures([run], tmp_path / "figures")
    with pytest.raises(RunError, match="is no run folder"):
        load(tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
