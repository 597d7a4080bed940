"""What figures and page show of analytical control: f beside the unscaled diversity, and the box beside rollouts."""

import numpy as np
import pytest
import torch
from browsers import CHROMIUM, NONE_HERE, fixtures
from drawn import said, steady, texts
from folders import trained, write_run

from dico.analysis import summary, tracking_error
from dico.analysis.fields import diversity_field, seen_on_grid
from dico.metrics import snd_at
from dico.runs import load
from dico.viz import choose, draw_box, draw_figures, draw_map, draw_slice, draw_tracking
from dico.viz.kept import RESOLUTION, kept_selection
from dico.viz.report import payload, write_report
from dico.viz.reproduction import keep_run

pytestmark = pytest.mark.unchecked  # trains and draws: twice as fast so
ANALYTICAL = {"control": "analytical", "algorithm": "maddpg", "lr": 1e-2, "snd": ("0", "0.5", "free"), "seeds": 1,
    "frames": 800}  # fmt: skip
browser, opened = fixtures()


@pytest.fixture(name="run")
def analytical_run():
    return trained("navigation", **ANALYTICAL)


def images(figure):
    return [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]


def test_a_field_has_f_and_what_it_takes_the_place_of(run):
    selection = choose(run, ["0.5"])
    state, policy = selection.start(0), selection.policy
    field = diversity_field(policy, selection.task, state, resolution=9)
    obs = seen_on_grid(selection.task, state, policy.members, field.x, field.y)
    torch.testing.assert_close(field.snd.flatten(1), 0.5 * policy.allocated(obs))
    torch.testing.assert_close(field.unscaled.flatten(1), snd_at(policy.deviations.everyone(obs)))
    before = field.apart()[0].before_scaling()
    assert torch.equal(before.snd, field.unscaled[0])
    assert before.before_scaling() is None


def test_the_map_of_f_stands_above_that_of_the_unscaled_deviations(run):
    selection = choose(run)
    figure = draw_map(selection, resolution=9)
    fields = selection.fields(selection.start(0), resolution=9)
    expected = [each.snd for each in fields] + [each.unscaled for each in fields]
    for image, values in zip(images(figure), expected, strict=True):
        np.testing.assert_allclose(image, values, rtol=1e-6)
    shown = texts(figure)
    assert shown.count("desired SND 0.5") == 1
    assert sum(text.startswith("SND\u2092: 0 to ") for text in shown) == 3
    assert "SND\u2092 of the deviations: before they are scaled to f" in said(figure)


def test_each_row_of_maps_says_what_is_drawn(run):
    """On the figure itself, and in the order from above to below; the bar is of f."""
    selection = choose(run)
    named = ["f: SND\u2092 of the policies", "SND\u2092 of the deviations"]
    figure = draw_map(selection, resolution=9)
    beside = [axes.get_ylabel() for axes in figure.axes if axes.images and axes.get_ylabel()]
    assert (beside, "f at each position" in texts(figure)) == (named, True)
    figure = draw_slice(selection, (0, 3), resolution=9)
    assert len(images(figure)) == 6
    beside = [axes.get_ylabel().split("\n") for axes in figure.axes if axes.images and axes.get_ylabel()]
    assert [words[0] for words in beside] == named
    assert len({words[1] for words in beside}) == 1  # the observed number, as ever
    plain = draw_map(choose(trained("navigation")), resolution=9)
    assert not [axes for axes in plain.axes if axes.images and axes.get_ylabel()]
    assert "SND at each position" in texts(plain)


def test_elsewhere_the_map_is_what_it_was():
    other = choose(trained("navigation"))
    assert other.fields(other.start(0), resolution=9)[0].before_scaling() is None
    figure = draw_map(other, resolution=9)
    assert len(images(figure)) == 3
    assert "deviations" not in said(figure)


def boxed(level, seed, iteration):
    """Over the box as desired but for a hundredth; twice as much on rollouts."""
    desired = 1.6 if level == "free" else float(level)
    own = {"snd": 2 * desired, "snd_box": 1.01 * desired, "outside": 0.1 / iteration + 0.02 * seed}
    return steady(level, seed, iteration) | own


def test_the_box_is_drawn_beside_rollouts(tmp_path):
    run = write_run(tmp_path / "run", boxed, control="analytical", seeds=3)
    box, rollouts, outside = draw_box(run).axes
    for axes, factor in ((box, 1.01), (rollouts, 2.0)):
        lines = {line.get_gid(): line.get_ydata() for line in axes.get_lines() if line.get_gid()}
        assert lines["0.5"] == pytest.approx(factor * 0.5)
        assert lines["free"] == pytest.approx(factor * 1.6)
        assert {line.get_ydata()[0] for line in axes.get_lines() if not line.get_gid()} == {0, 0.5}  # desired
    (line,) = (line for line in outside.get_lines() if line.get_gid() == "0.5")
    assert line.get_ydata() == pytest.approx(0.1 / np.arange(1, 41) + 0.02)  # seeds differ by 0.02 each
    assert "dashed: desired over the box" in said(draw_box(run))


def test_what_is_tracked_is_the_diversity_over_the_box(tmp_path):
    run = write_run(tmp_path / "run", boxed, control="analytical")
    assert tracking_error(run)[2:4] == pytest.approx(0.01)  # of the level 0.5
    assert summary(run)[1].snd.centre == pytest.approx(1)
    assert "|over the box - desired| / desired" in texts(draw_tracking(run))
    plain = write_run(tmp_path / "plain", steady)
    assert "|measured - desired| / desired" in texts(draw_tracking(plain))


def test_a_summary_keeps_both_maps_and_both_curves(run, tmp_path):
    keep_run(run, tmp_path / "kept.json")
    kept = load(tmp_path / "kept.json")
    for name in ("snd", "snd_box", "outside"):
        np.testing.assert_allclose(kept.metric(name), run.metric(name), rtol=1e-3)
    selection = choose(run)
    expected = selection.fields(selection.start(0), resolution=RESOLUTION)
    for field, other in zip(kept_selection(kept).fields(None), expected, strict=True):
        torch.testing.assert_close(field.unscaled, other.unscaled, rtol=1e-3, atol=1e-3)
    assert "box" in draw_figures([kept])


def test_the_page_holds_both(run):
    found = payload([run])
    shown = found["runs"][0]
    assert {"snd_box", "outside"} <= shown["curves"].keys()
    assert [panel["level"] for panel in shown["maps"]["unscaled"]] == ["0", "0.5", "free"]
    about = {metric["key"]: metric["about"] for metric in found["metrics"]}
    assert about["tracking"] == "Of the SND over the box, relative to the desired one."
    titles = [column["title"] for column in found["columns"]]
    assert titles[:2] == ["SND over the box", "executed SND"]
    for row in shown["summary"][:2]:
        assert row["more"]["snd_box"][0] == pytest.approx(float(row["level"]), rel=0.05)
    other = payload([trained("navigation")])
    assert "SND over the box" not in [column["title"] for column in other["columns"]]
    assert not {"snd_box", "outside"} & other["runs"][0]["curves"].keys()
    assert other["runs"][0]["maps"]["unscaled"] == []
    both = {metric["key"]: metric["about"] for metric in payload([run, trained("navigation")])["metrics"]}
    assert both["tracking"].startswith("Of the measured SND or, under analytical control, the SND over the box")


@pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)
def test_the_page_draws_both(run, tmp_path, opened):
    page = opened(write_report(run, tmp_path / "page.html"))
    charts = page.locator("figure[data-chart]").evaluate_all("nodes => nodes.map((node) => node.dataset.chart)")
    first = ["reward", "return", "success", "coverage", "outside", "snd_box", "diversity", "snd_acted"]
    assert charts == [*first, "tracking", "action_bound_violation"]
    assert page.locator(".map").count() == 6
    assert page.locator("[data-maps=unscaled] .map").count() == 3
    assert page.locator("[data-chart=snd_box] .desired").count() == 2
    rows = page.locator("#maps .hint strong").all_inner_texts()
    assert rows == ["f", "SND\u2092"]
    assert "before they are scaled" in page.locator("#maps").inner_text()
    assert "f: mean" in page.locator("#maps .map").first.inner_text()
    assert "SND\u2092: mean" in page.locator("[data-maps=unscaled] .map").first.inner_text()
    heads = page.locator(".summary th[scope=col]").all_inner_texts()
    assert heads[3:6] == ["measured SND", "SND over the box", "executed SND"]
    assert "the mean of f over a box" in page.locator("#over-box").inner_text()
    other = opened(write_report(trained("navigation"), tmp_path / "other.html"))
    assert not other.locator("#over-box").is_visible()
    assert other.locator(".map").count() == 3
    assert not other.locator("[data-maps=unscaled]").is_visible()
    assert "scaled" not in other.locator("#maps").inner_text()
