"""The page in Firefox: it loads without an error, moves by itself, and answers."""

import pytest
from firefox import FIREFOX, NONE_HERE, started
from report_runs import small_run

from dico.viz.report import write_report

pytestmark = pytest.mark.skipif(FIREFOX is None, reason=NONE_HERE)
STEPS = "Number(document.querySelector('#live .readings').textContent.match(/in (\\d+) step/)?.[1] ?? 0)"
PIXELS = """const canvas = document.querySelector(arguments[0]);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with started(tmp_path_factory.mktemp("profile")) as firefox:
        yield firefox


def test_it_lives_in_firefox(browser, tmp_path):
    path = write_report(small_run(tmp_path / "run", frames=80))
    browser.open(path)
    browser.wait_for("document.querySelector('.plot svg')")
    sections = browser.run("return [...document.querySelectorAll('main > section')].map((part) => part.id)")
    assert sections == ["live", "summary", "curves", "decision", "maps", "episodes", "settings"]
    assert "could not be drawn" not in browser.run("return document.body.innerText")
    browser.run("document.getElementById('live').scrollIntoView()")
    browser.wait_for(f"{STEPS} > 3")  # it moves once by itself
    browser.run("document.getElementById('maps').scrollIntoView()")
    browser.wait_for("document.querySelector('.map:last-child canvas').width > 50")
    assert browser.run(PIXELS, ".map:last-child canvas") > 10
    before = browser.run("return document.querySelectorAll('[data-chart=reward] .series').length")
    browser.run("document.querySelector('.chip').click()")
    assert browser.run("return document.querySelectorAll('[data-chart=reward] .series').length") == before - 1
    browser.run("document.querySelector('.theme').click()")
    assert browser.errors_of(path) == []


def test_errors_would_be_seen(browser, tmp_path):
    path = tmp_path / "wrong.html"
    path.write_text("<!doctype html><meta charset=utf-8><title>wrong</title><script>nothing.at.all</script>")
    browser.open(path)
    assert any("nothing is not defined" in text for text in browser.errors_of(path))
