"""The live part in a browser: every task is played, the slider says what it does, two members go in step."""

import re

import numpy as np
import pytest
import torch
from browsers import CHROMIUM, DESKTOP, NONE_HERE, fixtures
from report_runs import small_run

from dico.acting import into_box
from dico.constraints import equal
from dico.metrics import snd_at
from dico.random import Random
from dico.runs.episodes import STREAM, record
from dico.tasks import map_state
from dico.viz.report import write_report

pytestmark = [pytest.mark.unchecked, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()

DRAGGED = {"dispersion": "food 1", "sampling": "peak 0", "tag": "obstacle 0", "reverse-transport": "package 0"}


@pytest.fixture(scope="module")
def navigation(tmp_path_factory):
    run = small_run(tmp_path_factory.mktemp("live") / "run", snd=("0", "0.5", "1", "free"), frames=80)
    return run, write_report(run)


def place_of(page, handle, side=0):
    node = page.locator(".side").nth(side).locator(f"[data-handle='{handle}']")
    text = node.get_attribute("aria-valuetext").replace("\N{MINUS SIGN}", "-")
    return [float(number) for number in re.findall(r"-?[\d.]+", text)[:2]]


def choose(page, label, side=0):
    page.locator(".side").nth(side).get_by_label("trained for").select_option(label=label)


def path_of(page, agent, live):
    """Where an agent goes from here, in world units."""
    stage = page.locator(".stage").first
    scale = stage.evaluate("node => node.clientWidth") / (live["extent"][1] - live["extent"][0])
    points = stage.locator(f"[data-path='{agent}']").get_attribute("points").split()
    pairs = np.array([[float(number) for number in point.split(",")] for point in points])
    return np.stack([live["extent"][0] + pairs[:, 0] / scale, live["extent"][3] - pairs[:, 1] / scale], -1)


@pytest.mark.parametrize("task", DRAGGED)
def test_a_task_is_played_as_python_plays_it(opened, tmp_path, task):
    run = small_run(tmp_path / "run", task, seeds=1, frames=40, snd=("0", "0.5"))
    page = opened(write_report(run), DESKTOP)
    page.set_default_timeout(10_000)
    page.locator("#live").scroll_into_view_if_needed()
    choose(page, "0.5 · seed 0")
    live = page.evaluate("(({ networks, ...rest }) => rest)(dico.report.runs[0].live)")
    groups = [group["name"] for group in run.groups]
    policies = [run.policies(name, [run.member("0.5", 0).index]) for name in groups]
    recording = record(run.task(), policies, episodes=1, seed=0, deterministic=True)
    steps = recording.length(0)
    page.wait_for_function("document.querySelector('[data-path]') !== null")
    page.wait_for_timeout(500)
    for agent in range(run.task().n_agents):
        expected = recording.states.position[0, : steps + 1, 0, agent][:21]  # contacts let later steps drift apart
        np.testing.assert_allclose(path_of(page, agent, live)[:21], expected.detach(), atol=3e-3)
    before = place_of(page, DRAGGED[task])
    page.locator(f"[data-handle='{DRAGGED[task]}']").focus()
    page.keyboard.press("ArrowLeft")
    assert place_of(page, DRAGGED[task])[0] == pytest.approx(max(before[0] - 0.05, -1), abs=0.01)
    page.locator(".slice").evaluate("node => (node.open = true)")
    names = page.locator(".slice select").first.locator("option").all_inner_texts()
    assert tuple(names) == run.task().observation_names(run.task().groups[0])
    bars, plot = (page.locator(part).last.bounding_box() for part in ("#live .colour-bar", ".slice"))
    assert bars["y"] < plot["y"]  # however long the slice is, the map's colours stay with the map
    if task in ("tag", "reverse-transport"):
        role = "adversary" if task == "tag" else "agent"
        seen_by = page.get_by_label("seen by").locator("option").all_inner_texts()
        assert seen_by == [f"{role} {k}" for k in range(run.groups[0]["n_agents"])]
    page.locator(".slice select").nth(1).select_option("3")
    page.wait_for_function("document.querySelector('.slice canvas').getAttribute('aria-label')?.includes('SND over')")
    page.get_by_role("button", name="Let them run").click()
    page.wait_for_function("document.querySelector('[data-reading=\"reward so far\"] small').textContent > 'in 3'")
    page.get_by_role("button", name="Stop").click()


def test_the_slice_reaches_to_where_the_agent_is(opened, tmp_path):
    page = opened(write_report(small_run(tmp_path / "run", "reverse-transport", snd=("1",))))
    page.locator(".slice-across span").first.wait_for()
    for _ in range(4):  # they begin in other corners than the one that the range was seen in
        page.get_by_role("button", name="Another start").click()
        page.wait_for_timeout(300)
        x, y = place_of(page, "agent 0")
        ends = page.locator(".slice-across span, .slice-ends span").all_inner_texts()
        top, bottom, left, right = (float(text.replace("\N{MINUS SIGN}", "-")) for text in ends)
        assert left < x < right
        assert bottom < y < top


def test_it_opens_with_agents_that_differ(opened, tmp_path):
    """Levels of several fields have no slider between them, and the first of them is mostly 0: all dark."""
    page = opened(write_report(small_run(tmp_path / "run", snd=("0", "1"), vary=("tau=0.1,0.01",))))
    chosen = page.locator(".side").get_by_label("trained for").evaluate("node => node.selectedOptions[0].text")
    assert chosen.startswith("1, tau=0.01 ")


def test_starts_are_chosen_by_number(opened, navigation):
    run, path = navigation
    page = opened(path)
    task = run.task()
    for seed in (0, 1):
        start = map_state(lambda tensor: tensor[0, 0], task.reset(1, Random([seed], STREAM)))
        assert place_of(page, "agent 0") == pytest.approx(start.position[0].tolist(), abs=2e-3)
        page.get_by_role("button", name="Another start").click()
    page.get_by_label("start", exact=True).fill("7")
    page.keyboard.press("Tab")
    start = map_state(lambda tensor: tensor[0, 0], task.reset(1, Random([7], STREAM)))
    assert place_of(page, "goal 1") == pytest.approx(start.goal[1].tolist(), abs=2e-3)


def test_the_slider_goes_from_level_to_level_and_says_when_it_rescales(opened, navigation):
    run, path = navigation
    page = opened(path)
    choose(page, "any level · seed 1")
    slider, says = page.locator(".desired-slider"), page.locator(".slider-says")
    for value, mode, network in (("0.5", "as trained", "0.5"), ("0.6", "rescaled", "0.5"), ("1", "as trained", "1"),
                                 ("2", "rescaled", "1"), ("0", "as trained", "0")):  # fmt: skip
        slider.fill(value)
        assert says.inner_text().startswith(mode), value
        assert re.search(rf"\b{network}\b", says.inner_text())
        estimate = run.policy(network, 1).snd_hat.item()
        shown = float(page.locator("[data-reading='scale of the deviations'] strong").inner_text())
        assert shown == pytest.approx(float(value) / estimate, rel=5e-3, abs=1e-6)
    page.get_by_role("button", name="to the trained 0.5").click()
    assert slider.input_value() == "0.5"


def test_what_is_executed_stands_beside_what_is_meant(opened, navigation):
    run, path = navigation
    page = opened(path)
    box = page.evaluate("dico.report.runs[0].box")
    assert float(page.locator(".desired-slider").input_value()) == 0.5  # the middle one of those that fit
    for value, level in (("1", "1"), ("2.6", "1")):
        page.locator(".desired-slider").fill(value)
        policy = run.policy(level, 0)
        low, high = (torch.full((2,), end) for end in (-1.0, 1.0))
        start = map_state(lambda tensor: tensor[0, 0], run.task().reset(1, Random([0], STREAM)))
        (obs,) = run.task().observe(start)
        policy.constraint = equal(float(value))
        params = policy.everyone(obs).detach()
        expected = snd_at(into_box(policy.kind, params[..., :2], low, high)).mean().item()
        reading = page.locator("[data-reading='SND where the agents are'] small").inner_text()
        assert "of means before the tanh" in reading
        assert float(reading.rsplit(" ", 1)[1]) == pytest.approx(expected, rel=1e-2)
        assert expected < box
    assert "of means before the tanh" in page.locator("#maps .bar-name").inner_text()


def test_two_members_go_in_step_from_one_start(opened, navigation):
    page = opened(navigation[1])
    page.get_by_label("two members in step").check()
    assert page.locator(".stage").count() == 2
    choose(page, "1 · seed 0", side=0)
    choose(page, "0 · seed 1", side=1)
    assert place_of(page, "agent 0", 0) == place_of(page, "agent 0", 1)
    page.locator(".side").nth(1).locator("[data-handle='goal 0']").focus()
    page.keyboard.press("ArrowDown")
    assert place_of(page, "goal 0", 0) == place_of(page, "goal 0", 1)
    page.get_by_role("button", name="Let them run").click()
    page.wait_for_function("document.querySelector('[data-reading=\"reward so far\"] small').textContent > 'in 4'")
    page.get_by_role("button", name="Stop").click()
    steps = page.locator("[data-reading='reward so far'] small").all_inner_texts()
    assert steps[0] == steps[1]
    assert place_of(page, "agent 0", 0) != place_of(page, "agent 0", 1)
    page.get_by_label("two members in step").uncheck()
    assert page.locator(".stage").count() == 1


def test_a_dial_is_told_the_desired_value(opened, tmp_path):
    run = small_run(tmp_path / "run", snd=("0", "0.5", "1"), dial=True, frames=80)
    page = opened(write_report(run))
    assert page.get_by_label("trained for").locator("option").all_inner_texts() == ["dial · seed 0", "dial · seed 1"]
    obs = torch.randn(20, 2, 4)
    for desired, mode in ((0.5, "as trained"), (0.3, "dial"), (2.0, "rescaled")):
        page.locator(".desired-slider").fill(str(desired))
        says = page.locator(".slider-says").inner_text()
        assert says.startswith(mode)
        assert "one set of networks" in says
        if desired > 1:
            continue
        acted = page.evaluate(
            """([rows, desired]) => {
                const policy = dico.policy("0");
                return rows.map((row) => policy.act(Float64Array.from(row.flat()), desired));
            }""",
            [obs.tolist(), desired],
        )
        policy = run.dial(0).at(desired)
        mean = policy(obs).detach()[..., :2]
        expected = into_box(policy.kind, mean, torch.tensor([-1.0, -1.0]), torch.tensor([1.0, 1.0]))
        np.testing.assert_allclose(acted, expected, atol=1e-4, rtol=0)


def test_what_leaves_the_stage_waits_at_its_edge(opened, navigation):
    page = opened(navigation[1])
    assert page.locator(".handle.away").count() == 0
    page.evaluate("() => { window.setInterval = (call) => { for (let k = 0; k < 90; k++) call(); return 0; }; }")
    page.locator(".desired-slider").evaluate("node => (node.max = 40)")
    page.locator(".desired-slider").fill("40")
    page.get_by_role("button", name="Let them run").click()
    assert page.locator(".handle.away .pointer").count() > 0
    stage = page.locator(".stage").bounding_box()
    for agent in range(2):
        disc = page.locator(f"[data-handle='agent {agent}'] .agent").bounding_box()
        middle = [disc[side] + disc[size] / 2 for side, size in (("x", "width"), ("y", "height"))]
        assert stage["x"] < middle[0] < stage["x"] + stage["width"]
        assert stage["y"] < middle[1] < stage["y"] + stage["height"]
    assert max(abs(value) for agent in range(2) for value in place_of(page, f"agent {agent}")) > 1.2  # it is told still


def test_arrows_are_under_the_discs(opened, navigation):
    page = opened(navigation[1])
    under = """() => {
        const [arrows, disc] = [".arrows", ".agent"].map((name) => document.querySelector(`.overlay ${name}`));
        return Boolean(arrows.compareDocumentPosition(disc) & Node.DOCUMENT_POSITION_FOLLOWING);
    }"""
    assert page.evaluate(under)


def test_it_moves_once_by_itself_unless_the_reader_wants_none(browser, navigation):
    for motion, moves in (("no-preference", True), ("reduce", False)):
        page = browser.new_page(viewport={"width": 1280, "height": 1600}, reduced_motion=motion)
        page.goto(navigation[1].resolve().as_uri())
        page.wait_for_timeout(1800)
        steps = page.locator("[data-reading='reward so far'] small").inner_text()
        assert (not steps.startswith("in 0 steps")) == moves
        page.close()


def test_without_a_thread_of_its_own_it_still_answers(browser, navigation):
    page = browser.new_page(viewport=DESKTOP, reduced_motion="reduce")
    page.add_init_script("window.Worker = class { constructor() { throw new Error('refused'); } };")
    page.goto(navigation[1].resolve().as_uri())
    page.locator("#live").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('[data-path]') !== null")
    page.close()
