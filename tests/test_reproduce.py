"""`dico reproduce`: what it trains, skips, goes on with and refuses; and several side by side."""

import fcntl
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from command_line import dico

from dico.analysis.behaviour import behaviours
from dico.analysis.claims import CLAIMS
from dico.experiments import EXPERIMENTS, QUICK
from dico.runs import load
from dico.training import session
from dico.viz import reproduction

pytestmark = [
    pytest.mark.unchecked,
    pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning"),  # the paper's, of dispersion and sampling
]

RESULTS = Path(__file__).parents[1] / "docs" / "results"
TINY = {
    "frames": 800, "frames_per_batch": 200, "hidden": (8,), "epochs": 1, "minibatch": 100, "seeds": 1,
    "updates": 3, "batch": 8, "replay": 400, "noise_frames": 400,
}  # fmt: skip
ON_CPU = ("--preset", "quick", "--device", "cpu")
ONE_BATCH = (*ON_CPU, "--scale", "0.001", "--seeds", "1")


@pytest.fixture
def tiny(monkeypatch):
    """Preset quick in seconds, and few episodes of what it trained."""
    for name, value in TINY.items():
        monkeypatch.setitem(QUICK, name, value)
    monkeypatch.setattr(reproduction, "behaviours", partial(behaviours, episodes=4))


def metrics(folder):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in load(folder).rows()]


class StopAfter:
    """An observer that stops a training in the middle of things."""

    def __init__(self, iterations):
        self.left = iterations

    def begin(self, population, folder): ...

    def say(self, message): ...

    def end(self): ...

    def iteration(self, rows, seconds):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def interrupt(name, folder):
    """Train an experiment for three iterations, with a checkpoint after the second."""
    with pytest.raises(session.Interrupted):
        session.train(
            EXPERIMENTS[name].config("quick"), folder, observers=[StopAfter(3)], device="cpu", checkpoint_every=2
        )


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("chosen", "announced"),
    [
        (("dispersion", "tau"), "2 experiments, with preset quick: 7 members, 2,800 frames in all"),
        pytest.param(
            EXPERIMENTS, "10 experiments, with preset quick: 66 members, 26,400 frames in all", marks=pytest.mark.slow
        ),
    ],
    ids=["two", "all"],
)
def test_every_experiment_trains_is_judged_and_not_trained_again(capsys, tmp_path, chosen, announced):
    words = (
        "reproduce",
        *(chosen if len(chosen) < len(EXPERIMENTS) else ["all"]),
        *ON_CPU,
        "--scale",
        "0.5",
        "--folder",
        tmp_path,
    )
    status, out, err = dico(capsys, *words)
    assert status == 0, err
    assert out.startswith(announced)
    names = [f"quick/{name}" for name in chosen]
    before = {name: (tmp_path / f"{name}/metrics.jsonl").read_bytes() for name in names}
    kept = {path: path.stat().st_mtime_ns for name in names for path in tmp_path.glob(f"{name}.[jn]*")}
    assert len(kept) == 2 * len(names)
    for name in chosen:
        run = load(tmp_path / "quick" / name)
        assert run.config["task"] == EXPERIMENTS[name].task
        assert {row["iteration"] for row in run.rows()} == {1, 2}
    status, out, _ = dico(capsys, *words)
    assert status == 0
    assert f"tau (quick) is finished in {tmp_path}/quick/tau: skipped" in out
    assert before == {name: (tmp_path / f"{name}/metrics.jsonl").read_bytes() for name in names}
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    _check_page(tmp_path, names)


def _check_page(folder, names):
    """Every experiment has its claims and its figures, and every figure that the page shows is there."""
    page = (folder / "index.html").read_text()
    judged = json.loads((folder / "claims.json").read_text())
    assert {row["source"] for row in judged} == set(names)
    for row in judged:
        assert list(row)[:5] == ["claim", "verdict", "effect", "low", "high"]
        assert row["claim"] in page
    shown = re.findall(r"src='([^']+)'", page)
    assert shown
    assert all((folder / path).stat().st_size < 300_000 for path in shown)
    for name in names:
        assert f"<h2>{name}</h2>" in page
        assert f"figures/{name.replace('/', '-')}/curves.png" in shown


@pytest.mark.usefixtures("tiny")
def test_analytical_control_is_trained_at_any_scale_judged_and_drawn(capsys, tmp_path):
    words = ("analytical", "--seeds", "1", "--scale", "0.25")
    status, _, err = dico(capsys, "reproduce", *words, *ON_CPU, "--folder", tmp_path)
    assert status == 0, err
    assert load(tmp_path / "quick" / "analytical").config["control"] == "analytical"
    judged = {row["claim"] for row in json.loads((tmp_path / "claims.json").read_text())}
    assert judged == {"control"} | {each.name for each in CLAIMS if each.experiment == "analytical"}
    page = (tmp_path / "index.html").read_text()
    assert "figures/quick-analytical/box.png" in page
    assert "figures/quick-analytical/map.png" in page


@pytest.mark.usefixtures("tiny")
def test_the_page_is_drawn_again_from_summaries_alone(capsys, tmp_path):
    assert dico(capsys, "reproduce", "navigation", *ON_CPU, "--folder", tmp_path)[0] == 0
    first = (tmp_path / "index.html").read_text(), (tmp_path / "claims.json").read_text()
    shutil.rmtree(tmp_path / "quick" / "navigation")
    shutil.rmtree(tmp_path / "figures")
    (tmp_path / "index.html").unlink()
    status, out, err = dico(capsys, "reproduce", "--redraw", "--folder", tmp_path)
    assert status == 0, err
    assert f"wrote {tmp_path}/index.html" in out
    assert first == ((tmp_path / "index.html").read_text(), (tmp_path / "claims.json").read_text())
    _check_page(tmp_path, ["quick/navigation"])


@pytest.mark.usefixtures("tiny")
def test_a_summary_that_cannot_be_read_is_not_passed_over(capsys, tmp_path):
    assert dico(capsys, "reproduce", "tau", *ON_CPU, "--folder", tmp_path)[0] == 0
    (tmp_path / "quick" / "other.json").write_text('{"claims": "of another kind"}')
    assert dico(capsys, "reproduce", "--redraw", "--folder", tmp_path)[0] == 0
    (tmp_path / "quick" / "tag.json").write_text((tmp_path / "quick" / "tau.json").read_text()[:200])
    status, _, err = dico(capsys, "reproduce", "--redraw", "--folder", tmp_path)
    assert status == 2
    assert "tag.json cannot be used: it is no JSON" in err
    status, _, err = dico(capsys, "reproduce", "tau", "--redraw", "--folder", tmp_path)
    assert status == 2
    assert "takes no experiments" in err


@pytest.mark.usefixtures("tiny")
def test_a_summary_of_another_training_is_made_anew(capsys, tmp_path):
    words = ("reproduce", "tau", *ON_CPU, "--folder", tmp_path)
    assert dico(capsys, *words, "--scale", "0.5")[0] == 0
    old = (tmp_path / "quick" / "tau.json").read_bytes()
    shutil.rmtree(tmp_path / "quick" / "tau")
    session.train(EXPERIMENTS["tau"].config("quick"), tmp_path / "quick" / "tau", device="cpu")
    assert (tmp_path / "quick" / "tau.json").read_bytes() == old
    assert dico(capsys, *words)[0] == 0
    assert load(tmp_path / "quick" / "tau.json").metric("frames").max() == 800


def test_claims_are_not_written_over_what_they_are_of(capsys, tmp_path):
    path = tmp_path / "navigation.json"
    shutil.copy(RESULTS / "paper" / "navigation.json", path)
    status, _, err = dico(capsys, "claims", path, "--json", path)
    assert status == 2
    assert "another file" in err
    status, out, err = dico(capsys, "claims", path, "--json", tmp_path / "new" / "claims.json")
    assert status == 0, err
    assert "navigation, 10,020,000 frames, 4 seeds" in out
    found = json.loads((tmp_path / "new" / "claims.json").read_text())
    assert {"claim", "verdict", "effect", "low", "high"} <= found[0].keys()


@pytest.mark.parametrize("words", [(), ("nowhere",), ("tests",), ("README.md",)])
def test_what_is_no_run_has_no_claims(capsys, words):
    status, out, err = dico(capsys, "claims", *words)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert "\n" not in err


def test_nothing_is_drawn_where_there_is_nothing(capsys, tmp_path):
    status, _, err = dico(capsys, "reproduce", "--redraw", "--folder", tmp_path)
    assert status == 2
    assert "has no summaries" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("tiny")
def test_a_summary_that_is_missing_is_made_again(capsys, tmp_path):
    words = ("reproduce", "tag", *ON_CPU, "--folder", tmp_path)
    assert dico(capsys, *words)[0] == 0
    (tmp_path / "quick" / "tag.json").unlink()
    assert dico(capsys, *words)[0] == 0
    told = json.loads((tmp_path / "quick" / "tag.json").read_text())
    assert told["about"]["command"] == "dico reproduce tag --preset quick"
    assert len(told["behaviours"]["cross_play"]) == len(told["members"])
    assert told["about"]["seconds"] > 0


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["navigation", "sampling"])
def test_an_interrupted_experiment_goes_on_exactly(capsys, tmp_path, name):
    assert dico(capsys, "reproduce", name, *ON_CPU, "--folder", tmp_path / "whole")[0] == 0
    folder = tmp_path / "again" / "quick" / name
    interrupt(name, folder)
    status, out, err = dico(capsys, "reproduce", name, *ON_CPU, "--folder", tmp_path / "again")
    assert status == 0, err
    assert f"resuming {folder} at 400 frames" in out
    assert metrics(folder) == metrics(tmp_path / "whole" / "quick" / name)


@pytest.mark.usefixtures("tiny")
def test_more_seeds_in_a_piece_of_their_own(capsys, tmp_path):
    words = ("reproduce", "tau", *ON_CPU, "--folder")
    assert dico(capsys, *words, tmp_path / "both", "--seeds", "2")[0] == 0
    assert dico(capsys, *words, tmp_path / "later", "--seeds", "1", "--first-seed", "1")[0] == 0
    both, later = load(tmp_path / "both" / "quick" / "tau"), load(tmp_path / "later" / "quick" / "tau-seed1")
    assert {member.seed for member in later.members} == {1}
    rewards = both.metric("reward")[[member.seed == 1 for member in both.members]]
    assert rewards.numpy() == pytest.approx(later.metric("reward").numpy(), rel=1e-4)


@pytest.mark.usefixtures("tiny")
def test_what_cannot_be_is_refused_before_anything_is_trained(capsys, tmp_path):
    assert dico(capsys, "reproduce", "tau", *ON_CPU, "--folder", tmp_path)[0] == 0
    words = ("reproduce", "navigation", "tau", *ON_CPU, "--folder", tmp_path)
    status, _, err = dico(capsys, *words, "--seeds", "2")
    assert status == 2
    assert f"{tmp_path}/quick/tau was trained with another configuration (seeds): give the options that it was" in err
    (tmp_path / "quick" / "tau" / "config.json").unlink()
    assert dico(capsys, *words)[0] == 2
    assert not (tmp_path / "quick" / "navigation").exists()
    (tmp_path / "file").write_text("")
    status, _, err = dico(capsys, "reproduce", "tau", *ON_CPU, "--folder", tmp_path / "file")
    assert status == 2
    assert f"because of {tmp_path}/file: choose another --folder" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "experiments must be at least one of navigation, same-goal,"),
        (("navigaton",), "got 'navigaton'; did you mean 'navigation'?"),
        (("tau", "reverse_transport"), "got 'reverse_transport'; did you mean 'reverse-transport'?"),
        (("tau", "--preset", "quick", "papr"), "got 'papr'; did you mean 'paper'?"),
        (("--preset", "paper", "tau"), "the experiments come first: dico reproduce tau --option"),
        (("all", "--scale", "0"), "scale must be a finite number above 0, got 0"),
        (("all", "--scale", "nan"), "scale must be a finite number above 0, got nan"),
        (("all", "--seeds", "0"), "seeds must be a positive integer, got 0"),
        (("all", "--first-seed", "-1"), "first_seed must be a whole number from 0 up, got -1"),
        (("all", "--together", "--device", "quantum"), "device must be auto, cpu or an available accelerator"),
        (("all", "--together", "--device", "cpu", "--stage", "graphs"), "got 'graphs': it needs CUDA"),
        (("all", "--together", "--stage", "eagre"), "got 'eagre'; did you mean 'eager'?"),
        (("all", "--checkpoint-every", "0"), "checkpoint_every must be a positive integer, got 0"),
    ],
    ids=str,
)
def test_bad_input_says_what_to_do_and_leaves_nothing_behind(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    status, out, err = dico(capsys, "reproduce", *words)
    assert status == 2
    assert said in out + err
    assert not list(tmp_path.iterdir())


def test_two_side_by_side(capsys, tmp_path):
    """One of them cannot: the other goes on. When it can, only it is trained."""
    words = ("reproduce", "navigation", "tau", *ONE_BATCH, "--folder", tmp_path, "--together")
    folder = tmp_path / "quick" / "tau"
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        status, out, err = dico(capsys, *words)
    assert status == 1
    assert f"navigation (quick) is finished; results in {tmp_path}/quick/navigation" in out
    assert f"tau (quick) failed with status 2: error: {folder} is being trained by another process" in err
    assert f"its log is {tmp_path}/quick/tau.log" in err
    assert "results in" in (tmp_path / "quick" / "navigation.log").read_text()
    status, out, _ = dico(capsys, *words)
    assert status == 0
    assert "navigation (quick) is finished" in out
    assert f"results in {folder}" in out
    assert len(load(folder).rows()) == 4


def start_two(folder):
    """A command that trains two populations for minutes, once both are at it."""
    command = [sys.executable, "-m", "dico", "reproduce", "tau", "sampling", *ON_CPU, "--seeds", "1", "--together"]
    process = subprocess.Popen(
        [*command, "--folder", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which shells let background jobs ignore
    )  # fmt: skip
    runs = [folder / "quick" / name for name in ("tau", "sampling")]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not all(_begun(run) for run in runs):
        time.sleep(0.1)
    return process, runs


def _begun(run):
    metrics = run / "metrics.jsonl"
    return metrics.exists() and metrics.stat().st_size > 0


def _held(run):
    """Whether a process is training there."""
    with (run / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def test_ctrl_c_stops_all_with_their_checkpoints(tmp_path):
    process, runs = start_two(tmp_path)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping all after their iterations" in out
    assert "the same dico reproduce again goes on with all that is left" in out
    assert "Traceback" not in out
    for run in runs:
        assert f"go on with: dico resume {run}" in out
        assert not _held(run)
        assert load(run).checkpoints()[0].frames == load(run).rows()[-1]["frames"]


@pytest.mark.slow
def test_none_trains_on_when_the_first_process_is_killed(tmp_path):
    process, runs = start_two(tmp_path)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(_held(run) for run in runs):
        time.sleep(0.1)
    for run in runs:
        assert not _held(run)
        assert load(run).checkpoints()[0].frames == load(run).rows()[-1]["frames"]


@pytest.mark.slow
def test_a_fiftieth_of_quick_navigation(capsys, tmp_path):
    """Preset paper would take hours on two cores."""
    words = ("reproduce", "navigation", "--scale", "0.02", *ON_CPU, "--folder", tmp_path)
    assert dico(capsys, *words)[0] == 0
    assert len(load(tmp_path / "quick" / "navigation").rows()) == 8 * 2
    _check_page(tmp_path, ["quick/navigation"])
