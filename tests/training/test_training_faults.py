"""Whatever happens to a folder, nothing good is lost and nothing wrong is gone on with."""

import errno
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from run_and_die import SMALL
from safetensors.torch import load_file, save_file
from test_training_resume import final_tensors, longer, metrics, small_run

import dico
from dico._files import sealed
from dico.runs import RunError, load
from dico.runs.folder import read_checkpoint
from dico.training import session
from dico.training.blocks import make_population
from dico.training.options import SessionOptions
from dico.training.stopping import StopWhen, stopping


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with three checkpoints, at 160, 200 and 240 frames."""
    folder = tmp_path_factory.mktemp("faults") / "run"
    dico.train(dico.experiments.preset("quick", **SMALL), folder, device="cpu", checkpoint_every=1)
    return folder


@pytest.fixture
def copy(trained, tmp_path):
    """The same, to be spoilt, and told to train on."""
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """A run with replayed frames on disk."""
    return small_run(tmp_path_factory.mktemp("faults") / "run", algorithm="iddpg", frames=480).folder


def names(folder):
    return {path.name for path in folder.iterdir()}


def meta(checkpoint, **changes):
    path = checkpoint / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_flipped_bit_in_a_checkpoint_is_noticed_and_the_one_before_it_taken(copy, trained):
    path = copy / "checkpoint-240" / "state.safetensors"
    damaged = bytearray(path.read_bytes())
    damaged[-100] ^= 1
    path.write_bytes(damaged)
    with pytest.warns(UserWarning, match="checkpoint-240 is not whole and was put aside as aside-checkpoint-240"):
        session.resume(copy)
    assert (copy / "aside-checkpoint-240").is_dir()
    assert metrics(copy) == metrics(trained)
    assert all(torch.equal(value, final_tensors(copy)[name]) for name, value in final_tensors(trained).items())


@pytest.mark.parametrize("frames", [40, 10**9])
def test_a_checkpoint_that_says_other_frames_than_its_folder_costs_no_other(copy, trained, frames):
    meta(copy / "checkpoint-240", frames=frames)
    with pytest.warns(UserWarning, match="checkpoint-240 is not whole"):
        session.resume(copy)
    assert {"checkpoint-160", "checkpoint-200", "checkpoint-240", "aside-checkpoint-240"} <= names(copy)
    assert metrics(copy) == metrics(trained)


def test_a_copied_checkpoint_with_a_higher_number_costs_no_other(copy, trained):
    shutil.copytree(copy / "checkpoint-240", copy / "checkpoint-9999")
    with pytest.warns(UserWarning, match="checkpoint-9999 is not whole"):
        session.resume(copy)
    assert {"checkpoint-160", "checkpoint-200", "checkpoint-240", "aside-checkpoint-9999"} <= names(copy)
    assert metrics(copy) == metrics(trained)


def test_strangers_with_higher_numbers_do_not_push_out_good_checkpoints(copy):
    longer(copy)
    for number in (7000, 8000, 9000):
        (copy / f"checkpoint-{number}").mkdir()
    with pytest.warns(UserWarning, match="put aside"):
        run = session.resume(copy)
    assert [checkpoint.frames for checkpoint in run.checkpoints()] == [480, 440, 400]


def test_a_checkpoint_that_cannot_be_read_stops_a_resume(copy, monkeypatch):
    before = names(copy), (copy / "metrics.jsonl").read_bytes()

    def stale(path):
        raise OSError(errno.ESTALE, "Stale file handle", str(path))

    monkeypatch.setattr("dico.runs.folder.parse_json", stale)
    with pytest.raises(RunError, match=r"checkpoint-240 cannot be read .*Stale file handle.* nothing was changed"):
        session.resume(copy)
    assert (names(copy), (copy / "metrics.jsonl").read_bytes()) == before


def test_without_a_whole_checkpoint_nothing_is_trained_over(copy):
    for path in copy.glob("checkpoint-*/meta.json"):
        path.unlink()
    before = (copy / "metrics.jsonl").read_bytes()
    with pytest.raises(RunError, match=r"no checkpoint of .* is whole: nothing was changed"):
        session.resume(copy)
    assert (copy / "metrics.jsonl").read_bytes() == before


def test_an_older_checkpoint_goes_only_when_the_new_one_is_proven(tmp_path, monkeypatch):
    trained = small_run(tmp_path / "run")
    longer(trained.folder)
    kept = sorted(trained.folder.glob("checkpoint-*"))

    def forgetful(path):
        if path in kept:
            return read_checkpoint(path)
        raise RunError(f"{path} is not whole")

    monkeypatch.setattr("dico.training.checkpoint.read_checkpoint", forgetful)
    with pytest.raises(RunError, match="earlier ones are intact"):
        session.resume(trained.folder)
    assert set(kept) <= set(trained.folder.glob("checkpoint-*"))


def test_a_flipped_bit_among_replayed_frames_is_noticed(replayed, tmp_path):
    shutil.copytree(replayed, tmp_path / "run")
    path = tmp_path / "run" / "replay" / "agents.obs.f32"
    damaged = bytearray(path.read_bytes())
    damaged[0] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(RunError, match=r"agents\.obs\.f32 is damaged"):
        session.resume(tmp_path / "run")


@pytest.mark.parametrize("name", ["config.json", "members.json"])
def test_a_changed_description_is_not_gone_on_with(copy, name):
    path = copy / name
    path.write_text(path.read_text().replace('"0.3"', '"0.4"'))
    load(copy)
    with pytest.raises(RunError, match=f"{name}.* was changed since it was written"):
        session.resume(copy)


def test_a_setting_that_is_missing_is_not_made_up(copy):
    path = copy / "config.json"
    saved = json.loads(path.read_text())
    del saved["config"]["lr"], saved["seal"]
    path.write_text(json.dumps(saved))
    with pytest.raises(RunError, match=r"config\.json cannot be used: the configuration does not tell lr"):
        session.resume(copy)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("constraint", "0.9", r"member 1 has constraint 0\.9 there, but free by the configuration in config\.json"),
        ("seed", 7, "member 1 has seed 7 there, but 0 by"),
        ("tau", 0.5, r"member 1 has tau 0\.5 there, but 0\.3 by"),
        (None, None, "it has 1 members, but there are 2 by"),
    ],
)
def test_members_that_are_not_those_of_the_configuration_are_refused(copy, field, value, told):
    """Also where neither a seal nor a checksum tells that they were changed."""
    path, members = copy / "config.json", copy / "members.json"
    saved, records = json.loads(path.read_text()), json.loads(members.read_text())
    del saved["seal"], saved["checksums"]
    path.write_text(json.dumps(saved))
    before = load(copy).newest.frames
    for record in records:  # what earlier versions did not tell may be anything
        del record["entropy"]
    members.write_text(json.dumps(records))
    assert session.read_config(load(copy)).members[1].constraint == "free"
    if field is None:
        records.pop()
    else:
        records[1][field] = value
    members.write_text(json.dumps(records))
    with pytest.raises(RunError, match=rf"members\.json cannot be used: {told}") as error:
        session.resume(copy, frames=320)
    assert "\n" not in str(error.value)
    assert load(copy).newest.frames == before


def test_a_start_that_died_before_its_configuration_was_written_can_be_started_again(tmp_path):
    (tmp_path / "run").mkdir()
    for name in (".lock", "machine.json", "members.json", ".part-17-config.json"):
        (tmp_path / "run" / name).write_text("")
    assert small_run(tmp_path / "run").newest is not None


def test_a_file_system_without_locks_is_warned_of(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.warns(UserWarning, match=r"cannot be locked \(No locks available\)"):
        assert small_run(tmp_path / "run").newest is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_request_to_end_saves_a_checkpoint(tmp_path, number):
    """Twice at once, as a scheduler or ``timeout`` sends it to a process and to its group."""
    words = f"train navigation --run {tmp_path / 'run'} --seeds 1 --snd 1 --checkpoint-every 1000".split()
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
         "from dico.commands import main; raise SystemExit(main())", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 100
    metrics_file = tmp_path / "run" / "metrics.jsonl"
    while not (metrics_file.exists() and metrics_file.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    process.send_signal(number)
    out, _ = process.communicate(timeout=100)
    assert "go on with: dico resume" in out.replace("\n", " ")
    assert process.returncode not in (0, -number)
    assert load(tmp_path / "run").newest.frames == load(tmp_path / "run").rows()[-1]["frames"]


@pytest.mark.parametrize("lost", ["terminal", "reader"])
def test_a_terminal_or_a_reader_that_is_lost_costs_nothing(tmp_path, lost):
    """A terminal that hangs up says so by a signal; a reader that left says nothing, and the training goes on."""
    words = f"train navigation --run {tmp_path / 'run'} --seeds 1 --snd 1 --frames 4000000 --hidden 8 --epochs 1"
    code = "from dico.commands import main; raise SystemExit(main())"
    code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); {code}"  # these tests may run under nohup
    ours, theirs = pty.openpty() if lost == "terminal" else os.pipe()
    if lost == "terminal":
        code = f"import os; os.login_tty({theirs}); {code}"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words.split(), "--checkpoint-every", "100000"],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, pass_fds=[theirs],
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"frames/s" not in seen:
        seen += os.read(ours, 65536)
    os.close(ours)
    if lost == "reader":
        before = len(load(tmp_path / "run").rows())
        deadline = time.monotonic() + 60
        while len(load(tmp_path / "run").rows()) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=100) == 130
    assert load(tmp_path / "run").newest.frames == load(tmp_path / "run").rows()[-1]["frames"]


def test_a_request_to_end_says_how_long_that_takes():
    said = []
    with stopping(said.append, lambda: 7200.0):
        signal.raise_signal(signal.SIGTERM)
    assert said == [
        "stopping after this iteration (about 2.0 h more), with a checkpoint; press Ctrl-C again to stop at once"
    ]


def test_a_session_knows_how_long_an_iteration_takes_yet(tmp_path):
    """As long as the one before, which an observer is told of; nothing is known of the first."""
    told, left = [], []

    class Watcher(StopWhen):
        def iteration(self, rows, seconds):
            told.append(seconds)
            one.began = time.perf_counter()  # as if the next had just begun
            left.append(one._left())

    options = SessionOptions(device="cpu")
    population = make_population(dico.experiments.preset("quick", **SMALL), options.make_stage(), None)
    one = session.Session(population, tmp_path, options, [Watcher(lambda: False)])
    session.describe(population, tmp_path, options)
    assert one._left() == 0
    one.run()
    assert left == pytest.approx(told, abs=0.005)


def test_who_is_asked_by_a_scheduler_and_then_by_its_driver_still_saves_a_checkpoint(tmp_path, monkeypatch):
    """As where a machine shuts down: both are told, and the driver tells its workers; only Ctrl-C ends it at once."""
    monkeypatch.setattr("dico.training.stopping.AT_ONCE", 0.0)

    class Scheduler(StopWhen):
        def iteration(self, rows, seconds):
            signal.raise_signal(signal.SIGTERM)

    config = dico.experiments.preset("quick", **SMALL)
    with pytest.raises(session.Interrupted, match="stopped at 40 frames"):
        session.train(config, tmp_path / "run", observers=[Scheduler(bool), StopWhen(lambda: True)], device="cpu")
    assert load(tmp_path / "run").newest.frames == 40
    with stopping(lambda _: None):
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_terminal_that_closes_asks_once_and_not_at_all_under_nohup(monkeypatch):
    monkeypatch.setattr("dico.training.stopping.AT_ONCE", 0.0)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with stopping(lambda _: None) as stop:
            for _ in range(3):
                signal.raise_signal(signal.SIGHUP)
            assert stop.is_set()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with stopping(lambda _: None) as stop:
            signal.raise_signal(signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("name", [".lock", "metrics.jsonl", "replay/agents.reward.f32"])
def test_nothing_is_written_through_a_link(replayed, tmp_path, name):
    """Of a folder that is not ours: a lock would empty what it leads to, a resume would cut it or write over it."""
    folder, other = tmp_path / "run", tmp_path / "other"
    shutil.copytree(replayed, folder)
    assert (folder / name).exists()
    other.write_bytes((folder / name).read_bytes() or b"precious")
    before = other.read_bytes()
    (folder / name).unlink()
    (folder / name).symlink_to(other)
    with pytest.raises(RunError, match=f"{name} cannot be written: it is a link"):
        session.resume(folder, frames=960)
    assert other.read_bytes() == before


@pytest.mark.parametrize("name", [".lock", ".checkpoint.part", ".checkpoint.before"])
def test_a_pipe_in_the_place_of_what_a_training_leaves_is_not_waited_for(copy, name):
    (copy / name).unlink(missing_ok=True)
    os.mkfifo(copy / name)
    if name == ".lock":
        with pytest.raises(RunError, match=r"\.lock cannot be used: it is no plain file"):
            session.resume(copy, frames=280)
    else:
        assert session.resume(copy, frames=280).newest.frames == 280
        assert not (copy / name).exists()


def test_networks_of_another_size_are_not_made(copy):
    for field, value in (("n_agents", 10**6), ("obs_dim", 10**6)):
        path = copy / "config.json"
        saved = json.loads(path.read_text())
        saved["groups"][0][field] = value
        path.write_text(json.dumps(saved))
        with pytest.raises(RunError, match=r"checkpoint-240 holds other networks .*too small"):
            load(copy).policies()


def test_tensors_of_another_shape_are_told(copy):
    path = copy / "checkpoint-240" / "state.safetensors"
    tensors = load_file(path)
    name = next(name for name in tensors if name.endswith("deviations.mlp.0.weight"))
    save_file(tensors | {name: tensors[name].transpose(1, 2).contiguous()}, path)
    record = json.loads((copy / "checkpoint-240" / "meta.json").read_text())
    for key in ("seal", "checksums"):
        del record[key]
    (copy / "checkpoint-240" / "meta.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match=r"checkpoint-240 holds other networks .*size mismatch"):
        load(copy).policies()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"member": 0, "iteration": 1000000000, "reward": 1}', "there is no iteration 1000000000"),
        (
            '{"member": 99, "iteration": 1, "reward": 1}',
            r"1 line is of no member that members.json has \(99; it has 0 to 1",
        ),
        ('{"member": -1, "iteration": 1, "reward": 1}', "there is no member -1"),
        ('{"member": 0, "iteration": 1, "reward": "much"}', "reward must be a number"),
        ('{"member": 0, "iteration": 1, "snd": [0.3]}', "snd must be a number"),
        ('{"member": 0, "iteration": 1, "group": 1}', "group must be a text"),
        ('{"member": 0, "iteration": 1, "constraint": "[/red]"}', "another desired diversity"),
        ("[" * 100_000, "torn"),
    ],
)
def test_a_line_of_metrics_that_cannot_be_is_left_out(copy, line, told):
    with (copy / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.warns(UserWarning, match=told.replace("[", r"\[")):
        assert load(copy).metric("reward").shape == (2, 6)


def test_lines_of_many_that_are_not_there_are_told_in_one(copy):
    with (copy / "metrics.jsonl").open("a") as file:
        file.writelines(f'{{"member": {2 + k % 3}, "iteration": 1, "reward": 1}}\n' for k in range(300))
        file.writelines(f'{{"member": 0, "iteration": -{k}, "reward": 1}}\n' for k in range(300))
    run = load(copy)
    with pytest.warns(UserWarning, match="left out"):
        assert run.metric("reward").shape == (2, 6)
    assert len(run.remarks) == 7
    assert run.remarks[-2].endswith("metrics.jsonl: 295 more lines are left out, for such reasons")
    assert "300 lines are of no member that members.json has (2, 3, 4; it has 0 to 1)" in run.remarks[-1]


def change_a_digit(path):
    """Of a number in the fourth line, which stays as long as it was."""
    lines = path.read_bytes().splitlines(keepends=True)
    at = lines[3].index(b'"reward": ') + len(b'"reward": ') + 4
    lines[3] = lines[3][:at] + (b"1" if lines[3][at : at + 1] != b"1" else b"2") + lines[3][at + 1 :]
    path.write_bytes(b"".join(lines))


def test_a_digit_that_changed_in_the_metrics_is_told(copy):
    change_a_digit(copy / "metrics.jsonl")
    told = "metrics.jsonl was changed since it was written"
    with pytest.warns(UserWarning, match=told):
        load(copy).rows()
    with pytest.warns(UserWarning, match=f"{told}: numbers in it may be wrong, what is trained is not"):
        session.resume(copy, frames=280, device="cpu")
    with pytest.warns(UserWarning, match=told):  # still
        assert load(copy).metric("reward").shape == (2, 7)


def test_a_checkpoint_that_says_no_length_tells_nothing_of_the_metrics(copy):
    path = copy / "checkpoint-240" / "meta.json"
    spoilt = json.loads(path.read_text()) | {"metrics_bytes": "x"}
    path.write_text(json.dumps(sealed({name: value for name, value in spoilt.items() if name != "seal"})))
    assert load(copy).metric("reward").shape == (2, 6)


@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_metrics_that_are_lost_are_told_before_and_not_afterwards(copy, how):
    path = copy / "metrics.jsonl"
    path.write_text("") if how == "emptied" else path.unlink()
    with pytest.raises(RunError, match=r"the metrics of .* are lost, though it has checkpoints: restore its"):
        dico.analysis.final(load(copy), "reward")
    with pytest.warns(UserWarning, match=r"metrics.jsonl is lost: numbers of the first 240 frames") as told:
        session.resume(copy, frames=280, device="cpu")
    assert len(told) == 1
    assert load(copy).rows()[0]["iteration"] == 7  # and no warning, which would be an error


def test_levels_that_seek_do_not_go_on_from_numbers_that_are_lost(tmp_path):
    run = small_run(tmp_path / "run", snd=("seek:0.3", "seek:0.5"))
    (run.folder / "metrics.jsonl").unlink()
    with pytest.raises(RunError, match="is lost, and levels that seek go on from it"):
        session.resume(run.folder, frames=280, device="cpu")


def test_levels_that_seek_do_not_go_on_from_numbers_that_were_changed(tmp_path):
    run = small_run(tmp_path / "run", snd=("seek:0.3", "seek:0.5"))
    change_a_digit(run.folder / "metrics.jsonl")
    with pytest.raises(RunError, match="was changed since it was written, and levels that seek go on from it"):
        session.resume(run.folder, frames=280, device="cpu")


def test_a_pipe_is_not_waited_for(copy):
    for name in ("metrics.jsonl", "members.json"):
        (copy / name).unlink()
        os.mkfifo(copy / name)
        with pytest.raises(RunError, match=f"{name} cannot be used: it is no plain file"):
            load(copy).rows()
