"""Small sweeps for the tests of scale, what they come to undisturbed, and backends that start no process."""

from collections import deque

import pytest

from dico.experiments import preset
from dico.runs import load
from dico.scale.backends import Ended
from dico.scale.planner import Room
from dico.scale.worker import work
from dico.training.options import SessionOptions

SMALL = {
    "snd": ("0", "0.3", "free"), "seeds": 2, "frames": 240, "envs": 4, "frames_per_batch": 40, "hidden": (8,),
    "epochs": 1, "minibatch": 40, "updates": 3, "batch": 8, "replay": 100,
}  # fmt: skip
OFTEN = SessionOptions(device="cpu", checkpoint_every=1)


def small(faults="", **changes):
    """A sweep of six members, on a task that may fail if there is a folder of faults."""
    faulty = {"task": "faulty:Faulty", "task_options": (f"faults={faults}",)} if faults else {}
    return preset("quick", **({"algorithm": "ippo"} | SMALL | faulty | changes))


def assert_same_runs(folder, expected):
    """Every member has every iteration once, in the same order, with the same numbers, and the same networks."""
    rows, others = load(folder).rows(), load(expected).rows()
    keys = ("iteration", "group", "member", "constraint", "seed")
    assert [[row.get(key) for key in keys] for row in rows] == [[row.get(key) for key in keys] for row in others]
    for row, other in zip(rows, others, strict=True):
        assert list(row) == list(other)
        for name, value in row.items():
            if isinstance(value, float | list) and name != "seconds":
                assert value == pytest.approx(other[name], rel=1e-4, abs=1e-4), name
    run, other = load(folder).newest, load(expected).newest
    assert run.frames == other.frames
    assert not list(folder.glob("pieces*"))


class Listener:
    """An observer that remembers what was said."""

    def __init__(self):
        self.said, self.seen = [], []

    def begin(self, population, folder):
        self.population = population

    def say(self, message):
        self.said.append(message)

    def iteration(self, rows, seconds):
        self.seen.append((rows, seconds))

    def end(self): ...


class Inline:
    """A backend whose workers run here, one after the other, when they are waited for."""

    resume_words = "--devices cpu"

    def __init__(self, at_once=2, before=lambda job: None):
        self.room, self.before = Room("here", at_once), before
        self.waiting, self.submitted = deque(), []

    def submit(self, jobs):
        self.waiting.extend(jobs)
        self.submitted += [job.piece.name for job in jobs]

    def wait(self, seconds):
        if not self.waiting:
            return []
        job = self.waiting.popleft()
        if (ended := self.before(job)) is not None:
            return [ended]
        work(str(job.pieces.run), job.piece.name, driver=job.driver, device="cpu")
        return [Ended(job.piece)]

    def hold(self, begun):
        self.waiting.clear()

    def close(self):
        self.waiting.clear()
