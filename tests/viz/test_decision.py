"""The decision plot: where levels stand, which is best, and how runs are told apart."""

from dataclasses import replace

import pytest
from drawn import known_fixture, legend_of, lost, said, steady, texts
from folders import write_run
from matplotlib import pyplot
from matplotlib.text import Text

from dico.analysis import best_level, final
from dico.bounds import max_snd
from dico.viz.decision import plot_decision
from dico.viz.figures import draw_decision
from dico.viz.gallery import write_figures
from dico.viz.limits import max_snd_limit
from dico.viz.style import new_figure, save

known = known_fixture()


def standing(figure, gid):
    """Where marks of a kind stand."""
    return [line.get_xdata()[0] for line in figure.axes[0].get_lines() if line.get_gid() == gid]


def test_the_limit_is_the_largest_snd_of_the_box(known):
    clamped = replace(known, groups=({**known.groups[0], "kind": "deterministic"},))
    axes = draw_decision([clamped]).axes[0]
    (drawn,) = (line for line in axes.get_lines() if line.get_gid() == "limit")
    assert drawn.get_xdata()[0] == max_snd_limit(clamped).value == max_snd(2, [-1, -1], [1, 1]).value
    assert "largest SND in the action box: 2.83" in said(axes.figure)  # beside the axes, where no mark is


def test_means_before_a_tanh_have_no_limit(known):
    axes = plot_decision(new_figure(4, 3).subplots(), [known])
    assert max_snd_limit(known) is None
    assert "action box" not in said(axes.figure)


def test_no_limit_for_another_metric(tmp_path):
    run = write_run(tmp_path / "run", lambda *a: steady(*a) | {"hse": 0.2}, metric="hse")
    axes = plot_decision(new_figure(4, 3).subplots(), [run])
    assert max_snd_limit(run) is None
    assert not [line for line in axes.get_lines() if line.get_gid() == "limit"]
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


def test_levels_that_cannot_be_told_from_the_best_are_named(tmp_path):
    def alike(level, seed, iteration):
        return {"reward": {"0": 0.0, "0.5": 1.0, "1": 1.01, "free": 0.5}[level] + 0.1 * seed, "snd": 1.2}

    run = write_run(tmp_path / "run", alike, snd=("0", "0.5", "1", "free"), seeds=4)
    figure = draw_decision([run])
    assert "0.5 and 1 cannot be told apart" in texts(figure)
    assert standing(figure, "alike") == [0.5, 1.0]  # and not free, whose diversity is between or beyond
    assert standing(figure, "best") == []
    assert "on pale discs: any of these may be best" in said(figure)
    assert "best" not in said(draw_decision([run], "iqm"))
    none = write_run(tmp_path / "none", lambda level, seed, _: {"reward": seed, "snd": 1.0}, seeds=3)
    figure = draw_decision([none])
    assert "no level can be told from another" in texts(figure)
    assert standing(figure, "alike") == standing(figure, "best") == []


def test_of_two_seeds_no_level_is_named(tmp_path):
    figure = draw_decision(write_run(tmp_path / "run", steady, seeds=2))
    assert "too few seeds to tell levels apart" in texts(figure)
    assert "best" not in said(figure)
    assert standing(figure, "best") == []


def test_several_runs_are_compared_by_name(known, tmp_path):
    other = write_run(tmp_path / "other", steady, snd=("0", "1"))
    written = write_figures([known, other], tmp_path / "figures", formats=("svg",))
    assert written[0] == tmp_path / "figures" / "decision.svg"
    assert {path.parent.name for path in written[3:]} == {"known", "other"}
    assert [path.stem for path in written[:3]] == ["decision", "curves", "differences"]
    figure = draw_decision([known, other])
    assert legend_of(figure) == ["known\n  3 seeds", "other\n  2 seeds"]  # all that differs
    assert "known: best: 0.5\nother: too few seeds to tell levels apart" in texts(figure)
    assert standing(figure, "best") == [0.5]
    drawn = plot_decision([known, other])  # a figure of its own
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["known", "other"]
    pyplot.close("all")
    for words in ("navigation, IPPO, after 240,000 frames, mean and", "diamonds: free where its diversity landed"):
        assert words in said(figure)


def test_runs_of_one_name_or_an_odd_one_are_in_the_legend(tmp_path):
    """Matplotlib leaves out labels that begin with _, and reads $ as a formula."""
    runs = [write_run(tmp_path / name, steady) for name in ("a/run", "b/run", "_under", r"$\foo$")]
    assert legend_of(draw_decision(runs[:2])) == ["a/run", "b/run"]
    figure = draw_decision(runs[2:])
    assert [text.strip() for text in legend_of(figure)] == ["_under", r"$\foo$"]
    save(figure, tmp_path / "odd", ["png"])
    written = write_figures(runs[:2], tmp_path / "figures", formats=("png",))
    assert {path.parent.name for path in written[3:]} == {"a-run", "b-run"}


def test_there_is_no_best_of_one(tmp_path):
    figure = draw_decision([write_run(tmp_path / "run", steady, snd=("0.5",))])
    assert "best" not in said(figure)
    assert not [line for line in figure.axes[0].get_lines() if line.get_gid() == "best"]


def test_levels_in_one_place_surround_each_other(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"reward": 1.0, "snd": 0.3}, snd=("<=0.3", "0.2..0.5", "0.3", "free"))
    figure = draw_decision([run])
    sizes = [line.get_markersize() for line in figure.axes[0].get_lines() if line.get_gid() in ("<=0.3", "0.3", "free")]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
    assert "horizontal lines: from bound to bound" in said(figure)


def test_neighbouring_levels_have_marks_of_one_size(tmp_path):
    crowd = ("0", "0.1", "0.2", "0.3", "5")
    run = write_run(tmp_path / "run", lambda level, *_: {"reward": -float(level), "snd": float(level)}, snd=crowd)
    marks = [line for line in draw_decision(run).axes[0].get_lines() if line.get_gid() in crowd]
    assert len(marks) == len(crowd)
    assert len({mark.get_markersize() for mark in marks}) == 1


def test_levels_that_executed_actions_cannot_have_are_told_of(tmp_path):
    figure = draw_decision(write_run(tmp_path / "run", steady, snd=("1", "6")))
    assert "at most 2.83: the desired 6 is of means before the tanh" in said(figure)


def test_a_level_that_wholly_diverged_is_in_the_legend(tmp_path):
    run = write_run(tmp_path / "run", lambda level, *a: lost() if level == "0.5" else steady(level, *a))
    assert "0.5 (2 of 2 diverged)" in legend_of(draw_decision([run]))
    everyone = write_run(tmp_path / "gone", lost)
    figure = draw_decision([everyone])
    assert legend_of(figure) == ["0 (2 of 2 diverged)", "0.5 (2 of 2 diverged)", "free (2 of 2 diverged)"]
    assert "all members diverged" in texts(figure)


def test_one_agent_has_no_limit(tmp_path):
    run = write_run(tmp_path / "run", steady)
    alone = replace(run, groups=({**run.groups[0], "n_agents": 1},))
    assert max_snd_limit(alone) is None
    assert not [line for line in draw_decision([alone]).axes[0].get_lines() if line.get_gid() == "limit"]


def test_no_whisker_crosses_the_word_best(known):
    figure = draw_decision([known])
    figure.canvas.draw()
    (best,) = (text for text in figure.findobj(Text) if text.get_text().startswith("best"))
    assert best.get_window_extent().y0 >= figure.axes[0].bbox.y1


def test_a_far_limit_takes_no_room_from_the_levels(tmp_path):
    run = write_run(tmp_path / "run", steady, snd=("0", "0.3"), seeds=2)
    clamped = replace(run, groups=({**run.groups[0], "kind": "deterministic"},))
    figure = draw_decision([clamped])
    left, right = figure.axes[0].get_xlim()
    assert 0.3 / (right - left) > 0.85
    assert "largest SND in the action box: 2.83" in said(figure)


def test_two_seeds_are_two_dots(tmp_path):
    figure = draw_decision([write_run(tmp_path / "run", steady, seeds=2)])
    dots = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o" and len(line.get_ydata()) == 2]
    assert len(dots) == 3
    assert "dots: seeds" in said(figure)


def test_levels_far_from_none_have_the_axis_to_themselves(tmp_path):
    left, right = draw_decision([write_run(tmp_path / "run", steady, snd=("1", "1.5"))]).axes[0].get_xlim()
    assert 0.8 < left < 1
    assert 1.5 < right < 1.7


def test_the_caption_tells_of_an_interval_where_there_is_one(tmp_path):
    def rewards(level, seed, _):
        return {"reward": float(seed), "snd": 1.0, "action_bound_violation": 0.0}

    few, enough = (write_run(tmp_path / f"{n}", rewards, snd=("0", "free"), seeds=n, frames=12_000) for n in (2, 3))
    assert "landed (with its interval)" in said(draw_decision(enough))
    assert "its interval" not in said(draw_decision(few))
