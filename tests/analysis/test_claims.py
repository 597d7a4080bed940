"""Claims of the paper on made-up runs: such as they hold in, fail in, and leave open."""

import json
from dataclasses import astuple

import numpy as np
import pytest
from made_up import POINTS, made_up

from dico.analysis.claims import CLAIMS, judge, sweeps
from dico.analysis.claims.verdict import above, between, every
from dico.analysis.statistics import Interval, difference, mean_interval
from dico.runs import load

SURE = np.array([0.0, 0.01, -0.01, 0.005])
"""How seeds differ where there is no doubt."""
NOISE = np.array([1.0, -1.0, 0.5, -0.5])
"""And where nothing can be told."""
HALF = POINTS // 2


def levels(noise=SURE, scale=1.0, **centres):
    """Each level's value for each seed; names are levels with an underscore for a point."""
    return {name.lstrip("l").replace("_", "."): centre + scale * noise for name, centre in centres.items()}


def verdict(run, claim):
    found = [each for each in judge([run]) if each.claim == claim]
    assert len(found) == 1, [each.claim for each in judge([run])]
    return found[0]


NAVIGATION = {"l0": 1.0, "l0_3": 2.0, "l1": 3.0, "l1_5": 2.0, "free": 2.5}
SAME_GOAL = {"l0": 3.0, "l0_1": 2.5, "l0_5": 2.0, "l1": 1.0, "free": 2.8}
THREE = {"l0": 1.0, "free": 2.0}
TAG = {"l0": 1.0, "l0_3": 1.0, "l0_6": 2.0, "free": 1.0}
REVERSE = {"l0": 1.0, "l0_1": 1.0, "l1_2": 1.0, "free": 1.0}


def climbing(**when):
    """Rewards that go from 0 to 1 at a share of the training, a little earlier or later in each seed."""
    steps = np.arange(POINTS)
    return {
        name.lstrip("l").replace("_", "."): np.stack(
            [(steps >= POINTS * (share + 0.01 * k)).astype(float) for k in range(4)]
        )
        for name, share in when.items()
    }


def falling(lost):
    """A reward that reaches 1 and loses a share of that again in each seed."""
    steps = np.arange(POINTS) / POINTS
    return np.stack([np.where(steps < 0.5, 1.0, 1.0 - share) for share in lost])


CASES = [
    ("navigation: reward rises", "navigation", levels(**NAVIGATION), None, "holds"),
    ("navigation: reward rises", "navigation", levels(**NAVIGATION | {"l0_3": 0.5}), None, "fails"),
    ("navigation: reward rises", "navigation", levels(NOISE, 2, **NAVIGATION), None, "undecided"),
    ("navigation: 1.5 is too much", "navigation", levels(**NAVIGATION), None, "holds"),
    ("navigation: 1.5 is too much", "navigation", levels(**NAVIGATION | {"l1_5": 3.5}), None, "fails"),
    ("navigation: 1.5 is too much", "navigation", levels(NOISE, 2, **NAVIGATION), None, "undecided"),
    ("navigation: 1.5 is unstable", "navigation",
     {"0": falling(0 * SURE), "1": falling(0 * SURE), "1.5": falling(0.5 + SURE)}, None, "holds"),
    ("navigation: 1.5 is unstable", "navigation",
     {"0": falling(0.5 + SURE), "1": falling(0.5 + SURE), "1.5": falling(0 * SURE)}, None, "fails"),
    ("navigation: 1.5 is unstable", "navigation",
     {"0": falling(0 * SURE), "1": falling(0 * SURE), "1.5": falling(np.array([0, 0, 0, 0.9]))}, None, "undecided"),
    ("navigation: midpoint", "navigation", levels(**NAVIGATION), {"midpoint": 0.1 + SURE}, "holds"),
    ("navigation: midpoint", "navigation", levels(**NAVIGATION), {"midpoint": 0.9 + SURE}, "fails"),
    ("navigation: midpoint", "navigation", levels(**NAVIGATION), {"midpoint": 0.2 + NOISE}, "undecided"),
    ("navigation: maps", "navigation", levels(**NAVIGATION), {"map_correlation": 0.5 + SURE}, "holds"),
    ("navigation: maps", "navigation", levels(**NAVIGATION), {"map_correlation": -0.5 + SURE}, "fails"),
    ("navigation: maps", "navigation", levels(**NAVIGATION), {"map_correlation": 0.1 + NOISE}, "undecided"),
    ("navigation: free maps are less regular", "navigation", levels(**NAVIGATION),
     {"map_correlation": levels(l0=0.0, l0_3=0.6, l1=0.8, l1_5=0.5, free=0.4)}, "holds"),
    ("navigation: free maps are less regular", "navigation", levels(**NAVIGATION),
     {"map_correlation": levels(l0=0.0, l0_3=0.6, l1=0.4, l1_5=0.5, free=0.8)}, "fails"),
    ("navigation: free maps are less regular", "navigation", levels(**NAVIGATION),
     {"map_correlation": 0.5 + NOISE}, "undecided"),
    ("same-goal: reward falls", "same-goal", levels(**SAME_GOAL), None, "holds"),
    ("same-goal: reward falls", "same-goal", levels(**SAME_GOAL | {"l1": 4.0}), None, "fails"),
    ("same-goal: reward falls", "same-goal", levels(**SAME_GOAL | {"l0_1": 3.0}), None, "undecided"),
    ("same-goal: low levels learn faster", "same-goal", climbing(l0=0.1, l0_1=0.2, free=0.5), None, "holds"),
    ("same-goal: low levels learn faster", "same-goal", climbing(l0=0.1, l0_1=0.8, free=0.5), None, "fails"),
    ("same-goal: low levels learn faster", "same-goal", climbing(l0=0.1, l0_1=0.5, free=0.5), None, "undecided"),
    ("same-goal: maps", "same-goal", levels(**SAME_GOAL), {"away_to_near": 1 + SURE}, "holds"),
    ("same-goal: maps", "same-goal", levels(**SAME_GOAL), {"away_to_near": -1 + SURE}, "fails"),
    ("same-goal: maps", "same-goal", levels(**SAME_GOAL), {"away_to_near": 0.1 + NOISE}, "undecided"),
    ("dispersion: order", "dispersion", levels(**THREE, l6=3.0), None, "holds"),
    ("dispersion: order", "dispersion", levels(**THREE, l6=1.5), None, "fails"),
    ("dispersion: order", "dispersion", levels(NOISE, **THREE, l6=3.0), None, "undecided"),
    ("dispersion: 6 is earlier", "dispersion", climbing(l0=0.5, free=0.5, l6=0.2), None, "holds"),
    ("dispersion: 6 is earlier", "dispersion", climbing(l0=0.5, free=0.5, l6=0.8), None, "fails"),
    ("dispersion: 6 is earlier", "dispersion", climbing(l0=0.5, free=0.5, l6=0.5), None, "undecided"),
    ("dispersion: assignment", "dispersion", levels(**THREE, l6=3.0),
     {"distinct_food": levels(l0=0.3, free=0.6, l6=0.9)}, "holds"),
    ("dispersion: assignment", "dispersion", levels(**THREE, l6=3.0),
     {"distinct_food": levels(l0=0.3, free=0.9, l6=0.6)}, "fails"),
    ("dispersion: assignment", "dispersion", levels(**THREE, l6=3.0), {"distinct_food": 0.5 + NOISE}, "undecided"),
    ("sampling: order", "sampling", levels(**THREE, l5=3.0), None, "holds"),
    ("sampling: order", "sampling", levels(**THREE, l5=1.5), None, "fails"),
    ("sampling: order", "sampling", levels(NOISE, **THREE, l5=3.0), None, "undecided"),
    ("sampling: fewer cells twice", "sampling", levels(**THREE, l5=3.0),
     {"overlap": levels(l0=0.9, free=0.4, l5=0.1)}, "holds"),
    ("sampling: fewer cells twice", "sampling", levels(**THREE, l5=3.0),
     {"overlap": levels(l0=0.9, free=0.1, l5=0.4)}, "fails"),
    ("sampling: fewer cells twice", "sampling", levels(**THREE, l5=3.0), {"overlap": 0.5 + NOISE}, "undecided"),
    ("sampling: directions", "sampling", levels(**THREE, l5=3.0), {"smallest_angle": 115 + SURE}, "holds"),
    ("sampling: directions", "sampling", levels(**THREE, l5=3.0), {"smallest_angle": 60 + SURE}, "fails"),
    ("sampling: directions", "sampling", levels(**THREE, l5=3.0), {"smallest_angle": 95 + 20 * NOISE}, "undecided"),
    ("tag: alike", "tag", levels(**TAG), None, "holds"),
    ("tag: alike", "tag", levels(**TAG | {"free": 2.0}), None, "fails"),
    ("tag: alike", "tag", levels(NOISE, 0.5, **TAG), None, "undecided"),
    ("tag: 0.6 doubles", "tag", levels(**TAG), None, "holds"),
    ("tag: 0.6 doubles", "tag", levels(**TAG | {"l0_6": 1.0}), None, "fails"),
    ("tag: 0.6 doubles", "tag", levels(NOISE, 0.5, **TAG), None, "undecided"),
    ("tag: 0.6 doubles", "tag", levels(**TAG | {"l0": -1.0}), None, "undecided"),
    ("tag: 0.6 doubles in cross-play", "tag", levels(**TAG), {"cross_play": levels(**TAG)}, "holds"),
    ("tag: 0.6 doubles in cross-play", "tag", levels(**TAG), {"cross_play": 1 + SURE}, "fails"),
    ("tag: 0.6 doubles in cross-play", "tag", levels(**TAG), {"cross_play": levels(NOISE, 0.5, **TAG)}, "undecided"),
    ("tag: apart", "tag", levels(**TAG), {"red_distance": levels(**TAG)}, "holds"),
    ("tag: apart", "tag", levels(**TAG), {"red_distance": levels(**TAG | {"free": 3.0})}, "fails"),
    ("tag: apart", "tag", levels(**TAG), {"red_distance": 1 + NOISE}, "undecided"),
    ("tag: sides", "tag", levels(**TAG), {"red_angle": levels(**TAG)}, "holds"),
    ("tag: sides", "tag", levels(**TAG), {"red_angle": levels(**TAG | {"free": 3.0})}, "fails"),
    ("tag: sides", "tag", levels(**TAG), {"red_angle": 1 + NOISE}, "undecided"),
    ("reverse-transport: low levels are earlier", "reverse-transport",
     climbing(l0=0.1, l0_1=0.2, free=0.5, l1_2=0.7), None, "holds"),
    ("reverse-transport: low levels are earlier", "reverse-transport",
     climbing(l0=0.1, l0_1=0.7, free=0.5, l1_2=0.7), None, "fails"),
    ("reverse-transport: low levels are earlier", "reverse-transport",
     climbing(l0=0.1, l0_1=0.5, free=0.5, l1_2=0.7), None, "undecided"),
    ("reverse-transport: 1.2 is later", "reverse-transport",
     climbing(l0=0.1, l0_1=0.2, free=0.5, l1_2=0.7), None, "holds"),
    ("reverse-transport: 1.2 is later", "reverse-transport",
     climbing(l0=0.1, l0_1=0.2, free=0.7, l1_2=0.5), None, "fails"),
    ("reverse-transport: 1.2 is later", "reverse-transport",
     climbing(l0=0.1, l0_1=0.2, free=0.5, l1_2=0.5), None, "undecided"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "task", "rewards", "behaviours", "expected"), CASES)
def test_a_claim_on_made_up_runs(tmp_path, claim, task, rewards, behaviours, expected):
    told = {
        name: values if isinstance(values, dict) else dict.fromkeys(rewards, values)
        for name, values in (behaviours or {}).items()
    }
    found = verdict(made_up(tmp_path / "run.json", task, rewards, behaviours=told), claim)
    assert found.verdict == expected, found
    if found.verdict != "undecided":
        assert found.low <= found.effect <= found.high


def apart(noise=SURE, **centres):
    """A measured SND for each level and seed, steady."""
    return {level: values[:, None] for level, values in levels(noise, **centres).items()}


BOXED = {"l0": 1.0, "l0_3": 2.0, "l1": 3.0}
BETWEEN = {"map_ratio": dict.fromkeys(("0", "0.3", "1"), 1 + SURE)}
OFF = {"0.3": 0.3 * (1 + 0.2 * (np.arange(POINTS) > 70))}
ANALYTICAL = [
    ("reward rises", {}, "holds"),
    ("reward rises", {"rewards": levels(**BOXED | {"l0_3": 4.0})}, "fails"),
    ("reward rises", {"rewards": levels(NOISE, 2, **BOXED)}, "undecided"),
    ("exact over the box", {}, "holds"),
    ("exact over the box", {"snd": {"0.3": 2.0}}, "holds"),
    ("exact over the box", {"box": {"0.3": 0.31}}, "holds"),
    ("exact over the box", {"box": {"0.3": 0.33}}, "fails"),
    ("exact over the box", {"box": OFF}, "fails"),
    ("exact over the box", {"box": {"0.3": 0.3 * (1 + 0.2 * (-1) ** np.arange(POINTS))}}, "holds"),
    ("measured SND in order", {"snd": apart(l0_3=2.0, l1=2.4)}, "holds"),
    ("measured SND in order", {"snd": apart(l0_3=2.0, l1=1.4)}, "fails"),
    ("measured SND in order", {"snd": apart(NOISE, l0_3=2.0, l1=2.4)}, "undecided"),
    ("maps", {}, "holds"),
    ("maps", {"behaviours": {"map_ratio": BETWEEN["map_ratio"] | {"1": -1 + SURE}}}, "fails"),
    ("maps", {"behaviours": {"map_ratio": BETWEEN["map_ratio"] | {"1": 0.1 + NOISE}}}, "undecided"),
    ("maps", {"behaviours": {}}, "undecided"),
]


@pytest.mark.parametrize(("name", "changes", "expected"), ANALYTICAL)
def test_the_claims_about_analytical_control(tmp_path, name, changes, expected):
    settings = {"rewards": levels(**BOXED), "behaviours": BETWEEN, "control": "analytical"} | changes
    run = made_up(tmp_path / "run.json", "navigation", **settings)
    assert verdict(run, f"analytical: {name}").verdict == expected


@pytest.mark.parametrize("finn", ["finn", "finn-signed"])
def test_the_densities_are_two_experiments_with_the_same_claims(tmp_path, finn):
    settings = {"rewards": levels(**BOXED), "behaviours": BETWEEN, "snd": apart(l0_3=2.0, l1=2.4)}
    runs = [
        made_up(tmp_path / f"{density}.json", "navigation", control="analytical", density=density, **settings)
        for density in ("autoregressive", finn)
    ]
    judged = judge([*runs, made_up(tmp_path / "empirical.json", "navigation", **settings)])
    for experiment in ("analytical", "analytical-finn"):
        found = {each.claim: each.verdict for each in judged if each.experiment == experiment}
        assert found == dict.fromkeys(["control", *(f"{experiment}: {name}" for name, _, _ in ANALYTICAL)], "holds")
    assert {each.experiment for each in judged} == {"analytical", "analytical-finn", "navigation"}


def test_control_over_a_box_is_judged_over_the_box(tmp_path):
    settings = {"rewards": levels(**BOXED), "control": "analytical", "snd": {"0.3": 2.0}}
    assert verdict(made_up(tmp_path / "met.json", "navigation", **settings), "control").verdict == "holds"
    off = made_up(tmp_path / "off.json", "navigation", box={"0.3": 0.33}, **settings)
    assert verdict(off, "control").verdict == "fails"


def test_analytical_runs_of_other_tasks_decide_nothing_of_the_paper_but_control(tmp_path):
    run = made_up(tmp_path / "run.json", "same-goal", levels(**SAME_GOAL), control="analytical")
    assert [each.claim for each in judge([run])] == ["control"]


def wavy(size, over=0.0):
    """A measured SND about 1 that scatters, and comes down to it."""
    steps = np.arange(POINTS)
    return 1 + size * np.sin(7 * steps) + over * (1 - steps / POINTS)


TAUS = ("tau=0.1", "tau=0.01", "tau=0.001")


@pytest.mark.parametrize(
    ("sizes", "overs", "expected"),
    [((0.1, 0.01, 0.001), (0.0, 0.1, 0.5), "holds"), ((0.001, 0.01, 0.1), (0.5, 0.1, 0.0), "fails")],
)
def test_the_claims_about_tau(tmp_path, sizes, overs, expected):
    snd = {name: wavy(size, over) for name, size, over in zip(TAUS, sizes, overs, strict=True)}
    run = made_up(tmp_path / "run.json", "navigation", {"1": SURE}, vary=("tau=0.1,0.01,0.001",), snd=snd)
    assert [each.verdict for each in judge([run]) if each.experiment == "tau"][1:] == [expected, expected]


def test_the_claims_about_tau_are_open_where_seeds_disagree(tmp_path):
    pieces = [
        made_up(
            tmp_path / f"{first}.json", "navigation", {"1": SURE[:2]}, vary=("tau=0.1,0.01,0.001",), first_seed=first,
            snd=dict(zip(TAUS, [wavy(size, size) for size in sizes], strict=True)),
        )
        for first, sizes in ((0, (3, 2, 1)), (2, (1, 2, 3)))
    ]  # fmt: skip
    found = [each for each in judge(pieces) if each.claim.startswith("tau")]
    assert [each.verdict for each in found] == ["undecided", "undecided"]
    assert {each.seeds for each in found} == {4}


def test_taus_of_several_desired_diversities_are_not_compared(tmp_path):
    run = made_up(tmp_path / "run.json", "navigation", levels(l0=1.0, l1=1.0, free=1.0), vary=("tau=0.1,0.01",))
    found = {each.claim: each for each in judge([run])}
    assert "one desired SND" in found["tau: overshoot"].why
    assert found["control"].verdict == "holds"


def test_stability_falls_where_diverse_levels_scatter_more(tmp_path):
    noise = np.sin(7 * np.arange(POINTS))
    curves = {level: 1 + size * (1 + SURE[:, None]) * noise for level, size in (("0", 0.01), ("0.3", 0.1), ("1", 0.5))}
    assert verdict(made_up(tmp_path / "run.json", "same-goal", curves), "same-goal: stability falls").verdict == "holds"
    turned = {"0": curves["1"], "0.3": curves["0.3"], "1": curves["0"]}
    assert verdict(made_up(tmp_path / "run.json", "same-goal", turned), "same-goal: stability falls").verdict == "fails"


@pytest.mark.parametrize(
    ("measured", "expected"),
    [(0.3, "holds"), (0.31, "holds"), (0.33, "fails"), (0.3 + 0.2 * (np.arange(POINTS) < 30), "holds"),
     (0.3 + 0.2 * (np.arange(POINTS) > 70), "fails"), (0.3 * (1 + 0.2 * (-1) ** np.arange(POINTS)), "holds")],
    ids=["met", "3 %", "10 %", "off before the last half", "off at the end", "met on the mean"],
)  # fmt: skip
def test_control_is_judged_by_means_over_the_last_half(tmp_path, measured, expected):
    run = made_up(tmp_path / "run.json", "tag", levels(l0=1.0, l0_3=1.0, free=1.0), snd={"0.3": measured})
    assert verdict(run, "control").verdict == expected


@pytest.mark.parametrize("points", [1, 2, 7])
def test_of_a_training_too_short_nothing_is_said(tmp_path, points):
    run = made_up(tmp_path / "run.json", "tag", levels(**TAG), points=points)
    assert {(each.verdict, each.why) for each in judge([run])} == {("undecided", "the training is too short")}


@pytest.mark.parametrize("points", [8, 9, 16, 250])
def test_trainings_of_any_length_are_judged(tmp_path, points):
    run = made_up(tmp_path / "run.json", "tag", levels(**TAG), points=points)
    assert verdict(run, "control").verdict == "holds"
    assert verdict(run, "tag: 0.6 doubles").verdict == "holds"


def test_every_claim_is_tried():
    tried = {case[0] for case in CASES} | {"control", "same-goal: stability falls", "tau: variance", "tau: overshoot"}
    for experiment in ("analytical", "analytical-finn"):
        tried |= {f"{experiment}: {name}" for name, _, _ in ANALYTICAL}
    assert tried == {each.name for each in CLAIMS}


def test_pieces_of_an_experiment_are_joined_and_others_are_not(tmp_path):
    one = made_up(tmp_path / "one.json", "tag", levels(SURE[:2], **TAG))
    two = made_up(tmp_path / "two.json", "tag", levels(SURE[2:], **TAG), first_seed=2)
    other = made_up(tmp_path / "other.json", "tag", levels(**TAG), gradient="straight_through")
    found = [each for each in judge([one, two, other]) if each.claim == "tag: 0.6 doubles"]
    assert [each.seeds for each in found] == [4, 4]
    whole = verdict(made_up(tmp_path / "whole.json", "tag", levels(**TAG)), "tag: 0.6 doubles")
    assert (found[0].effect, found[0].low, found[0].high) == pytest.approx((whole.effect, whole.low, whole.high))


def test_nobody_is_a_seed_twice(tmp_path):
    one = made_up(tmp_path / "one.json", "tag", levels(**TAG))
    with pytest.warns(UserWarning, match="members in common, which count once"):
        twice = judge([one, made_up(tmp_path / "two.json", "tag", levels(**TAG))])
    alone = judge([one])
    assert [(each.verdict, each.seeds) for each in twice] == [(each.verdict, each.seeds) for each in alone]
    assert [each.low for each in twice] == pytest.approx([each.low for each in alone], nan_ok=True)


@pytest.mark.parametrize("change", [{"lr": 1e-3}, {"tau": 0.1}, {"points": 60}, {"gamma": 0.5}])
def test_runs_of_other_settings_or_lengths_are_judged_apart(tmp_path, change):
    one = made_up(tmp_path / "one.json", "tag", levels(SURE[:2], **TAG))
    two = made_up(tmp_path / "two.json", "tag", levels(SURE[2:], **TAG), first_seed=2, **change)
    assert [len(each.runs) for each in sweeps([one, two])] == [1, 1]


def test_a_piece_of_an_older_version_is_a_piece(tmp_path):
    one = made_up(tmp_path / "one.json", "tag", levels(SURE[:2], **TAG))
    two = made_up(tmp_path / "two.json", "tag", levels(SURE[2:], **TAG), first_seed=2)
    two.config.pop("estimate_on")
    assert [len(each.runs) for each in sweeps([one, two])] == [2]


def test_of_a_sweep_that_varies_other_numbers_only_control_is_judged(tmp_path):
    run = made_up(tmp_path / "run.json", "navigation", levels(l0=1.0, l1=2.0), vary=("lr=1e-3,2e-3",))
    assert [(each.claim, each.verdict) for each in judge([run])] == [("control", "holds")]


def test_cross_play_against_other_opponents_is_not_compared(tmp_path):
    def piece(name, **centres):
        rewards = levels(**centres)
        count = sum(map(len, rewards.values()))
        rows = {level: [[value] * count for value in values] for level, values in rewards.items()}
        return made_up(tmp_path / f"{name}.json", "tag", rewards, behaviours={"cross_play": rows})

    whole = verdict(piece("whole", **TAG), "tag: 0.6 doubles in cross-play")
    assert whole.verdict == "holds"
    parts = judge([piece("some", l0=1.0, l0_3=1.0, free=1.0), piece("other", l0_6=2.0)])
    found = next(each for each in parts if each.claim == "tag: 0.6 doubles in cross-play")
    assert found.verdict == "undecided"
    assert "other opponents" in found.why


def test_what_nobody_reaches_decides_nothing(tmp_path):
    flat = {level: np.zeros((4, POINTS)) + 0.01 * SURE[:, None] for level in ("0", "0.1", "free", "1.2")}
    run = made_up(tmp_path / "run.json", "reverse-transport", flat | {"0": climbing(l0=0.5)["0"]})
    assert verdict(run, "reverse-transport: 1.2 is later").verdict == "undecided"


def test_times_are_told_no_more_finely_than_points(tmp_path):
    steps = np.arange(POINTS)
    at = {level: np.stack([(steps >= when).astype(float)] * 3) for level, when in (("0", 10), ("6", 40), ("free", 41))}
    run = made_up(tmp_path / "run.json", "dispersion", at)
    assert verdict(run, "dispersion: 6 is earlier").verdict == "undecided"


@pytest.mark.parametrize("level", ["0.3", "free"])
def test_a_constrained_member_that_diverged_has_no_control(tmp_path, level):
    path = tmp_path / "run.json"
    made_up(path, "tag", levels(l0=1.0, l0_3=1.0, free=1.0))
    kept = json.loads(path.read_text())
    kept["diverged"] = [next(k for k, member in enumerate(kept["members"]) if member["constraint"] == level)]
    path.write_text(json.dumps(kept))
    found = verdict(load(path), "control")
    assert found.verdict == ("fails" if level == "0.3" else "holds")
    assert found.seeds == 3


def test_a_level_that_diverged_whole_leaves_claims_open(tmp_path):
    path = tmp_path / "run.json"
    made_up(path, "same-goal", levels(**SAME_GOAL))
    kept = json.loads(path.read_text())
    kept["diverged"] = [k for k, member in enumerate(kept["members"]) if member["constraint"] == "free"]
    path.write_text(json.dumps(kept))
    assert "diverged" in verdict(load(path), "same-goal: low levels learn faster").why


def test_a_sweep_over_tau_is_an_experiment_of_its_own(tmp_path):
    one = made_up(tmp_path / "one.json", "navigation", levels(l0=1.0, l1=2.0))
    two = made_up(tmp_path / "two.json", "navigation", levels(l1=2.0), vary=("tau=0.1,0.01",))
    assert [(each.experiment, len(each.runs)) for each in sweeps([one, two])] == [("navigation", 1), ("tau", 1)]


def test_what_is_missing_is_said_and_left_open(tmp_path):
    run = made_up(tmp_path / "run.json", "navigation", levels(l0=1.0, l1=2.0))
    found = {each.claim: each for each in judge([run])}
    assert found["navigation: reward rises"].verdict == "holds"
    assert found["navigation: 1.5 is too much"].verdict == "undecided"
    assert "level 1.5" in found["navigation: 1.5 is too much"].why
    assert "midpoint" in found["navigation: midpoint"].why
    assert found["navigation: midpoint"].to_json()["effect"] is None


def test_a_shorter_piece_is_judged_apart_and_lists_only_what_it_tells(tmp_path):
    whole = made_up(tmp_path / "whole.json", "navigation", levels(**NAVIGATION))
    piece = made_up(tmp_path / "piece.json", "navigation", levels(l1=2.0, l1_5=1.0), points=POINTS - 5)
    alone, beside = (
        {each.claim for each in judge(runs) if each.source.endswith("/piece")} for runs in ([piece], [whole, piece])
    )
    assert alone - beside == {"navigation: reward rises"}
    assert {"control", "navigation: 1.5 is too much", "navigation: midpoint"} <= beside


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_or_two_seeds_decide_nothing_but_control(tmp_path, seeds):
    run = made_up(tmp_path / "run.json", "navigation", levels(SURE[:seeds], **NAVIGATION))
    assert {each.verdict for each in judge([run]) if each.claim != "control"} == {"undecided"}
    assert verdict(run, "control").verdict == "holds"


def test_intervals_are_students_and_welchs():
    """The second against a textbook's example, of which it gives t = 1.959 and 7.031 degrees of freedom."""
    assert astuple(mean_interval(np.array([1.0, 2.0, 3.0, 4.0]))) == pytest.approx((2.5, 0.4457397, 4.5542603))
    a, b = np.array([30.02, 29.99, 30.11, 29.97, 30.01, 29.99]), np.array([29.89, 29.93, 29.72, 29.98, 30.02, 29.98])
    assert astuple(difference(a, b)) == pytest.approx((0.095, -0.0196, 0.2096), abs=1e-3)


def test_a_claim_in_parts_is_told_by_its_weakest():
    def part(low, high):
        return above(Interval((low + high) / 2, low, high), 0.0, "", f"{low} to {high}")

    assert every([part(1, 2), part(0.1, 5)]).why == "0.1 to 5; all of 2 parts hold"
    assert every([part(1, 2), part(-1, 3)]).verdict == "undecided"
    assert every([part(-1, 3), part(-3, -1), part(1, 2)]).verdict == "fails"
    near, far = (between(Interval(x, x - 0.04, x + 0.04), -0.25, 0.25, "", f"{x}") for x in (0.2, -0.02))
    assert every([far, near]).why == "0.2; all of 2 parts hold"
