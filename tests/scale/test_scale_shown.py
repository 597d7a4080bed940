"""What is shown of many members: by level, some of them, and what was left out is said."""

import json

import pytest
from rich.console import Console

from dico.analysis import desired_of, levels, of_level
from dico.commands._progress import PlainProgress, level_table
from dico.experiments import preset
from dico.runs.run import Run
from dico.scale.following import Following, Place
from dico.scale.pieces import Piece, Pieces
from dico.viz.page import numbers
from dico.viz.report import LIMIT, payload

LEVELS = (*(f"{k / 50:g}" for k in range(59)), "free")


class MadeUp:
    """Numbers that nobody trained."""

    def __init__(self, members, iterations):
        self.members, self.iterations = members, iterations

    def rows(self, say):
        return [
            {"member": member.index, "constraint": member.constraint, "seed": member.seed, "iteration": t,
             "frames": 100 * t, "reward": t + member.seed / 10, "snd": 0.5, "scale": 1.0, "seconds": 1.0,
             "action_bound_violation": 0.0}
            for t in range(1, self.iterations + 1)
            for member in self.members
        ]  # fmt: skip

    def checkpoints(self, say):
        return []

    def check_playable(self, run): ...

    def no_checkpoint(self):
        return "there is no checkpoint"

    def no_metrics(self):
        return "there are no metrics"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """60 levels of 10 seeds."""
    config = preset("quick", snd=LEVELS, seeds=10, frames=6000 * 20)
    group = {"name": "agents", "n_agents": 2, "obs_dim": 4, "low": [-1.0], "high": [1.0], "kind": "shared_std"}
    settings = vars(config) | {"frames": 2000}
    folder = tmp_path_factory.mktemp("shown")
    return Run(folder, settings, (group,), tuple(config.members), {}, MadeUp(config.members, 30))


def test_a_page_of_many_is_small_and_says_what_was_left_out(run, monkeypatch):
    monkeypatch.setattr(numbers, "SINGLES", 20_000)
    monkeypatch.setattr(numbers, "CENTRES", 18_000)
    found = payload([run])
    single = 20_000 // (4 * 60 * 25)
    curves = found["runs"][0]["curves"]["reward"]
    assert {len(curve["seeds"]) for curve in curves.values()} == {single}
    notes = " ".join(found["notes"])
    assert f"lines of single seeds are those of the first {single} of 10 of each level" in notes
    assert "curves show 25 of 30 iterations, evenly spaced" in notes
    assert len(str(found)) < LIMIT
    assert len(found["runs"][0]["summary"]) == 60  # the numbers are of all


def test_levels_are_those_of_each_grouping(run):
    assert len(levels(run)) == 60
    assert of_level(run, "0.5").sum() == 10
    by_seed = run.group_by("seed")
    assert len(levels(by_seed)) == 10
    assert of_level(by_seed, "seed=3").sum() == 60
    assert desired_of("seed=3", by_seed) == "free"
    assert desired_of("0.5", run) == "0.5"


def test_lines_of_a_piece_that_are_none_are_not_shown(tmp_path):
    config, pieces = preset("quick", snd=("0", "1"), seeds=1), Pieces(tmp_path)
    pieces.write([Piece("000", (0, 1))])
    path = pieces.folder(pieces.read()[0]) / "metrics.jsonl"
    path.parent.mkdir()
    row = {"iteration": 1, "reward": 0.5, "snd": 0.5}
    path.write_text("".join(json.dumps(row | {"member": k}) + "\n" for k in (0, 1)))
    assert len(Following(config, pieces, 1, Place("ray", "1 piece")).rows["000"]) == 2
    for strange in ({"reward": "x"}, {"snd": [0.5]}, {"seconds": "long"}, {"member": 2}):
        path.write_text("".join(json.dumps(row | {"member": k} | strange) + "\n" for k in (0, 1)))
        assert not Following(config, pieces, 1, Place("ray", "1 piece")).rows["000"]


def test_a_table_does_without_what_lines_lack():
    rows = [{"member": k, "constraint": str(k), "seed": 0, "reward": 0.5} for k in (0, 1)]
    assert level_table(rows).row_count == 2
    assert [column.header for column in level_table(rows).columns] == [
        "desired SND", "seeds", "measured SND", "reward per step",
    ]  # fmt: skip


def test_a_display_of_many_stays_readable(run, tmp_path):
    rows = [row for row in run.rows() if row["iteration"] == 20]
    table = level_table(rows, "pace")
    assert table.row_count == 24
    assert table.title == "pace; 24 of 60 levels"
    pieces = Pieces(tmp_path)
    pieces.write([Piece("000", tuple(range(600)))])
    console = Console(width=100, record=True, force_terminal=False)
    progress = PlainProgress(console)
    config = preset("quick", snd=LEVELS, seeds=10, frames=6000 * 20)
    progress.begin(Following(config, pieces, 1, Place("ray", "1 piece")), tmp_path)
    progress.iteration(rows, 1.0)
    said = console.export_text()
    assert "(12 of 60 levels)" in said
    assert len(said) < 1500
