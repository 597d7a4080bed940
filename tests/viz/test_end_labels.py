"""The levels' names at the ends of their lines."""

import itertools

import pytest
from folders import write_run
from matplotlib.text import Annotation, Text

from dico.viz.end_labels import spread
from dico.viz.figures import draw_curves

NINE = ("0", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "2", "free")


def crowded(level, seed, iteration):
    """All levels end at nearly the same reward."""
    return {"reward": 1 + 0.001 * NINE.index(level) + 0.05 * iteration, "snd": 0.5 if level == "free" else float(level)}


def names(axes):
    return [text for text in axes.texts if str(text.get_gid()).startswith("end ")]


def test_nine_crowded_levels_are_told_apart(tmp_path):
    figure = draw_curves(write_run(tmp_path / "run", crowded, snd=NINE, seeds=3))
    figure.canvas.draw()
    reward, diversity = figure.axes
    for axes in (reward, diversity):
        assert {text.get_text() for text in names(axes)} == set(NINE)
        boxes = [Text.get_window_extent(text) for text in names(axes)]
        assert not any(one.padded(-0.5).overlaps(other) for one, other in itertools.combinations(boxes, 2))
        assert min(box.y0 for box in boxes) > axes.bbox.y0 - 8
        assert max(box.y1 for box in boxes) < axes.bbox.y1 + 8
    assert all(isinstance(text, Annotation) and text.arrow_patch for text in names(reward))  # which line is whose
    broken = {line.get_gid(): line.is_dashed() for line in reward.get_lines() if line.get_gid()}
    assert [broken[level] for level in NINE[:6]] == [False, True, True] * 2


def test_names_that_are_too_long_are_left_to_the_legend(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"reward": 1.0, "snd": 0.2}, snd=("cos:0->1@2e6", "0.5"))
    assert not names(draw_curves(run).axes[0])


def test_names_keep_their_order_and_their_places_where_there_is_room():
    assert spread([0.1, 0.5, 0.9], 0.2) == pytest.approx([0.1, 0.5, 0.9])
    places = spread([0.98, 0.99, 1.0], 0.1)
    assert places == pytest.approx([0.8, 0.9, 1.0])
    assert spread([0.0, 0.01, 0.02], 0.1) == pytest.approx([0.0, 0.1, 0.2])


def test_the_legend_stands_beyond_the_names(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"reward": 1.0, "snd": 0.2}, snd=("0.01..0.25", "0.5"))
    figure = draw_curves(run)
    figure.canvas.draw()
    farthest = max(Text.get_window_extent(text).x1 for text in names(figure.axes[1]))
    assert farthest < figure.axes[1].get_legend().get_window_extent().x0
