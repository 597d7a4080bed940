"""The page at the paper's size: how soon it is there, and how soon it answers."""

import pytest
from browsers import CHROMIUM, DESKTOP, NONE_HERE, fixtures
from report_runs import small_run

from dico.viz.report import write_report

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()
FRAME_MS = 16

ANSWERS = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const timed = async (times, act) => {
        const took = [];
        for (let k = 0; k < times; k++) {
            await frame();
            const start = performance.now();
            act(k);
            took.push(performance.now() - start);
        }
        return took.sort((a, b) => a - b)[times >> 1];
    };
    const press = (name) => (k) => document.querySelector(`[data-handle="${name}"]`).dispatchEvent(
        new KeyboardEvent("keydown", { key: k % 20 < 10 ? "ArrowRight" : "ArrowLeft", bubbles: true }));
    const slider = document.querySelector(".desired-slider");
    const slide = (k) => {
        slider.value = String((Number(slider.max) * ((7 * k) % 40)) / 40);
        slider.dispatchEvent(new Event("input"));
    };
    return { agent: await timed(40, press("agent 0")), other: await timed(40, press(dico.other)),
        slider: await timed(40, slide) };
}"""


@pytest.mark.parametrize(("task", "other"), [("navigation", "goal 0"), ("dispersion", "food 0"), ("tag", "obstacle 0")])
def test_it_answers_within_a_frame_at_the_papers_size(opened, tmp_path, task, other):
    run = small_run(tmp_path / "run", task, hidden=(256, 256), frames=40, seeds=4)
    path = write_report(run)
    assert path.stat().st_size < 5_000_000
    page = opened(path, DESKTOP)
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 3000  # a second on a machine that does nothing else
    page.locator("#live").scroll_into_view_if_needed()
    page.wait_for_timeout(2500)
    page.evaluate("other => (dico.other = other)", other)
    took = page.evaluate(ANSWERS)
    assert max(took.values()) < FRAME_MS, took
