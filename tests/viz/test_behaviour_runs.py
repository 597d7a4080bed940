"""What the members of a trained run do, task by task."""

import json
import shutil
from copy import copy
from functools import cache

import numpy as np
import pytest
import torch
from folders import TRAINED, trained, write_metrics, write_run
from safetensors.torch import load_file, save_file

from dico.analysis import behaviour
from dico.analysis.behaviour import BEHAVIOURS, behaviours, cross_play
from dico.analysis.behaviour.tag import SHARE
from dico.runs import load
from dico.runs.episodes import play, record
from dico.runs.evaluation import evaluate
from dico.runs.schema import COMMON
from dico.tasks import TASKS

pytestmark = pytest.mark.unchecked  # trains and draws: twice as fast so
EPISODES = 6
PAIRED = 80
"""Episodes in cross play."""


def short(task):
    """A trained run of short episodes."""
    return trained(task, "horizon=10")


@cache
def found_in(task, seed=0):
    return behaviours(short(task), episodes=EPISODES, seed=seed)


def copied(run, folder):
    shutil.copytree(run.folder, folder)
    return folder


def lose(folder, *members):
    """Mark members as diverged."""
    path = folder / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row["member"] in members:
            row["diverged"] = True
    write_metrics(folder, "".join(json.dumps(row) + "\n" for row in rows))
    return load(folder)


def change(folder, factors):
    """Give members other networks, all numbers in them times a factor."""
    for path in folder.glob("checkpoint-*/state.safetensors"):
        tensors = load_file(path)
        for name, tensor in tensors.items():
            if ".policy." in name and name.split(".policy.")[1] not in COMMON and tensor.is_floating_point():
                for member, factor in factors.items():
                    tensor[member] *= factor
        save_file(tensors, path)
        meta = json.loads(path.with_name("meta.json").read_text())
        for name in ("seal", "checksums"):  # or it would be taken for damage
            del meta[name]
        path.with_name("meta.json").write_text(json.dumps(meta))
    return load(folder)


def test_every_task_of_the_paper_has_measures():
    assert BEHAVIOURS.keys() == TASKS.keys() == TRAINED.keys() == behaviour._MEASURES.keys()


@pytest.mark.parametrize("task", TRAINED)
def test_each_member_has_a_number(task):
    run, found = short(task), found_in(task)
    assert found.keys() == BEHAVIOURS[task].keys()
    zero = np.array([member.constraint == "0" for member in run.members])
    for name, values in found.items():
        assert values.dtype == np.float64
        assert values.shape == (len(run.members),) * (2 if name == "cross_play" else 1)
        alike = zero & name.startswith("map_")  # a team without diversity has no map
        np.testing.assert_array_equal(np.isfinite(values.T).reshape(-1, len(zero))[0], ~alike, err_msg=name)
    shares = {"goals_reached", "one_reaches", "distinct_food", "food_eaten", "overlap", "delivered"}
    for name in shares & found.keys():
        assert ((0 <= found[name]) & (found[name] <= 1)).all()


@pytest.mark.parametrize("task", TRAINED)
def test_a_member_that_diverged_has_none_and_the_others_have_theirs(task, tmp_path):
    found, whole = behaviours(lose(copied(short(task), tmp_path / "run"), 0), episodes=EPISODES), found_in(task)
    for name in found:
        assert np.isnan(found[name][0]).all()
        if name == "cross_play":  # against fewer green ones
            assert np.isfinite(found[name][1:, 1:]).all()
        else:
            np.testing.assert_array_equal(found[name][1:], whole[name][1:])


@pytest.mark.parametrize("task", TRAINED)
def test_a_member_does_not_depend_on_the_others(task, tmp_path):
    *others, last = range(len(short(task).members))
    found = behaviours(change(copied(short(task), tmp_path / "run"), dict.fromkeys(others, 1.5)), episodes=EPISODES)
    alone = [name for name in found if name != "cross_play"]
    assert {name: found[name][last] for name in alone} == {name: found_in(task)[name][last] for name in alone}
    if task == "navigation":  # elsewhere, too little may come of so few steps
        assert (found["midpoint"][others] != found_in(task)["midpoint"][others]).all()


def test_another_seed_is_another_number():
    assert (found_in("navigation")["midpoint"] != found_in("navigation", seed=1)["midpoint"]).all()


def test_all_may_have_diverged(tmp_path):
    for task in ("navigation", "tag"):
        run = lose(copied(short(task), tmp_path / task), *range(len(short(task).members)))
        assert all(np.isnan(values).all() for values in behaviours(run, episodes=EPISODES).values())


def test_a_task_that_is_not_the_papers_has_none(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"reward": 0.0})
    object.__setattr__(run, "config", {**run.config, "task": "vmas:balance"})
    assert behaviours(run) == {}


def test_a_run_that_tells_what_its_members_do_is_taken_at_its_word(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"reward": 0.0})
    source, told = copy(run.source), {"midpoint": np.arange(6.0)}
    object.__setattr__(source, "behaviours", told)
    object.__setattr__(run, "source", source)
    np.testing.assert_equal(behaviours(run), told)


def test_cells_covered_are_those_that_the_task_counts():
    run = short("sampling")
    visited = record(run.task(), [run.policies()], EPISODES, 0, deterministic=True).states.visited[:, -1]
    bits = (visited[..., None] >> torch.arange(40)) & 1
    np.testing.assert_allclose(found_in("sampling")["covered"], bits.sum((-1, -2)).float().mean(-1), rtol=1e-6)


def test_episodes_are_as_long_as_evaluated():
    expected = [row["steps"] for row in evaluate(short("dispersion"), episodes=EPISODES, deterministic=True)]
    np.testing.assert_allclose(found_in("dispersion")["steps"], expected, rtol=1e-6)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Members whose agents, red and green, differ much."""
    run = trained("tag", "horizon=40", snd=("0.3", "0.6", "free"))
    return change(copied(run, tmp_path_factory.mktemp("tag") / "run"), {1: 2, 2: 1.5})


@pytest.fixture(scope="module")
def earned(three):
    return cross_play(three, episodes=PAIRED)


def test_cross_play_with_oneself_is_playing(three, earned):
    together = play(
        three.task(), [three.policies("adversary"), three.policies("agent")], PAIRED, 0, deterministic=False
    )
    np.testing.assert_array_equal(earned.diagonal(), together.reward[..., 0].mean((1, 2)).double())


def test_cross_play_is_red_against_green(three, earned):
    assert len({*earned.flatten()}) > 5
    for red, green in ((0, 1), (2, 0)):
        pair = [three.policies("adversary", [red]), three.policies("agent", [green])]
        reward = play(three.task(), pair, PAIRED, 0, deterministic=False).reward
        assert earned[red, green] == pytest.approx(reward[..., 0].mean().item(), rel=1e-5)


def test_a_member_plays_against_every_green_one(three, earned):
    np.testing.assert_allclose(behaviours(three, episodes=SHARE * PAIRED)["cross_play"], earned, rtol=1e-6)


def test_cross_play_leaves_out_who_diverged(three, earned, tmp_path):
    found = cross_play(lose(copied(three, tmp_path / "run"), 1), episodes=PAIRED)
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()
    np.testing.assert_allclose(found[::2, ::2], earned[::2, ::2], rtol=1e-6)
