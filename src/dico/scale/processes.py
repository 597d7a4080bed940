"""Several devices of one machine: a process for each."""

import os
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

import torch

from dico._processes import same_dico
from dico.runs import RunError
from dico.scale.backends import Ended, Job
from dico.scale.pieces import Piece
from dico.scale.planner import Room, device_memory
from dico.scale.worker import command
from dico.training.options import SessionOptions

SECONDS_BETWEEN_LOOKS = 0.1


class Processes:
    """A worker process on each of the devices, one piece after another; a device may be named several times."""

    def __init__(self, devices: Sequence[str]):
        if not devices or not all(devices):
            raise ValueError(f"devices must be named with commas, such as cuda:0,cuda:1, got {','.join(devices)!r}")
        self.devices = [str(SessionOptions(device=name).make_stage().device) for name in devices]
        shared = Counter(self.devices)
        known = [device_memory(device, shared[device]) for device in self.devices]
        memory = None if None in known else min(each for each in known if each is not None)
        cuda = any(device.startswith("cuda") for device in self.devices)
        self.room = Room(", ".join(dict.fromkeys(self.devices)), len(self.devices), memory, cuda)
        self.resume_words = f"--devices {','.join(devices)}"
        self.free, self.waiting = list(self.devices), deque[Job]()
        self.running: dict[subprocess.Popen[bytes], tuple[Piece, str]] = {}

    def submit(self, jobs: Sequence[Job]) -> None:
        """As devices become free."""
        self.waiting.extend(jobs)
        self._start()

    def wait(self, seconds: float) -> list[Ended]:
        """Look now and then."""
        until = time.monotonic() + seconds
        while not (ended := self._ended()) and time.monotonic() < until:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        self._start()
        return ended

    def hold(self, begun: Callable[[Piece], bool]) -> None:  # noqa: ARG002
        """Forget those that wait for a device."""
        self.waiting.clear()

    def close(self) -> None:
        """Kill what is left."""
        self.waiting.clear()
        for process in self.running:
            process.kill()
        for process in self.running:
            process.wait()
        self.running.clear()

    def _start(self) -> None:
        while self.waiting and self.free:
            job, device = self.waiting.popleft(), self.free.pop(0)
            device_of_worker, environment = self._environment(device)
            words = command(
                job.pieces.run, job.piece.name, driver=job.driver, device=device_of_worker, parent=os.getpid()
            )
            try:
                with job.pieces.log(job.piece).open("ab") as output:
                    # in a session of its own: a terminal's Ctrl-C reaches the driver alone, which passes it on
                    process = subprocess.Popen(
                        words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                        env=environment,
                    )  # fmt: skip
            except OSError as error:
                raise RunError(f"a worker could not be started ({error})") from error
            self.running[process] = job.piece, device

    def _environment(self, device: str) -> tuple[str, dict[str, str]]:
        """What a worker calls its device, and what it inherits: one GPU alone, or its share of the cores."""
        environment = same_dico()
        kind, _, index = device.partition(":")
        if kind == "cuda":
            visible = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
            number = int(index or torch.cuda.current_device())
            environment["CUDA_VISIBLE_DEVICES"] = visible[number] if visible else str(number)
            return "cuda", environment
        share = max(1, (os.cpu_count() or 1) // self.devices.count(device))
        environment.setdefault("OMP_NUM_THREADS", str(share))
        return device, environment

    def _ended(self) -> list[Ended]:
        found = []
        for process in [process for process in self.running if process.poll() is not None]:
            piece, device = self.running.pop(process)
            self.free.append(device)
            found.append(Ended(piece, f"its process ended with status {process.returncode}"))
        return found
