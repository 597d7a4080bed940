"""Slurm's jobs by submitit, with its local executor in place of a cluster."""

import os
import signal
from pathlib import Path

import pytest
from pieced import OFTEN, Listener, assert_same_runs, small
from started import HERE, WORDS, dico, environment, finish, has_rows, train_faulty, wait_until, workers_of

import dico as library
from dico.scale import start
from dico.scale.on_slurm import OnSlurm, Work

pytest.importorskip("submitit")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The sweep in one process."""
    folder = tmp_path_factory.mktemp("expected") / "run"
    library.train(small(), folder, device="cpu")
    return folder


@pytest.fixture
def beside(monkeypatch):
    """Where workers find the faulty task."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(HERE)


def local(**parameters):
    return OnSlurm({"cluster": "local", **parameters}, "cpu", at_once=2)


@pytest.mark.slow
def test_jobs_come_to_what_one_process_does_though_a_worker_is_killed(tmp_path, expected, beside):
    (tmp_path / "kill").write_text("25")
    listener = Listener()
    start.train(small(tmp_path), tmp_path / "run", local(), OFTEN, observers=[listener])
    assert sum("lost its worker (job " in message for message in listener.said) == 1
    assert_same_runs(tmp_path / "run", expected)


def submitit_jobs(folder):
    """The processes that submitit runs for a run's jobs, by what they are asked to do."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if "submitit.core._submit" in words and any(str(folder) in word for word in words):
            found.append(int(process.name))
    return found


@pytest.mark.slow
def test_at_the_warning_a_job_saves_a_checkpoint_and_is_requeued(tmp_path, expected):
    (tmp_path / "slow").write_text("0.1")
    words = ["--on", "slurm", "--checkpoint-every", "1000", "--slurm", "cluster=local", "timeout_min=5"]
    training = train_faulty(tmp_path, tmp_path / "run", *words)
    wait_until(lambda: len(list(tmp_path.glob("run/pieces/*/metrics.jsonl"))) == 3)
    assert not has_rows(tmp_path / "run")
    jobs = submitit_jobs(tmp_path / "run")
    for job in jobs:
        os.kill(job, signal.SIGUSR2)  # as Slurm does before the time is up
    wait_until(lambda: not set(jobs) & set(submitit_jobs(tmp_path / "run")))
    assert len(list(tmp_path.glob("run/pieces/*/checkpoint-*"))) >= 3
    (tmp_path / "slow").unlink()
    status, said = finish(training)
    assert status == 0, said
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.slow
def test_ctrl_c_cancels_the_jobs_and_a_resume_finishes_them(tmp_path, expected):
    (tmp_path / "slow").write_text("0.1")
    training = train_faulty(tmp_path, tmp_path / "run", "--on", "slurm", "--slurm", "cluster=local")
    wait_until(lambda: has_rows(tmp_path / "run"))
    training.send_signal(signal.SIGINT)
    status, said = finish(training)
    assert status == 130, said
    assert "--on slurm --slurm cluster=local" in said
    wait_until(lambda: not workers_of(tmp_path / "run") + submitit_jobs(tmp_path / "run"))
    (tmp_path / "slow").unlink()
    status, said = finish(dico("resume", tmp_path / "run", "--on", "slurm", "--slurm", "cluster=local", cwd=HERE))
    assert status == 0, said
    assert_same_runs(tmp_path / "run", expected)


def test_a_dry_run_prints_the_script_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    from dico.commands import main

    monkeypatch.chdir(tmp_path)
    words = ["--on", "slurm", "--dry-run", "--block", "1", "--slurm", "partition=gpu", "time=60", "gpus_per_node=1"]
    assert main(["train", "navigation", *WORDS, *words, "array_parallelism=4", "mem_gb=8"]) == 0
    said = capsys.readouterr().out
    for line in ("partition=gpu", "time=60", "gpus-per-node=1", "array=0-5%4", "signal=USR2@90", "mem=8GB"):
        assert f"#SBATCH --{line}" in said
    assert "submitit.core._submit RUN/pieces/.jobs" in said  # whose name will have the time in it
    assert "6 pieces" in said
    assert main(["train", "navigation", *WORDS, *words, "--run", "runs/sl"]) == 0
    said = capsys.readouterr().out
    assert f"submitit.core._submit {tmp_path}/runs/sl/pieces/.jobs" in said
    assert "RUN" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.unchecked
def test_parameters_that_slurm_has_not_are_refused(tmp_path):
    backend = OnSlurm({"partitoin": "gpu"}, "cpu", at_once=2)
    with pytest.raises(ValueError, match=r"slurm must hold parameters of submitit's slurm executor .*partitoin"):
        backend.script(2, tmp_path)
    with pytest.raises(ValueError, match="slurm: "):
        OnSlurm({}, "cpu", at_once=1)._executor(tmp_path)  # there is no Slurm here


def test_a_job_is_a_worker_that_is_stopped_before_its_time_is_up(tmp_path):
    """The warning comes while the job waits for its worker."""
    work, again = Work(["sleep", "60"], str(tmp_path), str(tmp_path / "log")), []
    before = signal.signal(signal.SIGALRM, lambda *_: again.append(work.checkpoint()))
    signal.setitimer(signal.ITIMER_REAL, 1.2)
    try:
        work()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert again[0].function.words == ["sleep", "60"]
    assert work.worker is None
