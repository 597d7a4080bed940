"""`dico tune`: what it finds and writes, that it goes on where it was interrupted, and what it refuses."""

import json
from itertools import count
from types import SimpleNamespace

import pytest
from command_line import dico

from dico.analysis import answer_of
from dico.commands import tune
from dico.commands._progress import make_progress
from dico.experiments import QUICK
from dico.runs import load

pytestmark = pytest.mark.unchecked

TINY = {
    "frames": 1600, "envs": 4, "frames_per_batch": 400, "hidden": (8,), "epochs": 1, "minibatch": 200,
    "updates": 3, "batch": 8, "replay": 800, "noise_frames": 800,
}  # fmt: skip
FIELDS = [
    "outcome", "level", "low", "high", "gain", "gain_low", "gain_high", "p_beats_free", "p_beats_homogeneous", "why",
    "frames", "dense_frames", "history",
]  # fmt: skip
MAXIMIZE = ("tune", "navigation", "--maximize", "reward", "--device", "cpu", "--checkpoint-every", "1")
PID = (
    "tune", "navigation", "--metric", "reward", "--target", "0.9", "--method", "pid", "--gains", "0.5", "0", "0.5",
    "--initial", "0.25", "--evaluations", "3", "--device", "cpu", "--checkpoint-every", "1",
)  # fmt: skip
REWARD = ("navigation", "--metric", "reward", "--target", "1")
TARGET = ("tune", "navigation", "--metric", "reward", "--target", "0.9", "--device", "cpu", "--checkpoint-every", "1")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    """Preset quick in seconds, in a folder of its own."""
    for name, value in TINY.items():
        monkeypatch.setitem(QUICK, name, value)
    monkeypatch.chdir(tmp_path)


class StopAfter:
    """A progress display that stops a training in the middle of things, once."""

    left = 0

    def __init__(self, console):
        self.shown = make_progress(console)
        self.begin, self.say, self.end = self.shown.begin, self.shown.say, self.shown.end

    def iteration(self, rows, seconds):
        self.shown.iteration(rows, seconds)
        StopAfter.left -= 1
        if StopAfter.left == 0:
            raise KeyboardInterrupt


def read(path):
    return json.loads(path.read_text())


def test_the_greatest_is_looked_for_and_said(capsys, tmp_path):
    status, out, err = dico(capsys, *MAXIMIZE, "--json", "answer.json")
    assert status == 0, err
    found = read(tmp_path / "answer.json")
    assert list(found) == FIELDS
    folder = tmp_path / "runs" / "tune-navigation-reward"
    assert read(folder / "answer.json") == found
    assert (folder / "history.png").stat().st_size > 10_000
    assert out.startswith("up to 27,600 frames on all members together; a dense sweep would take 57,600")
    last = load(folder / "population-3")
    assert last.newest.frames == 1600
    assert found["outcome"] == answer_of(last).outcome
    assert found["gain"] == pytest.approx(answer_of(last).gain)
    assert found["frames"] <= found["dense_frames"] / 2
    assert found["frames"] == sum(
        400 * len({(row["member"], row["iteration"]) for row in load(path).rows()})
        for path in folder.glob("population-*")
    )
    assert f"{found['frames']:,} frames on all members together; a dense sweep would have taken 57,600" in out
    before = {path: path.stat().st_mtime_ns for path in folder.glob("population-*/**/*")}
    status, out, _ = dico(capsys, *MAXIMIZE)
    assert status == 0
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert read(folder / "answer.json") == found


@pytest.mark.parametrize(
    ("words", "after"),
    [(MAXIMIZE, 2), (MAXIMIZE, 3), (TARGET, 6), (PID, 6)],
    ids=["first", "third", "loop", "pid"],
)
def test_what_was_interrupted_goes_on_exactly(capsys, tmp_path, monkeypatch, words, after):
    """Three seeds: their intervals, and what follows from them, are the same too."""
    assert dico(capsys, *words, "--folder", tmp_path / "whole")[0] == 0
    monkeypatch.setattr(tune, "make_progress", StopAfter)
    StopAfter.left = after
    status, _, err = dico(capsys, *words, "--folder", tmp_path / "again")
    assert status == 130
    assert "the same dico tune again goes on" in err
    assert not (tmp_path / "again" / "answer.json").exists()
    assert dico(capsys, *words, "--folder", tmp_path / "again")[0] == 0
    assert read(tmp_path / "again" / "answer.json") == read(tmp_path / "whole" / "answer.json")


def test_a_target_is_looked_for_and_said(capsys, tmp_path):
    status, out, err = dico(capsys, *TARGET, "--seeds", "1", "--json", "answer.json", "--high", "1")
    assert status == 0, err
    found = read(tmp_path / "answer.json")
    assert list(found) == FIELDS
    assert found["outcome"] == "saturated"  # nobody earns so much
    assert "saturated: no diversity meets the target; nearest is" in out
    assert {trial["level"] for trial in found["history"]} >= {0, 0.25, 0.5, 0.75, 1}
    assert found["gain_low"] is None
    assert found["frames"] == 1600 * len(found["history"])


def test_the_papers_loop_takes_its_own_steps(capsys, tmp_path):
    """Each level follows from the reward of those before it: e = 0.9 - reward, 0.5 e + 0.5 sum(e)."""
    status, _, err = dico(capsys, *PID, "--seeds", "1", "--json", "answer.json")
    assert status == 0, err
    found = read(tmp_path / "answer.json")
    assert found["outcome"] == "exhausted"
    tried = found["history"]
    assert [trial["population"] for trial in tried] == [1, 2, 3]
    errors = [0.9 - trial["values"][0] for trial in tried]
    expected = [0.25, errors[0], 0.5 * errors[1] + 0.5 * (errors[0] + errors[1])]
    assert [trial["level"] for trial in tried] == pytest.approx(expected, abs=1e-5)
    request = read(tmp_path / "runs" / "tune-navigation-reward" / "tune.json")
    assert request["target"]["pid"] == {"gains": [0.5, 0.0, 0.5], "initial": 0.25}
    for more in (("--gains", "-0.5", "0", "0.5"), ("--initial", "0")):
        status, _, err = dico(capsys, *PID, "--seeds", "1", *more)
        assert status == 2
        assert "was tuned with another target" in err


def test_a_metric_of_ones_own_and_a_budget(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def level(run, member):\n    return float(run.policy_of(member).constraint.lo)\n"
    )
    words = ("tune", "navigation", "--metric", "mine:level", "--target", "0.6", "--seeds", "1", "--device", "cpu")
    status, out, err = dico(capsys, *words, "--at-once", "2", "--frames", "12800", "--tolerance", "0.01")
    assert status == 0, err
    found = read(tmp_path / "runs" / "tune-navigation-mine-level" / "answer.json")
    assert found["outcome"] == "converged"
    assert found["level"] == pytest.approx(0.6, abs=0.01)
    assert found["frames"] <= 12800
    assert "the target is met at a desired diversity of 0.6" in out


def test_minutes_are_measured_once(capsys, monkeypatch, tmp_path):
    """By a clock that finds each batch to take 0.1 s, however busy the machine is."""
    ticks = (0.1 * k for k in count())
    monkeypatch.setattr("dico.tuning.halving.time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    words = (*MAXIMIZE, "--seeds", "1", "--minutes", "0.02")
    status, _, err = dico(capsys, *words)
    assert status == 0, err
    assert next(ticks) == pytest.approx(0.2)  # it was looked at before and after, once
    first = read(tmp_path / "runs" / "tune-navigation-reward" / "answer.json")
    assert dico(capsys, *words)[0] == 0
    assert next(ticks) == pytest.approx(0.3)  # and not again
    assert read(tmp_path / "runs" / "tune-navigation-reward" / "answer.json") == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("navigation",), "give either --maximize METRIC, or --metric METRIC with --target VALUE"),
        (("navigation", "--metric", "reward"), "give either --maximize METRIC, or --metric METRIC with --target VALUE"),
        (("navigation", "--maximize", "reward", "--target", "1"), "give either --maximize METRIC"),
        (("navigaton", "--maximize", "reward"), "did you mean 'navigation'?"),
        (("navigation", "--maximize", "rewrad"), "did you mean 'reward'?"),
        (("sampling", "--maximize", "success"), "Sampling has no success: write a function"),
        (("navigation", "--maximize", "nowhere:metric"), "metric 'nowhere:metric' cannot be imported"),
        (("navigation", "--maximize", "reward", "--frames", "5"), "frames must be at least 27,600 for 3 seeds, got 5"),
        (("navigation", "--maximize", "reward", "--minutes", "0"), "minutes must be a finite number above 0"),
        (("navigation", "--maximize", "reward", "--minutes", "1", "--frames", "50000"), "one budget"),
        (
            ("navigation", "--maximize", "reward", "--frames", "50000", "--settings", "frames=2000"),
            "give either --frames",
        ),
        (
            ("navigation", "--maximize", "reward", "--settings", "lr=1e-3", "lr=1e-4"),
            "settings must name each once, got 'lr'",
        ),
        (("navigation", "--metric", "reward", "--target", "1", "--minutes", "1"), "minutes must be unset"),
        (("navigation", "--maximize", "reward", "--tolerance", "1"), "tolerance must be unset"),
        (("navigation", "--maximize", "reward", "--method", "pid"), "pid is for --metric METRIC with --target VALUE"),
        (
            ("navigation", "--maximize", "reward", "--gains", "1", "0", "0"),
            "gains must be unset here: it is for --method",
        ),
        (("navigation", "--maximize", "reward", "--at-once", "2"), "at_once must be unset here"),
        ((*REWARD, "--initial", "0.5"), "initial must be unset here: it is for --method pid"),
        ((*REWARD, "--method", "pdi"), "method must be one of 'safeguarded', 'pid', got 'pdi'; did you mean 'pid'?"),
        (
            (*REWARD, "--method", "pid", "--high", "1"),
            "high must be unset here: --method pid trains one level at a time",
        ),
        ((*REWARD, "--method", "pid", "--at-once", "2"), "at_once must be unset here: --method pid trains one level"),
        ((*REWARD, "--method", "pid", "--gains", "1", "nan", "0"), "gains must be three finite numbers"),
        ((*REWARD, "--method", "pid", "--initial", "-1"), "initial must be a diversity, finite and at least 0, got -1"),
        (
            ("navigation", "--metric", "reward", "--target", "1", "--tolerance", "0"),
            "tolerance must be a finite number",
        ),
        (("navigation", "--metric", "reward", "--target", "nan"), "target must be a finite number, got nan"),
        (("navigation", "--metric", "success", "--target", "2"), "target must be a number in [0, 1], got 2.0"),
        (
            ("navigation", "--metric", "reward", "--target", "1", "--frames", "9"),
            "frames must be a whole number from 4800",
        ),
        (("navigation", "--maximize", "reward", "--high", "-1"), "high must be a finite number above 0, got -1"),
        (("navigation", "--maximize", "reward", "--seeds", "0"), "seeds must be a positive integer, got 0"),
        (("navigation", "--maximize", "reward", "--settings", "lr"), "settings must be written as name=value"),
        (("navigation", "--maximize", "reward", "--settings", "snd=1"), "name in settings must be one of"),
        (("navigation", "--maximize", "reward", "--settings", "metric=hse"), "high must be given"),
        (("navigation", "--maximize", "reward", "--device", "quantum"), "device must be auto, cpu or an available"),
        (("navigation", "--maximize", "reward", "--json", "."), "cannot be written (it is a folder)"),
    ],
    ids=str,
)
def test_bad_input_says_what_to_do_and_leaves_nothing_behind(capsys, tmp_path, words, said):
    status, out, err = dico(capsys, "tune", *words)
    assert status == 2
    assert said in out + err
    assert "Traceback" not in out + err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damaged", ["{", "[]", '{"config": {}}'])
def test_a_damaged_request_is_told_in_a_line(capsys, tmp_path, damaged):
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "tune.json").write_text(damaged)
    for more in ((), ("--minutes", "1")):
        status, _, err = dico(capsys, *MAXIMIZE, "--folder", tmp_path / "tuned", *more)
        assert status == 2
        assert "tune.json cannot be used: " in err
        assert "choose another --folder" in err


def test_another_request_in_the_same_folder_is_refused(capsys, tmp_path):
    words = ("tune", "navigation", "--seeds", "1", "--device", "cpu", "--folder", tmp_path / "tuned")
    assert dico(capsys, *words, "--metric", "reward", "--target", "0.9", "--high", "1")[0] == 0
    before = sorted(tmp_path.rglob("*"))
    for more, changed in (
        (("--metric", "reward", "--target", "0.8", "--high", "1"), "another target"),
        (("--metric", "return", "--target", "0.9", "--high", "1"), "another metric"),
        (("--metric", "reward", "--target", "0.9", "--high", "1", "--settings", "lr=0.5"), "another config"),
        (("--maximize", "reward"), "another"),
    ):
        status, _, err = dico(capsys, *words, *more)
        assert status == 2
        assert changed in err
        assert "choose another --folder" in err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    status, _, err = dico(capsys, *MAXIMIZE, "--folder", tmp_path / "full")
    assert status == 2
    assert "exists already, and no tuning is in it" in err
    assert sorted(path for path in tmp_path.rglob("*") if "full" not in str(path)) == before
