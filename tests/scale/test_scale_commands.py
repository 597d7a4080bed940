"""The options of scale: what does not go together is said in a line, before anything is written."""

import subprocess
import sys

import pytest
from command_line import dico
from started import ROOT, WORDS

pytestmark = pytest.mark.unchecked


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--on rya", "on must be one of 'ray', 'slurm', got 'rya'; did you mean 'ray'?"),
        ("--on ray --devices cpu,cpu", "devices must not be given with --on ray"),
        ("--devices cpu,cpu --device cpu", "device must not be given with --devices"),
        ("--devices cpu,nonsense", "device must be auto, cpu or an available accelerator, got 'nonsense'"),
        ("--address 127.0.0.1:1", "address must be given with --on ray only"),
        ("--slurm time=60", "slurm must be given with --on slurm only"),
        ("--on ray --dry-run", "dry_run must be given with --on slurm only"),
        ("--on ray --cpus 0", "cpus must be a positive integer, got 0"),
        ("--on ray --address 127.0.0.1:1", "no Ray cluster can be reached at 127.0.0.1:1: "),
        ("--on slurm", "slurm must be used where srun is found, as on a cluster's login node: there is none here"),
        ("--on slurm --slurm cluster=locall", "slurm: "),
        ("--on slurm --dry-run --slurm time=0", "slurm: time in minutes must be a positive integer, got 0"),
        ("--on slurm --slurm cluster=local time=1-00:00:00", "slurm: time in minutes must be a positive integer, got"),
        ("--devices=", "devices must be named with commas, such as cuda:0,cuda:1, got ''"),
        ("--devices cpu,cpu --tensorboard", "tensorboard and wandb must be off with --on and --devices"),
        ("--devices cpu,cpu --block 1 --dial --snd 0 1", "2 members depend on each other and stay together"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_line(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.setenv("PATH", "")  # and with it a Slurm that may be here
    status, _, err = dico(capsys, "train", "navigation", *WORDS, "--run", tmp_path / "run", *words.split())
    assert status == 2
    assert said in err
    assert not (tmp_path / "run").exists()


def test_a_resume_has_no_dry_run(capsys, tmp_path):
    status, _, err = dico(capsys, "resume", tmp_path, "--on", "slurm", "--dry-run")
    assert status == 2
    assert "dry_run is for dico train and dico reproduce" in err


def test_a_run_is_not_trained_longer_in_pieces(capsys, tmp_path):
    status, _, err = dico(capsys, "resume", tmp_path, "--devices", "cpu,cpu", "--frames", "300")
    assert status == 2
    assert "frames must not be given with --on or --devices, nor for a run that is in pieces yet" in err
    assert f"then `dico resume {tmp_path} --frames 300` trains it longer" in err


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_extra_is_named(capsys, tmp_path, monkeypatch, engine, package):
    monkeypatch.setitem(sys.modules, package, None)
    status, _, err = dico(capsys, "train", "navigation", *WORDS, "--run", tmp_path / "run", "--on", engine)
    assert status == 2
    assert err == f'error: --on {engine} needs {package}: pip install "dico-marl[{engine}]"'
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_experiment_is_reproduced_in_pieces_and_skipped_when_it_is_there(capsys, tmp_path):
    words = ["reproduce", "navigation", "--preset", "quick", "--scale", "0.001", "--seeds", "1", "--folder", tmp_path]
    status, out, err = dico(capsys, *words, "--devices", "cpu,cpu")
    assert status == 0, err
    assert "2 pieces; 2 at a time" in out
    assert not (tmp_path / "quick" / "navigation" / "pieces").exists()
    status, out, _ = dico(capsys, *words, "--devices", "cpu,cpu")
    assert "is finished" in out
    status, _, err = dico(capsys, *words, "--devices", "cpu,cpu", "--together")
    assert status == 2
    assert "together must be off with --on and --devices" in err


def test_help_and_commands_import_neither_engine():
    code = (
        "import sys; sys.modules.update(ray=None, submitit=None); import dico.commands._scale, dico.commands.resume; "
        "from dico.commands import main; main(['--help']); main(['tasks'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
