"""Levels that follow a schedule, in numbers, figures and on the page: judged by the value of each time."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import said
from folders import write_run
from report_runs import payload_of

from dico.analysis import claims, levels, scheduled_values, summary, tracking_error
from dico.runs.summary import open_summary, write_summary
from dico.viz import draw_decision, plot_diversity
from dico.viz.report import write_report

RAMP = "0->1@4000"
FRAMES = {"frames": 8000, "frames_per_batch": 1000, "envs": 10}


def values(level, seed, iteration):
    """The ramp is followed with an error of 10 %, the constant met."""
    desired = min((iteration - 1) / 4, 1.0)
    own = {"snd": 1.1 * desired, "desired": desired} if level == RAMP else {"snd": 0.5}
    return {"reward": 0.1 + 0.01 * seed, "action_bound_violation": 0.0, "seconds": 1.0} | own


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", values, snd=("free", RAMP, "0.5"), **FRAMES)


def test_the_error_is_of_the_value_at_each_time(run):
    assert levels(run) == ["0.5", RAMP, "free"]
    error = tracking_error(run)
    assert error[2].tolist() == pytest.approx([0.0] + [0.1] * 7)  # snd is in the order given: free, the ramp, 0.5
    assert error[4].tolist() == pytest.approx([0.0] * 8)
    assert np.isnan(error[0]).all()
    ramp = summary(run)[1]
    assert float(ramp.tracking_error.centre) == pytest.approx(0.1)
    assert scheduled_values(run)[2].tolist() == pytest.approx([0, 0.25, 0.5, 0.75, 1, 1, 1, 1])


def test_a_summary_keeps_what_was_desired(run, tmp_path):
    write_summary(run, tmp_path / "run.json")
    kept = open_summary(tmp_path / "run.json")
    np.testing.assert_allclose(tracking_error(kept), tracking_error(run), atol=1e-4)


def test_control_is_judged_by_the_value_at_each_time(run):
    (judged,) = [each for each in claims.judge([run]) if each.claim == "control"]
    assert judged.verdict == claims.FAILS
    assert "worst: 10 % at 0->1@4000" in judged.why


def test_the_dashed_line_follows_and_the_level_stands_where_it_landed(run):
    figure, axes = plt.subplots()
    plot_diversity(axes, run)
    dashed = [line.get_ydata() for line in axes.get_lines() if line.get_linestyle() == "--" or line.is_dashed()]
    assert any(np.allclose(line, [0, 0.25, 0.5, 0.75, 1, 1, 1, 1]) for line in dashed if len(line) == 8)
    assert any(np.allclose(line, 0.5) for line in dashed if len(line) == 2)
    plt.close(figure)
    drawn = draw_decision([run])
    words = said(drawn)
    assert "0 → 1 @ 4000 (landed at 1.10)" in words
    assert "free or a schedule where its diversity landed" in words
    plt.close(drawn)


def test_a_function_of_frames_is_drawn_by_its_name_and_not_imported(tmp_path, monkeypatch):
    """Its module is nowhere: all that is drawn stands in the rows."""
    name = "nowhere.levels:ramp"
    monkeypatch.setenv("DICO_TRUST", "")
    run = write_run(
        tmp_path / "run", lambda level, *of: values(RAMP if level == name else level, *of), snd=("free", name, "0.5"),
        **FRAMES,
    )  # fmt: skip
    assert levels(run) == ["0.5", name, "free"]
    assert tracking_error(run)[2].tolist() == pytest.approx([0.0] + [0.1] * 7)
    (judged,) = [each for each in claims.judge([run]) if each.claim == "control"]
    assert judged.verdict == claims.FAILS
    words = said(drawn := draw_decision([run]))
    assert "levels:ramp (landed at 1.10)" in words
    plt.close(drawn)
    page = payload_of(write_report(run, tmp_path / "report.html"))
    assert [each["place"] for each in page["runs"][0]["summary"] if each["level"] == name] == [None]


def test_the_page_draws_it_too(run, tmp_path):
    page = payload_of(write_report(run, tmp_path / "report.html"))
    (level,) = [each for each in page["levels"] if each["text"] == RAMP]
    assert (level["least"], level["most"]) == (None, None)
    assert list(page["runs"][0]["curves"]["desired"]) == [RAMP]
    assert [each["place"] for each in page["runs"][0]["summary"] if each["level"] == RAMP] == [None]
