"""Trainings that are killed at random moments, in training and in resuming, until one gets to its end."""

import random
import shutil
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import repeat
from math import isclose
from pathlib import Path
from typing import Any

import torch

from dico.experiments import preset
from dico.runs import load
from dico.training import session
from fuzzing.apart import End, apart

SMALL = {
    "snd": ("0.3", "free"), "seeds": 1, "frames": 400, "envs": 4, "frames_per_batch": 40, "hidden": (8,),
    "epochs": 2, "minibatch": 16, "updates": 5, "batch": 8, "replay": 100,
}  # fmt: skip
ALGORITHMS = ("ippo", "maddpg")
MOST = 12
"""Kills of one training; then it is let finish."""
LATEST = 0.35
"""When it is killed at the latest, as a share of the time that the whole takes: it dies several times on its way."""


@dataclass(frozen=True)
class Undisturbed:
    """What a training that nobody killed came to, and how long it took."""

    rows: list
    tensors: dict
    seconds: float


def train(folder: Path, algorithm: str) -> int:
    """Begin, or go on if there is something to go on with."""
    if (folder / "config.json").exists():
        session.resume(folder)
    else:
        session.train(preset("quick", algorithm=algorithm, **SMALL), folder, device="cpu", checkpoint_every=2)
    return 0


def result(folder: Path) -> tuple[list, dict]:
    """Lines without their seconds, and all tensors of the last checkpoint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = load(folder).read()
    rows = [{name: value for name, value in row.items() if name != "seconds"} for row in run.rows()]
    return rows, run.checkpoints()[0].tensors()


def undisturbed(place: Path) -> dict[str, Undisturbed]:
    """Of each algorithm."""
    found = {}
    for algorithm in ALGORITHMS:
        end = apart(lambda: train(place / algorithm, algorithm), place / "log")  # noqa: B023
        if end.status:
            raise RuntimeError(end.told)
        found[algorithm] = Undisturbed(*result(place / algorithm), end.seconds)
    return found


def kill_one(place: Path, whole: dict[str, Undisturbed], rng: random.Random, counts: Counter) -> list[str]:
    """Kill one training again and again; what is wrong with what it came to in the end."""
    algorithm = rng.choice(ALGORITHMS)
    folder, expected = place / "killed", whole[algorithm]
    shutil.rmtree(folder, ignore_errors=True)
    faults, told = [], []
    for kill in range(MOST + 1):
        moment = rng.uniform(0, LATEST * expected.seconds) if kill < MOST else None
        end = apart(lambda: train(folder, algorithm), place / "log", kill_after=moment)
        told.append(f"{moment} -> {end.status}")
        if end.status == -9:
            counts["kills"] += 1
            counts["hangs"] += moment is None
            continue
        if end.status:
            faults.append(_fault(end))
        break
    counts["trainings that were killed"] += 1
    if not faults and (difference := differs(folder, expected)):
        faults.append(f"{difference} than undisturbed ({algorithm}: {', '.join(told)})")
    return faults


def differs(folder: Path, expected: Undisturbed, most: float = 0.0) -> str:
    """In what a training differs from the undisturbed one, by more than so much; nothing if in nothing."""
    rows, tensors = result(folder)
    if not _near(rows, expected.rows, most):
        return "other numbers"
    same = tensors.keys() == expected.tensors.keys() and all(
        torch.allclose(value.double(), tensors[name].double(), rtol=most, atol=most, equal_nan=True)
        for name, value in expected.tensors.items()
    )
    return "" if same else "other networks"


def _near(value: Any, other: Any, most: float) -> bool:
    """Whether lines of metrics, or what is in them, say the same, up to so much."""
    if isinstance(value, float) and isinstance(other, float):
        return isclose(value, other, rel_tol=most, abs_tol=most)
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_near(each, other[name], most) for name, each in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_near, value, other, repeat(most)))
    return value == other


def _fault(end: End) -> str:
    return f"status {end.status}: {end.told.strip().splitlines()[-1] if end.told.strip() else 'nothing said'}"
