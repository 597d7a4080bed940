"""Which diversity, and does it pay: intervals that cover the truth as often as they say, whoever leads."""

from functools import cache

import numpy as np
import pytest
from folders import write_run
from hypothesis import given
from hypothesis import strategies as st
from made_up import made_up

from dico.analysis import answer, answer_of, best_in_words, sentences
from dico.analysis.gain import in_digits
from dico.runs import load

SWEEPS = 200
LEVELS = ("0", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "free")
CURVES = {
    "nothing matters": np.zeros(8),
    "one is best": np.array([0.0, 1.0, 2.0, 6.0, 2.0, 1.0, 0.0, -1.0]),
    "several are best": np.array([0.0, 1.0, 2.0, 3.0, 3.0, 3.0, 2.0, 0.0]),
    "diversity costs": np.array([0.0, -0.5, -1.0, -2.0, -3.0, -4.0, -5.0, -5.0]),
}


@cache  # several tests look at the same ones
def sweeps(name, seeds, narrowest=1.0, widest=1.0):
    """The answers of made-up sweeps of known means: each level's seeds scatter by 1, or by more from level to level."""
    draw = np.random.default_rng(7)
    curve, wide = CURVES[name], np.linspace(narrowest, widest, len(LEVELS))
    noise = (wide[:, None] * draw.standard_normal((len(curve), seeds)) for _ in range(SWEEPS))
    return [answer(dict(zip(LEVELS, curve[:, None] + each, strict=True))) for each in noise]


@pytest.mark.parametrize(("name", "seeds"), [*((name, 4) for name in CURVES), ("several are best", 6)])
def test_the_gains_interval_covers_the_truth_as_often_as_it_says(name, seeds):
    curve = CURVES[name]
    truth = curve[1:].max() - curve[0]
    covered = np.mean([found.gain_low <= truth <= found.gain_high for found in sweeps(name, seeds)])
    assert 0.90 <= covered <= 0.99


def test_and_where_some_levels_scatter_more_than_others():
    found = sweeps("several are best", 5, narrowest=0.3, widest=2.0)
    assert 0.90 <= np.mean([each.gain_low <= 3.0 <= each.gain_high for each in found]) <= 0.99


def test_the_best_of_many_alike_is_not_believed():
    """Of eight levels that are all alike one always leads: by more than 0, which a bare difference would believe."""
    found = sweeps("nothing matters", 4)
    assert np.mean([each.gain > 0 for each in found]) > 0.8
    assert np.mean([each.outcome == "diversity pays" for each in found]) < 0.05
    assert np.mean([each.outcome == "not separable" for each in found]) > 0.85
    sure = np.array([each.p_beats_homogeneous for each in found])
    assert np.mean(sure > 0.95) < 0.08  # so sure of what is not in 5 of 100
    assert 0.35 < np.median(sure) < 0.65


@pytest.mark.parametrize("name", ["one is best", "several are best"])
def test_the_truly_best_is_among_those_that_cannot_be_told_apart(name):
    best = set(np.array(LEVELS)[CURVES[name] == CURVES[name].max()])
    found = sweeps(name, 4)
    for level in best:
        assert np.mean([level in each.alike for each in found]) > 0.9
    assert np.mean([each.outcome == "diversity pays" for each in found]) > 0.6


def test_where_diversity_costs_homogeneous_is_enough():
    found = sweeps("diversity costs", 4)
    assert np.mean([each.outcome == "homogeneous is enough" for each in found]) > 0.9
    assert np.mean([each.low == 0.0 for each in found]) > 0.95
    assert np.median([each.p_beats_homogeneous for each in found]) < 0.5


def test_a_gain_that_is_surely_next_to_nothing_is_none():
    rng = np.random.default_rng(0)
    alike = {level: 1 + 0.01 * rng.normal(size=5) for level in ("0", "0.5", "1", "free")}
    found = answer(alike)
    assert set(found.alike) == set(alike)
    assert (found.outcome, found.gain_high < 0.05) == ("homogeneous is enough", True)
    nothing = answer({"0": np.zeros(4), "1": np.array([0, 0, 1e-3, 2e-3])})
    assert nothing.outcome == "not separable"
    unsure = answer({level: 1 + 10 * (values - 1) for level, values in alike.items()})
    assert (unsure.outcome, unsure.gain_high > 0.05) == ("not separable", True)


def test_what_it_says_of_clear_numbers():
    found = answer({
        "0": np.array([1.0, 1.1, 0.9, 1.0]), "0.3": np.array([2.0, 2.1, 1.9, 2.0]),
        "1": np.array([2.05, 2.1, 1.9, 2.0]), "free": np.array([1.5, 1.4, 1.6, 1.5]),
    })  # fmt: skip
    assert (found.outcome, found.level, found.alike) == ("diversity pays", "1", ("0.3", "1"))
    assert (found.low, found.high) == (0.3, 1.0)
    assert found.gain == pytest.approx(1.0125)
    assert 0 < found.gain_low < 1.0 < found.gain_high
    assert found.p_beats_free > 0.99
    assert found.p_beats_homogeneous > 0.99
    told = found.to_json()
    assert told["level"] == 1.0
    assert told["alike"] == [0.3, 1.0]
    assert sentences(found)[0] == "0.3 and 1 cannot be told apart (4 seeds, 95 %)"
    assert best_in_words(found, lambda level: f"<{level}>") == "<0.3> and <1> cannot be told apart"
    assert "diversity pays: the best diversity has +1.01 reward" in sentences(found)[1]


def test_a_best_level_is_named_only_if_it_is_told_apart_from_all_others():
    for found in sweeps("one is best", 4):
        assert (found.best == found.level) == (len(found.alike) == 1)
        assert ("best: " in best_in_words(found)) == ("best: " in sentences(found)[0]) == (found.best is not None)
    nothing = next(found for found in sweeps("nothing matters", 4) if found.outcome == "not separable")
    assert (nothing.best, best_in_words(nothing)) == (None, "no level can be told from another")
    some = next(found for found in sweeps("several are best", 4) if 3 < len(found.alike) < len(LEVELS))
    assert best_in_words(some) == f"{len(some.alike)} levels cannot be told apart"


def test_free_may_be_best_and_then_nothing_beats_it():
    found = answer({"0": np.array([1.0, 1.1, 0.9]), "1": np.array([1.0, 1.1, 1.2]), "free": np.array([3.0, 3.1, 3.2])})
    assert (found.level, found.outcome) == ("free", "diversity pays")
    assert np.isnan(found.low)
    assert found.to_json()["low"] is None
    assert found.p_beats_free < 0.01


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_have_no_interval(seeds):
    found = answer({"0": np.arange(seeds) + 0.0, "1": np.arange(seeds) + 5.0})
    assert (found.outcome, found.level, found.gain) == ("undecided", "1", 5.0)
    assert np.isnan([found.low, found.high, found.gain_low, found.gain_high, found.p_beats_homogeneous]).all()


def test_levels_whose_seeds_do_not_scatter_are_alike_or_apart():
    """As shares are where every episode succeeds: there, a difference is one, and a tie is a tie."""
    one, less, scattered = np.ones(3), np.zeros(3), np.array([0.0, 0.0, 0.3])
    found = answer({"0": scattered, "1": one, "2": one, "free": one})
    assert (found.outcome, found.alike) == ("diversity pays", ("1", "2", "free"))
    assert found.gain == pytest.approx(0.9)
    assert 0 < found.gain_low < 0.9 < found.gain_high
    found = answer({"0": one, "1": one, "free": np.array([0.98, 0.97, 0.99])})
    assert found.outcome in ("homogeneous is enough", "not separable")
    assert {"0", "1"} <= set(found.alike)
    assert np.isfinite([found.gain_low, found.gain_high]).all()
    found = answer({"0": less, "1": one, "2": one, "free": np.array([0.98, 0.97, 0.99])})
    assert {"1", "2"} <= set(found.alike)
    assert "0" not in found.alike
    assert found.p_beats_homogeneous == 1


EPISODES = 200


@pytest.mark.parametrize("between", [1.0, 3.0])
@pytest.mark.parametrize("top", [0.7, 0.97])
def test_of_shares_the_gains_interval_covers_the_truth_as_often_as_it_says(top, between):
    """Seeds differ, by so many times the variance that their episodes give them."""
    draw, truth = np.random.default_rng(3), {"0": 0.5, "0.5": 0.6, "1": top, "free": top}
    covered = []
    for _ in range(SWEEPS):
        sweep = {}
        for level, share in truth.items():
            pairs = EPISODES / between - 1
            seeds = draw.beta(share * pairs, (1 - share) * pairs, 5)
            sweep[level] = draw.binomial(EPISODES, seeds) / EPISODES
        found = answer(sweep, EPISODES)
        covered.append(found.gain_low <= top - 0.5 <= found.gain_high)
    assert 0.90 <= np.mean(covered) <= 0.99


def test_shares_that_hardly_ever_miss_are_not_taken_for_certain():
    """Of shares near 1 all seeds mostly agree: without their episodes' chance, nothing could be said, or too much."""
    draw, covered, decided = np.random.default_rng(4), [], []
    for _ in range(SWEEPS):
        sweep = {level: draw.binomial(EPISODES, share, 3) / EPISODES for level, share in (("0", 0.998), ("1", 0.9995))}
        found = answer(sweep, EPISODES)
        covered.append(found.gain_low <= 0.0015 <= found.gain_high)
        decided.append(found.outcome == "diversity pays")
    assert np.mean(covered) >= 0.90
    assert np.mean(decided) <= 0.05


@pytest.mark.parametrize(
    ("least", "most", "outcome"),
    [(0.0, 1.0, "diversity pays"), (1.0, 0.0, "homogeneous is enough"), (0.995, 1.0, None), (1.0, 1.0, None)],
)
def test_seeds_that_agree_on_a_share_decide_where_their_episodes_do(least, most, outcome):
    found = answer({"0": np.full(3, least), "1": np.full(3, most), "free": np.full(3, most)}, EPISODES)
    assert np.isfinite([found.gain_low, found.gain_high, found.p_beats_homogeneous]).all()
    assert found.outcome == (
        outcome or ("homogeneous is enough" if found.gain_high < 0.05 * least else "not separable")
    )


def test_an_answer_that_is_none_says_why():
    same, few = np.ones(4), np.array([1.0, 2.0])
    said = {
        "seeds that do not differ at all tell nothing of chance": {"0": same, "1": 2 * same},
        "fewer than three seeds tell no more": {"0": few, "1": few + 5},
        "there is no other level to compare it with": {"0": np.full(3, np.nan), "1": same},
    }
    for why, samples in said.items():
        found = answer(samples)
        assert (found.outcome, found.why) == ("undecided", why)
        assert sentences(found) == [f"highest mean: 1; {why}"]


def test_levels_are_not_compared_while_some_members_are_behind(tmp_path):
    rewards = {"0": 0.0, "1": 1.0, "free": 5.0}

    def values(level, seed, iteration):
        return {"reward": rewards[level] + 0.01 * seed}

    run = write_run(tmp_path / "run", values, snd=tuple(rewards), seeds=3, frames=36_000)
    assert answer_of(run).best == "free"
    metrics = run.folder / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(line for line in lines if '"free"' not in line or '"iteration": 1,' in line))
    behind = answer_of(load(run.folder))
    assert (behind.outcome, behind.best) == ("undecided", None)
    assert "no numbers of the newest iteration" in behind.why


def test_seeds_that_diverged_and_levels_without_enough_of_them_do_not_count():
    nan = np.nan
    found = answer({
        "0": np.array([1.0, 1.1, 0.9, nan]), "1": np.array([2.0, 2.1, 2.2, 2.0]), "2": np.array([1.9, nan, nan, nan]),
    })  # fmt: skip
    assert (found.level, found.alike, found.seeds) == ("1", ("1",), 3)
    with pytest.raises(ValueError, match="finite number of some level"):
        answer({"0": np.array([nan])})


def test_levels_of_another_number_have_no_gain(tmp_path):
    run = made_up(tmp_path / "run.json", "navigation", {"1": [1.0, 1.1, 1.2]}, vary=("tau=0.1,0.01",))
    found = answer_of(run)
    assert found.outcome == "not separable"
    assert np.isnan([found.low, found.gain, found.p_beats_free]).all()


def test_a_run_answers_by_its_final_rewards(tmp_path):
    rewards = {"0": [1.0, 1.1, 0.9], "0.5": [3.0, 3.1, 3.2], "free": [2.0, 2.1, 2.2]}
    found = answer_of(made_up(tmp_path / "run.json", "navigation", rewards))
    assert (found.outcome, found.level, found.gain) == ("diversity pays", "0.5", pytest.approx(2.1))
    alone = made_up(tmp_path / "one.json", "navigation", {"0": [1.0, 1.1, 0.9]})
    assert answer_of(alone) is None


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1))
def test_the_digits_of_an_interval_say_on_which_side_of_zero_it_ends(first, second, share):
    low, high = sorted((first, second))
    texts = in_digits(low + share * (high - low), low, high)
    assert [np.sign(float(text)) for text in texts[1:]] == [np.sign(low), np.sign(high)]
    assert not any(float(text) == 0 and "-" in text for text in texts)
