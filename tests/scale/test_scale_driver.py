"""What the driver does with pieces that end in every way, without starting a process."""

import errno
import os
import shutil
import signal
import threading
from contextlib import suppress

import pytest
from command_line import dico as command
from pieced import OFTEN, Inline, Listener, assert_same_runs, small

import dico
from dico.runs import RunError, load
from dico.scale import start
from dico.scale.backends import BackendLost, Ended
from dico.scale.driver import Drive
from dico.scale.pieces import Driver, Outcome, Piece, Pieces
from dico.scale.worker import work
from dico.training.population import Population
from dico.training.session import resume
from dico.training.stopping import Interrupted

pytestmark = pytest.mark.unchecked  # trains again and again; shapes are checked elsewhere


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The sweep in one process."""
    folder = tmp_path_factory.mktemp("expected") / "run"
    dico.train(small(), folder, device="cpu", checkpoint_every=1)
    return folder


def test_pieces_come_to_what_one_process_does(tmp_path, expected):
    listener, plans = Listener(), []
    run = start.train(small(), tmp_path / "run", Inline(at_once=4), OFTEN, observers=[listener], announce=plans.append)
    assert [piece.members for piece in plans[0].pieces] == [(0, 1), (2, 3), (4,), (5,)]
    assert_same_runs(tmp_path / "run", expected)
    assert run.session == load(expected).session
    rows, seconds = listener.seen[-1]
    assert [row["member"] for row in rows] == list(range(6))
    assert seconds > 0
    assert listener.population.finished


def lose(times, after):
    """Workers of the second piece that are gone after some iterations."""
    left = [times]

    def before(job):
        if job.piece.name != "001" or not left[0]:
            return None
        left[0] -= 1
        iterate, done = Population.iterate, [0]

        def dying(self):
            done[0] += 1
            if done[0] > after:
                raise SystemExit
            return iterate(self)

        with pytest.MonkeyPatch.context() as patch, suppress(SystemExit):
            patch.setattr(Population, "iterate", dying)
            work(str(job.pieces.run), job.piece.name, driver=job.driver, device="cpu")
        return Ended(job.piece, "killed")

    return before


def test_a_disk_that_fails_for_a_moment_ends_no_driver(tmp_path, expected, monkeypatch):
    """Whoever drives shows every few seconds that it is there; workers wait for a minute."""
    monkeypatch.setattr("dico.scale.driver.SECONDS_BETWEEN_BEATS", 0.0)
    beat, tried = Driver.beat, []

    def failing(self):
        tried.append(self)
        if 1 < len(tried) < 4:
            raise OSError(errno.ESTALE, "Stale file handle")
        beat(self)

    monkeypatch.setattr(Driver, "beat", failing)
    start.train(small(), tmp_path / "run", Inline(), OFTEN)
    assert len(tried) > 1
    assert_same_runs(tmp_path / "run", expected)


def test_a_lost_worker_is_replaced_from_its_checkpoint(tmp_path, expected):
    listener = Listener()
    start.train(small(), tmp_path / "run", Inline(before=lose(5, 1)), OFTEN, observers=[listener])
    assert_same_runs(tmp_path / "run", expected)
    assert "piece 001 lost its worker (killed): it goes on from 80 frames" in listener.said


def test_workers_that_are_lost_again_and_again_are_given_up_and_the_others_finish(tmp_path, expected):
    with pytest.raises(RunError, match=r"1 of 2 pieces failed, .*lost 4 workers.*dico resume .* --devices cpu"):
        start.train(small(), tmp_path / "run", Inline(before=lose(99, 0)), OFTEN)
    assert {row["member"] for row in load(tmp_path / "run").rows()} == {0, 1, 2}
    start.resume(tmp_path / "run", Inline())
    assert_same_runs(tmp_path / "run", expected)


def exhausted(most, after, monkeypatch):
    """A device that holds so many members."""
    iterate = Population.iterate

    def iterating(self):
        if len(self.members) > most and self.iteration >= after:
            raise dico.training.blocks.torch.OutOfMemoryError("CUDA out of memory")
        return iterate(self)

    monkeypatch.setattr(Population, "iterate", iterating)


@pytest.mark.parametrize("after", [0, 2], ids=["at once", "after a checkpoint"])
def test_a_piece_that_runs_out_of_memory_is_halved(tmp_path, expected, monkeypatch, after):
    exhausted(2, after, monkeypatch)
    listener, backend = Listener(), Inline()
    start.train(small(), tmp_path / "run", backend, OFTEN, observers=[listener])
    assert "piece 000 ran out of memory with 3 members: halved, into 2 and 1" in listener.said
    assert len(set(backend.submitted)) == len(backend.submitted) == 6
    assert_same_runs(tmp_path / "run", expected)


def test_halving_keeps_replayed_frames(tmp_path, monkeypatch):
    changes = {"algorithm": "iddpg"}
    dico.train(small(**changes), tmp_path / "one", device="cpu", checkpoint_every=1)
    exhausted(2, 3, monkeypatch)
    start.train(small(**changes), tmp_path / "run", Inline(), OFTEN)
    assert_same_runs(tmp_path / "run", tmp_path / "one")


def test_one_member_that_does_not_fit_is_said(tmp_path, monkeypatch):
    exhausted(0, 0, monkeypatch)
    with pytest.raises(RunError, match=r"ran out of memory with one member.*it cannot be halved"):
        start.train(small(snd=("0.3",), seeds=1), tmp_path / "run", Inline(), OFTEN)


def test_an_engine_that_ends_a_worker_for_want_of_memory_has_it_halved(tmp_path, expected):
    listener = Listener()

    def before(job):
        return Ended(job.piece, "killed by the node", out_of_memory=True) if len(job.piece.members) > 2 else None

    start.train(small(), tmp_path / "run", Inline(before=before), OFTEN, observers=[listener])
    assert_same_runs(tmp_path / "run", expected)
    assert sum("halved" in message for message in listener.said) == 2


def test_a_piece_that_raises_is_reported_and_the_others_finish(tmp_path, expected, monkeypatch):
    iterate = Population.iterate

    def raising(self):
        if self.members[0].constraint == "free" and self.iteration == 2:
            raise ZeroDivisionError("division by zero")
        return iterate(self)

    monkeypatch.setattr(Population, "iterate", raising)
    listener = Listener()
    with pytest.raises(
        RunError, match=r"1 of 3 pieces failed, .*snd=free,seed=0; snd=free,seed=1\): ZeroDivisionError"
    ):
        start.train(small(), tmp_path / "run", Inline(at_once=3), OFTEN, observers=[listener])
    assert sum("failed: ZeroDivisionError: division by zero" in message for message in listener.said) == 1
    assert "Traceback" in (tmp_path / "run" / "pieces" / "002.log").read_text()
    monkeypatch.setattr(Population, "iterate", iterate)
    backend = Inline()
    start.resume(tmp_path / "run", backend)
    assert backend.submitted == ["002"]
    assert_same_runs(tmp_path / "run", expected)


def test_members_that_diverge_are_named_in_the_end(tmp_path, monkeypatch):
    iterate = Population.iterate

    def diverging(self):
        return [row | ({"reward": float("nan")} if row["constraint"] == "0.3" else {}) for row in iterate(self)]

    monkeypatch.setattr(Population, "iterate", diverging)
    listener = Listener()
    start.train(small(), tmp_path / "run", Inline(), OFTEN, observers=[listener])
    assert listener.said[-1] == "2 of 6 members diverged: snd=0.3,seed=0; snd=0.3,seed=1"


def stop_after(iterations):
    """A user who presses Ctrl-C while the first piece trains."""

    def before(job):
        iterate, done = Population.iterate, [0]

        def pressing(self):
            done[0] += 1
            if done[0] == iterations:
                signal.raise_signal(signal.SIGINT)
            return iterate(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Population, "iterate", pressing)
            work(str(job.pieces.run), job.piece.name, driver=job.driver, device="cpu")
        signal.raise_signal(signal.SIGINT)  # the worker has had it: here it is the driver's
        return Ended(job.piece)

    return before


def test_stopped_it_goes_on_exactly_and_nowhere_else(tmp_path, expected, capsys):
    backend = Inline(before=stop_after(3))
    with pytest.raises(Interrupted, match=r"stopped at 60 frames, .*dico resume .*run --devices cpu"):
        start.train(small(), tmp_path / "run", backend, OFTEN)
    run = load(tmp_path / "run")
    assert {row["member"] for row in run.rows()} == {0, 1, 2}
    assert len(run.rows()) == 9
    status, out, _ = command(capsys, "list", tmp_path / "run")
    assert status == 0
    assert "60 of 240" in out
    assert "in 2 pieces" in out
    assert out.count("navigation") == 1  # pieces are no runs of their own
    with pytest.raises(RunError, match="is trained in pieces: go on with"):
        resume(tmp_path / "run")
    with pytest.raises(RunError, match="exists already"):
        start.train(small(), tmp_path / "run", Inline(), OFTEN)
    start.resume(tmp_path / "run", Inline())
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.parametrize("spoil", [lambda plan: None, lambda plan: plan.symlink_to(plan.name)], ids=["lost", "loop"])
def test_pieces_whose_plan_is_lost_are_not_begun_anew(tmp_path, spoil):
    with pytest.raises(Interrupted):
        start.train(small(), tmp_path / "run", Inline(before=stop_after(2)), OFTEN)
    plan = tmp_path / "run" / "pieces" / "plan.json"
    plan.unlink()
    spoil(plan)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunError, match=r"plan.json (is missing, though 000|cannot be read)"):
        start.resume(tmp_path / "run", Inline())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_worker_that_ends_after_it_was_given_up_at_ctrl_c_is_no_error(tmp_path):
    """At Ctrl-C a piece that has not begun is forgotten; its worker may have been starting, and its end comes later."""
    pieces, stop = Pieces(tmp_path), threading.Event()
    begun, starting = Piece("000", (0, 1, 2)), Piece("001", (3, 4, 5))
    pieces.write([begun, starting])

    class Late(Inline):
        def wait(self, seconds):
            if not stop.is_set():  # the user presses it now
                pieces.note(begun, Outcome("begun"))
                stop.set()
                return []
            if self.waiting is not None:
                self.waiting = None
                return [Ended(starting)]
            pieces.note(begun, Outcome("stopped"))
            return [Ended(begun)]

    drive = Drive(small(), OFTEN, pieces, Late(), print)
    drive.run(stop, lambda: None)
    assert not drive.left
    assert not drive.failures
    assert drive.driver.stop


def test_a_run_that_one_process_began_goes_on_in_pieces_and_back(tmp_path, expected):
    class Stop(Listener):
        def iteration(self, rows, seconds):
            if rows[0]["iteration"] == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        dico.train(small(), tmp_path / "run", device="cpu", checkpoint_every=1, observers=[Stop()])
    start.resume(tmp_path / "run", Inline())
    assert_same_runs(tmp_path / "run", expected)
    assert len(load(tmp_path / "run").checkpoints()) == 1
    assert start.resume(tmp_path / "run", Inline()).newest.frames == 240  # is finished
    assert dico.resume(tmp_path / "run").newest.frames == 240


def test_a_lost_engine_says_how_to_go_on(tmp_path, expected):
    def before(job):
        if job.piece.name == "001":
            raise BackendLost("the head is gone")

    with pytest.raises(RunError, match=r"the head is gone; go on with: dico resume .* --devices cpu"):
        start.train(small(), tmp_path / "run", Inline(before=before), OFTEN)
    start.resume(tmp_path / "run", Inline())
    assert_same_runs(tmp_path / "run", expected)


def test_a_join_that_was_killed_is_done_again(tmp_path, expected, monkeypatch):
    monkeypatch.setattr(start, "join", lambda *_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        start.train(small(), tmp_path / "run", Inline(), OFTEN)
    monkeypatch.undo()
    backend = Inline()
    start.resume(tmp_path / "run", backend)
    assert not backend.submitted
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.parametrize(
    "changes",
    [{"snd": ("seek:0.3", "seek:0.6", "1"), "seek_window": 2}, {"snd": ("0", "0.5", "1"), "dial": True}],
    ids=["seeking", "dial"],
)
def test_members_that_depend_on_each_other_do_as_in_one_process(tmp_path, changes):
    dico.train(small(**changes), tmp_path / "one", device="cpu")
    start.train(small(**changes), tmp_path / "run", Inline(), OFTEN)
    assert_same_runs(tmp_path / "run", tmp_path / "one")


def test_metrics_of_a_piece_that_were_changed_are_told_when_it_is_joined(tmp_path):
    with pytest.raises(Interrupted):
        start.train(small(), tmp_path / "run", Inline(before=stop_after(3)), OFTEN)
    path = tmp_path / "run" / "pieces" / "000" / "metrics.jsonl"
    text = path.read_text()
    path.unlink()
    os.mkfifo(path)  # nothing waits for it
    with pytest.raises(RunError, match=r"metrics.jsonl cannot be used: it is no plain file"):
        start.resume(tmp_path / "run", Inline())
    path.unlink()
    path.write_text(text.replace('"iteration": 1,', '"iteration": 2,', 1))
    with pytest.warns(UserWarning, match=r"000/metrics.jsonl was changed since it was written"):
        start.resume(tmp_path / "run", Inline())


@pytest.mark.filterwarnings("ignore:.* was changed since it was written")
def test_whatever_stands_in_a_piece_is_joined_or_told_of(tmp_path, expected, monkeypatch):
    """Lines that are none, what a machine was, and leftovers of a kill that a removal would wait for."""
    monkeypatch.setattr(start, "join", lambda *_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        start.train(small(), tmp_path / "run", Inline(), OFTEN)
    monkeypatch.undo()
    (tmp_path / "run" / "pieces" / "001" / "machine.json").write_text('{"torch": ["2"], "device": {}}')
    path = tmp_path / "run" / "pieces" / "000" / "metrics.jsonl"
    path.write_text(path.read_text().replace('"frames": 40', '"group": [] ', 1))
    for place in (path.with_name("machine.json"), tmp_path / "run" / ".checkpoint.part"):
        place.unlink(missing_ok=True)
        os.mkfifo(place)
    run = start.resume(tmp_path / "run", Inline())
    assert len(run.rows()) == len(load(expected).rows()) - 1
    assert run.newest.frames == load(expected).newest.frames


def test_pieces_that_an_older_plan_does_not_have_are_kept_until_all_are_joined(tmp_path, expected):
    """As where a plan is restored from a copy of before a piece was halved."""
    with pytest.raises(Interrupted):
        start.train(small(), tmp_path / "run", Inline(before=stop_after(3)), OFTEN)
    pieces = tmp_path / "run" / "pieces"
    shutil.copytree(pieces / "000", pieces / "007")
    (pieces / "008").mkdir()
    with (
        pytest.warns(UserWarning, match=r"pieces/007 is of no piece of plan\.json and was put aside as aside-007,"),
        pytest.raises(Interrupted),
    ):
        start.resume(tmp_path / "run", Inline(before=stop_after(1)))
    assert (pieces / "aside-007" / "checkpoint-120").is_dir()
    assert not (pieces / "008").exists()
    start.resume(tmp_path / "run", Inline())
    assert_same_runs(tmp_path / "run", expected)


def test_pieces_are_not_written_through_a_link(tmp_path):
    """What is not of a plan is removed: in a folder elsewhere that would be somebody's."""
    dico.train(small(), tmp_path / "run", device="cpu", checkpoint_every=1)
    (tmp_path / "2025").mkdir()
    shutil.rmtree(tmp_path / "run" / "checkpoint-240")
    (tmp_path / "run" / "pieces").symlink_to(tmp_path)
    with pytest.raises(RunError, match="pieces cannot be written: it is a link"):
        start.resume(tmp_path / "run", Inline())
    assert (tmp_path / "2025").is_dir()
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.filterwarnings("ignore:.* was put aside as")
def test_a_finished_piece_whose_last_checkpoint_is_spoilt_goes_on_from_the_one_before(tmp_path, expected):
    with pytest.raises(Interrupted):
        start.train(small(), tmp_path / "run", Inline(before=stop_after(6)), OFTEN)
    state = tmp_path / "run" / "pieces" / "000" / "checkpoint-240" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:100])
    with pytest.warns(UserWarning, match="the last checkpoint of piece 000 is not whole: it goes on from 200 frames"):
        start.resume(tmp_path / "run", Inline())
    assert_same_runs(tmp_path / "run", expected)


def test_a_run_in_pieces_shows_how_far_each_is_whoever_drives_them(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(Interrupted):
        start.train(small(), folder, Inline(before=stop_after(3)), OFTEN)
    assert not (folder / "metrics.jsonl").exists()  # what pieces have is read from them
    own = load(folder / "pieces" / "000").rows()
    found = [row for row in load(folder).rows() if row["member"] in (0, 1, 2)]
    assert found == sorted(own, key=lambda row: row["iteration"])
    driver = Driver(Pieces(folder))
    driver.beat()
    work(str(folder), "001", driver=driver.id, device="cpu")  # which ends without anybody who drives it on
    assert {row["member"] for row in load(folder).rows()} == {0, 1, 2, 3, 4, 5}
    (folder / "pieces" / "plan.json").unlink()  # a start that was killed leaves pieces without one
    (folder / "metrics.jsonl").write_bytes((folder / "pieces" / "000" / "metrics.jsonl").read_bytes())
    assert load(folder).rows() == own


def test_a_run_whose_pieces_have_no_metrics_yet_says_how_to_go_on(tmp_path, capsys):
    folder = tmp_path / "run"
    with pytest.raises(Interrupted):
        start.train(small(), folder, Inline(before=stop_after(1)), OFTEN)
    for path in folder.glob("pieces/0*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    status, _, err = command(capsys, "report", folder)
    assert status == 2
    assert "is in pieces, none of which has metrics yet" in err
    assert f"go on with `dico resume {folder}`" in err


def test_lost_metrics_of_a_piece_are_told_and_the_rest_is_joined(tmp_path, expected):
    with pytest.raises(Interrupted):
        start.train(small(), tmp_path / "run", Inline(before=stop_after(6)), OFTEN)
    (tmp_path / "run" / "pieces" / "000" / "metrics.jsonl").unlink()
    with pytest.warns(UserWarning, match=r"000/metrics.jsonl is lost, though its piece has checkpoints"):
        load(tmp_path / "run").rows()
    with pytest.warns(UserWarning, match=r"000/metrics.jsonl is lost: numbers of its members are missing"):
        run = start.resume(tmp_path / "run", Inline())
    whole = load(expected)
    rewards = [row["reward"] for row in whole.rows() if row["member"] > 2]
    assert [row["reward"] for row in run.rows()] == pytest.approx(rewards, rel=1e-4)
    assert run.newest.read("policy").keys() == whole.newest.read("policy").keys()


def test_an_outcome_that_nobody_wrote_is_none(tmp_path):
    pieces = start.Pieces(tmp_path)
    pieces.write([start.Piece("000", (0,))])
    (pieces.path / "000.json").write_text('{"state": "finished", "strange": 1}')
    assert pieces.outcome(pieces.read()[0]) is None
    pieces.note(pieces.read()[0], Outcome("failed", "why"))
    assert pieces.outcome(pieces.read()[0]) == Outcome("failed", "why")
