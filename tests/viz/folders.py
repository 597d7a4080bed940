"""Run folders that the tests look at: written by hand, whose every number is known, or trained for a moment."""

import atexit
import json
import shutil
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest

import dico
from dico.experiments import preset
from dico.members import level_text, varying
from dico.runs import Run, load
from dico.runs.schema import FORMAT

TINY = {
    "envs": 4, "frames_per_batch": 400, "hidden": (8,), "epochs": 2, "minibatch": 100, "updates": 3, "batch": 16,
    "replay": 1000, "seeds": 1,
}  # fmt: skip
TRAINED = {
    "navigation": {"snd": ("0", "0.5", "free"), "seeds": 2, "frames": 2000},
    "dispersion": {"snd": ("0", "1"), "frames": 800},
    "sampling": {"snd": ("1", "free"), "frames": 400},
    "same-goal": {"snd": ("0.5", "free"), "frames": 800},
    "tag": {"snd": ("0.3", "free"), "frames": 800},
    "reverse-transport": {"snd": ("0.1", "free"), "frames": 800},
}


def write_run(folder, values, *, snd=("0", "0.5", "free"), seeds=2, task="navigation", **settings) -> Run:
    """A run whose metrics are ``values(level, seed, iteration) -> dict``, one call per row; None writes no row.

    A level is the text of all in which members differ besides the seed: mostly of the desired diversity.
    """
    config = preset("quick", task, snd=snd, seeds=seeds, **settings)
    folder.mkdir(parents=True)
    groups = [{"name": "agents", "n_agents": 2, "obs_dim": 4, "low": [-1, -1], "high": [1, 1], "kind": "shared_std"}]
    saved = {"format": FORMAT, "config": asdict(config), "groups": groups, "session": {}}
    (folder / "config.json").write_text(json.dumps(saved))
    members = config.members
    (folder / "members.json").write_text(json.dumps([asdict(member) for member in members]))
    with (folder / "metrics.jsonl").open("w") as lines:
        for iteration in range(1, config.iterations + 1):
            for member in members:
                own = values(level_text(member, varying(members)), member.seed, iteration)
                row = {"member": member.index, "constraint": member.constraint, "seed": member.seed,
                       **{name: getattr(member, name) for name in config.varied},
                       "iteration": iteration, "frames": iteration * config.frames_per_batch}  # fmt: skip
                if own is not None:
                    lines.write(json.dumps(row | own) + "\n")
    return load(folder)


def write_metrics(folder, text):
    """Other metrics, which the checkpoints do not know to be others."""
    (folder / "metrics.jsonl").write_text(text)
    for path in folder.glob("checkpoint-*/meta.json"):
        meta = json.loads(path.read_text())
        for name in ("seal", "checksums", "metrics_crc32"):  # or it would be taken for damage
            meta.pop(name, None)
        path.write_text(json.dumps(meta))


@cache
def trained(task, *options, **changes) -> Run:
    """A run of few frames and tiny networks, the same for all tests that want these options of the task."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = TINY | TRAINED[task] | {"task_options": options} | changes
    return dico.train(preset("quick", task, **settings), folder / task, device="cpu")


def fixture_of(task):
    """A test module's fixture: the run of a task."""

    @pytest.fixture(name=task)
    def run():
        return trained(task)

    return run
