"""What figures show and say: their artists and texts, not their pixels."""

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from drawn import known_fixture, said, steady, texts
from folders import fixture_of, write_run
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver
from matplotlib.text import Text

from dico.analysis import curves, levels, tracking_error
from dico.analysis.fields import diversity_field
from dico.runs import RunError, load
from dico.viz.colours import level_colours
from dico.viz.curves import plot_diversity, plot_executed_diversity, plot_tracking
from dico.viz.distances import draw_distances, matrices
from dico.viz.figures import (
    draw_curves,
    draw_decision,
    draw_tracking,
    draw_trajectories,
)
from dico.viz.map_figures import draw_map, draw_slice
from dico.viz.selection import choose, one_of_each, seeds_of
from dico.viz.style import new_figure, save

known = known_fixture()
navigation, dispersion, sampling, tag = map(fixture_of, ("navigation", "dispersion", "sampling", "tag"))


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


@pytest.mark.parametrize("kind", ["shared_std", "deterministic"])
def test_executed_diversity_has_a_panel_with_its_limit(tmp_path, kind):
    def values(level, *_):
        return {"snd": 2 * float(level), "snd_acted": float(level), "reward": 0.0}

    run = write_run(tmp_path / "run", values, snd=("0", "2"))
    run = replace(run, groups=({**run.groups[0], "kind": kind},))
    figure = draw_curves(run)
    means, executed = figure.axes[1:]
    assert [axes.get_title() for axes in (means, executed)] == ["Diversity", "SND of executed actions"]
    lines = {line.get_gid(): line for line in executed.get_lines() if line.get_gid()}
    np.testing.assert_allclose(lines["2"].get_ydata(), 2.0)
    limits = [[text.get_text() for text in axes.texts if text.get_gid() == "limit"] for axes in (means, executed)]
    told = ["largest in the action box: 2.83"]
    assert limits == [told if kind == "deterministic" else [], told]
    assert len(draw_curves(write_run(tmp_path / "old", steady)).axes) == 2  # it tells of none
    with pytest.raises(RunError, match="no SND of executed actions"):
        plot_executed_diversity(load(tmp_path / "old"))


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


def test_members_that_diverged_are_counted_in_the_legend(tmp_path):
    def values(level, seed, iteration):
        lost = {"reward": None, "snd": None, "action_bound_violation": None, "diverged": True}
        return lost if (level, seed) == ("0.5", 1) else steady(level, seed, iteration)

    run = write_run(tmp_path / "run", values, seeds=3)
    for figure in (draw_curves(run), draw_decision([run]), draw_tracking(run)):
        assert "0.5 (1 of 3 diverged)" in texts(figure)


def test_a_map_is_the_field_of_each_level_on_one_scale(navigation):
    selection = choose(navigation, seed=1)
    figure = draw_map(selection, 3, resolution=12, arrows=True)
    axes = figure.axes[:3]
    assert [each.get_title() for each in axes] == ["desired SND 0", "desired SND 0.5", "free"]
    norms = {(each.images[0].norm.vmin, each.images[0].norm.vmax) for each in axes}
    assert len(norms) == 1
    alone = diversity_field(navigation.policy("0.5", seed=1), selection.task, selection.start(3), resolution=12)
    np.testing.assert_allclose(axes[1].images[0].get_array(), alone.snd.numpy(), rtol=1e-4, atol=1e-6)
    arrows = [child for child in axes[1].get_children() if isinstance(child, Quiver)]
    assert len(arrows) == 2
    for word in ("navigation", "IPPO", "seed 1", "start 3", "SND at each position", "arrows: mean actions"):
        assert word in said(figure)


def test_a_map_over_observed_numbers_shows_what_was_seen(dispersion):
    figure = draw_slice(choose(dispersion), (4, 1), resolution=8)
    first = figure.axes[0]
    assert (first.get_xlabel(), first.get_ylabel()) == ("y to food 2", "y to food 1")
    alone = draw_slice(choose(dispersion), (4, 1), resolution=4, own_scale=True)
    assert "colours from 0 to the number above each" in said(alone)
    assert len(alone.axes) == len(figure.axes) - 1  # no bar
    assert first.images[0].get_array().shape == (8, 8)
    assert len(first.get_lines()[0].get_xdata()) > 100
    with pytest.raises(ValueError, match="dispersion has no map over positions"):
        draw_map(choose(dispersion))


def test_strips_have_a_row_for_each_level_from_the_same_start(navigation):
    figure = draw_trajectories(choose(navigation), seed=2, pictures=4)
    axes = np.array(figure.axes).reshape(3, 4)
    assert [each.get_title() for each in axes[0]][::3] == ["step 0", "step 100"]
    assert [row[0].get_ylabel() for row in axes] == ["desired SND\n0", "desired SND\n0.5", "free"]
    starts = [[tuple(patch.center) for patch in row[0].patches if isinstance(patch, Circle)] for row in axes]
    assert starts[0] == starts[1] == starts[2]
    assert len(axes[1, 3].collections) == 2  # a trail for each agent, none for a goal
    assert len(axes[1, 3].collections[0].get_segments()) == 100


def test_distances_are_those_of_the_metrics(dispersion):
    every = matrices(dispersion)
    assert every.shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(every, every.transpose(0, 1, 3, 2))
    i, j = np.triu_indices(4, 1)
    np.testing.assert_allclose(every[..., i, j].mean(-1), curves(dispersion, "snd"), rtol=1e-5, atol=1e-7)
    figure = draw_distances(dispersion)
    assert f"{every[1, -1, 0, 1]:.2f}" in texts(figure)
    assert "seed 0" in said(figure)


def test_distances_are_the_mean_over_seeds_whose_agents_are_matched(tmp_path):
    def values(_, seed, __):  # seed 0: agent 2 is apart, in seed 1 it is agent 0
        return {"reward": 0.0, "snd": 1.0, "distances": [[1.0, 5.0, 5.0], [5.2, 5.2, 0.8]][seed]}

    run = write_run(tmp_path / "run", values, snd=("0.5", "free"))
    three = replace(run, groups=({**run.groups[0], "n_agents": 3},))
    figure = draw_distances(three)
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), [[0, 0.9, 5.1], [0.9, 0, 5.1], [5.1, 5.1, 0]])
    assert "2 seeds, mean with agents that behave alike together" in said(figure)
    alone = draw_distances(three, seed=1)
    np.testing.assert_allclose(alone.axes[0].images[0].get_array()[0], [0, 5.2, 5.2])
    assert "seed 1" in said(alone)


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


DRAWN = (
    "curves", "decision", "tracking", "map", "slice", "trajectories", "distances", "bounds", "runs", "long", "alone",
)  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_no_texts_overlap(navigation, known, name, tmp_path):
    options = ("n_agents=4", "horizon=250", "final_reward=0.125")

    def bounded(folder, **settings):
        snd = ("<=0.3", "0.2..0.5", ">=0.3", "0.3", "free")
        values = lambda level, seed, _: {"reward": 0.1 * len(level) + seed, "snd": 0.3, "action_bound_violation": 0.0}  # noqa: E731
        return write_run(tmp_path / folder, values, snd=snd, **settings)

    draw = {
        "bounds": lambda: draw_decision([bounded("run", seeds=3)]),
        "runs": lambda: draw_decision([bounded("a/run"), bounded("b/run", seeds=1), bounded("a-long-name", seeds=3)]),
        "long": lambda: draw_tracking(bounded("run", task_options=options), "iqm"),
        "alone": lambda: draw_map(choose(navigation, ["0.5"]), resolution=5, arrows=True),
        "curves": lambda: draw_curves(known, "iqm"), "decision": lambda: draw_decision([known]),
        "tracking": lambda: draw_tracking(known), "map": lambda: draw_map(choose(navigation), resolution=5),
        "slice": lambda: draw_slice(choose(navigation), (0, 1), resolution=5),
        "trajectories": lambda: draw_trajectories(choose(navigation)), "distances": lambda: draw_distances(navigation),
    }  # fmt: skip
    figure = draw[name]()
    figure.canvas.draw()
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in drawn_texts(figure) if text.get_text().strip()]
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


def test_pictures_say_of_which_checkpoint_they_are(navigation, tmp_path):
    """The metrics may be newer than the policies."""
    run = load(shutil.copytree(navigation.folder, tmp_path / "run"))
    rows = [{**row, "iteration": 6, "frames": 2400} for row in run.rows() if row["iteration"] == 5]
    with (run.folder / "metrics.jsonl").open("a") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    run = load(run.folder)
    selection = choose(run)
    for figure in (
        draw_map(selection, resolution=4),
        draw_slice(selection, (0, 1), resolution=4),
        draw_trajectories(selection),
    ):
        assert "checkpoint after 2,000 frames" in said(figure)
    assert "after 2,400 frames" in said(draw_curves(run))


def test_free_alone_has_no_tracking_and_nothing_dashed(tmp_path):
    run = write_run(
        tmp_path / "run", lambda *_: {"reward": 1e-5, "snd": 1.0, "action_bound_violation": 0.0}, snd=("free",)
    )
    figure = draw_tracking(run)
    (axes,) = figure.axes
    assert axes.get_title() == "Action-bound violation"
    assert axes.get_ylim()[0] < 0 < axes.get_ylim()[1]  # the line at zero is seen
    assert "dashed" not in said(draw_curves(run))
    assert "nothing desired" in texts(plot_tracking(new_figure(4, 3).subplots(), run).figure)
    figure = draw_curves(run)
    figure.canvas.draw()
    assert [axes.yaxis.get_offset_text().get_text() for axes in figure.axes] == ["", ""]


def test_captions_name_only_options_that_are_not_the_defaults(tmp_path):
    run = write_run(tmp_path / "run", steady, task_options=("n_agents=2", "horizon=50", "final_reward=0.01"))
    words = said(draw_curves(run))
    assert "navigation, horizon=50, IPPO" in words
    assert "n_agents" not in words


def test_one_panel_fills_its_figure(navigation, tmp_path):
    alone = write_run(tmp_path / "run", lambda *_: {"reward": 0.0, "snd": 0.3, "distances": [0.3]}, snd=("0.3",))
    for figure in (draw_map(choose(navigation, ["0.5"]), resolution=4), draw_distances(alone)):
        figure.canvas.draw()
        left = min(axes.get_tightbbox().x0 for axes in figure.axes) / figure.bbox.width
        assert left < 0.15
