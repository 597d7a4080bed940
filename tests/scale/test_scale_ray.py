"""Against a Ray that is really there: workers are killed, the head is, the user leaves."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pieced import OFTEN, Listener, assert_same_runs, small
from started import HERE, ROOT, dico, environment, finish, has_rows, train_faulty, wait_until, workers_of

import dico as library
from dico.runs import RunError, load
from dico.scale import start
from dico.scale.on_ray import OnRay

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster():
    """Two cores, and little memory for objects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.chdir(HERE)
        patch.syspath_prepend(str(ROOT / "src"))
        ray.init(
            address="local", num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False, log_to_driver=False,
            logging_level="ERROR",
        )  # fmt: skip
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The sweep in one process."""
    folder = tmp_path_factory.mktemp("expected") / "run"
    library.train(small(), folder, device="cpu")
    return folder


@pytest.mark.parametrize("fault", ["kill", "checkpoint"])
def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost_or_twice(tmp_path, cluster, expected, fault):
    """With SIGKILL, in the middle of a piece and while it writes a checkpoint."""
    (tmp_path / fault).write_text("25")
    listener = Listener()
    start.train(small(tmp_path), tmp_path / "run", OnRay(None, 1, "cpu"), OFTEN, observers=[listener])
    assert list(tmp_path.glob(f"taken-{fault}-*"))
    assert sum("lost its worker" in message for message in listener.said) == 1
    assert_same_runs(tmp_path / "run", expected)


def test_a_piece_that_no_machine_has_room_for_is_warned_of(cluster):
    """Ray would let it wait without a word; a cluster may grow."""
    with pytest.warns(UserWarning, match="no machine has 64 cores in this Ray cluster: pieces wait until one that has"):
        assert OnRay(None, 64, "cpu").room.at_once == 1
    assert OnRay(None, 1, "cpu").room.at_once == 2


@pytest.mark.slow
def test_a_member_that_raises_is_reported_and_the_rest_finish(tmp_path, cluster, expected):
    (tmp_path / "raise").write_text("15")
    with pytest.raises(RunError, match=r"1 of 3 pieces failed.*ZeroDivisionError: the task divides by zero.* --on ray"):
        start.train(small(tmp_path), tmp_path / "run", OnRay(None, 1, "cpu"), block(2))
    rows = load(tmp_path / "run").rows()
    assert sorted(sum(row["member"] == k for row in rows) for k in range(6)) == [1, 1, 6, 6, 6, 6]
    start.resume(tmp_path / "run", OnRay(None, 1, "cpu"))
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.slow
def test_running_out_of_memory_halves_a_piece(tmp_path, cluster, expected):
    (tmp_path / "memory").write_text("2")
    listener = Listener()
    start.train(small(tmp_path), tmp_path / "run", OnRay(None, 1, "cpu"), OFTEN, observers=[listener])
    assert sum("ran out of memory with 3 members: halved, into 2 and 1" in message for message in listener.said) == 2
    assert_same_runs(tmp_path / "run", expected)


def block(members):
    return type(OFTEN)(device="cpu", checkpoint_every=1, block=members)


@pytest.fixture
def head(monkeypatch):
    """A cluster of its own, started as users do, and its address; the token is made for it and is nobody else's."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    command = str(Path(sys.executable).with_name("ray"))
    port, folder = 20000 + os.getpid() % 10000, f"/tmp/dico-ray-{os.getpid()}"  # sockets need a short path
    words = f"start --head --port {port} --num-cpus 2 --object-store-memory 80000000 --include-dashboard false --block"
    process = subprocess.Popen(
        [command, *words.split(), "--temp-dir", folder, "--disable-usage-stats"], env=environment(), cwd=HERE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if "Ray runtime started" in line:
            break
    yield process, f"127.0.0.1:{port}"
    process.terminate()
    process.wait(60)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_a_lost_head_is_said_and_a_resume_finishes_it(tmp_path, head, expected):
    process, address = head
    (tmp_path / "slow").write_text("0.2")
    training = train_faulty(tmp_path, tmp_path / "run", "--on", "ray", "--address", address)
    wait_until(lambda: has_rows(tmp_path / "run"))
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if b"gcs_server" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(int(child), signal.SIGKILL)
    status, said = finish(training)
    assert status == 2
    assert re.search(rf"the head of the Ray cluster at \S+:{address.partition(':')[2]} is gone", said), said
    assert f"go on with: dico resume {tmp_path / 'run'} --on ray" in said
    assert "Traceback" not in said
    (tmp_path / "slow").unlink()
    status, said = finish(dico("resume", tmp_path / "run", "--on", "ray", cwd=HERE))
    assert status == 0, said
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.slow
def test_ctrl_c_ends_all_workers_and_leaves_everything_to_go_on_with(tmp_path, expected):
    (tmp_path / "slow").write_text("0.1")
    training = train_faulty(tmp_path, tmp_path / "run", "--on", "ray", "--block", "1")
    wait_until(lambda: has_rows(tmp_path / "run"))
    training.send_signal(signal.SIGINT)
    status, said = finish(training)
    assert status == 130, said
    assert f"go on with: dico resume {tmp_path / 'run'} --on ray" in said
    assert not workers_of(tmp_path / "run")
    (tmp_path / "slow").unlink()
    status, said = finish(dico("resume", tmp_path / "run", "--on", "ray", cwd=HERE))
    assert status == 0, said
    assert_same_runs(tmp_path / "run", expected)


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_no_workers(tmp_path, expected):
    (tmp_path / "slow").write_text("0.1")
    training = train_faulty(tmp_path, tmp_path / "run", "--on", "ray")
    wait_until(lambda: has_rows(tmp_path / "run"))
    training.kill()
    training.wait()
    wait_until(lambda: not workers_of(tmp_path / "run"))
    (tmp_path / "slow").unlink()
    status, said = finish(dico("resume", tmp_path / "run", cwd=HERE))
    assert status == 0, said
    assert_same_runs(tmp_path / "run", expected)


def test_more_cores_than_this_machine_has_are_refused(monkeypatch):
    if ray.is_initialized():
        ray.shutdown()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ValueError, match="cpus must be no more than this machine has, got 100000: no machine"):
        OnRay(None, 100_000, "cpu")
    assert not ray.is_initialized()


def test_no_cluster_is_said(tmp_path):
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(ValueError, match=r"no Ray cluster can be reached at 127\.0\.0\.1:1: "):
        OnRay("127.0.0.1:1", 1, "cpu")
