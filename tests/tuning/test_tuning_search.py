"""The two searches, on metrics that are known: what they find, what they spend, and what they say of it."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_bench import MadeUpBench

from dico.experiments import preset
from dico.tuning import Halving, Target, largest_diversity, maximize, meet
from dico.tuning.halving import stage_ends, within_frames

HALVING = Halving(2.0)


@pytest.mark.parametrize("peak", [0.3, 0.75, 1.0, 1.35, 2.0])
def test_the_peak_is_found_for_half_of_a_dense_sweep(peak):
    def curve(level):
        return 1 - (level - peak) ** 2

    bench = MadeUpBench(curve, free=0.0 if peak > 1 else 2.0)
    tuned = maximize(bench, HALVING)
    dense = max(curve(0.2 * k) for k in range(11))
    assert curve(float(tuned.level)) >= 0.95 * dense
    assert tuned.frames <= HALVING.frames(bench.config) <= tuned.dense_frames / 2
    assert tuned.low <= float(tuned.level) <= tuned.high


def test_all_that_the_verdict_compares_was_trained_for_as_long():
    tuned = maximize(bench := MadeUpBench(lambda level: level), HALVING)
    last = [trial for trial in tuned.history if trial.population == 3]
    assert {trial.frames for trial in last} == {bench.config.frames}
    assert (last[0].level, last[-1].level) == ("0", "free")
    assert set(tuned.answer.alike) <= {trial.level for trial in last}
    came_late = [trial for trial in tuned.history if trial.since is not None]
    assert {trial.population for trial in came_late} == {2}  # none after half of the training
    assert [asked[1] for asked in bench.asked] == [60_000, 120_000, 240_000]


def test_new_levels_take_over_from_the_leader():
    bench = MadeUpBench(lambda level: 1 - abs(level - 1.2))
    maximize(bench, HALVING)
    (first, _, _, _), (second, _, _, leader), _ = bench.asked
    assert leader == "1.2"
    assert set(second) - set(first) == {"1", "1.4"}
    assert {"0", "free", "1.2"} <= set(second)


def test_where_diversity_costs_the_answer_is_none():
    tuned = maximize(MadeUpBench(lambda level: 1 - level, free=0.8), HALVING)
    assert (tuned.level, tuned.outcome, tuned.low) == ("0", "homogeneous is enough", 0.0)
    assert tuned.answer.gain < 0


def test_where_nothing_matters_that_is_said():
    tuned = maximize(MadeUpBench(lambda level: 1.0, scatter=0.1), HALVING)
    assert tuned.outcome == "not separable"


def test_free_that_leads_is_followed_to_where_it_landed():
    bench = MadeUpBench(lambda level: level, free=2.7)
    tuned = maximize(bench, HALVING)
    assert "2.7" in bench.asked[1][0]
    assert float(tuned.level if tuned.level != "free" else "2.7") == 2.7


def test_a_budget_is_kept():
    config = preset("quick", "navigation", seeds=3)
    for budget in (500_000, 1_234_567, 10_000_000):
        fitted = within_frames(config, HALVING, budget)
        assert HALVING.frames(fitted) <= budget
        longer = replace(fitted, frames=fitted.frames + fitted.frames_per_batch)
        assert HALVING.frames(longer) > budget
    assert fitted.noise_frames > config.noise_frames  # what is counted in frames goes along
    with pytest.raises(ValueError, match="frames must be at least 414,000 for 3 seeds, got 10"):
        within_frames(config, HALVING, 10)
    with pytest.raises(ValueError, match="at least 24,000, four batches, got 6,000"):
        stage_ends(replace(config, frames=6_000))


def test_a_target_is_met_by_populations():
    bench = MadeUpBench(lambda level: level**2, scatter=0.005)
    tuned = meet(bench, Target(1.0, high=2.0))
    assert tuned.outcome == "converged"
    assert float(tuned.level) ** 2 == pytest.approx(1.0, abs=0.05)
    assert tuned.low <= float(tuned.level) <= tuned.high
    assert len(bench.asked) <= 3
    assert all(len(levels) <= 4 for levels, *_ in bench.asked)
    assert bench.asked[0][0] == ["0", "2", "1", "0.5"]
    told = tuned.to_json()
    assert told["level"] == float(tuned.level)
    assert told["gain"] > 0
    assert told["p_beats_free"] is None
    assert len(told["history"]) == sum(len(levels) for levels, *_ in bench.asked)


def test_seeds_that_scatter_are_joined_by_others():
    bench = MadeUpBench(lambda level: level, scatter=0.08)
    tuned = meet(bench, Target(1.0, high=2.0, evaluations=60))
    assert tuned.outcome == "converged"
    assert max(first for _, _, first, _ in bench.asked) >= bench.config.seeds


@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_the_range_of_a_target_holds_the_answer_and_mostly_the_truth(scatter):
    """Where the curve is the level itself, the true level is the target."""
    targets = np.linspace(0.4, 1.6, 40).tolist()
    found = [meet(MadeUpBench(lambda level: level, scatter=scatter), Target(target, high=2.0)) for target in targets]
    assert all(tuned.low <= float(tuned.level) <= tuned.high for tuned in found)
    held = [tuned.low <= target <= tuned.high for tuned, target in zip(found, targets, strict=True)]
    assert np.mean(held) >= 0.85
    assert np.mean([tuned.high - tuned.low for tuned in found]) < 0.8


def test_a_target_out_of_reach_is_told():
    tuned = meet(MadeUpBench(lambda level: level), Target(5.0, high=2.0))
    assert (tuned.outcome, tuned.level) == ("saturated", "2")
    assert tuned.to_json()["low"] is None


def test_how_much_diversity_there_is_room_for():
    assert largest_diversity(preset("quick", "dispersion")) == 2.27
    assert largest_diversity(preset("quick", "tag")) > 2
    with pytest.raises(ValueError, match="high must be given"):
        largest_diversity(preset("quick", "navigation", metric="hse"))
