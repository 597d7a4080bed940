"""The page tells the truth in a browser: which line is which, what stands where, no digit lost, no part blanked."""

import base64
import json
import re
from io import BytesIO

import numpy as np
import pytest
import torch
from browsers import CHROMIUM, DESKTOP, NONE_HERE, PHONE, fixtures
from folders import write_run
from PIL import Image
from report_runs import report_fixtures, small_run, without_checkpoints

from dico.acting import into_box
from dico.constraints import equal
from dico.kinds import KINDS
from dico.policy import DiCo
from dico.runs import load
from dico.tasks.scene import BLACK, GREEN, TEAM, Box, Circle, Line, Scene, discs, square
from dico.viz.colours import rgb
from dico.viz.page.encode import floats
from dico.viz.page.inline import page as page_of
from dico.viz.page.networks import encode_policy
from dico.viz.page.scenes import encode_scene
from dico.viz.report import write_report

pytestmark = [pytest.mark.unchecked, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()
run, found = report_fixtures("truth")


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    """The page of a run whose agents all do the same: one level, one seed."""
    return write_report(small_run(tmp_path_factory.mktemp("same") / "same", snd=("0",), seeds=1, frames=80))


def written(path, payload):
    path.write_text(page_of(payload, "page"), "utf-8")
    return path


def started_from_python(run, folder):
    """The same run as if BenchMARL had trained it from a program."""
    copy = without_checkpoints(run, folder)
    saved = json.loads((copy.folder / "config.json").read_text())
    saved["session"]["command"] = None
    (copy.folder / "config.json").write_text(json.dumps(saved))
    return load(copy.folder)


def test_a_run_without_a_command_has_a_page(opened, run, tmp_path):
    page = opened(write_report(started_from_python(run, tmp_path / "python")))
    assert page.locator("section").count() == 7
    assert "started from a Python program" in page.locator("#settings").inner_text()
    assert page.get_by_role("button", name="Copy the command").count() == 0
    page.get_by_text("Configuration", exact=True).click()
    assert page.locator(".settings tr", has_text="estimate_frames").inner_text().split() == ["estimate_frames", "none"]


def test_a_fault_in_one_part_leaves_the_others(browser, found, tmp_path):
    broken = found | {"runs": [found["runs"][0] | {"command": 5}]}
    page = browser.new_page()
    page.goto(written(tmp_path / "broken.html", broken).as_uri())
    page.wait_for_function("document.querySelector('.plot svg') !== null")
    assert page.locator("section").count() == 7
    assert "could not be drawn" in page.locator("#settings").inner_text()
    assert page.locator("#contents a").count() == 7
    assert "Written by dico" in page.locator("footer").inner_text()
    page.close()


def test_the_legend_shows_how_runs_and_levels_are_drawn(opened, run, tmp_path):
    other = small_run(tmp_path / "other", snd=("0.5",), frames=80)
    path = write_report([run, other], tmp_path / "both.html")
    page = opened(path)
    colour = "(node, name) => getComputedStyle(node)[name]"
    for index in (0, 1):
        chip = page.locator(f"[data-key='run {index}'] .run-mark").evaluate(colour, "color")
        line = page.locator(f"[data-chart=reward] .series[data-run='{index}'] .line").first
        assert chip == line.evaluate(colour, "stroke")
    for level in ("0", "0.5", "free"):
        chip = page.locator(f"[data-key='level {level}'] .run-line line")
        line = page.locator(f"[data-chart=reward] .series[data-level='{level}'] .line").first
        assert chip.get_attribute("stroke-dasharray") == line.get_attribute("stroke-dasharray")
    lead = page.locator("#curves .lead").inner_text()
    assert "Colours tell the runs apart, line patterns the levels" in lead
    assert "ashed" not in lead
    assert page.locator("[data-chart=diversity] .desired-mark").count() == 2
    dashes = page.locator("[data-chart=diversity] .desired").first.evaluate("n => getComputedStyle(n).strokeDasharray")
    assert dashes == "none"
    phone = opened(path, PHONE)
    assert phone.locator("#toolbar").bounding_box()["height"] < 160
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_deviations_that_are_not_zero_do_not_read_zero(opened, tmp_path):
    run = write_run(
        tmp_path / "run",
        lambda level, seed, iteration: {"reward": 0.1 + 2e-7 * seed, "snd": 0.00724 + 1e-10 * seed},
        snd=("0.1", "0.2", "free"), seeds=3, frames=12_000,
    )  # fmt: skip
    page = opened(write_report(run))
    cells = page.locator(".summary td.number").all_inner_texts()
    deviations = [re.search(r"±\s(\S+)", cell)[1].replace("\N{MINUS SIGN}", "-") for cell in cells if "±" in cell]
    assert len(deviations) == 8
    assert all(float(deviation) > 0 for deviation in deviations)
    assert float(deviations[0]) == pytest.approx(2e-7, rel=0.4)


def test_digits_follow_the_spread(calculator):
    def shown(*intervals):
        script = "(all) => all.map((one) => dico.format.interval(one, dico.format.decimalsOf(all)))"
        return calculator.evaluate(script, [list(each) for each in intervals])

    assert shown((0.1001, 0.10007, 0.10013)) == ["0.10010 ±\N{NO-BREAK SPACE}0.00003"]
    assert shown((0.1001, 0.10007, 0.10013), (45.2, 40.0, 50.4)) == [
        "0.10010 ±\N{NO-BREAK SPACE}0.00003",
        "45.200 ±\N{NO-BREAK SPACE}5.200",
    ]
    assert shown((1.031, None, None), (45.2, None, None)) == ["1.03", "45.20"]  # not 1.0 beside an error of 3.1 %


def test_more_values_than_a_function_takes(opened, found, tmp_path):
    values = floats(np.linspace(0, 1, 300))
    run = found["runs"][0]
    many = {"0": {"centre": values, "low": None, "high": None, "seeds": [values] * 450}}
    payload = found | {"runs": [run | {"frames": values, "curves": {"reward": many}}]}
    page = opened(written(tmp_path / "many.html", payload))
    page.get_by_label("single seeds").check()
    assert page.locator("[data-chart=reward] .seed").count() == 450


def test_one_level_is_no_best_one_and_plays_once(opened, same):
    page = opened(same)
    assert page.locator("#episodes canvas").count() == 1
    assert page.locator(".pill, tr.best, .level.best").count() == 0
    assert "best" not in page.locator("main").inner_text().lower()
    ticks = page.locator("#decision .tick-label").all_text_contents()
    assert {"0", "1"} <= set(ticks)  # an axis that has room for more than the desired 0


def test_the_live_map_shows_what_no_recorded_map_has(opened, same):
    page = opened(same)
    live = page.locator("#live")
    live.scroll_into_view_if_needed()
    assert "0 everywhere" in live.locator(".bar-ends").inner_text()
    assert "desired 0 / " in live.inner_text()
    assert "the SND of the unscaled deviations" in live.inner_text()
    assert "seed 0, after 80 frames" in live.inner_text()
    canvas = live.locator("canvas").first
    before = canvas.evaluate("node => node.toDataURL()")
    live.locator(".desired-slider").fill("1")
    assert canvas.evaluate("node => node.toDataURL()") != before
    top = float(live.locator(".bar-ends span").last.inner_text())
    mean = float(live.locator("[data-reading='SND over this map'] strong").inner_text())
    assert top >= mean > 0


def test_arrows_of_agents_that_agree_stand_side_by_side(opened, same):
    page = opened(same)
    page.locator("#live").scroll_into_view_if_needed()
    page.get_by_label("arrows").check()
    boxes = page.locator(".small-arrow").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect()).map(box => [box.x, box.y, box.width, box.height])"
    )
    first, second = np.array(boxes[0]), np.array(boxes[1])
    np.testing.assert_allclose(first[2:], second[2:], atol=0.01)
    assert np.hypot(*(first - second)[:2]) > 10


def test_the_trained_tick_is_under_the_thumb(opened, found, tmp_path):
    page = opened(written(tmp_path / "page.html", found))
    page.locator("#live").get_by_label("trained for").select_option(label="0.5 · seed 0")
    track = page.locator(".desired-slider").bounding_box()
    tick = page.locator(".slider-tick").bounding_box()
    slider = page.locator(".desired-slider")
    share = float(slider.input_value()) / float(slider.get_attribute("max"))
    thumb = 16  # pixels, in Chromium: its middle moves between its halves
    expected = track["x"] + thumb / 2 + share * (track["width"] - thumb)
    assert tick["x"] + tick["width"] / 2 == pytest.approx(expected, abs=1)


def scene_of_everything(beam=BLACK):
    """A beam, a link, a package, the edge, and food of which one piece is eaten; two steps that look alike."""

    def at(x, y):
        return torch.tensor([[x, y], [x, y]])

    food = [
        Circle(role="food", colour=GREEN, centre=at(x, 0.5), radius=0.2, visible=torch.tensor([there, there]))
        for x, there in ((-0.5, True), (0.5, False))
    ]
    lines = (Line(role="beam", colour=beam, start=at(-0.8, -0.5), end=at(0.8, -0.5)),
             Line(role="link", colour=BLACK, start=at(-0.8, -0.8), end=at(0.8, -0.8)))  # fmt: skip
    edge = Box(role="bounds", centre=at(0.0, 0.0), length=1.9, width=1.9)
    return Scene(extent=square(1.0), circles=tuple(food), boxes=(edge,), lines=lines)


def showing(found, scene, key):
    """A report with one episode, of a scene."""
    episode = {"level": "0", "seed": 0, "rewards": "", "ended": False, **encode_scene(scene)}
    return found | {"runs": [found["runs"][0] | {"episodes": [episode], "lasts": False, "key": key}]}


def pixels(page):
    """Of the episode: (rows, columns, channels)."""
    canvas = page.locator("#episodes canvas")
    canvas.scroll_into_view_if_needed()
    data = canvas.evaluate("node => node.toDataURL()").partition(",")[2]
    return np.asarray(Image.open(BytesIO(base64.b64decode(data))).convert("RGBA"))


def test_scenes_look_as_in_the_figures(opened, found, tmp_path):
    payload = showing(found, scene_of_everything(), ["green discs: food", "dotted: eaten"])
    page = opened(written(tmp_path / "scene.html", payload), DESKTOP, color_scheme="light")
    assert "green discs: food, dotted: eaten" in page.locator("#episodes").inner_text()
    image = pixels(page)
    width = image.shape[1]

    def around(x, y, reach):
        row, column = (int(width * (1 - y) / 2), int(width * (1 + x) / 2))
        part = image[row - reach : row + reach + 1, column - reach : column + reach + 1]
        return part[part[..., 3] > 128][:, :3]

    def dark(part):
        return int((part.max(1) < 100).sum()) if len(part) else 0

    beam, link = (sum(dark(around(x, y, 4)) for x in np.linspace(-0.7, 0.7, 15)) for y in (-0.5, -0.8))
    assert beam > 3 * link > 0
    assert len(around(0.5, 0.5, 5)) == 0  # eaten: nothing within
    ring = np.concatenate([around(0.5 + 0.2 * np.cos(a), 0.5 + 0.2 * np.sin(a), 2) for a in np.linspace(0, 6.2, 40)])
    assert len(ring) > 40
    assert len(around(-0.5, 0.5, 5)) == 11 * 11  # there: full


def test_small_agents_on_top_of_each_other_show_their_colours(opened, found, tmp_path):
    scene = Scene(extent=square(1.0), circles=discs("agent", torch.zeros(2, 3, 2), 1e-3))
    page = opened(written(tmp_path / "small.html", showing(found, scene, [])), DESKTOP, color_scheme="light")
    image = pixels(page)[..., :3].astype(int)
    for colour in TEAM[:3]:
        assert (np.abs(image - rgb(colour)).sum(-1) < 30).sum() > 40, colour


def test_what_is_black_shows_on_a_dark_page(opened, found, tmp_path):
    payload = showing(found, scene_of_everything(beam="#050505"), ["black lines: beam"])
    page = opened(written(tmp_path / "dark.html", payload), DESKTOP, color_scheme="dark")
    assert "grey lines: beam" in page.locator("#episodes").inner_text()
    image = pixels(page)
    assert image[int(0.75 * len(image)), len(image) // 2, :3].min() > 100


@pytest.fixture(scope="module")
def calculator(browser, found, tmp_path_factory):
    """A page kept open for its numbers."""
    page = browser.new_page()
    page.goto(written(tmp_path_factory.mktemp("page") / "page.html", found).as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_browsers_actions_are_pytorchs(calculator, kind):
    torch.manual_seed(0)
    low, high = [-1.0, -2.0], [1.0, 0.5]
    policy = DiCo.mlp(3, 6, 2, equal(2.0), kind=kind, hidden=(16,), low=low, high=high, tau=1.0)
    obs = 3 * torch.randn(20, 3, 6)
    policy.commit_(policy.estimate(obs.flatten(0, 1)))
    acted = calculator.evaluate(
        """([encoded, rows]) => {
            const policy = new dico.Policy(encoded);
            return rows.map((row) => policy.act(Float64Array.from(row.flat())));
        }""",
        [encode_policy(policy, obs.flatten(0, 1), most=2.0), obs.tolist()],
    )
    mean = policy(obs).detach()[..., :2]
    expected = into_box(policy.kind, mean, torch.tensor(low), torch.tensor(high))
    np.testing.assert_allclose(acted, expected, atol=1e-4, rtol=0)
    if kind == "deterministic":
        assert (mean != expected).any()  # some are clamped


def test_a_limit_known_within_bounds_is_shown_so(opened, found, tmp_path):
    unsure = found["runs"][0] | {"maximum": 0.61, "bound": 0.72}
    page = opened(written(tmp_path / "limit.html", found | {"runs": [unsure]}))
    assert "More than 0.72 does not fit" in page.locator("#decision .lead").inner_text()
    assert page.locator("#decision .note").text_content() == "largest in the action box: 0.61 to 0.72"


def test_any_run_can_be_what_others_are_compared_with(opened, tmp_path):
    def reward(more):
        return lambda level, seed, iteration: {"reward": more + 0.01 * seed, "snd": 0.5}

    runs = [write_run(tmp_path / name, reward(k), snd=("0.5",), seeds=3) for k, name in enumerate("abc")]
    page = opened(write_report(runs, tmp_path / "three.html"))
    table = page.locator("#differences tbody")
    read = [text.replace("\N{MINUS SIGN}", "-") for text in table.locator("tr").all_inner_texts()]
    assert ["b - a" in read[0], "c - a" in read[1], "+1.000 ±" in read[0], "+2.000 ±" in read[1]] == [True] * 4
    page.get_by_label("compared with").select_option(label="c")
    read = [text.replace("\N{MINUS SIGN}", "-") for text in table.locator("tr").all_inner_texts()]
    assert ["a - c" in read[0], "b - c" in read[1], "-2.000 ±" in read[0], "-1.000 ±" in read[1]] == [True] * 4
    assert all("lower" in text for text in read)
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page.locator("details").evaluate_all("all => all.forEach((node) => (node.open = true))")
    assert [each["id"] for each in axe.Axe().run(page).response["violations"]] == []
