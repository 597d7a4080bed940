"""`dico tune --maximize reward` with preset quick: as good as a dense sweep, for half of its frames at most."""

import json

import numpy as np
import pytest
from command_line import dico as command

import dico
from dico.analysis import final, levels, of_level
from dico.experiments import preset
from dico.tuning import Halving, largest_diversity


def tuned(capsys, folder, task):
    status, out, err = command(capsys, "tune", task, "--maximize", "reward", "--device", "cpu", "--folder", folder)
    assert status == 0, err
    print(out[-800:])  # noqa: T201
    return json.loads((folder / "answer.json").read_text())


@pytest.mark.slow
@pytest.mark.unchecked
def test_it_finds_what_a_dense_sweep_finds(capsys, tmp_path):
    found = tuned(capsys, tmp_path / "tuned", "navigation")
    halving = Halving(largest_diversity(preset("quick", "navigation")))
    steps = [f"{halving.high * k / (2 * halving.explorers):g}" for k in range(2 * halving.explorers + 1)]
    dense = dico.train(
        preset("quick", "navigation", snd=(*steps, "free"), seeds=3), tmp_path / "dense", device="cpu"
    )  # fmt: skip
    rewards = {level: float(np.nanmean(final(dense, "reward")[of_level(dense, level)])) for level in levels(dense)}
    best = max(rewards.values())
    if found["level"] == "free":
        there = rewards["free"]
    else:
        there = np.interp(found["level"], [float(step) for step in steps], [rewards[step] for step in steps])
    assert there >= 0.95 * best, (found["level"], rewards)
    spent = len(dense.members) * dense.newest.frames
    assert found["dense_frames"] == spent
    assert found["frames"] <= spent / 2
    assert found["outcome"] == "diversity pays"


@pytest.mark.slow
@pytest.mark.unchecked
def test_where_all_want_the_same_none_is_needed(capsys, tmp_path):
    found = tuned(capsys, tmp_path / "tuned", "same-goal")
    assert found["level"] == 0 or found["outcome"] == "homogeneous is enough"
