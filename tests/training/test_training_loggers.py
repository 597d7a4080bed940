"""Loggers: what reaches TensorBoard, Weights & Biases and MLflow, and an observer of your own."""

import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dico.commands import main
from dico.runs import RunError, load
from dico.training.config import Config
from dico.training.loggers import TensorBoard, WandB
from dico.training.observers import Observer
from dico.training.session import train

DOCS = Path(__file__).parents[2] / "docs"
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

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init, login=lambda **options: True, Error=OSError))
    run = train(Config(**TINY, task="tag"), tmp_path / "run", device="cpu", observers=[WandB()])
    assert [step for step, _ in logged] == [40, 80]
    assert begun[0]["config"]["task"] == "tag"
    assert len(finished) == 1
    row = next(row for row in run.rows() if row["iteration"] == 2)
    name = f"{run.members[0].name}/{row['group']}/reward"
    assert logged[1][1][name] == pytest.approx(row["reward"])


def test_who_is_not_logged_in_learns_it_before_a_folder_is_made(tmp_path, monkeypatch, capsys):
    class WandBError(Exception):
        pass

    def fail(**options):
        raise WandBError("No API key configured.")

    fake = SimpleNamespace(login=fail, Error=WandBError)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    words = ["train", "navigation", "--wandb", "--run", str(tmp_path / "run"), "--device", "cpu"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "error: --wandb: No API key configured. WANDB_MODE=offline" in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "run").exists()
    fake.login, fake.init = lambda **options: True, fail  # it is known, and cannot be reached
    ended = []
    first = SimpleNamespace(begin=lambda *_: None, say=print, iteration=print, end=lambda: ended.append("first"))
    with pytest.raises(RunError, match=r"No API key .* dico resume"):
        train(Config(**TINY), tmp_path / "run", device="cpu", observers=[first, WandB()])
    assert ended == ["first"]  # who never began is told of no end


@pytest.mark.slow
def test_wandb_offline_has_every_value_on_the_disk(tmp_path, monkeypatch):
    """By the package itself; its file holds keys and values as text, soon after the run has ended: another process
    writes them, which that of a command waits for at its own end."""
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = train(Config(**TINY), tmp_path / "run", device="cpu", observers=[WandB()])
    (written,) = (run.folder / "wandb").glob("offline-run-*/*.wandb")
    logged = [(row, name) for row in run.rows() for name in ("reward", "snd", "scale")]
    texts = {text for row, name in logged for text in (f"{run.members[row['member']].name}/{name}", f"{row[name]}")}
    patience = time.monotonic() + 60
    while missing := [text for text in texts if text.encode() not in written.read_bytes()]:
        assert time.monotonic() < patience, missing
        time.sleep(0.1)


MLFLOW = re.search(r"```python\n(import re\n\nimport mlflow.*?)```", (DOCS / "acting.md").read_text(), re.DOTALL)
"""The example of the page, whole."""


def test_the_example_for_mlflow_names_members_and_groups_apart(tmp_path, monkeypatch):
    """Names as MLflow takes them: letters, digits and ``_-. :/``."""
    logged = {}
    fake = SimpleNamespace(
        start_run=lambda run_name: None,
        set_tag=lambda name, text: None,
        log_metrics=lambda values, step: logged.update({(name, step): value for name, value in values.items()}),
        end_run=lambda: logged.update(ended=True),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    monkeypatch.chdir(tmp_path)
    assert MLFLOW is not None
    watcher = {}
    exec(MLFLOW[1].partition("\n\nconfig = ")[0], watcher)
    levels = {"snd": (">=0.3", "<=0.3")}
    run = train(Config(**(TINY | levels), task="tag"), "run", device="cpu", observers=[watcher["MLflow"]()])
    assert logged.pop("ended")
    assert len(logged) == 2 * len(run.rows())
    assert all(re.fullmatch(r"[\w\-. :/]+", name) for name, _ in logged)
    assert sorted(logged.values()) == sorted(row[key] for row in run.rows() for key in ("reward", "snd"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_example_for_mlflow_runs_with_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy", reason="without it mlflow-skinny has no store of its own")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert MLFLOW is not None
    exec(MLFLOW[1], {})
    (logged,) = mlflow.search_runs(output_format="list")
    (folder,) = (tmp_path / "runs").iterdir()
    run = load(folder)
    assert (logged.info.run_name, logged.info.status) == (folder.name, "FINISHED")
    rewards = [
        value.value
        for name in sorted(logged.data.metrics) if name.endswith("/reward")
        for value in mlflow.MlflowClient().get_metric_history(logged.info.run_id, name)
    ]  # fmt: skip
    assert rewards == [row["reward"] for member in (0, 1) for row in run.rows() if row["member"] == member]


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
