"""A run that is killed and resumed equals one that never was, to the bit."""

import json
import multiprocessing
import random
import signal
import threading
import time

import pytest
import torch
from run_and_die import SMALL, run_and_die
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import dico
from dico.experiments import preset
from dico.runs import RunError, load
from dico.training import session
from dico.training.lock import alone

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch", "dico.experiments", "dico.training.session"])
"""Processes of their own, of which only the first has to import torch."""


def start(folder, algorithm, moment="never"):
    process = PROCESSES.Process(target=run_and_die, args=(str(folder), algorithm, moment))
    process.start()
    return process


def run(folder, algorithm, moment="never"):
    process = start(folder, algorithm, moment)
    process.join()
    return process.exitcode


def metrics(folder):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in load(folder).rows()]


def final_tensors(folder):
    return load(folder).checkpoints()[0].tensors()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs that were never killed."""
    runs = {}
    for algorithm in ("ippo", "maddpg"):
        runs[algorithm] = tmp_path_factory.mktemp("whole") / algorithm
        assert run(runs[algorithm], algorithm) == 0
    return runs


@pytest.mark.parametrize(
    ("algorithm", "moments"),
    [
        ("ippo", ["iteration-1"]),
        ("ippo", ["iteration-3", "iteration-1"]),
        ("ippo", ["state", "rename"]),
        ("maddpg", ["iteration-5"]),
        ("maddpg", ["iteration-3", "replay", "state"]),
        ("maddpg", ["rename", "iteration-2", "prune"]),
    ],
    ids=str,
)
def test_a_killed_run_resumes_exactly(tmp_path, whole, algorithm, moments):
    folder = tmp_path / "killed"
    for moment in moments:
        assert run(folder, algorithm, moment) == -signal.SIGKILL
    assert run(folder, algorithm) == 0
    assert metrics(folder) == metrics(whole[algorithm])
    for name, value in final_tensors(whole[algorithm]).items():
        assert torch.equal(value, final_tensors(folder)[name]), name


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg"])
def test_a_run_killed_at_a_random_moment_resumes_exactly(tmp_path, whole, algorithm):
    folder = tmp_path / "killed"
    process = start(folder, algorithm)
    deadline = time.monotonic() + 60
    while not (folder / "config.json").exists() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.3))  # any moment will do
    process.kill()
    process.join()
    assert run(folder, algorithm) == 0
    assert metrics(folder) == metrics(whole[algorithm])


def small_run(folder, **changes):
    return dico.train(preset("quick", **(SMALL | changes)), folder, checkpoint_every=2)


def test_torn_metrics_and_half_written_checkpoints_are_left_out_with_a_warning(tmp_path):
    trained = small_run(tmp_path / "run")
    expected = metrics(trained.folder)
    with (trained.folder / "metrics.jsonl").open("a") as file:
        file.write('{"member": 0, "rew')
    newest = trained.folder / "checkpoint-999"
    newest.mkdir()
    (newest / "meta.json").write_text("{}")
    with pytest.warns(UserWarning, match="torn"):
        assert metrics(trained.folder) == expected
    with pytest.warns(UserWarning, match="checkpoint-999 is not whole"):
        assert trained.checkpoints()[0].frames == 240


def test_three_checkpoints_are_kept_and_the_replay_once(tmp_path):
    trained = small_run(tmp_path / "run", algorithm="iddpg", frames=480)
    assert [c.frames for c in trained.checkpoints()] == [480, 400, 320]
    assert sorted(p.name for p in trained.folder.iterdir() if p.is_dir() and "checkpoint" not in p.name) == ["replay"]


def test_older_checkpoints_resume_exactly_too(tmp_path):
    """Should the newest two be lost, replayed frames are still there for the third."""
    trained = small_run(tmp_path / "run", algorithm="iddpg", frames=480)
    expected = metrics(trained.folder)
    for frames in (480, 400):
        (trained.folder / f"checkpoint-{frames}" / "state.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="not whole"):
        session.resume(trained.folder)
    assert metrics(trained.folder) == expected


def test_a_scenario_with_scripted_players_resumes_exactly(tmp_path):
    """They have plans of their own, and draw random numbers while they step."""
    players = {"task": "vmas:football", "task_options": ("n_blue_agents=2", "n_red_agents=2")}
    trained = small_run(tmp_path / "run", frames=160, **players)
    expected = metrics(trained.folder)
    tensors = {name: value.clone() for name, value in final_tensors(trained.folder).items()}
    (trained.folder / "checkpoint-160" / "state.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="not whole"):
        session.resume(trained.folder)
    assert metrics(trained.folder) == expected
    assert all(torch.equal(value, tensors[name]) for name, value in final_tensors(trained.folder).items())


class Listener:
    """An observer that remembers what was said."""

    def __init__(self):
        self.said = []

    def say(self, message):
        self.said.append(message)

    def begin(self, population, folder):
        self.population = population

    def iteration(self, rows, seconds): ...

    def end(self): ...


def longer(folder, frames=480):
    """As if the run had been meant to be longer, so that there is something to resume."""
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    saved["config"]["frames"] = frames
    del saved["seal"]  # or the change would be taken for damage
    path.write_text(json.dumps(saved))


def test_a_resume_without_replayed_frames_is_approximate_says_so_and_replays_real_frames(tmp_path):
    config = preset("quick", **(SMALL | {"algorithm": "iddpg"}))
    dico.train(config, tmp_path / "run", checkpoint_every=2, replay_checkpoint=False)
    assert not (tmp_path / "run" / "replay").exists()
    longer(tmp_path / "run", 280)
    listener = Listener()
    session.resume(tmp_path / "run", observers=[listener])
    assert any("approximate" in message for message in listener.said)
    learner = listener.population.learners[0]
    assert int(learner.count) == 40  # the one batch since
    assert learner.sample().obs.abs().sum(-1).gt(0).all()


def test_lost_replayed_frames_are_not_made_up(tmp_path):
    trained = small_run(tmp_path / "run", algorithm="iddpg")
    (trained.folder / "replay" / "agents.obs.f32").unlink()
    with pytest.raises(RunError, match=r"agents\.obs\.f32 is missing"):
        session.resume(trained.folder)


def test_one_training_at_a_time(tmp_path):
    trained = small_run(tmp_path / "run")
    with alone(trained.folder), pytest.raises(RunError, match="is being trained by another process"):
        session.resume(trained.folder)


def test_a_lock_that_goes_within_a_moment_is_waited_for(tmp_path):
    """As of a training that was killed while it began another program, which has the lock until it runs."""
    fcntl = pytest.importorskip("fcntl")
    held = (tmp_path / ".lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    threading.Timer(0.2, held.close).start()
    with alone(tmp_path):
        assert held.closed


def test_lost_lines_of_the_metrics_are_warned_of_and_the_file_stays_readable(tmp_path):
    trained = small_run(tmp_path / "run")
    path = trained.folder / "metrics.jsonl"
    lines = path.read_bytes()
    path.write_bytes(lines[: len(lines) // 2])
    longer(trained.folder)
    with pytest.warns(UserWarning, match="is shorter than when the checkpoint was written"):
        session.resume(trained.folder)
    assert b"\0" not in path.read_bytes()
    with pytest.warns(UserWarning, match="was changed since it was written"):
        assert load(trained.folder).rows()[-1]["frames"] == 480


def test_a_diverging_member_is_reported_and_marked_and_the_others_go_on(tmp_path):
    listener = Listener()
    begin = listener.begin

    def spoil(population, folder):
        begin(population, folder)
        with torch.no_grad():
            next(population.learners[0].policy.parameters())[0] = torch.nan

    listener.begin = spoil
    trained = dico.train(preset("quick", **SMALL), tmp_path / "run", observers=[listener])
    assert sum("member 0 (snd 0.3, seed 0) diverged" in message for message in listener.said) == 1
    for row in trained.rows():
        assert row.get("diverged", False) == (row["member"] == 0)
        assert (row["reward"] is None) == (row["member"] == 0)
    assert trained.metric("reward")[0].isnan().all()


def test_the_controlled_metric_is_measured_too(tmp_path):
    trained = small_run(tmp_path / "run", metric="hse", tau=1.0)
    assert trained.metric("hse").shape == trained.metric("snd").shape


def test_the_policy_read_back_acts_as_the_trained_one(tmp_path):
    trained = small_run(tmp_path / "run")
    stacked = trained.policies()
    obs = torch.randn(5, 2, 4)
    for member in trained.members:
        policy = trained.policy(member.constraint, member.seed)
        expected = stacked(obs.expand(2, 5, 2, 4))[member.index]
        torch.testing.assert_close(policy(obs), expected)
        assert policy.constraint.texts() == [member.constraint]
    assert trained.metric("reward").shape == (2, 6)
    assert len(trained.frame()) == 12


@pytest.mark.unchecked
def test_what_cannot_be_opened_or_resumed_says_why(tmp_path):
    with pytest.raises(RunError, match=r"no run folder: it has no config\.json"):
        load(tmp_path)
    trained = small_run(tmp_path / "run")
    with pytest.raises(RunError, match=r"exists already.*dico resume"):
        small_run(tmp_path / "run")
    with pytest.raises(RunError, match=r"another configuration \(lr\)"):
        session.resume(trained.folder, config=preset("quick", **(SMALL | {"lr": 0.5})))
    with pytest.raises(RunError, match="group must be one of agents, got 'nobody'"):
        trained.metric("reward", group="nobody")
    with pytest.raises(ValueError, match="did you mean 'reward'"):
        trained.metric("rewrd")
    with pytest.raises(RunError, match=r"no member has snd=0\.7 and seed=0; there are snd 0\.3, free with seeds 0"):
        trained.policy(0.7)
    path = trained.folder / "config.json"
    saved = json.loads(path.read_text())
    path.write_text(json.dumps(saved | {"format": 99}))
    with pytest.raises(RunError, match=r"newer dico \(format 99"):
        load(trained.folder)
    path.write_text("{")
    with pytest.raises(RunError, match=r"config\.json cannot be used: it is no JSON"):
        load(trained.folder)


@pytest.mark.unchecked
def test_an_unwritable_folder_or_a_full_disk_is_said_before_training(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        small_run(tmp_path / "file" / "run")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(RunError, match=r"has room for 0\.0 MB"):
        small_run(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left"), SafetensorError("No space left")])
def test_a_failed_checkpoint_leaves_the_last_one_intact(tmp_path, monkeypatch, error):
    trained = small_run(tmp_path / "run")

    def fails(*_):
        raise error

    monkeypatch.setattr("dico.training.checkpoint.save_file", fails)
    longer(trained.folder)
    with pytest.raises(RunError, match=r"No space left.*earlier ones are intact"):
        session.resume(trained.folder)
    assert trained.checkpoints()[0].frames == 240
    assert not list(trained.folder.glob(".checkpoint*"))


def test_trainings_that_begin_together_have_a_folder_each(tmp_path, monkeypatch):
    """Their default names have seconds; here the clock stands still."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "datetime", Standing)
    runs = [dico.train(preset("quick", **(SMALL | {"frames": 40, "snd": (level,)}))) for level in ("0.3", "1")]
    assert [run.folder.name for run in runs] == ["navigation-ippo-then", "navigation-ippo-then+2"]
    assert [run.members[0].constraint for run in runs] == ["0.3", "1"]


def test_of_two_trainings_into_one_folder_one_has_it_alone(tmp_path, monkeypatch):
    """Though both found it free: the other began while the first one's networks were made."""
    make, begun = session.make_population, []

    def slowly(config, stage, block):
        if not begun:
            begun.append(config)
            dico.train(preset("quick", **(SMALL | {"frames": 40, "snd": ("1",)})), tmp_path / "run")
        return make(config, stage, block)

    monkeypatch.setattr(session, "make_population", slowly)
    with pytest.raises(RunError, match="exists already"):
        dico.train(preset("quick", **(SMALL | {"frames": 40, "snd": ("0.3",)})), tmp_path / "run")
    run = dico.load(tmp_path / "run")
    assert [member.constraint for member in run.members] == ["1"]
    assert {row["constraint"] for row in run.rows()} == {"1"}


class Standing:
    """A clock that stands still."""

    @staticmethod
    def now():
        return Standing

    @staticmethod
    def strftime(_):
        return "then"


def test_a_start_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="group in freeze"):
        dico.train(preset("quick", **(SMALL | {"freeze": ("nobody=10",)})))
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_with_numbers_of_another_kind_is_refused(tmp_path):
    """As many bytes, read as whole numbers, would be other numbers."""
    run = dico.train(session.Config(**SMALL | {"algorithm": "maddpg"}), tmp_path / "run", device="cpu")
    path = next(run.folder.glob("checkpoint-*/state.safetensors"))
    tensors = load_file(path)
    tensors["agents.adam.actor.count"] = tensors["agents.adam.actor.count"].view(torch.int32)
    save_file(tensors, path)
    meta = json.loads(path.with_name("meta.json").read_text())
    kept = {name: value for name, value in meta.items() if name not in ("seal", "checksums")}
    path.with_name("meta.json").write_text(json.dumps(kept))
    with pytest.raises(RunError, match="holds the state of another configuration"):
        session.resume(run.folder, frames=4 * run.config["frames"])
