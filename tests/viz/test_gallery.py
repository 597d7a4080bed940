"""All figures of a run together: which there are, and that they are written whole or not at all."""

import json
import shutil
import subprocess
import sys
import warnings

import pytest
from drawn import known_fixture, lost, said, steady, texts
from folders import fixture_of, write_metrics, write_run

from dico.runs import RunError, load
from dico.viz.figures import draw_curves, draw_tracking
from dico.viz.gallery import draw_figures, write_figures

known = known_fixture()
navigation = fixture_of("navigation")


def test_a_run_in_training_says_how_far_it_is(tmp_path):
    run = write_run(tmp_path / "run", lambda level, seed, i: steady(level, seed, i) if i == 1 else None)
    written = write_figures([run], tmp_path / "figures", formats=("png",))
    assert [path.name for path in written] == ["curves.png", "decision.png", "tracking.png"]
    assert "after 6,000 of 240,000 frames" in said(draw_curves(run))


def test_runs_of_different_tasks_are_refused_before_anything_is_written(known, tmp_path):
    other = write_run(tmp_path / "other", steady, task="same-goal")
    with pytest.raises(RunError, match="must have the same task"):
        write_figures([known, other], tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_all_figures_of_a_run_are_written_whole(navigation, tmp_path):
    written = write_figures([navigation], tmp_path, formats=("png", "svg", "pdf"))
    names = ["curves", "decision", "tracking", "outcomes", "map", "trajectories", "distances"]
    assert [path.name for path in written] == [f"{name}.{end}" for name in names for end in ("png", "svg", "pdf")]
    assert sorted(tmp_path.iterdir()) == sorted(written)
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert all(path.read_bytes().startswith(starts[path.suffix]) for path in written)


def test_a_checkpoint_that_cannot_be_played_leaves_maps_out(navigation, tmp_path, monkeypatch):
    def refuse(*_):
        raise RunError("trained with other actions")

    monkeypatch.setattr("dico.runs.Run.task", refuse)
    with pytest.warns(UserWarning, match="no map and no trajectories: trained with other actions"):
        written = write_figures([navigation], tmp_path, formats=("png",))
    assert [path.stem for path in written] == ["curves", "decision", "tracking", "outcomes", "distances"]


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_figures_need_no_display_and_leave_no_style_behind(navigation, tmp_path):
    code = (
        "import sys, dico, matplotlib; from pathlib import Path; from dico.viz.gallery import write_figures;"
        "from dico.viz.style import STYLE; before = [matplotlib.rcParams[key] for key in STYLE];"
        f"write_figures([dico.load({str(navigation.folder)!r})], Path({str(tmp_path)!r}), formats=('png',));"
        "assert 'matplotlib.pyplot' not in sys.modules; assert [matplotlib.rcParams[key] for key in STYLE] == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_drawn_of_a_folder_without_metrics(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: None)
    with pytest.raises(RunError, match="has no metrics yet"):
        write_figures([run], tmp_path / "figures")
    with pytest.raises(RunError, match="is no run folder"):
        load(tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_nothing_is_written_if_the_folder_cannot_be(known, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot be written \(.*file is a file\): choose another place"):
        write_figures([known], tmp_path / "file")


@pytest.mark.parametrize(
    ("gone", "drawn", "messages"),
    [
        (("0.5",), ["map", "trajectories", "distances"], ["snd 0.5 diverged and is left out"]),
        (
            ("0", "0.5", "free"),
            [],
            [
                *(f"snd {level} diverged and is left out" for level in ("0", "0.5", "free")),
                "no map and no trajectories: all members of {folder} that were asked for diverged: choose other levels "
                "or another seed",
            ],
        ),
    ],
    ids=["one level", "everyone"],
)
def test_who_diverged_is_said_once(navigation, tmp_path, gone, drawn, messages):
    rows = [row | ({"diverged": True} if row["constraint"] in gone else {}) for row in navigation.rows()]
    run = load(shutil.copytree(navigation.folder, tmp_path / "run"))
    write_metrics(run.folder, "".join(json.dumps(row) + "\n" for row in rows))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(draw_figures([run])) == ["curves", "decision", "tracking", "outcomes", *drawn]
    assert [str(warning.message) for warning in caught] == [text.format(folder=run.folder) for text in messages]


def test_of_a_run_without_checkpoints_there_is_nothing_to_say(tmp_path):
    """Everyone diverged, which the figures themselves tell."""
    run = write_run(tmp_path / "run", lost)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = draw_figures([run])
    assert list(figures) == ["curves", "decision", "tracking"]
    for figure in figures.values():
        assert "all members diverged" in texts(figure)


def test_distances_may_come_later_in_a_run(tmp_path):
    """As in one that an older version began."""
    run = write_run(tmp_path / "run", lambda *a: steady(*a) | ({"distances": [0.5]} if a[2] > 3 else {}))
    assert "distances" in draw_figures([run])


def test_panels_of_a_run_that_wholly_diverged_say_so(tmp_path):
    run = write_run(tmp_path / "run", lost)
    for figure in (draw_curves(run), draw_tracking(run)):
        assert texts(figure).count("all members diverged") == 2
        assert [axes.get_xlim()[1] for axes in figure.axes] == [240, 240]
