"""The closed loop: the paper's, step by step, and the safeguarded one on curves of every kind."""

import math
import random
from statistics import median

import numpy as np
import pytest
import torch

import dico
from dico.control import _Seen, closed_loop, closed_loop_in_batches

INSTANCES = 50
HIGH = 2.0
TOLERANCE = 0.05


def last_of(evaluate, target, **options):
    *_, last = closed_loop(evaluate, target, tolerance=TOLERANCE, high=HIGH, **options)
    return last


def test_it_is_a_public_name_that_needs_nothing():
    assert dico.closed_loop is closed_loop


@pytest.mark.parametrize("method", ["safeguarded", "pid"])
@pytest.mark.parametrize(
    "given",
    [torch.tensor, np.float32, lambda x: torch.tensor([x]), lambda x: np.array([x]), lambda x: (y for y in (x,))],
    ids=["tensor", "float32", "tensors", "array", "generator"],
)
def test_a_metric_may_be_a_number_of_any_library(given, method):
    plain = last_of(lambda x: 1 - x / 4, 0.7, method=method, gains=(-2.0, 0.0, 0.0))
    last = last_of(lambda x: given(1 - x / 4), torch.tensor(0.7), method=method, gains=(-2.0, 0.0, 0.0))
    assert (last.number, last.outcome) == (plain.number, plain.outcome)
    assert last.answer == pytest.approx(plain.answer)


@pytest.mark.parametrize("given", [None, "much", [None]], ids=str)
def test_what_is_no_number_is_told(given):
    with pytest.raises(ValueError, match="evaluate must give a number or several, one for each seed, got"):
        last_of(lambda _: given, 0.5)


def test_pid_is_the_papers_algorithm_step_by_step():
    """M(x) = 1 - x / 4, target 0.5; by hand: e, its change and its sum, and the level that follows."""
    steps = closed_loop(lambda x: 1 - x / 4, 0.5, method="pid", gains=(-1.0, -0.5, -0.25), initial=1.0, tolerance=0.02)
    found = [next(steps) for _ in range(3)]
    # x = 1:       e = -0.25,        de = -0.25,       sum = -0.25        -> 0.25 + 0.125 + 0.0625 = 0.4375
    # x = 0.4375:  e = -0.390625,    de = -0.140625,   sum = -0.640625    -> 0.390625 + 0.0703125 + 0.16015625
    # x = 0.62109375: e = -0.3447265625
    assert [step.level for step in found] == [1.0, 0.4375, 0.62109375]
    assert [step.error for step in found] == [-0.25, -0.390625, -0.3447265625]


def test_pid_ends_within_the_tolerance_and_not_at_it():
    values = iter([0.5, 0.75, 0.8125])
    *_, last = closed_loop(lambda _: next(values), 1.0, method="pid", tolerance=0.25)
    assert (last.number, last.outcome, last.error) == (3, "converged", 0.1875)


def test_pid_forgets_where_it_began_and_never_goes_below_zero():
    def second(initial):
        steps = closed_loop(lambda _: 0.25, 1.0, method="pid", initial=initial)
        return [next(steps).level for _ in range(2)][1]

    assert second(0.0) == second(7.0) == 0.75
    steps = closed_loop(lambda _: 2.0, 1.0, method="pid")
    assert [next(steps).level for _ in range(3)] == [0.0, 0.0, 0.0]


def test_pid_means_over_seeds_and_stops_when_told_to():
    *_, last = closed_loop(lambda x: (x, x + 0.5), 10.0, method="pid", evaluations=4, gains=(0.5, 0, 0))
    assert (last.number, last.outcome) == (4, "exhausted")
    assert last.values == (last.level, last.level + 0.5)
    assert last.error == 10.0 - (last.level + 0.25)


def test_pid_answers_with_the_level_at_which_it_converged():
    """The interval of the last level is wide and that of the first is narrow, but means are all that PID looks at."""
    values = iter([(0.4, 0.41, 0.42), (0.2, 0.5, 0.8)])
    *_, last = closed_loop(lambda _: next(values), 0.5, method="pid", tolerance=0.05, initial=1.0)
    assert (last.outcome, last.answer) == ("converged", last.level)
    again = iter([0.2, 0.9, 0.48])
    *_, last = closed_loop(lambda _: next(again), 0.5, method="pid", tolerance=0.05, gains=(0.0, 0.0, 0.0))
    assert (last.outcome, last.answer, last.level) == ("converged", 0.0, 0.0)


def test_pid_that_runs_away_says_so():
    with pytest.raises(ValueError, match="not finite: take smaller ones"):
        list(closed_loop(lambda _: 0.0, 5.0, method="pid", gains=(1e308, 0.0, 0.0)))


def increasing(draw):
    power, gain = draw.uniform(0.4, 3), draw.uniform(0.5, 2)
    return lambda x: gain * (x / HIGH) ** power


def decreasing(draw):
    rising, top = increasing(draw), draw.uniform(0, 2)
    return lambda x: top - rising(x)


def steep(draw):
    middle, slope, sign = draw.uniform(0.2, 1.8), draw.uniform(20, 100), draw.choice([-1, 1])
    return lambda x: sign / (1 + math.exp(-slope * (x - middle)))


def flat_then_steep(draw):
    knee, slope = draw.uniform(1.0, 1.9), draw.uniform(5, 20)
    return lambda x: max(0.0, x - knee) * slope


def noisy(draw):
    """Four seeds that scatter by half of what is tolerated, about a rising or falling curve."""
    curve = draw.choice([increasing, decreasing])(draw)
    return lambda x: [curve(x) + draw.gauss(0, TOLERANCE / 2) for _ in range(4)]


def few_seeds(draw):
    """The same with one seed or two, which tell no interval."""
    curve, seeds = draw.choice([increasing, decreasing])(draw), draw.choice([1, 2])
    return lambda x: [curve(x) + draw.gauss(0, TOLERANCE / 2) for _ in range(seeds)]


def hump(draw):
    """It rises and falls: the ends tell nothing of what lies between."""
    peak, width = draw.uniform(0.5, 1.5), draw.uniform(0.3, 0.6)
    return lambda x: math.exp(-(((x - peak) / width) ** 2))


@pytest.mark.parametrize("at_once", [1, 4], ids=["alone", "together"])
@pytest.mark.parametrize(
    ("kind", "alone", "together"),
    [(increasing, 6, 4), (decreasing, 6, 4), (steep, 10, 6), (flat_then_steep, 7, 5), (noisy, 6, 3), (hump, 7, 4)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_safeguarded_loop_converges(kind, alone, together, at_once):
    """On fifty curves of every kind; the median of evaluations one by one, and of batches of four, is as measured."""
    batches = []
    for seed in range(INSTANCES):
        draw = random.Random(seed)
        curve = kind(draw)
        truth = _truth(kind, seed)
        lowest, highest = min(truth), max(truth)
        target = lowest + draw.uniform(0.2, 0.8) * (highest - lowest)
        found = list(
            closed_loop_in_batches(
                lambda levels, curve=curve: [curve(level) for level in levels], target, at_once=at_once,
                tolerance=TOLERANCE, high=HIGH, evaluations=60,
            )
        )  # fmt: skip
        last = found[-1][-1]
        assert last.outcome == "converged", seed
        assert all(len(steps) <= at_once for steps in found)
        levels = [step.level for steps in found for step in steps]
        assert last.answer in levels
        assert all(0 <= level <= HIGH for level in levels)
        assert abs(_truth(kind, seed, [last.answer])[0] - target) <= TOLERANCE * (1.5 if kind is noisy else 1)
        batches.append(len(found))
    assert median(batches) <= (alone if at_once == 1 else together)


@pytest.mark.parametrize("at_once", [1, 4], ids=["alone", "together"])
def test_one_seed_or_two_converge_no_sooner_than_they_tell(at_once):
    """While the mean of one or two decided, every tenth answer was wrong."""
    numbers, right, converged = [], 0, 0
    for seed in range(200):
        draw = random.Random(seed)
        curve = few_seeds(draw)
        truth = _truth(few_seeds, seed)
        target = min(truth) + draw.uniform(0.2, 0.8) * (max(truth) - min(truth))
        *_, (*_, last) = closed_loop_in_batches(
            lambda levels, curve=curve: [curve(level) for level in levels], target, at_once=at_once,
            tolerance=TOLERANCE, high=HIGH, evaluations=60,
        )  # fmt: skip
        converged += last.outcome == "converged"
        right += abs(_truth(few_seeds, seed, [last.answer])[0] - target) <= TOLERANCE
        numbers.append(last.number)
    assert converged >= 195
    assert right >= 0.97 * converged
    assert median(numbers) <= (8 if at_once == 1 else 13)


def _truth(kind, seed, levels=None):
    """The curve without its noise."""
    draw = random.Random(seed)
    curve = draw.choice([increasing, decreasing])(draw) if kind in (noisy, few_seeds) else kind(draw)
    return [curve(level) for level in (levels or [HIGH * k / 400 for k in range(401)])]


@pytest.mark.parametrize("kind", [increasing, decreasing, steep, flat_then_steep, hump])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_target_out_of_reach_is_told_with_the_nearest_level(kind, side):
    for seed in range(INSTANCES):
        curve = kind(random.Random(seed))
        truth = _truth(kind, seed)
        target = max(truth) + 0.2 if side > 0 else min(truth) - 0.2
        last = last_of(curve, target)
        assert last.outcome == "saturated"
        assert last.number <= 9
        gaps = [abs(curve(HIGH * k / 4) - target) for k in range(5)]
        assert abs(curve(last.answer) - target) <= min(gaps)


def test_a_peak_between_the_levels_of_the_scan_is_found():
    last = last_of(lambda x: 1 - abs(x - 0.8), 0.92)
    assert last.outcome == "converged"
    assert 1 - abs(last.answer - 0.8) == pytest.approx(0.92, abs=TOLERANCE)


def test_the_lowest_of_several_crossings_is_taken():
    last = last_of(lambda x: math.sin(math.pi * x), 0.5)
    assert last.outcome == "converged"
    assert last.answer < 0.5


def test_means_near_enough_are_not_enough_while_seeds_scatter():
    """At the first level asked for the mean is on the target, but the seeds are far apart: it is asked for again."""
    draw, asked = random.Random(0), []

    def evaluate(level):
        asked.append(level)
        return [0.5 + draw.gauss(0, 0.1) for _ in range(3)]

    *_, last = closed_loop(evaluate, 0.5, tolerance=0.05, evaluations=60)
    assert last.outcome == "converged"
    assert last.number > 3
    assert len(set(asked)) < len(asked)


def test_a_level_is_asked_for_again_until_its_values_tell():
    """Two, alike or not, are joined by a third; three alike leave nothing to chance."""
    steady = [step.level for step in closed_loop(lambda level: level, 0.5, tolerance=0.05, high=1.0)]
    assert steady == [0.0, 1.0, 0.5, 0.5, 0.5]
    values = iter([0.0, 1.0, 0.5, 0.501, 0.502])
    noisy_steps = list(closed_loop(lambda _: next(values), 0.5, tolerance=0.05, high=1.0))
    assert [step.level for step in noisy_steps] == [0.0, 1.0, 0.5, 0.5, 0.5]
    assert noisy_steps[-1].outcome == "converged"


def test_two_coarse_values_that_agree_are_chance():
    """Successes of few episodes: half of them, half of them again, and then all."""
    values = iter([0.0, 1.0, 0.5, 0.5, 1.0])
    steps = list(closed_loop(lambda _: next(values), 0.5, tolerance=0.05, high=1.0, evaluations=5))
    assert [step.level for step in steps] == [0.0, 1.0, 0.5, 0.5, 0.5]
    assert steps[-1].outcome == "exhausted"


def test_a_value_that_comes_again_among_others_counts():
    """It is no sign of the same seeds: the level is asked for until enough is known."""
    seen = _Seen(0.5, 0.05)
    for value in (0.4, 0.5, 0.5):
        seen.add(1.0, (value,))
    assert (seen.values[1.0], seen.dry) == ((0.4, 0.5, 0.5), set())


def test_success_rates_of_few_episodes_seldom_mislead():
    """Of 20 episodes and one seed: with two alike taken for exact, every third answer was wrong, now every eighth."""
    right = converged = 0
    for seed in range(400):
        draw = random.Random(seed)
        power, target = draw.uniform(0.4, 3), draw.uniform(0.2, 0.8)

        def rate(level, draw=draw, power=power):
            return sum(draw.random() < (level / HIGH) ** power for _ in range(20)) / 20

        last = last_of(rate, target, evaluations=60)
        converged += last.outcome == "converged"
        right += last.outcome == "converged" and abs((last.answer / HIGH) ** power - target) <= TOLERANCE
    assert converged >= 150
    assert right >= 0.85 * converged


def test_the_answer_meets_the_target_though_another_mean_is_nearer():
    """0 is known to be within the tolerance; 1, evaluated once, may only seem to be nearer."""
    seen = _Seen(0.5, 0.05)
    seen.add(0.0, (0.49, 0.5, 0.48))
    seen.add(1.0, (0.5001,))
    assert (seen.meets(0.0), seen.meets(1.0), seen.nearest()) == (True, False, 0.0)


def test_the_same_seeds_again_are_not_more_evidence():
    *_, last = closed_loop(lambda level: [level - 0.3, level, level + 0.3], 1.0, tolerance=0.05, evaluations=30)
    assert last.outcome == "exhausted"
    assert last.answer == pytest.approx(1.0, abs=0.05)


def test_seeds_that_diverged_do_not_count():
    *_, last = closed_loop(lambda level: [level, math.nan], 1.0)
    assert last.values == (last.answer,)
    with pytest.raises(ValueError, match="finite number at every level"):
        list(closed_loop(lambda _: math.nan, 1.0))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "pdi"}, "method must be one of 'safeguarded', 'pid', got 'pdi'"),
        ({"tolerance": 0}, "tolerance must be a finite number above 0, got 0"),
        ({"high": math.inf}, "high must be a finite number above 0, got inf"),
        ({"evaluations": 0}, "evaluations must be a whole number from 1 up, got 0"),
        ({"scan": 1}, "scan must be a whole number from 2 up, got 1"),
        ({"initial": -1}, "initial must be a diversity"),
        ({"gains": (1, math.nan, 0)}, "gains must be three finite numbers"),
    ],
)
def test_bad_input_is_told_before_anything_is_evaluated(options, said):
    with pytest.raises(ValueError, match=said):
        closed_loop(lambda _: pytest.fail("evaluated"), 0.5, **options)


def test_a_target_is_a_number():
    with pytest.raises(ValueError, match="target must be a finite number, got nan"):
        closed_loop(abs, math.nan)


def test_breaking_out_costs_no_further_evaluation():
    asked = []
    for step in closed_loop(lambda level: asked.append(level) or level, target=0.9):
        if abs(step.error) < 1.0:
            break
    assert asked == [0.0]


def test_the_same_seeds_again_are_no_proof_and_are_not_asked_a_third_time():
    asked = []

    def evaluate(level):
        asked.append(level)
        return level - 0.04, level + 0.04  # two seeds, always the same

    *_, last = closed_loop(evaluate, target=0.5, high=1.0)
    assert last.outcome == "exhausted"
    assert max(asked.count(level) for level in asked) == 2
