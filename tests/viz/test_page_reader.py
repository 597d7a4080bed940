"""The page for whoever opens it: what was found, what words mean, files to take along, contrast, small screens."""

import csv
import re
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from browsers import CHROMIUM, DESKTOP, NONE_HERE, fixtures
from folders import write_run
from PIL import Image
from report_runs import payload_of, small_run
from varied import two_taus

from dico.runs import load
from dico.viz.page.card import card
from dico.viz.page.finding import finding, findings
from dico.viz.report import MAP_COLOURS, write_report

pytestmark = [pytest.mark.unchecked, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()
SMALL_PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    levels = ("0", "0.1", "0.3", "0.4", "0.5", "0.7", "1", "1.5", "free")
    return write_report(small_run(tmp_path_factory.mktemp("reader") / "run", snd=levels, seeds=1, frames=80))


def rewards(best):
    def row(level, seed, _):
        return {"reward": (1.0 if level == best else 0.0) + 0.01 * seed, "snd": 0.5}

    return row


def test_the_first_sentence_is_the_verdict(tmp_path):
    pays = write_run(tmp_path / "pays", rewards("1"), snd=("0", "1"), seeds=4, frames=12_000)
    assert finding(pays, "mean").startswith("Diversity pays in navigation: the best team is at SND 1, with +1.0")
    enough = write_run(tmp_path / "enough", rewards("0"), snd=("0", "1"), seeds=4, frames=12_000)
    assert "behave alike are enough" in finding(enough, "mean")
    few = write_run(tmp_path / "few", rewards("1"), snd=("0", "1"), seeds=2, frames=12_000)
    assert finding(few, "mean") == "In navigation, fewer than three seeds cannot tell which level is best."
    text = write_report(pays).read_text("utf-8")
    assert re.search(r'og:title" content="pays · dico report"', text)
    assert re.search(r'og:description" content="Diversity pays in navigation', text)


def test_no_level_is_named_best_that_cannot_be_told_from_the_others(opened, tmp_path):
    def row(level, seed, _):
        return {"reward": {"0": 0.0, "1": 1.0, "free": 0.98}[level] + 0.05 * seed, "snd": 0.5}

    run = write_run(tmp_path / "alike", row, snd=("0", "1", "free"), seeds=4, frames=12_000)
    assert finding(run, "mean").startswith("Diversity pays in navigation: SND 1 and free cannot be told apart; the")
    page = opened(write_report(run))
    assert "SND 1 and free cannot be told apart" in page.locator("#decision .lead").inner_text()
    assert page.locator(".pill, tr.best, .level.best").count() == 0


def test_runs_are_told_apart_in_the_first_sentence_or_not_at_all(tmp_path):
    def runs(gain):
        def row(level, seed, _):
            return {"reward": (gain if level == "1" else 0.0) + 0.01 * seed, "snd": 0.5}

        return write_run(tmp_path / f"gain{gain}", row, snd=("0", "1"), seeds=4, frames=12_000)

    first, second = runs(0.0), runs(2.0)
    told, *others = findings([first, second], ["a", "b"], "mean")
    assert told.startswith("At SND 1, b has +2.0")
    assert "per step against a (95 % interval" in told
    assert told.endswith(": the only difference that can be told, of 2.")
    (back, *_) = findings([second, first], ["b", "a"], "mean")
    assert back.startswith("At SND 1, a has \N{MINUS SIGN}2.0")
    assert len(others) == 2
    same = findings([first, first], ["a", "b"], "mean")
    assert same[0] == "At no level that they share can the rewards of a and b be told apart (95 %)."
    assert same[1].startswith("a and b: In navigation")
    assert len(same) == 2


def test_the_head_of_a_page_tells_how_many_runs_differ_and_not_what_each_found(tmp_path):
    def run(name, gain):
        def row(level, seed, _):
            return {"reward": (gain if level == "1" else 0.0) + 0.01 * seed, "snd": 0.5}

        return write_run(tmp_path / name, row, snd=("0", "1"), seeds=4, frames=12_000)

    runs = [run(name, gain) for gain, name in enumerate("abcd")]
    (told,) = findings(runs, list("abcd"), "mean")
    assert told.startswith("At SND 1, d has +3.0")
    assert told.endswith(": the largest of 6 differences that can be told, of 12.")


def test_levels_of_several_fields_are_told_apart_in_a_sentence(tmp_path):
    run = two_taus(tmp_path / "run", snd=("0", "1"), vary=("tau=0.3,0.29",), seeds=4)
    assert "SND 1 with tau=0.29 and 1 with tau=0.3 cannot be told apart" in finding(run, "mean")
    assert "8 members)" in finding(run.group_by("tau"), "mean")  # of two diversities, and so no seeds


def test_the_preview_picture_is_a_file_beside_the_page(path, tmp_path):
    """Sites that show links read no picture from within a page, and want a whole address."""
    run, place = load(path.parent), tmp_path / "shared.html"
    assert "og:image" not in write_report(run, place).read_text("utf-8")
    assert list(tmp_path.iterdir()) == [place]
    figure = tmp_path / "shared.png"
    figure.write_text("of somebody else")
    assert 'og:image" content="shared.card.png"' in write_report(run, place, card=True).read_text("utf-8")
    text = write_report(run, place, url="https://example.org/a/shared.html").read_text("utf-8")
    assert 'og:image" content="https://example.org/a/shared.card.png"' in text
    assert 'og:url" content="https://example.org/a/shared.html"' in text
    with Image.open(tmp_path / "shared.card.png") as image:
        assert image.size == (800, 420)
        assert len(image.getcolors(1 << 20) or []) > 20
    assert figure.read_text() == "of somebody else"
    with pytest.raises(ValueError, match="must begin with https"):
        write_report(run, tmp_path / "other.html", url="example.org")
    assert not (tmp_path / "other.html").exists()


def test_the_preview_picture_says_what_was_found_and_of_what(path):
    """Of a comparison it is not that of its first run; another finding, name or level is another picture."""
    found = payload_of(path)
    run = found["runs"][0]
    other = run | {"name": "other"}
    cards = [card(each, MAP_COLOURS) for each in (
        found, found | {"findings": ["Nothing."]}, found | {"runs": [run, other]}, found | {"facts": ["tag", "IPPO"]},
        found | {"runs": [run | {"episodes": [each | {"level": "9"} for each in run["episodes"]]}]},
    )]  # fmt: skip
    assert len(set(cards)) == 5


def test_words_explain_themselves(opened, path):
    page = opened(path)
    box = page.locator(".gloss")
    assert box.is_hidden()
    word = page.locator("#what .term")
    word.hover()
    assert "mean distance" in box.inner_text()
    page.mouse.move(0, 0)
    assert box.is_hidden()
    word.focus()
    assert word.get_attribute("aria-describedby") == box.get_attribute("id")
    page.keyboard.press("Escape")
    assert box.is_hidden()
    assert page.locator("#what math").count() == 1
    assert page.locator("#what a").first.get_attribute("href") == "https://arxiv.org/abs/2405.15054"


def test_charts_can_be_taken_along(opened, path):
    page = opened(path)
    found = payload_of(path)
    files = {}
    for kind in ("PNG", "SVG", "CSV"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download Measured SND as {kind}").click()
        files[kind] = Path(waiting.value.path()).read_bytes()
        assert waiting.value.suggested_filename == f"measured-snd.{kind.lower()}"
    assert Image.open(BytesIO(files["PNG"])).width > 800
    drawn = files["SVG"].decode("utf-8")
    assert drawn.startswith("<svg")
    assert "var(--" not in drawn
    assert drawn.count(">Measured SND</text>") == 2  # above it, and what its axis shows
    assert ">frames per member</text>" in drawn
    assert drawn.count("1.5</text>") >= 2  # at the end of its line, and in the legend
    rows = list(csv.reader(StringIO(files["CSV"].decode("utf-8"))))
    assert rows[0][:2] == ["frames", "0"]
    assert [float(row[0]) for row in rows[1:]] == [40, 80]
    assert len(found["levels"]) == 9


def test_maps_and_the_decision_can_be_taken_along(opened, path):
    page = opened(path)

    def taken(name, kind):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download {name} as {kind}").click()
        assert waiting.value.suggested_filename == f"{name.lower().replace(' ', '-').rstrip('?')}.{kind.lower()}"
        return Path(waiting.value.path()).read_bytes()

    with Image.open(BytesIO(taken("Diversity maps", "PNG"))) as image:
        assert image.width > 2 * 4 * 300  # four panels beside each other
        assert len(image.convert("RGB").getcolors(1 << 20) or [0] * 99) > 50
    rows = list(csv.reader(StringIO(taken("Diversity maps", "CSV").decode("utf-8"))))
    assert rows[0] == ["run", "level", "x", "y", "SND"]
    assert len(rows) == 1 + 9 * 60 * 60
    head, *rows = csv.reader(StringIO(taken("Which diversity is best?", "CSV").decode("utf-8")))
    assert ["desired SND", "measured SND"] == [head[2], head[6]]
    assert rows[-1][1:3] == ["free", ""]  # it desires nothing
    assert float(rows[-1][6]) > 0


def test_nine_levels_are_told_apart(opened, path):
    page = opened(path)
    lines = page.locator("[data-chart=reward] .line").evaluate_all(
        "nodes => nodes.map(node => [getComputedStyle(node).stroke, node.getAttribute('stroke-dasharray')].join())"
    )
    assert len(set(lines)) == 9
    names = page.locator("[data-chart=reward] .end-name").all_text_contents()
    assert len(names) == 9
    assert "line patterns tell the levels apart" in page.locator("#curves .lead").inner_text()


def test_every_level_of_the_decision_has_a_name_on_a_phone(opened, path):
    page = opened(path, SMALL_PHONE)
    names = page.locator("#decision .level")
    assert len(set(names.all_text_contents())) == 9
    chart = page.locator("#decision svg").bounding_box()
    boxes = names.evaluate_all(
        "all => all.map((node) => node.getBBox()).map(({ x, y, width, height }) => [x, y, x + width, y + height])"
    )
    for k, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= chart["width"]
        assert 0 <= top < bottom <= chart["height"]
        for x, y, u, v in boxes[:k]:
            assert right <= x + 1 or u <= left + 1 or bottom <= y + 2 or v <= top + 2


def test_copying_the_citation(opened, path):
    page = opened(path)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("Cite the paper").click()
    page.get_by_role("button", name="Copy the BibTeX").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert "eprint = {2405.15054}" in page.evaluate("navigator.clipboard.readText()")


def test_a_tap_shows_the_values_and_they_stay(opened, path):
    page = opened(path, SMALL_PHONE, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= SMALL_PHONE["width"]
    plot = page.locator("[data-chart=reward] .plot")
    plot.scroll_into_view_if_needed()
    plot.tap(position={"x": 150, "y": 100})
    assert plot.locator(".tip tr").count() == 9
    page.wait_for_timeout(100)
    assert plot.locator(".tip").is_visible()
    box = plot.locator(".tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= SMALL_PHONE["width"]
    chips = page.locator(".chip").evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().right)")
    assert max(chips) <= SMALL_PHONE["width"]


def test_long_numbers_stay_in_their_card_on_a_phone(opened, path):
    page = opened(path, SMALL_PHONE)
    cells = page.locator(".summary td")
    cells.evaluate_all("cells => cells.forEach((cell) => cell.append(' ± 0.000000028'))")
    card = page.locator(".summary").first.evaluate("card => card.parentElement.getBoundingClientRect().right")
    assert cells.evaluate_all("cells => Math.max(...cells.map((cell) => cell.getBoundingClientRect().right))") < card
    assert cells.evaluate_all("cells => cells.every((cell) => cell.scrollWidth <= cell.clientWidth)")


def test_print_keeps_the_legend(opened, path):
    page = opened(path)
    page.emulate_media(media="print")
    assert page.locator(".chip").first.is_visible()
    legends = page.locator(".print-legend")
    assert legends.count() == page.locator("[data-chart]").count()
    assert all("1.5" in text and "free" in text for text in legends.all_inner_texts()[:2])
    assert page.locator(".downloads").first.is_hidden()
    assert page.locator(".theme").is_hidden()


@pytest.mark.parametrize(
    ("viewport", "theme"),
    [
        (DESKTOP, "light"),
        (SMALL_PHONE, "dark"),
        pytest.param(DESKTOP, "dark", marks=pytest.mark.slow),
        pytest.param(SMALL_PHONE, "light", marks=pytest.mark.slow),
    ],
)
def test_nothing_stands_in_anyones_way(opened, path, theme, viewport):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = opened(path, viewport, color_scheme=theme)
    for closed in page.locator("details").all():
        closed.evaluate("node => (node.open = true)")
    page.wait_for_timeout(300)
    found = axe.Axe().run(page)
    told = [(each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]]
    assert told == []
