"""Compared runs in a browser: every number is of the line, the frames and the run that it stands beside."""

import re
from pathlib import Path

import pytest
from browsers import CHROMIUM, DESKTOP, NONE_HERE, fixtures
from drawn import lost
from folders import write_run
from report_runs import small_run
from varied import two_by_two

from dico.viz.report import write_report

pytestmark = [pytest.mark.unchecked, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()
SMALL_PHONE = {"width": 360, "height": 740}
LEVELS = tuple(f"{k / 10:g}" for k in range(11))
MINUS, MISSING = "\N{MINUS SIGN}", "\N{EN DASH}"


def rising(level, seed, iteration):
    """Values that tell their iteration; episodes end in all that a page knows."""
    told = dict.fromkeys(("return", "success", "coverage"), 0.5 + 0.01 * seed)
    return {"reward": 100 * iteration + seed, "snd": float(level), "action_bound_violation": 0.0, **told}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The page of a short run, of a longer one of which a level diverged, and of one with other batches."""
    place = tmp_path_factory.mktemp("compared")

    def partly(level, seed, iteration):
        return lost() if level == "0.2" else rising(level, seed, iteration)

    runs = [
        write_run(place / "short", rising, snd=LEVELS, seeds=3, frames=12_000, frames_per_batch=6000),
        write_run(place / "long", partly, snd=LEVELS, seeds=3, frames=36_000, frames_per_batch=6000),
        write_run(place / "other", rising, snd=("0",), seeds=3, frames=36_000, frames_per_batch=9000),
    ]
    with pytest.warns(UserWarning, match="diverged and is left out"):
        return write_report(runs, place / "all.html")


def pointed(page, share):
    """The header and the rows of what is told at a share of the rewards' width, and where the cursor stands."""
    axis = page.locator("[data-chart=reward] .chart line.axis").last.bounding_box()
    page.mouse.move(axis["x"] + share * axis["width"], axis["y"] - 60)
    tip = page.locator("[data-chart=reward] .tip")
    cells = [row.locator("td").all_inner_texts() for row in tip.locator("tr").all()]
    cursor = page.locator("[data-chart=reward] .cursor line").bounding_box()
    return tip.locator("strong").inner_text(), {name.strip(): value for name, value in cells}, cursor["x"] - axis["x"]


def test_values_are_of_the_frames_that_are_told(opened, path):
    page = opened(path)
    page.locator("[data-chart=reward]").scroll_into_view_if_needed()
    header, rows, start = pointed(page, 0)
    assert (header, rows["0 · short"][:3], rows["0 · long"][:3]) == ("6 k frames", "101", "101")
    assert "0 · other" not in rows  # it has not begun
    mark, row = (page.locator(f"[data-chart=reward] .tip {part}").first.bounding_box() for part in (".run-line", "tr"))
    assert abs(mark["y"] + mark["height"] / 2 - row["y"] - row["height"] / 2) < 5  # beside the name, not above it
    header, rows, there = pointed(page, 0.405)  # 18,150 of 6,000 to 36,000
    assert header == "18 k frames"
    assert not any(name.endswith("short") for name in rows)  # it has ended
    assert (rows["0 · long"][:3], rows["0 · other"][:3]) == ("301", "201")
    header, rows, end = pointed(page, 0.21)
    assert (header, rows["0 · other (9 k)"][:3]) == ("12 k frames", "101")
    assert start < end < there
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):  # 18, 12, 9
        page.locator("[data-chart=reward] .plot").press(key)
    assert page.locator("[data-chart=reward] .tip strong").inner_text() == "9 k frames"


def test_what_is_not_known_has_no_difference_whichever_way_round(opened, path):
    page = opened(path)
    page.get_by_label("compared with").select_option(label="long")
    (row,) = page.locator("#differences tr[data-level='0.2'][data-run='0']").all()
    amounts = row.locator(".amount").all_inner_texts()
    assert (len(amounts), set(amounts)) == (5, {MISSING})
    assert set(row.locator(".verdict").all_inner_texts()) == {"diverged"}
    (same,) = page.locator("#differences tr[data-level='0'][data-run='0']").all()
    assert not any(text.startswith((f"{MINUS}0.00 ", "-0")) for text in same.locator(".amount").all_inner_texts())


def test_lines_of_several_runs_are_told_by_the_legend_alone(opened, path):
    page = opened(path)
    assert page.locator(".end-name").count() == 0
    chips = page.locator("[data-key^=level] .run-line line")
    dashes = chips.evaluate_all("all => all.map((node) => node.getAttribute('stroke-dasharray'))")
    assert len(dashes) == len(LEVELS)
    assert len(set(dashes)) == 10
    assert "Line patterns repeat after 10 levels" in page.locator("#toolbar").inner_text()


def test_nothing_is_cut_off_on_a_small_phone(opened, path):
    page = opened(path, SMALL_PHONE)
    assert page.locator("#toolbar small").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == SMALL_PHONE["width"]
    tables = page.locator("#settings .scroll")
    tables.evaluate_all("nodes => nodes.forEach((node) => (node.closest('details').open = true))")
    assert tables.evaluate_all("nodes => Math.max(...nodes.map((node) => node.scrollWidth - node.clientWidth))") == 0


def test_lines_of_the_decision_are_in_its_file(opened, path):
    page = opened(path)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download Which diversity is best? as SVG").click()
    drawn = Path(waiting.value.path()).read_text("utf-8")
    assert "var(--" not in drawn
    assert (
        len(re.findall(r"<polyline[^>]* stroke=\"(?:rgb|color|oklab)", drawn))
        == page.locator("#decision .thread").count()
        > 0
    )


def test_levels_are_named_wherever_they_landed(opened, tmp_path):
    def run(name, snd):
        def row(level, seed, _):
            found = {"reward": snd + 0.01 * seed, "snd": snd if level == "free" else 1.0}
            return found | {"action_bound_violation": 0.0}

        return write_run(tmp_path / name, row, snd=("1", "free"), seeds=3, frames=12_000)

    page = opened(write_report([run("one", 0.2), run("two", 1.8)], tmp_path / "both.html"))
    assert sorted(page.locator("#decision .level").all_text_contents()) == ["1", "free", "free"]


def test_the_table_of_differences_fits_a_screen(opened, path):
    page = opened(path, DESKTOP)
    assert "The runs have 12,000 and 36,000 frames" in page.locator("#differences .lead").inner_text()
    assert page.locator("#differences thead th").count() == 8
    wide = page.locator("#differences .scroll").evaluate("node => node.scrollWidth - node.clientWidth")
    assert wide == 0


def test_names_of_levels_are_whole_or_left_to_the_legend(opened, tmp_path):
    page = opened(write_report(two_by_two(tmp_path / "run"), tmp_path / "page.html"))  # 0.5, tau=0.3 and longer ones
    assert page.locator("[data-chart=reward] .series").count() == 4
    assert page.locator(".end-name").count() == 0


def test_two_runs_are_compared_at_one_scale_and_without_bands_on_bands(opened, tmp_path):
    runs = [small_run(tmp_path / name, seeds=3, frames=80, envs=envs) for name, envs in (("one", 4), ("two", 2))]
    page = opened(write_report(runs, tmp_path / "both.html"), SMALL_PHONE)
    report = page.evaluate("dico.report")
    assert len({tuple(episode["extent"]) for run in report["runs"] for episode in run["episodes"]}) == 1
    assert page.locator(".band").count() == 0  # six would lie on each other: single seeds instead
    assert page.locator("[data-chart=reward] .seed").count() == 18
    assert sorted(page.locator("[data-chart=reward] .end-name").all_text_contents()) == sorted(
        f"{mark} {level}" for mark in "\N{BLACK CIRCLE}\N{BLACK SQUARE}" for level in ("0", "0.5", "free")
    )
    for select in page.locator(".screen select").all():
        assert select.bounding_box()["width"] > 250
    first, second = (page.locator(".screen canvas").nth(k).bounding_box() for k in (0, 1))
    assert (first["width"], first["height"]) == (second["width"], second["height"])
