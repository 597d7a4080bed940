"""Several devices of one machine, in processes that are really there."""

import signal

import pytest
from pieced import OFTEN, Listener, assert_same_runs, small
from started import HERE, WORDS, dico, environment, finish, has_rows, train_faulty, wait_until, workers_of

import dico as library
from dico.runs import load
from dico.scale import start
from dico.scale.processes import Processes


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The sweep in one process."""
    folder = tmp_path_factory.mktemp("expected") / "run"
    library.train(small(), folder, device="cpu")
    return folder


def test_two_devices_come_to_what_one_process_does_though_a_worker_is_killed(tmp_path, expected, monkeypatch):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(HERE)
    (tmp_path / "kill").write_text("25")
    listener = Listener()
    start.train(small(tmp_path), tmp_path / "run", Processes(["cpu", "cpu"]), OFTEN, observers=[listener])
    assert sum("lost its worker (its process ended with status -9)" in message for message in listener.said) == 1
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.slow
def test_the_command_trains_on_two_devices(tmp_path, expected):
    status, said = finish(dico("train", "navigation", *WORDS, "--run", tmp_path / "run", "--devices", "cpu,cpu"))
    assert status == 0, said
    assert "2 pieces; 2 at a time" in said
    assert "6 members on cpu (2 pieces, 2 at a time)" in said
    assert_same_runs(tmp_path / "run", expected)
    run = load(tmp_path / "run")
    assert run.policy(snd=0.3, seed=1).n_agents == 2
    status, said = finish(dico("report", tmp_path / "run", "--no-figures"))
    assert status == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_driver_and_a_resume_finishes_it(tmp_path, expected, number):
    (tmp_path / "slow").write_text("0.1")
    training = train_faulty(tmp_path, tmp_path / "run", "--devices", "cpu,cpu")
    wait_until(lambda: has_rows(tmp_path / "run"))
    assert workers_of(tmp_path / "run")
    training.send_signal(number)
    status, said = finish(training)
    if number == signal.SIGKILL:
        wait_until(lambda: not workers_of(tmp_path / "run"))
    else:
        assert status == 130
        assert f"go on with: dico resume {tmp_path / 'run'} --devices cpu,cpu" in said
    assert not workers_of(tmp_path / "run")
    (tmp_path / "slow").unlink()
    status, said = finish(dico("resume", tmp_path / "run", cwd=HERE))  # here, without a word of pieces
    assert status == 0, said
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.unchecked
def test_devices_that_are_none_are_refused():
    with pytest.raises(ValueError, match="devices must be named with commas"):
        Processes(["cpu", ""])
    with pytest.raises(ValueError, match="device must be auto, cpu or an available accelerator, got 'nonsense'"):
        Processes(["nonsense"])
