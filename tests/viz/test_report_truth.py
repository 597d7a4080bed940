"""The page's data is true: of the checkpoint that there was, of lines that were lost, of one seed and of one level."""

import base64
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from folders import write_run
from report_runs import payload_of, report_fixtures, small_run, without_checkpoints

from dico.runs import RunError, load
from dico.viz.axis import axis_of
from dico.viz.limits import max_snd_limit
from dico.viz.page.numbers import numbers
from dico.viz.report import payload, write_report
from dico.viz.reproduce import about, command

run, _ = report_fixtures("report")


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_an_opened_run_keeps_the_checkpoint_that_there_was(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run.folder, folder)
    before = load(folder).read()
    expected = run.policies().state_dict()
    frames = run.newest.frames
    for checkpoint in folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)  # as a training does with old ones
    assert load(folder).checkpoints() == []
    assert before.newest.frames == frames
    kept = before.policies().state_dict()
    assert all(torch.equal(kept[name], value) for name, value in expected.items())
    found = payload([before])
    assert [len(found["runs"][0][part]) for part in ("episodes", "maps")] != [0, 0]
    assert len(found["runs"][0]["live"]["networks"]) == 6
    assert found["taken"] == f"Networks of seed 0, after {frames} frames."
    with pytest.raises(RunError, match=f"{folder} has no checkpoint yet"):
        load(folder).policies()


def test_a_lost_first_iteration_leaves_the_others(tmp_path):
    run = small_run(tmp_path / "run", snd=("0.5",), seeds=1, frames=160)
    rewards = run.metric("reward")[0]
    file = run.folder / "metrics.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(['{"torn\n', *lines[1:]]))
    with pytest.warns(UserWarning, match="line 1 is torn"), pytest.warns(UserWarning, match="was changed since"):
        (shown,) = payload([load(run.folder)])["runs"]
    assert floats(shown["frames"]).tolist() == [80, 120, 160]
    curve = shown["curves"]["reward"]["0.5"]
    np.testing.assert_allclose(floats(curve["centre"]), rewards[1:], rtol=1e-6)
    assert len(floats(curve["seeds"][0])) == 3


def test_numbers_that_are_none_in_the_machines_description(run, tmp_path):
    odd = without_checkpoints(run, tmp_path / "odd")
    (odd.folder / "machine.json").write_text('{"cores": 2, "clocks": [NaN, 3.5], "memory": Infinity}')
    assert payload_of(write_report(odd))["runs"][0]["machine"] == {"cores": 2, "clocks": [None, 3.5], "memory": None}


def session_of(run, **session):
    return replace(run, session=session)


def test_what_the_command_does_is_said_truly(run):
    assert "every setting written out" in about(run)
    assert "Python program" in about(session_of(run, command=None))
    assert command(run.config, {"command": None}) is None
    assert "all members again" in about(session_of(run, command="python -m some -m seed=0,1"))
    assert "first member" in about(replace(session_of(run, command="some"), members=run.members[:5]))
    assert about(replace(session_of(run, command="some"), members=run.members[:1])) == "The command that trained it."


def test_sentences_are_true_of_one_seed_and_one_level(tmp_path):
    run = write_run(
        tmp_path / "run", lambda level, seed, iteration: {"reward": 1.0, "snd": 0.5, "diverged": level == ">=0.3"},
        snd=("0.5", ">=0.3"), seeds=1, frames=12_000,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="diverged"):
        found = payload([run])
    assert "standard deviation" not in found["footer"]
    assert found["statistic"]["curves"].endswith("Dashed: the desired values.")
    assert found["notes"][0] == "Diverged and left out of all numbers: ≥ 0.3 (seed 0)."
    alone = write_run(tmp_path / "alone", lambda *_: {"reward": 1.0, "snd": 0.5}, snd=("free",), frames=12_000)
    found = payload([alone])
    assert found["runs"][0]["best"] is None
    assert "ashed" not in found["statistic"]["curves"]


def test_times_say_of_whom_they_are(tmp_path):
    together = write_run(tmp_path / "a", lambda *_: {"reward": 1.0, "snd": 0.5, "seconds": 2.0}, frames=12_000)
    assert payload([together])["runs"][0]["took"] == "4 s of training, all members together"
    apart = write_run(
        tmp_path / "b", lambda level, seed, _: {"reward": 1.0, "snd": 0.5, "seconds": 2.0 + seed}, frames=12_000
    )
    assert payload([apart])["runs"][0]["took"] == "5 s of training for each member"


def test_episodes_are_shown_whole(tmp_path):
    run = small_run(tmp_path / "run", snd=("2.8",), seeds=1, frames=40)  # untrained: the agents run away
    (shown,) = payload([load(run.folder)])["runs"]
    (episode,) = shown["episodes"]
    (left, right, _, _), (narrow, wide, _, _) = episode["extent"], shown["maps"]["extent"]
    assert left < narrow
    assert right > wide
    assert shown["under"]["extent"] == episode["extent"]
    assert shown["key"] == ["rings: goal", "discs: agent"]


def test_the_slider_stays_where_precision_was_checked(run):
    live = payload([run])["runs"][0]["live"]["networks"]
    for network in live:
        trained = run.policy(network["level"], network["seed"])
        desired = trained.constraint(trained.snd_hat).item()
        assert network["reach"] == pytest.approx(max(8**0.5, 1.2 * desired))


def test_a_limit_known_only_within_bounds_is_said_so(run):
    clamped = {**run.groups[0], "kind": "deterministic"}
    many = replace(run, groups=({**clamped, "n_agents": 41, "low": [-1.0] * 7, "high": [1.0] * 7},))
    limit = max_snd_limit(many)
    assert limit is not None
    assert not limit.exact
    shown = numbers(many, "mean", axis_of([many]))
    assert shown["maximum"] == limit.value
    assert shown["bound"] == limit.upper_bound


def test_a_lone_agent_has_no_limit(run):
    clamped = {**run.groups[0], "kind": "deterministic"}
    limit = max_snd_limit(replace(run, groups=(clamped,)))
    assert limit is not None
    assert limit.value == pytest.approx(8**0.5)
    assert max_snd_limit(replace(run, groups=({**clamped, "n_agents": 1},))) is None
    assert max_snd_limit(replace(run, groups=(clamped,), config={**run.config, "metric": "hse"})) is None
    assert max_snd_limit(run) is None  # stochastic


def test_the_page_says_what_the_seeds_leave_open(tmp_path):
    def rewards(level, seed, _):
        return {"reward": {"0": 0.0, ">=0.3": 1.0, "1": 1.01}[level] + 0.1 * seed, "snd": 1.0}

    run = write_run(tmp_path / "run", rewards, snd=("0", ">=0.3", "1"), seeds=4, frames=12_000)
    told = payload([run])["runs"][0]["answer"]
    assert told.startswith("Diversity pays in navigation: SND ≥ 0.3 and 1 cannot be told apart; the highest has +1.01 ")
    assert payload([run], "iqm")["runs"][0]["answer"] == ""
    few = write_run(tmp_path / "few", rewards, snd=("0", "1"), seeds=2, frames=12_000)
    assert (
        payload([few])["runs"][0]["answer"] == "In navigation, fewer than three seeds cannot tell which level is best."
    )
