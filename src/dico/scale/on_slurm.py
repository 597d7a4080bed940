"""A Slurm cluster by submitit: a job for each piece, in arrays."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from dico._checks import check_positive
from dico.runs import RunError
from dico.scale.backends import Ended, Job
from dico.scale.pieces import Piece, Pieces
from dico.scale.planner import Room
from dico.scale.worker import command

JOBS = ".jobs"
"""Where submitit keeps scripts and logs, in the folder of pieces."""
REQUEUED = 1000
"""Times that a job may run into its time limit; each time it goes on where it was."""
MINUTES = 60
"""Of a job's time limit, if none is given."""
SECONDS_TO_SAVE = 90
"""Before the time limit, for the iteration and its checkpoint."""
SECONDS_BETWEEN_LOOKS = 0.5
SHARED = ("name", "timeout_min", "mem_gb", "nodes", "cpus_per_task", "gpus_per_node", "tasks_per_node")
"""Parameters that submitit has for every cluster; all others are Slurm's."""


class Work:
    """What a job runs: a worker process. When its time is nearly up, the worker is stopped and the job requeued."""

    def __init__(self, words: Sequence[str], here: str, log: str):
        self.words, self.here, self.log = list(words), here, log
        self.worker: int | None = None
        """The worker's process, while there is one."""

    def __call__(self) -> None:
        """Until the worker ends."""
        with Path(self.log).open("ab") as output:
            here = self.here if Path(self.here).is_dir() else None
            process = subprocess.Popen(self.words, cwd=here, stdout=output, stderr=output)
        self.worker = process.pid
        try:
            self._wait()
        finally:
            self._stop()
            process.returncode = 0  # it is waited for

    def checkpoint(self) -> Any:
        """At submitit's warning: stop the worker, which saves a checkpoint, and ask for the same again."""
        import submitit

        self._stop()
        return submitit.helpers.DelayedSubmission(Work(self.words, self.here, self.log))

    def _stop(self) -> None:
        if self.worker is not None:
            with suppress(ProcessLookupError):
                os.kill(self.worker, signal.SIGTERM)
            self._wait()

    def _wait(self) -> None:
        """By looking now and then: the warning may come at any line here, and waits as well; Popen's lock would not."""
        while self.worker is not None:
            try:
                ended = os.waitpid(self.worker, os.WNOHANG)[0] == self.worker
            except ChildProcessError:  # the other of the two has seen its end
                ended = True
            if ended:
                self.worker = None
            else:
                time.sleep(SECONDS_BETWEEN_LOOKS)


class OnSlurm:
    """Job arrays. Jobs outlive their driver: a later ``dico resume RUN --on slurm`` takes over what is left."""

    def __init__(self, parameters: Mapping[str, Any], device: str, at_once: int):
        self.submitit = _submitit()
        asked = dict(parameters)
        self.cluster = asked.pop("cluster", "slurm")
        self.device, self.asked = device, {_parameter(name): value for name, value in asked.items()}
        check_positive("slurm: time in minutes", self.asked.get("timeout_min", MINUTES))
        self.room = Room(self.cluster, at_once)
        words = shlex.join(f"{name}={value}" for name, value in parameters.items())
        self.resume_words = "--on slurm" + (f" --slurm {words}" if words else "")
        self.running: dict[Any, Piece] = {}

    def check(self) -> None:
        """An error if nothing could be submitted from here: before a run folder is made for it."""
        if self.cluster == "slurm" and which("srun") is None:
            raise ValueError(
                "slurm must be used where srun is found, as on a cluster's login node: there is none here; --dry-run "
                "prints the script, and --slurm cluster=local trains on this machine"
            )
        with TemporaryDirectory() as place:
            self._executor(Path(place))

    def submit(self, jobs: Sequence[Job]) -> None:
        """As one array; its environment is that of the driver."""
        executor = self._executor(jobs[0].pieces.path / JOBS)
        here = str(Path.cwd())
        works = [
            Work(
                command(job.pieces.run, job.piece.name, driver=job.driver, device=self.device, outlives=True),
                here, str(job.pieces.log(job.piece)),
            )
            for job in jobs
        ]  # fmt: skip
        try:
            with executor.batch():
                submitted = [executor.submit(work) for work in works]
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise RunError(f"the jobs could not be submitted ({error})") from error
        self.running |= dict(zip(submitted, (job.piece for job in jobs), strict=True))

    def wait(self, seconds: float) -> list[Ended]:
        """Ask for the jobs' states now and then; submitit asks Slurm itself at most every few seconds."""
        until = time.monotonic() + seconds
        while True:
            done = [job for job in self.running if job.done()]
            if done or time.monotonic() >= until:
                return [self._ended(job) for job in done]
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def hold(self, begun: Callable[[Piece], bool]) -> None:
        """Cancel those that wait for room."""
        for job, piece in list(self.running.items()):
            if not begun(piece):
                job.cancel()
                del self.running[job]

    def close(self) -> None:
        """Cancel what is left."""
        for job in self.running:
            job.cancel()
        self.running.clear()

    def script(self, pieces: int, run: Path) -> str:
        """What would be submitted for so many pieces of a run."""
        from submitit.slurm import slurm

        names = slurm.SlurmExecutor._equivalence_dict() or {}
        own: dict[str, Any] = {
            names.get(name, name.removeprefix("slurm_")): value for name, value in self._parameters().items()
        }
        if "mem" in own and "mem_gb" in self.asked:
            own["mem"] = f"{own['mem']}GB"
        jobs = str(Pieces(run).path / JOBS)
        words = shlex.join([sys.executable, "-u", "-m", "submitit.core._submit", jobs])
        array: dict[str, Any] = {"map_count": pieces} if pieces > 1 else {}
        try:
            return slurm._make_sbatch_string(words, jobs, **own, **array)
        except TypeError as error:
            raise ValueError(f"slurm must hold parameters of submitit's slurm executor ({error})") from None

    def _executor(self, folder: Path) -> Any:
        """submitit's, for the cluster."""
        try:
            executor = self.submitit.AutoExecutor(
                folder, cluster=self.cluster, slurm_max_num_timeout=REQUEUED, local_max_num_timeout=REQUEUED
            )
            executor.update_parameters(**self._parameters())
        except (ValueError, NameError, RuntimeError, TypeError, AssertionError) as error:
            raise ValueError(f"slurm: {' '.join(str(error).splitlines()[:1])}") from None
        return executor

    def _parameters(self) -> dict[str, Any]:
        usual: dict[str, Any] = {"name": "dico", "timeout_min": MINUTES}
        if self.cluster == "slurm":
            usual["slurm_signal_delay_s"] = SECONDS_TO_SAVE
        return usual | self.asked

    def _ended(self, job: Any) -> Ended:
        piece, state = self.running.pop(job), str(job.state)
        return Ended(piece, f"job {job.job_id} is {state}", out_of_memory=state.startswith("OUT_OF_ME"))


def _parameter(name: str) -> str:
    """As submitit calls it.

    >>> _parameter("partition"), _parameter("slurm_qos"), _parameter("mem_gb"), _parameter("time")
    ('slurm_partition', 'slurm_qos', 'mem_gb', 'timeout_min')
    """
    if name in ("time", "slurm_time"):
        return "timeout_min"
    return name if name in SHARED or name.startswith("slurm_") else f"slurm_{name}"


def _submitit() -> Any:
    try:
        import submitit
    except ImportError as missing:
        raise ImportError(f'--on slurm needs {missing.name}: pip install "dico-marl[slurm]"') from missing
    os.environ.setdefault("SUBMITIT_LOG_LEVEL", "WARNING")
    return submitit
