"""Runs against each other: what differs, and how sure that is."""

from itertools import pairwise

import numpy as np
import pytest
from drawn import lost, said, steady, texts
from folders import write_run

from dico._student import student_quantile
from dico.analysis import aggregate, align, differences, final, frames
from dico.viz import draw_compared_curves, draw_differences
from dico.viz.colours import run_colour


def better(level, seed, iteration):
    """Ten more than steady at 0.5, and no other reward elsewhere."""
    found = steady(level, seed, iteration)
    return found | {"reward": found["reward"] + (10 if level == "0.5" else 0)}


@pytest.fixture
def pair(tmp_path):
    return [
        write_run(tmp_path / "a", steady, seeds=4),
        write_run(tmp_path / "b", better, snd=("0.5", "free", "2"), seeds=4),
    ]


def test_levels_that_both_have_are_compared(pair):
    found = {each.level: each for each in differences(align(pair))}
    assert list(found) == ["0.5", "free"]
    assert found["0.5"].values["reward"].effect == pytest.approx(10)
    assert found["0.5"].verdict("reward") == "higher"
    assert found["free"].verdict("reward") == "not told apart"
    assert found["0.5"].verdict("snd") == "no scatter"
    assert found["0.5"].seeds == (4, 4)


def test_a_quantity_that_few_seeds_tell_of_has_too_few_whatever_the_others_have(tmp_path):
    def sparse(level, seed, iteration):
        return steady(level, seed, iteration) | ({"snd": None} if seed else {})

    runs = [write_run(tmp_path / "a", steady, seeds=4), write_run(tmp_path / "b", sparse, seeds=4)]
    (found, *_) = differences(align(runs))
    assert found.seeds == (4, 4)
    assert found.counts["snd"] == (4, 1)
    assert found.verdict("snd") == "too few seeds"


def test_intervals_hold_all_at_once(pair):
    """Two rows: each has a confidence of 97.5 %, and Welch's six degrees of freedom for equal variances."""
    one = differences(align(pair))[0].values["reward"]
    spread = np.var([0, 0.01, 0.02, 0.03], ddof=1)
    assert one.high - one.effect == pytest.approx(student_quantile(6, 0.975) * np.sqrt(2 * spread / 4))


def test_two_seeds_have_a_difference_and_no_interval(tmp_path):
    runs = [write_run(tmp_path / name, steady, seeds=2) for name in "ab"]
    found = differences(align(runs))
    assert {each.verdict("reward") for each in found} == {"too few seeds"}
    assert not any(line.get_linewidth() == 1.6 for line in draw_differences(runs).axes[0].get_lines())


def test_each_run_has_its_colour(pair):
    figure = draw_differences(pair)
    marks = {line.get_gid(): line for line in figure.axes[0].get_lines() if line.get_gid()}
    assert list(marks) == ["0.5 1", "free 1"]
    assert {line.get_color() for line in marks.values()} == {run_colour(1)}
    assert marks["free 1"].get_markerfacecolor() == "white"  # not told apart
    assert "b - a" in texts(figure)
    curves = draw_compared_curves(pair)
    lines = {line.get_gid(): line.get_color() for axes in curves.axes for line in axes.get_lines() if line.get_gid()}
    assert lines == {"0 0": run_colour(0), "0.5 0": run_colour(0), "0.5 1": run_colour(1), "2 1": run_colour(1),
                     "free 0": run_colour(0), "free 1": run_colour(1)}  # fmt: skip
    assert "4 seeds, mean and standard deviation" in said(curves)


def test_runs_without_a_level_in_common_have_nothing_to_subtract(tmp_path):
    runs = [write_run(tmp_path / name, steady, snd=(level,)) for name, level in (("a", "0"), ("b", "1"))]
    assert draw_differences(runs) is None


def lines_of(figure):
    """The lines of runs, by level and run."""
    return {line.get_gid(): line for axes in figure.axes for line in axes.get_lines() if line.get_gid()}


def test_runs_of_other_lengths_are_drawn_in_one_unit(tmp_path):
    long = {"frames": 2_400_000, "frames_per_batch": 600_000}
    runs = [write_run(tmp_path / "a", steady), write_run(tmp_path / "b", steady, **long)]
    figure = draw_compared_curves(runs)
    ends = {gid: line.get_xdata()[-1] for gid, line in lines_of(figure).items()}
    assert ends["0 0"] == pytest.approx(frames(runs[0])[-1] / 1e6)
    assert ends["0 1"] == pytest.approx(2.4)
    assert "frames (millions)" in said(figure)


def partly_lost(level, seed, iteration):
    """Far from 0, and nothing is left of the members at 0.5."""
    found = steady(level, seed, iteration)
    return lost() if level == "0.5" else found | {"reward": 50 + found["reward"]}


def test_a_level_whose_members_diverged_says_so_and_leaves_the_scale_to_others(tmp_path):
    runs = [write_run(tmp_path / name, partly_lost) for name in "ab"]
    panels = {axes.get_title(): axes for axes in draw_compared_curves(runs).axes}
    said = {title: [text.get_text() for text in axes.texts] for title, axes in panels.items()}
    assert said == {"desired SND 0": [], "desired SND 0.5": ["all members diverged"], "free": []}
    assert {axes.get_ylim() for axes in panels.values()} == {panels["free"].get_ylim()}
    assert panels["free"].get_ylim()[0] > 49


def test_panels_share_one_range_of_frames(tmp_path):
    """Rows above the last have no numbers, so theirs must be those below."""
    alone = ("0", "0.2", "0.4", "0.6", "0.8", "free")
    runs = [write_run(tmp_path / "a", steady, snd=alone, frames=12_000),
            write_run(tmp_path / "b", steady, snd=("free",), frames=60_000)]  # fmt: skip
    figure = draw_compared_curves(runs)
    (range_of_frames,) = {axes.get_xlim() for axes in figure.axes}
    assert range_of_frames[1] >= 60


def test_figures_of_members_that_all_diverged(tmp_path):
    runs = [write_run(tmp_path / name, lost, frames=12_000) for name in "ab"]
    assert draw_compared_curves(runs).axes[0].get_xlim()[1] >= 12


def test_seeds_that_diverged_are_not_too_few_seeds(tmp_path):
    """Where all are gone, and where the two that are left are too few."""

    def failing(level, seed, iteration):
        return lost() if level == "0.5" or (level == "free" and seed < 2) else steady(level, seed, iteration)

    runs = [write_run(tmp_path / "a", steady, seeds=4), write_run(tmp_path / "b", failing, seeds=4)]
    found = {each.level: each for each in differences(align(runs))}
    assert {level: each.verdict("reward") for level, each in found.items()} == {
        "0": "not told apart", "0.5": "diverged", "free": "diverged"}  # fmt: skip
    assert found["free"].diverged == (0, 2)


def test_the_figure_says_that_runs_end_elsewhere(tmp_path):
    lengths = {"a": 12_000, "b": 18_000, "c": 234_000}
    runs = [write_run(tmp_path / name, steady, frames=frames) for name, frames in lengths.items()]
    assert "12,000, 18,000 and 234,000 frames a member" in said(draw_differences(runs))
    assert "frames" not in said(draw_differences([runs[0], write_run(tmp_path / "d", steady, frames=12_000)]))


def test_the_legend_has_no_pair_without_a_point(tmp_path, pair):
    gone = write_run(tmp_path / "gone", lost, snd=("0",))
    elsewhere = write_run(tmp_path / "elsewhere", steady, snd=("3",))
    found = texts(draw_differences([*pair, gone, elsewhere]))
    assert [text for text in found if " - a" in text] == ["b - a"]


def test_many_runs_stay_in_the_rows_of_their_levels(tmp_path):
    runs = [write_run(tmp_path / str(number), steady, frames=6000) for number in range(9)]
    heights = {line.get_gid(): line.get_ydata()[0] for line in draw_differences(runs).axes[0].get_lines()}
    levels = [[heights[f"{level} {number}"] for number in range(1, 9)] for level in ("0", "0.5", "free")]
    assert all(min(above) > max(below) + 0.1 for above, below in pairwise(levels))


def test_rounding_is_no_scatter(tmp_path):
    """Shares that all seeds have alike: their means differ in the last bit, by the order of adding up."""

    def run(name, share):
        def row(level, seed, iteration):
            found = {"reward": 0.01 * seed, "snd": 0.5, "action_bound_violation": 0.0}
            return found | {
                "success": share + 0.1 * ((iteration + seed) % 3)
            }  # the same three values, in another order

        return write_run(tmp_path / name, row, snd=("0.5",), seeds=3, frames=180_000)

    runs = [run("one", 0.1), run("two", 0.3)]
    finals = [final(each, "success") for each in runs]
    assert max(np.ptp(values) for values in finals) > 0
    (found,) = differences(runs)
    assert found.verdict("success") == "no scatter"
    assert float(np.ptp([aggregate(finals[0]).low, aggregate(finals[0]).high])) == 0
