"""Figures and pages of members that differ in more than desired diversity."""

import shlex

import numpy as np
import pytest
import torch
from browsers import CHROMIUM, NONE_HERE, fixtures
from drawn import legend_of, said, texts
from report_runs import payload_of
from test_report import floats
from varied import trained_fixture, two_by_two, two_taus

from dico.analysis import curves, of_level
from dico.commands import parse
from dico.training.config import Config
from dico.viz.axis import axis_of
from dico.viz.colours import level_colours
from dico.viz.curves import plot_diversity, plot_tracking
from dico.viz.decision import plot_decision
from dico.viz.figures import draw_curves, draw_decision, draw_tracking
from dico.viz.page.networks import encode_policy
from dico.viz.report import payload, write_report
from dico.viz.style import FAINT, level_title, new_figure

trained = trained_fixture()
browser, opened = fixtures()


def points_of(axes):
    return {line.get_gid(): (line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines() if line.get_gid()}


def test_each_group_has_a_curve_and_what_all_desire_is_grey(tmp_path):
    run = two_taus(tmp_path / "run")
    axes = plot_diversity(new_figure(4, 3).subplots(), run)
    lines = {line.get_gid(): line for line in axes.get_lines() if line.get_gid()}
    assert list(lines) == ["tau=0.01", "tau=0.3"]
    np.testing.assert_allclose(lines["tau=0.01"].get_ydata(), 1.2)
    ((where, colour),) = [(line.get_ydata()[0], line.get_color()) for line in axes.get_lines() if line.is_dashed()]
    assert (where, colour) == (1, FAINT)
    figure = draw_curves(run)
    assert legend_of(figure) == ["tau=0.01", "tau=0.3"]
    assert figure.axes[-1].get_legend().get_title().get_text() == "tau"
    assert "navigation, IPPO, desired SND 1, 2 seeds" in said(figure)


def test_legends_name_all_that_differs(tmp_path):
    run = two_by_two(tmp_path / "run")
    figure = draw_tracking(run)
    assert figure.axes[-1].get_legend().get_title().get_text() == "desired SND, tau"
    assert legend_of(figure) == ["0.5, tau=0.01", "0.5, tau=0.3", "free, tau=0.01", "free, tau=0.3"]
    assert level_title(run, "0.5, tau=0.01") == "desired SND 0.5, tau=0.01"
    assert level_title(run, "free, tau=0.01") == "free, tau=0.01"
    tracked = plot_tracking(new_figure(4, 3).subplots(), run)
    assert [line.get_gid() for line in tracked.get_lines() if line.get_gid()] == ["0.5, tau=0.01", "0.5, tau=0.3"]
    by_tau = plot_tracking(new_figure(4, 3).subplots(), run.group_by("tau"))
    assert [line.get_gid() for line in by_tau.get_lines() if line.get_gid()] == ["tau=0.01", "tau=0.3"]
    assert len(set(level_colours(legend_of(figure)).values())) == 4


def test_the_decision_is_over_the_number_that_varies(tmp_path):
    run = two_taus(tmp_path / "run", algorithm="maddpg")
    clamped = {**run.groups[0], "kind": "deterministic"}  # there would be a limit
    object.__setattr__(run, "groups", (clamped,))
    figure = draw_decision([run])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_xscale()) == ("tau", "log")
    points = points_of(axes)
    assert points["tau=0.01"] == pytest.approx((0.01, 1.06))
    assert points["tau=0.3"] == pytest.approx((0.3, 1.35))
    assert "limit" not in points
    assert "action box" not in said(figure)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.01", "0.3"]
    assert "too few seeds to tell levels apart" in texts(figure)


def test_numbers_within_a_factor_of_ten_or_with_a_zero_are_not_logarithmic(tmp_path):
    for name, values in (("near", "tau=0.3,0.04"), ("nought", "tau=0.3,0")):
        run = two_taus(tmp_path / name, vary=(values,))
        assert plot_decision(new_figure(4, 3).subplots(), [run]).get_xscale() == "linear"
    assert axis_of([two_taus(tmp_path / "wide", vary=("tau=0.5,0.05",))]).logarithmic


def test_where_both_vary_the_decision_is_over_diversity_with_a_line_for_each_tau(tmp_path):
    run = two_taus(tmp_path / "run", snd=("0.5", "1"))
    figure = draw_decision([run])
    (axes,) = figure.axes
    assert axes.get_xlabel() == "desired SND"
    points = points_of(axes)
    for desired in (0.5, 1):
        for tau in (0.01, 0.3):
            assert points[f"{desired:g}, tau={tau}"] == pytest.approx((desired, desired + tau + 0.05))
    lines = [list(line.get_xdata()) for line in axes.get_lines() if len(line.get_xdata()) == 2 and not line.get_gid()]
    assert lines.count([0.5, 1.0]) == 2
    assert legend_of(figure) == ["0.5, tau=0.01", "0.5, tau=0.3", "1, tau=0.01", "1, tau=0.3"]


def test_runs_that_vary_are_compared(tmp_path):
    runs = [two_taus(tmp_path / "a"), two_by_two(tmp_path / "b")]
    figure = draw_decision(runs)
    assert legend_of(figure) == ["a", "b"]
    assert {"tau=0.3", "tau=0.01", "each run: too few seeds to tell levels apart"} <= set(texts(figure))


def test_the_page_has_each_group(tmp_path, trained):
    found = payload([trained])
    (shown,) = found["runs"]
    assert [level["text"] for level in found["levels"]] == ["tau=0.01", "tau=0.3"]
    assert {(level["least"], level["most"]) for level in found["levels"]} == {(1.0, 1.0)}
    assert found["grouping"] == {
        "title": "tau", "desired": False, "sample": "seed", "of": "", "bands": True, "few": True,
        "question": "Which tau is best?",
        "axis": {"title": "tau", "logarithmic": True, "diversity": False},
    }  # fmt: skip
    assert [(row["level"], row["place"]) for row in shown["summary"]] == [("tau=0.01", 0.01), ("tau=0.3", 0.3)]
    expected = curves(trained, "reward")[of_level(trained, "tau=0.01")].mean(0)
    np.testing.assert_allclose(floats(shown["curves"]["reward"]["tau=0.01"]["centre"]), expected, rtol=1e-5)
    assert "desired SND 1" in found["facts"]
    assert "against tau." in found["statistic"]["final"]
    for part in (shown["episodes"], shown["maps"]["panels"]):
        assert [each["level"] for each in part] == ["tau=0.01", "tau=0.3"]
    assert [each["level"] for each in shown["live"]["networks"]] == ["tau=0.01"] * 2 + ["tau=0.3"] * 2
    assert {each["value"] for each in shown["live"]["networks"]} == {None}  # all desire the same
    both = payload([two_by_two(tmp_path / "both")])
    assert both["grouping"]["title"] == "desired SND, tau"
    assert both["grouping"]["axis"] == {"title": "desired SND", "logarithmic": False, "diversity": True}
    assert [row["place"] for row in both["runs"][0]["summary"]] == [0.5, 0.5, None, None]
    by_tau = payload([two_by_two(tmp_path / "again").group_by("tau")])
    assert [level["least"] for level in by_tau["levels"]] == [None, None]
    assert "4 members" in by_tau["facts"]


def test_live_networks_are_those_of_the_member(trained):
    (shown,) = payload([trained])["runs"]
    for network in shown["live"]["networks"]:
        policy = trained.policy(tau=float(network["level"].removeprefix("tau=")), seed=network["seed"])
        (held,) = network["policies"]
        assert held["estimate"] == pytest.approx(policy.snd_hat.item(), rel=1e-6)
        own = encode_policy(policy, torch.ones(1, 4), network["reach"])["deviations"]
        assert [agent[0]["bias"] for agent in held["deviations"]] == [agent[0]["bias"] for agent in own]


def test_the_command_trains_what_varies_again(trained):
    words = shlex.split(payload([trained])["runs"][0]["command"])
    assert words[words.index("--vary") + 1] == "tau=0.3,0.01"
    assert parse(words[1:])[1].settings == Config.from_json(dict(trained.config))


@pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)
def test_both_taus_are_in_the_browser(opened, trained, tmp_path):
    path = write_report(trained, tmp_path / "page.html")
    page = opened(path)
    toolbar = page.get_by_role("toolbar")
    assert "Tau" in toolbar.inner_text()
    for level in ("tau=0.01", "tau=0.3"):
        assert toolbar.get_by_role("button", name=level.removeprefix("tau="), exact=True).count() == 1
        assert page.locator(f"[data-chart=reward] .series[data-level='{level}']").count() == 1
    assert [text.strip() for text in page.locator(".summary tbody th").all_inner_texts()] == ["0.01", "0.3"]
    assert page.locator("#decision h2").inner_text() == "Which tau is best?"
    assert page.locator("#decision .tick-label", has_text="0.3").count() == 1
    assert page.locator("#decision .limit").count() == 0
    assert page.locator("[data-chart=diversity] .desired").count() == 1
    page.locator("#decision .target").first.hover()
    assert page.locator("#decision .tip strong").inner_text() == "tau=0.01"
    estimates = page.evaluate("['tau=0.01', 'tau=0.3'].map((level) => window.dico.policy(level).estimate)")
    expected = [trained.policy(tau=tau).snd_hat.item() for tau in (0.01, 0.3)]
    assert estimates == pytest.approx(expected, rel=1e-6)
    assert estimates[0] != pytest.approx(estimates[1], rel=1e-3)
    page.locator("#live").get_by_label("trained for").select_option(label="tau=0.01 · seed 0")
    assert "undefined" not in page.locator("body").inner_text()
    assert "NaN" not in page.locator("body").inner_text()
    assert payload_of(path)["grouping"]["title"] == "tau"
