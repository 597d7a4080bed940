"""The command line around a training: version, errors in a line, files of settings, lists, longer runs, eval."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest
from command_line import dico, parse
from rich.console import Console

from dico import progress
from dico.analysis.statistics import decimals_of
from dico.bounds import max_snd
from dico.commands._digits import spread_text
from dico.commands._progress import LiveProgress, PlainProgress, make_progress
from dico.runs import RunError, load
from dico.training.config import Config
from dico.training.lock import alone
from dico.training.session import resume, train
from dico.training.stopping import Interrupted

pytestmark = pytest.mark.unchecked
SMALL = {"frames": 80, "envs": 4, "frames_per_batch": 40, "hidden": (8,), "epochs": 2, "minibatch": 16, "updates": 3,
         "batch": 8, "replay": 100, "snd": ("0", "0.3"), "seeds": 1}  # fmt: skip
WORDS = ("--frames", "80", "--envs", "4", "--frames-per-batch", "40", "--hidden", "8", "--epochs", "2", "--minibatch",
         "16", "--snd", "0", "0.3", "--seeds", "2")  # fmt: skip


def test_the_version_is_told(capsys):
    from dico import __version__

    assert dico(capsys, "--version") == (0, f"dico {__version__}", "")


def test_help_and_version_import_little():
    code = "import sys; from dico.commands import main; main([sys.argv[1]]); print(*sys.modules)"
    for word in ("--help", "--version"):
        done = subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True, check=True)
        loaded = set(done.stdout.split())
        assert not loaded & {"torch", "tyro", "numpy", "safetensors", "matplotlib", "jaxtyping", "dico.runs"}


def test_a_shell_completes_commands_options_and_tasks(capsys):
    from dico.commands import main

    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    for words, expected in (
        ("dico re", {"resume", "report", "reproduce"}),
        ("dico train --fra", {"--frames", "--frames-per-batch"}),
        ("dico train nav", {"navigation"}),
        ("dico export --", {"--to", "--snd", "--seed", "--where", "--group", "--help"}),
    ):
        *before, last = words.split()
        ask = f"COMP_WORDS=({words}); COMP_CWORD={len(before)}; _dico; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) == expected, last
    assert main(["completion", "fish"]) == 2


ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $1; print -r ready''made"
zpty -r shell seen '*readymade*'
zpty -n -w shell $'dico exp\\t--wh\\t'
zpty -r shell seen '*export*--where*' && print completed
"""
"""A zsh without settings of its own, at whose prompt is typed; it reads until it sees the pattern."""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_completes_at_its_prompt(capsys, tmp_path, monkeypatch):
    from dico.commands import main

    assert main(["completion", "zsh"]) == 0
    (tmp_path / "dico.zsh").write_text(capsys.readouterr().out)
    monkeypatch.setenv("ZDOTDIR", str(tmp_path))  # its cache of completions goes there
    words = ["zsh", "-f", "-c", ZSH, "zsh", str(tmp_path / "dico.zsh")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout.strip() == "completed"


LINES = {
    ("train", "--total-timesteps", "100"): "there is no option --total-timesteps: it is --frames here",
    ("train", "--num_envs", "3"): "there is no option --num_envs: it is --envs here",
    ("train", "--n-envs", "3"): "it is --envs here",
    ("train", "--learning-rate=1"): "it is --lr here",
    ("train", "--seed", "1"): "it is --seeds COUNT and --first-seed here",
    ("train", "--env-id", "x"): "it is the task's name, which comes first here",
    ("train", "--frame", "3"): "there is no option --frame; did you mean --frames?",
    ("train", "--exp-name", "mine"): "there is no option --exp-name: it is --run here",
    ("resume", "run", "--lr", "1"): "there is no option --lr (dico resume --help tells all)",
    ("tune", "navigation", "--lr", "1"): "there is no option --lr: it is --settings lr=VALUE here",
    ("tune", "navigation", "--clip-coef", "1"): "there is no option --clip-coef: it is --settings clip=VALUE here",
    ("tune", "navigation", "--snd", "1"): "there is no option --snd (dico tune --help tells all)",
    ("train", "--frames", "many"): "--frames must be a number without a fraction, got 'many'",
    ("train", "--tau", "little"): "--tau must be a number, got 'little'",
    ("train", "--device"): "--device must be followed by what it is to be, got nothing (dico train --help",
    ("train", "--hidden", "a", "8"): "--hidden cannot be made of 'a', '8' (dico train --help",
    ("bound", "--agents", "x"): "--agents cannot be made of 'x' (dico bound --help",
    ("train", "--gradient", "hard"): "--gradient must be one of 'soft', 'detached', 'straight_through', got 'hard'",
    ("train", "--snd"): "snd must be a sequence of desired diversities",
    ("train", "navigation", "twice"): "there is nothing to do with 'twice'",
    ("train", "--device", "mps"): "device must be auto, cpu or an available accelerator, got 'mps'",
    ("train", "--device", "cuda:99"): "device must be auto, cpu or an available accelerator, got 'cuda:99'",
    ("train", "--config", "nothing.toml"): "nothing.toml is no file: --config takes a run's config.json, or TOML",
    ("eval",): "Missing from dico eval: PATH The run folder.",
    ("eval", "--total-timesteps"): "dico eval --help",
    ("list", "nowhere"): "nowhere does not exist",
}


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_errors_are_a_line(capsys, tmp_path, monkeypatch, words):
    from dico.commands import main

    monkeypatch.chdir(tmp_path)
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert LINES[words] in err
    assert err.count("\n") == 1
    assert len(err) < 300
    assert not out
    assert not list(tmp_path.iterdir())


# files of settings


def test_a_runs_configuration_trains_another(capsys, tmp_path):
    first = train(Config(**SMALL, tau=0.25), tmp_path / "first", device="cpu")
    words = ("--config", first.folder / "config.json", "--run", tmp_path / "second", "--lr", "0.001")
    status, out, err = dico(capsys, "train", *words)
    assert status == 0, err
    assert "settings of" in out
    changed = {name for name, value in load(tmp_path / "second").config.items() if first.config[name] != value}
    assert changed == {"lr"}
    assert dico(capsys, "train", "--preset", "paper", *words)[0] == 2


def test_toml_changes_a_preset_and_the_line_wins(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('preset = "tuned"\ntask = "dispersion"\nsnd = [0, 0.5, "free"]\nseeds = 3\nhidden = [16]\n')
    settings = parse(["train", "--config", str(file), "--seeds", "5"]).settings
    assert (settings.task, settings.snd, settings.seeds) == ("dispersion", ("0", "0.5", "free"), 5)
    assert (settings.algorithm, settings.hidden, settings.frames) == ("maddpg", (16,), 10_000_000)
    settings = parse(["train", "navigation", f"--config={file}", "--preset", "quick"]).settings
    assert (settings.task, settings.algorithm, settings.frames, settings.seeds) == ("navigation", "ippo", 240_000, 3)


@pytest.mark.parametrize(
    ("text", "levels"), [("[0, 1]", ("0", "1")), ("0.3", ("0.3",)), ("1", ("1",)), ("'free'", ("free",))]
)
def test_toml_may_tell_desired_diversities_by_numbers_and_a_single_one(tmp_path, text, levels):
    (tmp_path / "mine.toml").write_text(f"snd = {text}\n")
    assert parse(["train", "--config", str(tmp_path / "mine.toml")]).settings.snd == levels


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "seeds = ", "is no TOML"),
        ("a.toml", "sedes = 3", "did you mean 'seeds'?"),
        ("a.toml", "seeds = 'x'", "a.toml: seeds must be a positive integer, got 'x'"),
        ("a.json", "[1]", "holds no settings"),
        ("a.json", '{"config": {"task": "navigation"}}', "the configuration does not tell"),
    ],
)
def test_a_file_that_is_none_is_told(capsys, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    status, _, err = dico(capsys, "train", "--config", tmp_path / name)
    assert status == 2
    assert message in err


# lists, longer runs


def test_runs_are_listed_with_their_state(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert "no runs under runs" in dico(capsys, "list")[1]
    train(Config(**SMALL), "runs/one", device="cpu")
    train(Config(**SMALL | {"algorithm": "iddpg"}), "runs/deep/two", device="cpu")
    settings = json.loads((tmp_path / "runs/deep/two/config.json").read_text())
    settings["config"]["frames"] = 400
    (tmp_path / "runs/deep/two/config.json").write_text(json.dumps(settings))
    (tmp_path / "runs/torn").mkdir()
    (tmp_path / "runs/torn/config.json").write_text("{")
    with alone(tmp_path / "runs/one"):
        assert "in training" in dico(capsys, "list", "runs/one")[1]
    status, out, _ = dico(capsys, "list")
    assert status == 0
    assert "runs/one │ navigation │ ippo │ 2 │ 80 of 80 │ finished" in out
    assert "runs/deep/two │ navigation │ iddpg │ 2 │ 80 of 400 │ interrupted" in out
    assert "cannot be opened" in out


def rows_of(run):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in run.rows()]


@pytest.mark.parametrize("algorithm", ["ippo", "iddpg"])
def test_a_longer_run_is_what_it_would_have_been(capsys, tmp_path, algorithm):
    settings = SMALL | {"algorithm": algorithm, "snd": ("0.3", "0->1@200"), "noise_frames": 100}
    whole = train(Config(**settings | {"frames": 200}), tmp_path / "whole", device="cpu")
    train(Config(**settings), tmp_path / "longer", device="cpu")
    status, _, err = dico(capsys, "resume", tmp_path / "longer", "--frames", "200", "--device", "cpu")
    assert status == 0, err
    longer = load(tmp_path / "longer")
    assert rows_of(longer) == rows_of(whole)
    assert dict(longer.config) == dict(whole.config)
    resume(longer.folder, device="cpu")  # the folder's seal is whole
    with pytest.raises(RunError, match=r"frames must be at least the run's own 200, got 80: a run only gets longer"):
        resume(longer.folder, frames=80, device="cpu")


def test_a_longer_run_that_is_interrupted_goes_on(tmp_path):
    class Stop:
        def begin(self, population, folder): ...
        def say(self, message): ...
        def end(self): ...
        def iteration(self, rows, seconds):
            if rows[0]["iteration"] == 4:
                raise KeyboardInterrupt

    train(Config(**SMALL), tmp_path / "run", device="cpu")
    with pytest.raises(Interrupted):
        resume(tmp_path / "run", frames=240, device="cpu", observers=[Stop()])
    run = resume(tmp_path / "run", device="cpu")
    whole = train(Config(**SMALL | {"frames": 240}), tmp_path / "whole", device="cpu")
    assert rows_of(run) == rows_of(whole)


def test_a_group_stays_frozen_where_it_was(tmp_path):
    settings = SMALL | {"task": "tag", "freeze": ("agent=50%",), "snd": ("0.3",)}
    train(Config(**settings), tmp_path / "run", device="cpu")
    run = resume(tmp_path / "run", frames=160, device="cpu")
    assert run.config["freeze"] == ["agent=40"]
    alike = train(Config(**settings | {"frames": 160, "freeze": ("agent=40",)}), tmp_path / "alike", device="cpu")
    assert rows_of(run) == rows_of(alike)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "there is not enough memory"),
        (MemoryError(), "there is not enough memory"),
        (OverflowError("Overflow when unpacking long long"), "a number is too large: seeds are below"),
    ],
    ids=["allocator", "memory", "seed"],
)
def test_what_is_too_much_is_told_in_a_line(capsys, monkeypatch, error, told):
    monkeypatch.setattr("dico.commands.list.run", lambda *_: (_ for _ in ()).throw(error))
    status, _, err = dico(capsys, "list")
    assert status == 2
    assert err.startswith(f"error: {told}")


def test_a_fault_of_ours_is_not_taken_for_theirs(capsys, monkeypatch):
    monkeypatch.setattr("dico.commands.list.run", lambda *_: (_ for _ in ()).throw(RuntimeError("a fault")))
    with pytest.raises(RuntimeError, match="a fault"):
        dico(capsys, "list")


def test_a_count_may_be_written_as_2e6(capsys, tmp_path):
    words = ("train", "navigation", *WORDS, "--frames", "8e1", "--max-grad-norm", "1e1", "--device", "cpu")
    status, _, err = dico(capsys, *words, "--run", tmp_path / "run")
    assert status == 0, err
    assert load(tmp_path / "run").config["frames"] == 80


# what is said while it trains, and afterwards


def test_the_preset_is_named_and_a_long_run_is_estimated(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("dico.commands._progress.LONG", 0.0)
    status, out, _ = dico(capsys, "train", "navigation", *WORDS, "--run", tmp_path / "run", "--device", "cpu")
    assert status == 0
    assert "(preset quick)" in out
    assert out.count("all 80 frames will take about") == 1
    assert "roughly" not in out
    assert "compiled" not in out


@pytest.mark.parametrize(
    ("words", "gains"),
    [((), True), (("--hidden", "128"), False), (("--control", "analytical"), False), (("--stage", "compiled"), False)],
    ids=str,
)
def test_a_very_long_run_is_told_that_compiling_would_pay(capsys, tmp_path, monkeypatch, words, gains):
    monkeypatch.setattr("torch.compile", lambda function, **_: function)
    for name in ("LONG", "VERY_LONG"):
        monkeypatch.setattr(f"dico.commands._progress.{name}", 0.0)
    said = ("train", "navigation", *WORDS, *words, "--run", tmp_path / "run", "--device", "cpu")
    status, out, err = dico(capsys, *said)
    assert status == 0, err
    assert ("begun anew with --stage compiled" in out) == gains


def test_a_long_iteration_is_estimated_before_it_begins(capsys, monkeypatch):
    """By the operations of the networks, which a count by hand confirms."""
    from dico.commands._estimate import iteration_seconds, operations
    from dico.training.population import Population

    population = Population(Config(**(SMALL | {"task": "navigation"})))
    (learner,) = population.learners
    numel = sum(each.numel() for module in (learner.policy, learner.critic) for each in module.parameters()) / 2
    n = learner.team.n_agents
    assert operations(population.config, learner) == 2 * n * numel * (40 + 3 * 2 * 40)
    assert 0 < iteration_seconds(population) < 10  # a small one is not announced
    display = PlainProgress(Console(width=200))
    display.begin(population, Path("run"))
    assert "roughly" not in capsys.readouterr().out
    monkeypatch.setattr("dico.commands._progress.iteration_seconds", lambda population: 3600.0)
    display.begin(population, Path("run"))
    assert "roughly 60 min for each of 2 batches, 2.0 h for all; --preset quick" in capsys.readouterr().out


@pytest.mark.parametrize("clock", ["stands", "leaps"])
def test_an_estimate_never_ends_a_training(monkeypatch, clock):
    """Without hidden layers, by a coarse clock, and on a machine that is busy elsewhere."""
    from dico.commands import _estimate
    from dico.training.population import Population

    population = Population(Config(**(SMALL | {"task": "navigation", "hidden": ()})))
    assert 0 < _estimate.iteration_seconds(population) < math.inf
    times = iter([0.0, 0.0, 0.0, 1.0, 1.0] if clock == "stands" else [0.0, 1.0, 2.0])
    monkeypatch.setattr(_estimate.time, "perf_counter", lambda: next(times))
    assert 0 < _estimate.iteration_seconds(population) < math.inf


def test_a_training_from_python_shows_the_same(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("dico.commands._progress.SECONDS_BETWEEN_LINES", 0)
    train(Config(**(SMALL | {"task": "navigation"})), tmp_path / "run", device="cpu", observers=[progress()])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("navigation, ippo: ")
    told = [line for line in lines if "frames/s per member" in line]
    assert [line.partition(" of ")[0] for line in told] == ["40", "80"]


def test_a_notebook_gets_plain_lines(monkeypatch):
    terminal = Console(force_terminal=True)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    assert isinstance(make_progress(terminal), LiveProgress)
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    assert isinstance(make_progress(terminal), PlainProgress)


def test_eval_tells_the_spread(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = dico(capsys, "train", "tag", *WORDS, "--seeds", "3", "--run", tmp_path / "run", "--device", "cpu")
    assert "executed SND" in out
    file = tmp_path / "numbers" / "eval.json"
    status, out, err = dico(capsys, "eval", tmp_path / "run", "--episodes", "5", "--json", file)
    assert status == 0, err
    assert re.search(r"\d ±\d", out)
    assert f"wrote {file}" in out
    told = json.loads(file.read_text())
    assert [(level["level"], level["group"], level["seeds"]) for level in told["levels"][:2]] == [
        ("0", told["levels"][0]["group"], 3),
        ("0", told["levels"][1]["group"], 3),
    ]
    own = [row for row in told["members"] if row["constraint"] == "0" and row["group"] == told["levels"][0]["group"]]
    returns, acted = ([row[name] for row in own] for name in ("return", "snd_acted"))
    assert told["levels"][0]["return"]["mean"] == pytest.approx(fmean(returns))
    assert told["levels"][0]["return"]["over_seeds"] == pytest.approx(stdev(returns))
    assert told["levels"][0]["snd_acted"]["values"] == acted
    assert "executed SND" in out
    assert told["levels"][0]["return"]["over_episodes"] > 0


@pytest.mark.parametrize("columns", ["80", "50"])
def test_no_number_is_cut_off_in_a_narrow_terminal(columns, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    _, out, _ = dico(capsys, "train", "tag", *WORDS, "--seeds", "3", "--run", tmp_path / "run", "--device", "cpu")
    assert not re.search(r"\d…", out)
    _, out, _ = dico(capsys, "eval", tmp_path / "run", "--episodes", "5", "--json", tmp_path / "eval.json")
    assert not re.search(r"\d…", out)
    for level in json.loads((tmp_path / "eval.json").read_text())["levels"]:
        assert level["group"] in out
        over = level["return"]["over_episodes"]
        assert f"{over:.{decimals_of(over)}f}" in out.split()  # the last column
        spread = spread_text(level["reward"]["values"])
        assert {*spread.replace("± ", "±").split()} <= {*out.split()}


def test_of_two_seeds_eval_has_no_interval(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    dico(capsys, "train", "navigation", *WORDS, "--run", tmp_path / "run", "--device", "cpu")
    _, out, _ = dico(capsys, "eval", tmp_path / "run", "--episodes", "5", "--json", tmp_path / "eval.json")
    told = json.loads((tmp_path / "eval.json").read_text())["levels"][1]
    assert not re.search(r"±\d", out)
    assert told["reward"]["over_seeds"] is None
    assert f"{told['return']['over_episodes']:.4f}" not in out  # two significant digits of what scatters itself
    assert ", ".join(f"{value:.4f}" for value in told["reward"]["values"]) in out
    bound = max_snd(2, [-1, -1], [1, 1]).value
    assert all(acted < min(bound, means) for acted, means in zip(*(told[name]["values"] for name in
               ("snd_acted", "snd")), strict=True))  # fmt: skip


def test_what_a_folder_says_is_text_in_a_list(capsys, tmp_path):
    run = train(Config(**SMALL), tmp_path / "run", device="cpu")
    members = json.loads((run.folder / "members.json").read_text())
    members[0]["gae_lambda"] = "[/red]"
    (run.folder / "members.json").write_text(json.dumps(members))
    status, out, _ = dico(capsys, "list", tmp_path)
    assert status == 0
    assert "[/red]" in "".join(line.replace("\u2502", "").strip() for line in out.splitlines())


@pytest.mark.filterwarnings("ignore:.* is shorter than when", "ignore:.* was changed since", "ignore:.* is left out")
def test_lines_without_or_with_no_seed_are_no_reason_to_fail(capsys, tmp_path):
    run = train(Config(**SMALL), tmp_path / "run", device="cpu")
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    del rows[-1]["seed"]
    rows[0]["seed"] = [1, 2, 3]
    (run.folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, out, err = dico(capsys, "resume", run.folder)
    assert status == 0, err
    assert "last batch of each member" in out


def test_a_folder_whose_controlled_groups_are_none_says_so(capsys, tmp_path):
    run = train(Config(**SMALL), tmp_path / "run", device="cpu")
    saved = json.loads((run.folder / "config.json").read_text())
    saved["config"]["controlled"] = 2**63
    (run.folder / "config.json").write_text(json.dumps(saved))
    status, _, err = dico(capsys, "eval", run.folder)
    assert status == 2
    assert "config.controlled" in err
