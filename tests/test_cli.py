"""The command line as a new user meets it: what works, what is said, and the exit status."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from command_line import dico

from dico import commands
from dico.runs import load

pytestmark = pytest.mark.unchecked

SMALL = ("--frames", "240", "--envs", "4", "--frames-per-batch", "40", "--hidden", "8", "--epochs", "2",
         "--minibatch", "16", "--updates", "3", "--batch", "8", "--replay", "100",
         "--snd", "0", "0.3", "--seeds", "1")  # fmt: skip


def test_a_run_may_be_called_like_a_task(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, _ = dico(capsys, "train", "navigation", *SMALL, "--run", "tag")
    assert status == 0
    assert load("tag").config["task"] == "navigation"


def test_training_eval_and_resume(capsys, tmp_path):
    run = tmp_path / "run"
    status, out, _ = dico(capsys, "train", "navigation", *SMALL, "--run", run)
    assert status == 0
    assert "2 members on" in out
    assert "frames/s per member" in out
    assert f"results in {run}" in out
    rows = load(run).rows()
    assert len(rows) == 2 * 6
    needed = {
        "member",
        "constraint",
        "seed",
        "iteration",
        "frames",
        "reward",
        "snd",
        "snd_hat",
        "scale",
        "action_bound_violation",
        "seconds",
    }
    assert needed <= rows[0].keys()
    assert json.loads((run / "machine.json").read_text()).keys() >= {"dico", "torch", "python", "device", "commit"}

    status, out, _ = dico(capsys, "eval", run, "--episodes", "3", "--json", tmp_path / "eval.json")
    told = json.loads((tmp_path / "eval.json").read_text())
    for name in ("return", "success", "coverage"):
        own = [row[name] for row in told["members"] if row["constraint"] == told["levels"][0]["level"]]
        assert told["levels"][0][name]["mean"] == pytest.approx(sum(own) / len(own))
        assert name in out
    assert status == 0
    assert "3 episodes of each member" in out
    status, out, _ = dico(capsys, "resume", run)
    assert status == 0
    assert len(load(run).rows()) == 2 * 6


@pytest.mark.parametrize("task", ["dispersion", "sampling", "tag", "reverse-transport", "same-goal"])
def test_every_task_trains_with_its_own_algorithm(capsys, tmp_path, task):
    status, _, err = dico(capsys, "train", task, *SMALL, "--frames", "80", "--run", tmp_path / "run")
    assert status == 0, err
    status, _, err = dico(capsys, "eval", tmp_path / "run", "--episodes", "2")
    assert status == 0, err
    assert len(load(tmp_path / "run").rows()) == 2 * 2 * (2 if task == "tag" else 1)


def test_a_vmas_scenario_trains_by_name(capsys, tmp_path):
    status, _, err = dico(capsys, "train", "vmas:balance", *SMALL, "--frames", "80", "--run", tmp_path / "run")
    assert status == 0, err


def test_the_preset_is_taken_however_it_is_written(capsys, tmp_path):
    for number, words in enumerate((("--preset", "paper"), ("--preset=paper",))):
        run = tmp_path / str(number)
        assert dico(capsys, "train", "navigation", *words, *SMALL, "--frames", "40", "--run", run)[0] == 0
        assert load(run).config["tau"] == 0.01


def test_levels_that_executed_actions_cannot_have_are_told_of_before_a_training(capsys, tmp_path):
    few = [*SMALL[: SMALL.index("--snd")], "--seeds", "1"]
    _, out, _ = dico(capsys, "train", "navigation", *few, "--snd", "1", "5", ">=4", "--run", tmp_path / "far")
    told = "executed actions can have an SND of at most 2.83: the desired >=4, 5 is of means before the tanh"
    assert told in out
    _, out, _ = dico(capsys, "train", "navigation", *few, "--snd", "1", "--run", tmp_path / "near")
    assert "executed actions can" not in out


def test_the_table_shows_the_controlled_metric(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = dico(capsys, "train", "navigation", *SMALL, "--metric", "hse", "--run", tmp_path / "run")
    assert "desired HSE" in out
    assert "measured HSE" in out


def test_bound_and_tasks(capsys, monkeypatch, tmp_path):
    status, out, _ = dico(capsys, "bound", "--agents", "4", "--low", "-1", "-1", "--high", "1", "1")
    assert status == 0
    assert "maximum SND: 2.27614 (exact)" in out
    status, out, _ = dico(capsys, "bound", "--task", "dispersion", "--task-options", "n_agents=2", "--snd", "2", "6")
    assert status == 0
    assert "agents: 2 agents, maximum SND: 2.82843 (exact)" in out
    assert " 2 is within the maximum" in out
    assert " 6 is beyond the maximum" in out
    (tmp_path / "my_bounds.py").write_text("def rising(frames):\n    return 2 + frames\n")
    monkeypatch.chdir(tmp_path)
    _, out, _ = dico(capsys, "bound", "--agents", "2", "--low", "-1", "--high", "1", "--snd", "my_bounds:rising")
    assert "my_bounds:rising begins with 2, which is within the maximum" in out
    status, out, _ = dico(capsys, "tasks")
    assert status == 0
    assert "reverse-transport" in out
    assert dico(capsys)[0] == 0


@pytest.mark.parametrize(("algorithm", "action_loss"), [("ippo", "off"), ("iddpg", "separate"), ("isac", "off")])
def test_the_presets_settings_follow_the_algorithm(algorithm, action_loss):
    _, command = commands.parse(["train", "navigation", "--algorithm", algorithm, "--preset", "tuned"])
    assert (command.settings.algorithm, command.settings.action_loss) == (algorithm, action_loss)
    _, changed = commands.parse(["train", "--algorithm", algorithm, "--action-loss", "merged"])
    assert changed.settings.action_loss == "merged"


BAD = {
    ("trian",): "got 'trian'; did you mean 'train'?",
    ("train", "navigaton"): "got 'navigaton'; did you mean 'navigation'?",
    ("train", "--algorithm", "ipo"): "did you mean 'ippo'?",
    ("train", "--preset", "quik"): "preset must be one of 'paper', 'tuned', 'quick', got 'quik'; did you mean 'quick'?",
    ("train", "--action-loss", "merged", "--action-loss-rows", "all"): "action_loss_rows must be own for action_loss=",
    ("train", "--snd", "about"): "'module:function' or 'free', got 'about'",
    ("train", "--snd=-1"): "got '-1'",
    ("train", "--frames", "10"): "frames must be at least one batch, frames_per_batch=6000, got 10",
    (
        "train",
        "--algorithm",
        "iddpg",
        "--kind",
        "shared_std",
    ): "kind must be auto, deterministic for iddpg, got 'shared_std'",
    ("train", "--seeds", "1", "dispersion"): "the task comes first: dico train dispersion",
    ("train", "--preset=papr"): "got 'papr'; did you mean 'paper'?",
    ("train", "--snd", "0.3", "0.30"): "snd must hold each desired diversity once, got '0.30' again",
    ("train", "--checkpoint-every", "0"): "checkpoint_every must be a positive integer, got 0",
    ("train", "--stage", "graphs"): "got 'graphs': it needs CUDA",
    ("train", "--device", "meta"): "device must be auto, cpu or an available accelerator, got 'meta'",
    ("train", "--tau", "2"): "tau must be a number in [0, 1], got 2",
    ("train", "--task-options", "n_agnts=3"): "did you mean 'n_agents'?",
    ("train", "--task-options", "n_agents=0"): "n_agents must be a whole number from 1 up, got 0",
    ("train", "vmas:nothing"): "nothing",
    ("train", "--device", "quantum"): "device must be auto, cpu or an available accelerator, got 'quantum'",
    ("train", "--frobnicate"): "frobnicate",
    ("eval", "nowhere"): "nowhere is no run folder: it does not exist",
    ("resume", "nowhere"): "nowhere is no run folder: it does not exist",
    ("eval", "/"): "/ is no run folder: it is all of the disk",
    ("eval", "nowhere", "--json", "-"): "- is no place for a file",
    ("claims", "nowhere", "--json", "-"): "- is no place for a file",
    ("tune", "navigation", "--maximize", "reward", "--json", "-"): "- is no place for a file",
    ("report",): "runs must be at least one run folder, got none",
    ("report", "nowhere"): "nowhere is no run folder: it does not exist",
    ("bound", "--agents", "0", "--low", "-1", "--high", "1"): "n_agents must be a positive integer, got 0",
    ("bound", "--agents", "2", "--low", "1", "--high", "1"): "low must be below high",
    ("bound",): "bound must be asked of a --task, or of --agents, --low and --high",
    ("bound", "--task", "disperson"): "did you mean 'dispersion'?",
    ("bound", "--task", "tag", "--agents", "2"): "bound must be asked of a --task, or of --agents, --low and --high",
    ("bound", "--task", "tag", "--snd", "much"): "text must be a constraint such as",
    ("bound", "--task", "tag", "--figure", "bound.gif"): "the figure's ending must be one of '.png'",
    ("bound", "--agents", "3", "--low", "-1", "--high", "1", "--figure", "x.png"): "actions with 2 components, got 1",
    ("train", "--snd", "0->1"): "a schedule must be such as",
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_says_what_to_do_and_leaves_nothing_behind(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    status, out, err = dico(capsys, *arguments)
    assert status == 2
    assert BAD[arguments] in err + out
    assert "Traceback" not in err + out
    assert not list(tmp_path.iterdir())


def test_a_reader_who_leaves_early_sees_no_traceback():
    command = [sys.executable, "-m", "dico", "train", "--help"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 141
    process.stderr.close()


def test_missing_loggers_are_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    for flag in ("wandb", "tensorboard"):
        status, _, err = dico(capsys, "train", *SMALL, f"--{flag}")
        assert status == 2
        assert f'--{flag} needs {flag}: pip install "dico-marl[{flag}]"' in err
    assert not list(tmp_path.iterdir())


def test_ctrl_c_writes_a_checkpoint_and_says_how_to_go_on(tmp_path):
    run = tmp_path / "run"
    command = [sys.executable, "-m", "dico", "train", *SMALL, "--frames", "4000000", "--run", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (run / "metrics.jsonl").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with: dico resume {run}" in out
    assert "Traceback" not in out
    rows = load(run).rows()
    assert load(run).checkpoints()[0].frames == rows[-1]["frames"]


def test_report_says_where_the_page_and_the_figures_are(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    for name in ("one", "two"):
        assert dico(capsys, "train", "navigation", *SMALL, "--run", name)[0] == 0
    status, out, err = dico(capsys, "report", "one", "--open")
    assert status == 0, err
    assert "wrote one/report.html" in out
    assert re.search(r"wrote \d+ figures into one/figures", out)
    assert (tmp_path / "one" / "figures" / "curves.png").is_file()
    assert shown == [(tmp_path / "one" / "report.html").as_uri()]
    status, out, _ = dico(capsys, "report", "one", "--seeds", "--formats", "pdf", "--out", "seeds/page.html")
    assert status == 0
    assert (tmp_path / "seeds" / "page-figures" / "curves.pdf").is_file()
    status, _, err = dico(capsys, "report", "one", "--formats", "jpg")
    assert status == 2
    assert "format must be one of 'png', 'svg', 'pdf', got 'jpg'" in err
    status, out, err = dico(capsys, "report", "one", "two", "--no-figures", "--stat", "iqm", "--out", "both.html")
    assert status == 0, err
    assert out == "wrote both.html"
    assert not (tmp_path / "figures").exists()
    assert dico(capsys, "train", "dispersion", *SMALL, "--run", "three")[0] == 0
    status, _, err = dico(capsys, "report", "one", "three")
    assert status == 2
    assert "runs in one comparison must have the same task, got one: navigation, three: dispersion" in err
    assert not (tmp_path / "report.html").exists()


def test_the_page_needs_no_matplotlib(tmp_path):
    run = tmp_path / "run"
    without = "import sys; sys.modules['matplotlib'] = None; from dico import commands; sys.exit(commands.main())"

    def python(*arguments):
        return subprocess.run([sys.executable, "-c", without, *map(str, arguments)], capture_output=True, text=True)

    assert python("train", "navigation", *SMALL, "--run", run).returncode == 0
    refused = python("report", run)
    assert refused.returncode == 2
    assert 'pip install "dico-marl[viz]"' in refused.stderr
    assert "--no-figures" in refused.stderr
    assert not (run / "report.html").exists()
    assert python("report", run, "--no-figures").returncode == 0
    assert (run / "report.html").is_file()
