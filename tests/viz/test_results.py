"""What docs/results says of the paper comes out of the summaries there, figures included, without a GPU."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from dico import max_snd
from dico.analysis.claims import judge
from dico.viz.reproduction import markdown, summaries, write_reproduction
from dico.viz.tuning import draw_history

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory):
    """The folder's summaries alone, judged and drawn again."""
    folder = tmp_path_factory.mktemp("results")
    for path in summaries(RESULTS):
        place = folder / path.folder.relative_to(RESULTS)
        place.parent.mkdir(exist_ok=True)
        for each in path.folder.parent.glob(f"{path.folder.stem}.*"):
            shutil.copy(each, place.with_name(each.name))
    write_reproduction(folder)
    return folder


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_the_verdicts_are_those_of_the_summaries(redrawn):
    kept, again = (json.loads((folder / "claims.json").read_text()) for folder in (RESULTS, redrawn))
    assert [row["claim"] for row in kept] == [row["claim"] for row in again]
    for row, other in zip(kept, again, strict=True):
        assert row == {
            name: pytest.approx(value) if isinstance(value, float) else value for name, value in other.items()
        }


def test_the_document_has_the_verdicts():
    text = (RESULTS / "README.md").read_text()
    found = re.search(r"<!-- claims[^>]*-->\n(.*?)\n<!-- end of claims -->", text, re.DOTALL)
    assert found
    assert found[1] == markdown(judge(summaries(RESULTS)))


def test_every_figure_is_drawn_again(redrawn):
    kept, again = (
        sorted(path.relative_to(folder) for path in folder.glob("figures/*/*.png")) for folder in (RESULTS, redrawn)
    )
    assert kept == again
    assert kept


def test_the_maximum_snd_is_as_the_document_has_it():
    text = (RESULTS / "README.md").read_text()
    agents, values = (re.search(rf"\| {name} \|(.*)\|", text)[1].split("|") for name in ("agents", "maximum SND"))
    for n, value in zip(agents, values, strict=True):
        assert float(value) == pytest.approx(max_snd(int(n), [-1, -1], [1, 1]).value, abs=5e-4)


def test_pictures_and_summaries_are_small_and_there():
    text = (RESULTS / "README.md").read_text()
    shown = [RESULTS / path for path in re.findall(r"\]\((figures/[^)]+)\)", text)]
    assert shown
    assert all(path.stat().st_size < 300_000 for path in shown)
    assert sum(run.folder.stat().st_size for run in summaries(RESULTS)) < 1_500_000


def test_every_summary_tells_where_it_comes_from():
    for run in summaries(RESULTS):
        assert {"command", "commit", "torch", "device", "seconds"} <= run.source.about.keys()
        assert run.source.behaviours


@pytest.mark.parametrize("task", ["tag", "dispersion"])
def test_the_document_has_what_tuning_answered(task):
    text = re.sub(r"\s+", " ", (RESULTS / "README.md").read_text())
    told = re.search(rf"\*\*{task.capitalize()}\*\*[^:]*: `(.*?)`(.*?)!\[", text[text.index("## Which diversity") :])
    assert told
    found = json.loads((RESULTS / "tune" / f"{task}.json").read_text())
    assert told[1] == found["outcome"]
    digits = 1 if task == "tag" else 4
    for name in ("gain", "gain_low", "gain_high"):
        assert f"{found[name]:.{digits}f}" in told[2], name
    last = [trial for trial in found["history"] if trial["population"] == 3]
    for trial in last:
        assert f"{np.mean(trial['values']):.{max(digits, 2)}f}" in told[2], trial["level"]
    assert draw_history(found["history"], "reward", task).axes[0].lines
