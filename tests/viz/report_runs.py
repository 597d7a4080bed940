"""Tiny runs to report on, trained in about a second."""

import json
import shutil
from pathlib import Path

import pytest

from dico.experiments import preset
from dico.runs import load
from dico.training.session import train
from dico.viz.report import write_report

SMALL = {"envs": 4, "frames": 240, "frames_per_batch": 40, "hidden": (8, 8), "epochs": 1, "minibatch": 20,
         "updates": 2, "batch": 8, "replay": 100}  # fmt: skip


def small_run(folder, task="navigation", **changes):
    """A population of three levels and two seeds, unless changed."""
    settings = {**SMALL, "snd": ("0", "0.5", "free"), "seeds": 2, **changes}
    return train(preset("quick", task, **settings), folder)


def report_fixtures(name):
    """Those of a test module: such a run, and what its page has to show."""

    @pytest.fixture(scope="module", name="run")
    def run(tmp_path_factory):
        return small_run(tmp_path_factory.mktemp(name) / "run")

    @pytest.fixture(scope="module", name="found")
    def found(run):
        return payload_of(write_report(run))

    return run, found


def without_checkpoints(run, folder, lines=None):
    """The same run as if it had just begun: its first lines of metrics, and no checkpoint."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    for name in ("config.json", "members.json", "machine.json"):
        shutil.copy(run.folder / name, folder)
    rows = (run.folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(rows[:lines]))
    return load(folder)


def payload_of(path):
    """What a page has to show."""
    text = Path(path).read_text("utf-8")
    return json.loads(text.split('id="payload">')[1].split("</script>")[0])
