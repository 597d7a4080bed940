"""Statistics over run folders against values worked out by hand."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from folders import trained, write_run

from dico.analysis import (
    aggregate,
    best_level,
    check_comparable,
    curves,
    diverged,
    final,
    frames,
    interquartile_mean,
    levels,
    range_of,
    relative_error,
    summary,
    tracking_error,
    wall_seconds,
)
from dico.runs import RunError, load

nan = math.nan


def steady(level, seed, iteration):
    """Reward 10 x level + seed; SND a tenth above what is desired."""
    desired = 1.0 if level == "free" else float(level)
    return {"reward": 10 * desired + seed, "snd": 1.1 * desired, "action_bound_violation": 0.0}


def test_levels_are_in_order_of_diversity_with_free_last(tmp_path):
    snd = ("free", "1", ">=0.3", "0", "<=0.5", "0.2..0.5", "0.1")
    run = write_run(tmp_path / "run", lambda *_: {"reward": 0.0}, snd=snd, frames=6000)
    assert levels(run) == ["0", "0.1", ">=0.3", "0.2..0.5", "<=0.5", "1", "free"]


def test_mean_and_standard_deviation():
    band = aggregate(np.array([[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]]))
    np.testing.assert_allclose(band.centre, [4, 5])
    spread = math.sqrt((9 + 1 + 16) / 2)
    np.testing.assert_allclose(band.high - band.centre, [spread, 0])
    np.testing.assert_allclose(band.centre - band.low, [spread, 0])


def test_interquartile_mean_is_the_mean_of_the_middle_half():
    values = np.array([100.0, 1, 2, 3, 4, 5, 6, -50])  # sorted: -50 1 2 3 4 5 6 100
    assert interquartile_mean(values) == np.mean([2, 3, 4, 5])
    assert interquartile_mean(np.array([1.0, 2, 6])) == 3  # a quarter of three, rounded down, is nothing
    assert interquartile_mean(np.array([nan, 1, 2, 3, 100])) == 2.5


def test_the_bootstrap_interval_is_that_of_all_resamples():
    """For three seeds there are 27 samples; the drawn ones must have their percentiles."""
    seeds = np.array([0.0, 3.0, 9.0])
    every = np.sort([np.mean(sample) for sample in itertools.product(seeds, repeat=3)])
    band = aggregate(seeds, "iqm")
    assert band.centre == 4
    assert band.low == every[0]  # 1 in 27 is more than 2.5 %
    assert band.high == every[-1]


def test_a_longer_bootstrap_in_parts_is_the_same_every_time(monkeypatch):
    values = np.random.default_rng(0).normal(size=(5, 30))
    once, again = aggregate(values, "iqm"), aggregate(values, "iqm")
    monkeypatch.setattr("dico.analysis.statistics.BOOTSTRAP_NUMBERS", 10_000)
    parts = aggregate(values, "iqm")
    for one, other in ((once, again), (once, parts)):
        np.testing.assert_array_equal(one.low, other.low)
        np.testing.assert_array_equal(one.high, other.high)
    assert (once.low <= once.centre).all()
    assert (once.centre <= once.high).all()


@pytest.mark.parametrize("stat", ["mean", "iqm"])
@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_have_no_interval(stat, seeds):
    band = aggregate(np.array([[1.0, 2.0]] * seeds), stat)
    np.testing.assert_array_equal(band.centre, [1, 2])
    assert np.isnan(band.low).all()
    assert not band.has_interval


@pytest.mark.parametrize("stat", ["mean", "iqm"])
def test_missing_values_are_left_out(stat):
    band = aggregate(np.array([[1.0, nan, nan], [3.0, 4.0, nan], [2.0, 4.0, nan]]), stat)
    np.testing.assert_array_equal(band.centre, [2, 4, nan])
    np.testing.assert_array_equal(np.isfinite(band.low), [True, False, False])


def test_what_lies_between_bounds_has_no_interval_beyond():
    band = aggregate(np.array([[0.0, 0.5], [0.1, 1.0], [1.0, 1.0]]))
    assert band.low[0] < 0
    assert band.high[1] > 1
    shares, rewards = (band.within(*range_of(metric)) for metric in ("success", "reward"))
    np.testing.assert_array_equal(shares.low, [0, band.low[1]])
    np.testing.assert_array_equal(shares.high, [band.high[0], 1])
    np.testing.assert_array_equal(rewards.low, band.low)
    np.testing.assert_array_equal(band.within(*range_of("snd")).high, band.high)


def test_an_unknown_statistic_says_which_there_are():
    with pytest.raises(ValueError, match="stat must be one of 'mean', 'iqm', got 'man'; did you mean 'mean'"):
        aggregate(np.zeros(3), "man")


def test_final_is_the_mean_over_the_last_tenth(tmp_path):
    run = write_run(tmp_path / "run", lambda level, seed, i: {"reward": float(i)}, frames=120_000)  # 20 iterations
    np.testing.assert_allclose(final(run, "reward"), 19.5)
    np.testing.assert_array_equal(frames(run)[:2], [6000, 12000])


def test_relative_error_of_every_kind_of_constraint():
    measured = np.array([0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(relative_error(measured, "0.5"), [1, 0.5, 0, 1])
    np.testing.assert_allclose(relative_error(measured, ">=0.5"), [1, 0.5, 0, 0])
    np.testing.assert_allclose(relative_error(measured, "<=0.5"), [0, 0, 0, 1])
    np.testing.assert_allclose(relative_error(measured, "0.25..0.5"), [1, 0, 0, 1])
    np.testing.assert_allclose(relative_error(measured, "0"), measured)


def test_summary_of_each_level(tmp_path):
    run = write_run(tmp_path / "run", steady, seeds=3)
    nought, half, free = summary(run)
    assert [each.level for each in (nought, half, free)] == ["0", "0.5", "free"]
    assert (half.seeds, half.diverged) == (3, 0)
    assert half.reward.centre == pytest.approx(6)
    assert half.reward.high - half.reward.centre == pytest.approx(1)
    assert half.snd.centre == pytest.approx(0.55)
    assert half.tracking_error.centre == pytest.approx(0.1)
    assert nought.tracking_error.centre == pytest.approx(0)
    assert np.isnan(free.tracking_error.centre)
    assert best_level(run) == "free"


def test_members_that_diverged_are_left_out_and_counted(tmp_path):
    def values(level, seed, iteration):
        if level == "0.5" and (seed == 0 or seed == 1) and iteration > 3:
            return {"reward": None, "snd": None, "action_bound_violation": 0.0, "diverged": True}
        return steady(level, seed, iteration)

    run = write_run(tmp_path / "run", values, seeds=3)
    half = summary(run)[1]
    assert (half.seeds, half.diverged) == (1, 2)
    assert half.reward.centre == 7
    assert not half.reward.has_interval
    assert diverged(run).sum() == 2
    assert np.isnan(curves(run, "reward")[diverged(run)]).all()
    assert np.isnan(tracking_error(run)[diverged(run)]).all()


def test_a_run_whose_members_all_diverged_has_no_best_level(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: {"reward": None, "snd": None, "diverged": True})
    assert best_level(run) is None
    assert [each.seeds for each in summary(run, "iqm")] == [0, 0, 0]


def test_a_run_without_metrics_says_so(tmp_path):
    run = write_run(tmp_path / "run", lambda *_: None)
    with pytest.raises(RunError, match="has no metrics yet: look again when its first iteration is done"):
        summary(run)
    (run.folder / "metrics.jsonl").unlink()
    with pytest.raises(RunError, match="has no metrics yet"):
        final(load(run.folder), "reward")


def test_a_torn_line_is_left_out(tmp_path):
    run = write_run(tmp_path / "run", steady)
    whole = summary(run)
    with (run.folder / "metrics.jsonl").open("a") as lines:
        lines.write('{"member": 0, "constr')
    with pytest.warns(UserWarning, match="is torn and left out"):
        assert summary(load(run.folder))[1].reward.centre == whole[1].reward.centre


def test_runs_of_different_tasks_are_not_compared(tmp_path):
    runs = [write_run(tmp_path / task, steady, task=task) for task in ("navigation", "same-goal")]
    check_comparable(runs[:1] * 2)
    message = f"must have the same task, got {runs[0].folder}: navigation, {runs[1].folder}: same-goal"
    with pytest.raises(RunError, match=re.escape(message)):
        check_comparable(runs)


def test_settings_written_out_are_those_left_alone(tmp_path):
    """As BenchMARL's runs have them, which write every option."""
    options = {"plain": (), "full": ("n_agents=2", "horizon=100", "final_reward=0.01"), "other": ("n_agents=3",)}
    runs = {name: write_run(tmp_path / name, steady, task_options=each) for name, each in options.items()}
    check_comparable([runs["plain"], runs["full"]])
    with pytest.raises(
        RunError, match=r"must have the same task, got .*plain: navigation, .*other: navigation n_agents"
    ):
        check_comparable([runs["plain"], runs["other"]])
    unknown = [replace(run, config={**run.config, "task": "gone"}) for run in runs.values()]
    check_comparable(unknown[:1] * 2)
    with pytest.raises(RunError, match="gone n_agents=3"):
        check_comparable(unknown)


def test_lines_that_lack_a_metric_are_nan(tmp_path):
    """As in a run that an older version began."""
    run = write_run(tmp_path / "run", lambda level, seed, i: {"reward": 1.0} | ({"distances": [0.5]} if i > 2 else {}))
    distances = run.metric("distances")
    assert distances.shape == (6, 40, 1)
    assert distances[:, :2].isnan().all()
    assert (distances[:, 2:] == 0.5).all()
    with pytest.raises(ValueError, match="got 'distance'; did you mean 'distances'"):
        run.metric("distance")


@pytest.mark.parametrize(
    "line", [b"5", b"{}", b"[1]", b"null", b"\xff\xfe", b'{"member": 0}', b'{"member": "0", "iteration": 1}']
)
def test_a_line_that_is_no_row_is_left_out(tmp_path, line):
    run = write_run(tmp_path / "run", steady)
    whole = summary(run)
    path = run.folder / "metrics.jsonl"
    path.write_bytes(line + b"\n" + path.read_bytes())
    with pytest.warns(UserWarning, match="line 1 is (torn and )?left out"):
        assert summary(load(run.folder))[1].reward.centre == whole[1].reward.centre


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_wall_seconds_count_an_iteration_of_members_and_groups_once(tmp_path):
    """And those of members that were trained one by one each; a run that does not say has none."""
    together = write_run(tmp_path / "together", lambda *_: {"reward": 0.0, "seconds": 2.5}, frames=18000)
    iterations = max(row["iteration"] for row in together.rows())
    assert iterations > 1
    assert wall_seconds(together) == 2.5 * iterations
    groups = trained("tag")
    assert wall_seconds(groups) == pytest.approx(groups.metric("seconds", "adversary")[0].sum().item())
    one_by_one = write_run(
        tmp_path / "single", lambda level, seed, k: {"reward": 0.0, "seconds": 1.0 + seed}, snd=("1",), seeds=2
    )
    iterations = max(row["iteration"] for row in one_by_one.rows())
    assert wall_seconds(one_by_one) == (1 + 2) * iterations
    assert math.isnan(wall_seconds(write_run(tmp_path / "silent", lambda *_: {"reward": 0.0}, frames=6000)))
