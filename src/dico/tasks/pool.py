"""Worker processes with environments (:mod:`dico._worker`), and who is where in them."""

import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np

from dico._processes import python
from dico._trust import is_trusted
from dico._worker import Replay

PATIENCE = 5.0
"""Seconds that a worker is given to end by itself."""


class Pool:
    """As many processes as asked for, each with its share of the slots; the first starts at once, the others when used.

    A slot is an environment. A ticket says in which state it is; states that a slot is not in are brought about again.
    """

    def __init__(self, module: str, function: str, options: Mapping[str, Any], workers: int):
        self.request = ("make", (module, function, dict(options)))
        self.what, self.workers = f"{module}:{function}", workers
        self.pipes: list[Any] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.close = weakref.finalize(self, _close, self.pipes, self.processes)
        self.about: dict[str, Any] = {}
        self._start()
        size = sum(self.about["sizes"])
        self.tickets, self.is_known = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        self.obs = np.zeros((0, size), dtype=np.float32)

    def bring(self, tickets: np.ndarray, seeds: np.ndarray, times: np.ndarray, history: np.ndarray) -> np.ndarray:
        """See that slot i is in the state of ticket i; what all of them see there: ``(slots, obs)``."""
        self._make_room(len(tickets))
        count = len(tickets)
        behind = np.flatnonzero(~self.is_known[:count] | (self.tickets[:count] != tickets))
        for worker in self._shares(behind):
            replays = [Replay(int(i), int(seeds[i]), history[i, : times[i]]) for i in self._own(behind, worker)]
            self._send(worker, "bring", (replays,))
        for worker in self._shares(behind):
            own = self._own(behind, worker)
            self.obs[own] = self._receive(worker)
            self.tickets[own], self.is_known[own] = tickets[own], True
        return self.obs[:count]

    def step(self, actions: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A step of the first slots, which lead to the tickets ``following``: rewards, and which ended."""
        slots = np.arange(len(actions))
        rewards = np.zeros((len(actions), len(self.about["agents"])), dtype=np.float32)
        done = np.zeros(len(actions), dtype=bool)
        self.is_known[slots] = False  # until all is well
        for worker in self._shares(slots):
            own = self._own(slots, worker)
            self._send(worker, "step", (own.tolist(), actions[own]))
        for worker in self._shares(slots):
            own = self._own(slots, worker)
            self.obs[own], rewards[own], done[own] = self._receive(worker)
        self.tickets[slots], self.is_known[slots] = following, True
        return rewards, done

    def _make_room(self, slots: int) -> None:
        if slots > len(self.tickets):
            more = slots - len(self.tickets)
            self.tickets = np.concatenate((self.tickets, np.zeros(more, dtype=np.int64)))
            self.is_known = np.concatenate((self.is_known, np.zeros(more, dtype=bool)))
            self.obs = np.concatenate((self.obs, np.zeros((more, self.obs.shape[1]), dtype=np.float32)))
        for _ in range(len(self.pipes), min(self.workers, slots)):
            self._start()

    def _shares(self, slots: np.ndarray) -> list[int]:
        """The workers that have any of the slots."""
        return sorted(set((slots % self.workers).tolist()))

    def _own(self, slots: np.ndarray, worker: int) -> np.ndarray:
        return slots[slots % self.workers == worker]

    def _start(self) -> None:
        ours, theirs = Pipe()
        # a session of its own, so that Ctrl-C is the training's alone
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(self._paths())}
        command = python("dico._worker", str(theirs.fileno()))
        with theirs:
            process = subprocess.Popen(
                command, env=environment, pass_fds=[theirs.fileno()], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self.pipes.append(ours)
        self.processes.append(process)
        self._send(len(self.pipes) - 1, *self.request)
        self.about = self._receive(len(self.pipes) - 1)

    def _paths(self) -> list[str]:
        """Where modules are found: as in this process, and beside the user only what the user has named."""
        here = str(Path.cwd())
        own = [here] if is_trusted(self.request[1][0]) else []
        return [*own, *(path or here for path in sys.path)]

    def _send(self, worker: int, verb: str, arguments: Sequence[Any]) -> None:
        try:
            self.pipes[worker].send((verb, tuple(arguments)))
        except (OSError, ValueError):
            raise self._ended(worker) from None

    def _receive(self, worker: int) -> Any:
        try:
            is_well, answer = self.pipes[worker].recv()
        except (EOFError, OSError):
            raise self._ended(worker) from None
        if not is_well:
            self.close()
            raise ValueError(f"{self.what} failed in a worker process ({answer})")
        return answer

    def _ended(self, worker: int) -> ValueError:
        """What is said of a worker that is no more; the others are let go too."""
        self.close()
        status = self.processes[worker].poll()
        return ValueError(f"a worker process of {self.what} ended of itself (exit status {status})")


def _close(pipes: Sequence[Any], processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Workers end when their pipes close; one that is stuck is ended."""
    for pipe in pipes:
        pipe.close()
    for process in processes:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
