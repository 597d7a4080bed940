"""Several machines by Ray: a task for each piece."""

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

from dico._processes import PACKAGES
from dico._trust import TRUST
from dico.runs.reading import warn
from dico.scale.backends import BackendLost, Ended, Job
from dico.scale.pieces import Piece
from dico.scale.planner import Room

OBJECT_STORE = 80 * 2**20
"""Bytes of a cluster's that is started here: nothing goes through it."""
UNREACHED = 3
"""Times in a row that the head does not answer before it is taken to be gone."""


def task(run: str, name: str, driver: str, device: str, here: str, trusted: str) -> None:
    """What Ray runs: a worker, in the directory that the driver was started in, if it is there too.

    ``trusted`` are the modules that the driver trusts, which a cluster that runs already would not know of.
    """
    os.environ[TRUST] = trusted
    if Path(here).is_dir():
        os.chdir(here)  # tasks of your own are found from there
    from dico.scale.worker import work

    work(run, name, driver=driver, device=device)


class OnRay:
    """Ray tasks that are not repeated by Ray: it would repeat one that ran out of memory as it is.

    A piece takes ``cpus`` cores and, if the cluster has GPUs and ``device`` does not say otherwise, one of those. A
    worker process trains one piece and ends, so that no memory of a device stays taken.
    """

    def __init__(self, address: str | None, cpus: int, device: str):
        self.ray = _ray()
        self.own = not self.ray.is_initialized()
        if self.own:
            self._connect(address)
        resources = self.ray.cluster_resources()
        self.gpus = 0 if device == "cpu" else int(resources.get("GPU", 0))
        self.device = device if device != "auto" else "cuda" if self.gpus else "cpu"
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        at_once, machines = fitting(nodes, cpus, with_gpu=self.gpus > 0), len(nodes)
        if not at_once:  # Ray would wait, without a word
            self._refuse_or_warn(f"no machine has {cpus} cores" + (" and a GPU" if self.gpus else ""), address, cpus)
            at_once = 1
        each = "a GPU" if self.gpus else "1 core" if cpus == 1 else f"{cpus} cores"
        where = "1 machine" if machines == 1 else f"any of {machines} machines"
        memory = None if self.gpus else int(resources.get("memory", 0)) // at_once or None
        self.room = Room(f"ray: {each} of {where}", at_once, memory)
        self.resume_words = "--on ray" + (f" --address {address}" if address else "")
        self.head = self._head()
        self.task = self.ray.remote(
            num_cpus=cpus, num_gpus=1 if self.gpus else 0, max_calls=1, max_retries=0
        )(task)  # fmt: skip
        self.running: dict[Any, Piece] = {}
        self.unreached = 0

    def submit(self, jobs: Sequence[Job]) -> None:
        """All at once: Ray has them wait for room."""
        for job in jobs:
            reference = self.task.options(name=f"dico {job.pieces.run.name} {job.piece.name}").remote(
                str(job.pieces.run), job.piece.name, job.driver, self.device, str(Path.cwd()), os.environ.get(TRUST, "")
            )
            self.running[reference] = job.piece

    def wait(self, seconds: float) -> list[Ended]:
        """By Ray, as long as its head answers."""
        self._check_head()
        try:
            ready, _ = self.ray.wait(list(self.running), num_returns=1, timeout=seconds)
            if ready:  # and all others that are
                ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
            return [self._ended(reference) for reference in ready]
        except (self.ray.exceptions.RaySystemError, ConnectionError) as error:
            raise BackendLost(f"Ray does not answer any more ({_line(error)})") from error

    def hold(self, begun: Callable[[Piece], bool]) -> None:
        """Cancel those that wait for room."""
        for reference, piece in list(self.running.items()):
            if not begun(piece):
                self.ray.cancel(reference)
                del self.running[reference]

    def close(self) -> None:
        """End the tasks that are left; a cluster that was started here ends too."""
        for reference in self.running:
            if not self.unreached:
                self.ray.cancel(reference, force=True)
        self.running.clear()
        if self.own:
            self.ray.shutdown()

    def _connect(self, address: str | None) -> None:
        """To a cluster that runs, or to one that is started here and ends with this process."""
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
        address = address or os.environ.get("RAY_ADDRESS")
        try:
            host, _, port = (address or "").rpartition(":")
            if host and port.isdigit():  # Ray itself would try for minutes
                socket.create_connection((host.removeprefix("ray://").strip("[]"), int(port)), timeout=10).close()
            with chdir(PACKAGES):  # Ray's workers import first from where it is started
                if address is None:
                    self.ray.init(address="local", include_dashboard=False, object_store_memory=OBJECT_STORE, **quiet)
                else:
                    self.ray.init(address=address, **quiet)
        except (OSError, ValueError, RuntimeError, self.ray.exceptions.RayError) as error:
            raise ValueError(f"no Ray cluster can be reached at {address or 'this machine'}: {_line(error)}") from None

    def _refuse_or_warn(self, told: str, address: str | None, cpus: int) -> None:
        """No piece has room: a cluster of others may yet grow, one that was started here does not."""
        if not self.own or address or os.environ.get("RAY_ADDRESS"):
            warn(f"{told} in this Ray cluster: pieces wait until one that has joins it")
            return
        self.ray.shutdown()
        raise ValueError(f"cpus must be no more than this machine has, got {cpus}: {told}")

    def _head(self) -> tuple[str, int] | None:
        """Where the cluster's head listens."""
        host, _, port = self.ray.get_runtime_context().gcs_address.rpartition(":")
        return (host.strip("[]"), int(port)) if port.isdigit() else None

    def _check_head(self) -> None:
        """Ray itself waits for a lost head for a minute, and then ends the process without a word that helps."""
        if self.head is None:
            return
        try:
            socket.create_connection(self.head, timeout=5).close()
            self.unreached = 0
        except OSError as error:
            self.unreached += 1
            if self.unreached >= UNREACHED:
                host, port = self.head
                raise BackendLost(f"the head of the Ray cluster at {host}:{port} is gone ({_line(error)})") from None
            time.sleep(1)

    def _ended(self, reference: Any) -> Ended:
        piece = self.running.pop(reference)
        try:
            self.ray.get(reference)
        except self.ray.exceptions.OutOfMemoryError as error:
            return Ended(piece, _line(error), out_of_memory=True)
        except self.ray.exceptions.RayError as error:
            return Ended(piece, _line(error))
        return Ended(piece)


def fitting(nodes: Sequence[Mapping[str, float]], cpus: int, *, with_gpu: bool) -> int:
    """Pieces that machines with these resources have room for at once.

    >>> fitting([{"CPU": 3.0}, {"CPU": 4.0, "GPU": 1.0}], 2, with_gpu=False)
    3
    >>> fitting([{"CPU": 3.0}, {"CPU": 4.0, "GPU": 1.0}], 2, with_gpu=True)
    1
    """
    cores = [int(node.get("CPU", 0)) // cpus for node in nodes]
    gpus = [int(node.get("GPU", 0)) if with_gpu else most for node, most in zip(nodes, cores, strict=True)]
    return sum(map(min, cores, gpus))


def _ray() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # as later releases have it; else a warning
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError as missing:
        raise ImportError(f'--on ray needs {missing.name}: pip install "dico-marl[ray]"') from missing
    return ray


def _line(error: BaseException) -> str:
    """Ray's messages are long: the first sentence, or of an error in a task the last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1] if "Traceback" in str(error) else lines[0].partition(". ")[0]
