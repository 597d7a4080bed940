"""The page in a real browser: it draws, answers to hands and keys, and computes what PyTorch computes."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from browsers import CHROMIUM, DESKTOP, NONE_HERE, PHONE, fixtures
from report_runs import small_run, without_checkpoints

from dico.analysis import summary
from dico.analysis.alignment import align_agents, renumber, square
from dico.analysis.fields import diversity_field
from dico.constraints import equal
from dico.kinds import KINDS
from dico.metrics import snd_at
from dico.policy import DiCo
from dico.random import Random
from dico.runs.episodes import STREAM
from dico.tasks import map_state
from dico.viz.page.networks import encode_policy
from dico.viz.report import write_report

LEVELS = ("0", "0.5", "free")

pytestmark = [pytest.mark.unchecked, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("browser") / "run", hidden=(16, 16))


@pytest.fixture(scope="module")
def path(run):
    return write_report(run)


@pytest.fixture(scope="module")
def calculator(browser, path):
    """A page kept open for its numbers."""
    page = browser.new_page()
    page.goto(path.resolve().as_uri())
    yield page
    page.close()


def test_all_sections_are_there(opened, path):
    page = opened(path)
    headings = page.locator("h2").all_inner_texts()
    assert headings == [
        "Try it", "Summary", "Training curves", "Which diversity is best?", "Diversity maps", "Episodes", "Reproduce",
    ]  # fmt: skip
    assert page.locator("h1").inner_text() == "run"
    assert page.locator(".summary tbody tr").count() == len(LEVELS)
    assert page.locator("figure[data-chart]").count() == 5
    assert page.locator(".map").count() == len(LEVELS)
    assert page.locator(".mark").count() == len(LEVELS)
    assert "undefined" not in page.locator("body").inner_text()
    assert "NaN" not in page.locator("body").inner_text()
    assert "[object" not in page.locator("body").inner_text()


def test_the_legend_hides_and_shows_a_level_everywhere(opened, path):
    page = opened(path)
    chip = page.get_by_role("toolbar").get_by_role("button", name="0.5")
    series = page.locator("[data-chart=reward] .series")
    assert series.count() == 3
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert series.count() == 2
    assert page.locator("[data-chart=reward] .series[data-level='0.5']").count() == 0
    assert page.locator(".mark").count() == 2
    assert page.locator(".map:visible").count() == 2
    assert page.locator("[data-chart=diversity] .desired[data-desired='0.5']").count() == 0
    chip.click()
    assert series.count() == 3
    for level in LEVELS:
        page.get_by_role("toolbar").get_by_role("button", name=level, exact=True).click()
    assert "All levels are hidden" in page.locator("[data-chart=reward]").inner_text()


def test_pointing_at_a_chart_reads_all_levels(opened, path, run):
    page = opened(path)
    plot = page.locator("[data-chart=diversity] .plot")
    plot.scroll_into_view_if_needed()
    plot.hover(position={"x": 200, "y": 100})
    text = plot.locator(".tip").inner_text()
    assert "frames" in text
    assert plot.locator(".tip tr").count() == 3
    plot.focus()
    page.keyboard.press("ArrowLeft")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert "40 frames" in plot.locator(".tip").inner_text()
    measured = run.metric("snd")[2:4, 0].mean().item()
    row = plot.locator(".tip tr").nth(1).inner_text()
    assert float(re.search(r"0\.5\s+([\d.]+)", row)[1]) == pytest.approx(measured, abs=2e-3)


def test_pointing_at_a_level_of_the_decision_plot(opened, path, run):
    page = opened(path)
    page.locator("#decision").scroll_into_view_if_needed()
    page.locator("#decision .target").nth(1).hover()
    text = page.locator("#decision .tip").inner_text()
    assert "desired SND: 0.5" in text
    final = float(summary(run)[1].reward.centre)
    shown = re.search(r"reward per step\s+(\S+)", text)[1].replace("\N{MINUS SIGN}", "-")
    assert float(shown) == pytest.approx(final, rel=1e-2, abs=1e-6)


def test_single_seeds_on_request(opened, path):
    page = opened(path)
    assert page.locator("[data-chart=reward] .seed").count() == 6  # two of each level are too few for a band
    page.get_by_label("single seeds").uncheck()
    assert page.locator(".seed").count() == 0


def test_episodes_play_pause_and_scrub_in_step(opened, path):
    page = opened(path)
    episodes = page.locator("#episodes")
    scrub = episodes.get_by_label("Step of the episode")
    canvas = episodes.locator("canvas").first
    first = canvas.evaluate("node => node.toDataURL()")
    episodes.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.scrub').value > 3")
    episodes.get_by_role("button", name="Pause").click()
    stopped = scrub.input_value()
    page.wait_for_timeout(150)
    assert scrub.input_value() == stopped
    assert canvas.evaluate("node => node.toDataURL()") != first
    scrub.fill("0")
    assert canvas.evaluate("node => node.toDataURL()") == first
    assert "step 0 of" in episodes.inner_text()
    scrub.fill(scrub.get_attribute("max"))
    rewards = episodes.locator("figcaption .muted").all_inner_texts()
    assert len(rewards) == 2
    assert all(text.startswith("reward so far") for text in rewards)
    right = episodes.locator("canvas").nth(1)
    before = right.evaluate("node => node.toDataURL()")
    episodes.get_by_label("right").select_option("1")
    assert right.evaluate("node => node.toDataURL()") != before
    episodes.get_by_label("speed").select_option("0.25")  # its start is seen on a busy machine too
    episodes.get_by_role("button", name="Play").click()  # at the end it starts over
    page.wait_for_function("document.querySelector('.scrub').value < 5")


def live_level(page, level):
    page.locator("#live").get_by_label("trained for").select_option(label=f"{level} · seed 0")


def place_of(page, handle):
    text = page.locator(f"[data-handle='{handle}']").get_attribute("aria-valuetext").replace("\N{MINUS SIGN}", "-")
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def reading(page, name):
    return float(page.locator(f"[data-reading='{name}'] strong").inner_text().replace("\N{MINUS SIGN}", "-"))


def settle(page):
    """Until the fine map has come, which takes a while on a busy machine."""
    canvas, before = page.locator(".stage canvas"), None
    while (now := canvas.evaluate("node => node.toDataURL()")) != before:
        before = now
        page.wait_for_timeout(300)


def drag(page, handle, dx, dy):
    box = page.locator(f"[data-handle='{handle}']").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=5)
    page.mouse.up()


def test_dragging_a_goal_changes_the_map_and_the_moves(opened, path):
    page = opened(path)
    page.locator("#live").scroll_into_view_if_needed()
    live_level(page, "0.5")
    canvas = page.locator(".stage canvas")
    before, x, y = canvas.evaluate("node => node.toDataURL()"), *place_of(page, "goal 0")
    moves = page.locator("[data-path='0']").get_attribute("points")
    drag(page, "goal 0", 60, 90)
    settle(page)
    scale = page.locator(".stage").evaluate("node => node.clientWidth") / 2.4
    assert place_of(page, "goal 0") == pytest.approx([x + 60 / scale, y - 90 / scale], abs=0.02)
    assert canvas.evaluate("node => node.toDataURL()") != before
    assert page.locator("[data-path='0']").get_attribute("points") != moves


def test_dragging_an_agent_changes_its_moves_and_not_the_map(opened, path):
    page = opened(path)
    page.locator("#live").scroll_into_view_if_needed()
    settle(page)
    canvas = page.locator(".stage canvas")
    before, place = canvas.evaluate("node => node.toDataURL()"), place_of(page, "agent 1")
    drag(page, "agent 1", -80, 50)
    settle(page)
    assert place_of(page, "agent 1") != place
    assert canvas.evaluate("node => node.toDataURL()") == before
    page.get_by_role("button", name="Back to the start").click()
    assert place_of(page, "agent 1") == place


def test_a_finger_drags_too(opened, path):
    page = opened(path, PHONE, has_touch=True)
    page.locator(".stage").scroll_into_view_if_needed()
    before = place_of(page, "goal 1")
    box = page.locator("[data-handle='goal 1']").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)
    for kind, moved in (("touchStart", 0), ("touchMove", 20), ("touchMove", 45), ("touchEnd", None)):
        points = [] if moved is None else [{"x": x + moved, "y": y + moved}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(60)
    scale = page.locator(".stage").evaluate("node => node.clientWidth") / 2.4
    assert place_of(page, "goal 1") == pytest.approx([before[0] + 45 / scale, before[1] - 45 / scale], abs=0.03)


def test_the_map_the_moves_and_the_slider_are_pytorchs(opened, path, run):
    page = opened(path)
    page.locator("#live").scroll_into_view_if_needed()
    live_level(page, "0.5")
    handle = page.locator("[data-handle='goal 1']")
    handle.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.handle") == "goal 1"
    settle(page)
    live = page.evaluate("dico.report.runs[0].live")
    task, policy = run.task(), run.policy("0.5", 0)
    start = map_state(lambda tensor: tensor[0, 0], task.reset(1, Random([0], STREAM)))
    state = replace(start, goal=start.goal + torch.tensor([[0.0, 0.0], [0.05, -0.10]]))
    expected = diversity_field(policy, task, state, resolution=61).snd.mean().item()
    assert reading(page, "SND over this map") == pytest.approx(expected, rel=5e-3)

    left, _, _, top = live["extent"]
    scale = page.locator(".stage").evaluate("node => node.clientWidth") / 2.4
    points = page.locator("[data-path='0']").get_attribute("points").split()
    for point in points[1:]:
        (obs,) = task.observe(state)
        state, _, _ = task.step(state, policy(obs).detach().chunk(2, -1)[0].tanh())
        x, y = (float(number) for number in point.split(","))
        np.testing.assert_allclose([left + x / scale, top - y / scale], state.position[0], atol=2e-3)
    assert len(points) > 20

    estimate = policy.snd_hat.item()
    page.locator(".desired-slider").fill("2")
    assert page.locator(".big").inner_text() == "2"
    assert reading(page, "scale of the deviations") == pytest.approx(2 / estimate, rel=5e-3)
    assert reading(page, "SND over this map") == pytest.approx(expected * 2 / 0.5, rel=1e-2)
    page.get_by_role("button", name="back to the trained 0.5").click()
    assert reading(page, "SND over this map") == pytest.approx(expected, rel=5e-3)


def test_the_agents_run_from_where_they_are(opened, path):
    page = opened(path)
    page.locator("#live").scroll_into_view_if_needed()
    start = place_of(page, "agent 0")
    page.get_by_role("button", name="Let them run").click()
    while place_of(page, "agent 0") == start:
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Stop").click()
    stopped = place_of(page, "agent 0")
    assert stopped != start
    page.wait_for_timeout(250)
    assert place_of(page, "agent 0") == stopped
    page.get_by_label("arrows").check()
    page.locator(".small-arrow").first.wait_for(state="attached")
    assert page.locator(".small-arrow").count() == 2 * 11 * 11


def test_the_networks_of_the_page_are_those_of_the_run(opened, path, run):
    page = opened(path)
    obs = 2 * torch.randn(200, 4, generator=torch.Generator().manual_seed(1))
    for level in LEVELS:
        policy = run.policy(level, 0)
        script = """([level, rows]) => {
            const policy = dico.policy(level);
            const params = policy.everyone(Float64Array.from(rows.flat()), rows.length);
            return [[...params], [...dico.sndAt(params, rows.length, policy.agents, policy.width)]];
        }"""
        params, snd = page.evaluate(script, [level, obs.tolist()])
        expected = policy.everyone(obs).detach()
        np.testing.assert_allclose(params, expected.flatten(), atol=1e-4, rtol=0)
        np.testing.assert_allclose(snd, snd_at(expected), atol=1e-4, rtol=0)


@pytest.mark.parametrize("hidden", [(16,), (256, 256)], ids=["small", "paper"])
@pytest.mark.parametrize("squash", [False, True], ids=["raw", "squashed"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_browsers_numbers_are_pytorchs(calculator, kind, squash, hidden):
    torch.manual_seed(0)
    policy = DiCo.mlp(
        3, 6, 2, equal(0.7), kind=kind, hidden=hidden, low=[-1, -2], high=[1, 0.5], squash_shared=squash, tau=1.0,
        metric="snd",
    )  # fmt: skip
    obs = 2 * torch.randn(100, 6)
    policy.commit_(policy.estimate(obs))
    script = """([encoded, rows, desired]) => {
        const policy = new dico.Policy(encoded);
        const params = policy.everyone(Float64Array.from(rows.flat()), rows.length, desired ?? policy.trained);
        return [[...params], [...dico.sndAt(params, rows.length, policy.agents, policy.width)]];
    }"""
    encoded = encode_policy(policy, 2 * torch.randn(100, 6), most=2.0)
    for desired in (None, 0.0, 2.0):
        params, snd = calculator.evaluate(script, [encoded, obs.tolist(), desired])
        if desired is not None:
            policy.constraint = equal(desired)
        expected = policy.everyone(obs).detach()
        np.testing.assert_allclose(params, expected.flatten(), atol=1e-4, rtol=0)
        np.testing.assert_allclose(snd, snd_at(expected), atol=1e-4, rtol=0)


@pytest.mark.parametrize("metric", ["det_root", "max"])
def test_the_scale_takes_the_metrics_degree_and_bounds_into_account(calculator, metric):
    torch.manual_seed(0)
    for constraint in (">=0.3", "<=0.1", "0.2..0.5", "free"):
        policy = DiCo.mlp(3, 4, 2, constraint, metric=metric, hidden=(8,), low=[-1, -1], high=[1, 1], tau=1.0)
        obs = torch.randn(50, 4)
        policy.commit_(policy.estimate(obs))
        scale = calculator.evaluate("encoded => new dico.Policy(encoded).scale()", encode_policy(policy, obs, most=1.0))
        assert scale == pytest.approx(policy.scale().item(), rel=1e-5)


def test_copying_the_command(opened, path):
    page = opened(path)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the command").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate("dico.report.runs[0].command")
    page.get_by_text("Configuration", exact=True).click()
    assert page.locator(".settings tr", has_text="frames_per_batch").first.is_visible()


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_any_screen_and_theme(opened, path, viewport, theme):
    page = opened(path, viewport, color_scheme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name=re.compile("Switch to the")).click()
    assert page.evaluate(ground) != before
    names = page.locator("button, select, input").evaluate_all(
        "nodes => nodes.filter(node => !(node.labels?.length || node.ariaLabel || node.textContent)).length"
    )
    assert names == 0
    assert page.locator("[aria-hidden=true] [tabindex]").count() == 0


def test_no_labels_overlap_in_the_charts(opened, path):
    page = opened(path, PHONE)
    overlaps = page.evaluate("""() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
        const texts = [...chart.querySelectorAll("text")].map((node) => [node.textContent, node.getBoundingClientRect()]);
        const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        const over = ([one, a], i) => texts.slice(i + 1).filter(([, b]) => !apart(a, b)).map(([other]) => [one, other]);
        return texts.flatMap(over);
    })""")  # noqa: E501
    assert overlaps == []


def test_several_runs_are_compared(opened, run, tmp_path):
    other = small_run(tmp_path / "other", snd=("0.5", "1"), algorithm="mappo")
    page = opened(write_report([run, other], tmp_path / "both.html"))
    assert page.locator("h1").inner_text() == "2 runs compared"
    assert page.locator("#summary tbody tr").count() == 5
    assert page.locator("[data-chart=reward] .series").count() == 5
    lines = page.locator("[data-chart=reward] .series .line")
    colours = lines.evaluate_all("all => all.map((each) => each.getAttribute('stroke'))")
    assert len(set(colours)) == 2  # one for each run
    (row,) = page.locator("#differences tbody tr").all()  # 0.5 is all that they share
    assert "other \N{MINUS SIGN} run" in row.inner_text()
    assert "too few seeds" in row.inner_text()
    assert page.locator(".map:visible").count() == 5
    page.get_by_label("each map in its own colours").check()
    assert "from 0 to" in page.locator(".map figcaption").last.inner_text()
    page.get_by_role("toolbar").get_by_role("button", name="other").click()
    assert page.locator("[data-chart=reward] .series").count() == 3
    assert page.locator(".map:visible").count() == 3
    assert page.locator("#differences tbody tr").count() == 0


def test_a_young_run_says_what_is_missing(opened, run, tmp_path):
    young = without_checkpoints(run, tmp_path / "<b>young</b>", lines=6)
    page = opened(write_report(young, tmp_path / "young.html"))
    assert page.locator("h1").inner_text() == "b>"  # the folder's name, as text
    assert "Not finished: 40 of 240 frames" in page.locator("header").inner_text()
    for part in ("live", "maps", "episodes"):
        assert "no checkpoint yet" in page.locator(f"#{part}").inner_text()


def test_other_tasks_draw_their_scenes(opened, tmp_path):
    for task in ("same-goal", "sampling", "tag"):
        run = small_run(tmp_path / task, task, seeds=1, frames=40, snd=("0", "0.5"))
        page = opened(write_report(run))
        canvas = page.locator("#episodes canvas").first
        colours = canvas.evaluate("""node => {
            const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }""")
        assert colours > 10, task


def test_who_differs_from_whom_over_the_training(opened, tmp_path):
    run = small_run(tmp_path / "run", "dispersion", frames=160)
    page = opened(write_report(run))
    cells = page.locator("#distances [data-level='0.5'] .matrix text:not(.tick-label)")
    assert page.locator("#distances .matrix").count() == 3
    own = square(run.metric("distances")[2:4].numpy())  # of the level 0.5: (seeds, iterations, agents, agents)
    distances = renumber(own, align_agents(own[:, -1])).mean(0)[..., *np.triu_indices(4, 1)]
    for moment in (0, len(distances) - 1):
        page.get_by_label("Time of the training").fill(str(moment))
        shown = np.array([float(text) for text in cells.all_text_contents()]).reshape(4, 4)
        i, j = np.triu_indices(4, 1)
        np.testing.assert_allclose(shown[i, j], distances[moment], rtol=1e-2, atol=1e-3)
        np.testing.assert_array_equal(shown, shown.T)
    page.get_by_role("toolbar").get_by_role("button", name="0.5").click()
    assert page.locator("#distances .map:visible").count() == 2
