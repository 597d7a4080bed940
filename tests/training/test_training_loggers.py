"""Loggers: what reaches TensorBoard and Weights & Biases, and an observer of your own."""

import sys
from types import SimpleNamespace

import pytest

from dico.training.config import Config
from dico.training.loggers import TensorBoard, WandB
from dico.training.observers import Observer
from dico.training.session import train

TINY = {"hidden": (8,), "envs": 4, "frames_per_batch": 40, "frames": 80, "epochs": 1, "minibatch": 40, "seeds": 1,
        "snd": ("0.3", "free")}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_has_every_members_metrics(tmp_path):
    event_file = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = train(Config(**TINY, metric="hse"), tmp_path / "run", device="cpu", observers=[TensorBoard()])
    for member in run.members:
        written = event_file.EventAccumulator(str(run.folder / "tensorboard" / member.name))
        written.Reload()
        assert {"reward", "snd", "hse", "scale"} <= set(written.Tags()["scalars"])
        values = [(event.step, pytest.approx(event.value, rel=1e-5)) for event in written.Scalars("reward")]
        assert values == [(row["frames"], row["reward"]) for row in run.rows() if row["member"] == member.index]


def test_wandb_gets_one_run_with_every_members_metrics(tmp_path, monkeypatch):
    logged, begun, finished = [], [], []

    def init(**options):
        begun.append(options)
        return SimpleNamespace(
            log=lambda values, step: logged.append((step, values)), finish=lambda: finished.append(1)
        )

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    run = train(Config(**TINY, task="tag"), tmp_path / "run", device="cpu", observers=[WandB()])
    assert [step for step, _ in logged] == [40, 80]
    assert begun[0]["config"]["task"] == "tag"
    assert len(finished) == 1
    row = next(row for row in run.rows() if row["iteration"] == 2)
    name = f"{run.members[0].name}/{row['group']}/reward"
    assert logged[1][1][name] == pytest.approx(row["reward"])


def test_an_own_observer_sees_all_and_is_told_the_end(tmp_path):
    """The one of docs/acting.md, with another library's names."""
    seen = []

    class Mine:
        def begin(self, population, folder):
            seen.append(("begin", folder.name, population.config.task))

        def say(self, message):
            seen.append(("say", message))

        def iteration(self, rows, seconds):
            seen.append(("iteration", rows[0]["iteration"], len(rows), seconds > 0))

        def end(self):
            seen.append(("end",))

    assert isinstance(Mine(), Observer)
    train(Config(**TINY), tmp_path / "run", device="cpu", observers=[Mine()])
    assert [each for each in seen if each[0] != "say"] == [
        ("begin", "run", "navigation"), ("iteration", 1, 2, True), ("iteration", 2, 2, True), ("end",),
    ]  # fmt: skip
