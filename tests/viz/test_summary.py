"""A summary opens like the run it is of, and says clearly what it lacks."""

import json
import warnings

import numpy as np
import pytest
import torch
from drawn import steady
from folders import fixture_of, write_run

from dico.analysis import levels, summary
from dico.runs import RunError, load, write_summary
from dico.runs.summary import POINTS
from dico.viz.gallery import draw_figures, write_figures
from dico.viz.kept import keep_pictures, kept_selection
from dico.viz.report import payload
from dico.viz.selection import choose

navigation, dispersion, tag = fixture_of("navigation"), fixture_of("dispersion"), fixture_of("tag")


def kept(run, folder):
    """Its summary with pictures, opened."""
    write_summary(run, folder / "kept.json", behaviours={"midpoint": np.arange(len(run.members))})
    keep_pictures(run, folder / "kept.npz")
    return load(folder / "kept.json")


def test_a_short_run_keeps_its_numbers(navigation, tmp_path):
    again = kept(navigation, tmp_path)
    assert again.members == navigation.members
    assert levels(again) == levels(navigation)
    for name in ("reward", "snd", "snd_acted", "scale", "frames"):
        torch.testing.assert_close(again.metric(name), navigation.metric(name), rtol=1e-3, atol=0, equal_nan=True)
    assert again.source.behaviours["midpoint"] == list(range(len(navigation.members)))


def test_groups_stay_apart(tag, tmp_path):
    again = kept(tag, tmp_path)
    for group in [each["name"] for each in tag.groups]:
        torch.testing.assert_close(again.metric("reward", group), tag.metric("reward", group), rtol=1e-3, atol=1e-9)


def test_a_long_run_is_thinned_to_means(tmp_path):
    run = write_run(
        tmp_path / "run", lambda level, seed, i: {**steady(level, seed, i), "reward": float(i)}, frames=6000 * 250
    )
    write_summary(run, tmp_path / "long.json")
    again = load(tmp_path / "long.json")
    rewards, frames = again.metric("reward"), again.metric("frames")
    assert rewards.shape[1] == 84 <= POINTS
    assert rewards[0, :2].tolist() == [2.0, 5.0]  # of iterations 1 to 3, and 4 to 6
    assert frames[0, [0, -1]].tolist() == [18_000, 1_500_000]
    for one, other in zip(summary(run), summary(again), strict=True):
        assert float(other.reward.centre) == pytest.approx(float(one.reward.centre), rel=0.01)


def test_a_member_that_diverged_stays_so(tmp_path):
    def values(level, seed, i):
        row = steady(level, seed, i)
        return row | {"diverged": True, "reward": None} if (level, seed) == ("0.5", 1) else row

    run = write_run(tmp_path / "run", values)
    write_summary(run, tmp_path / "kept.json")
    assert [level.diverged for level in summary(load(tmp_path / "kept.json"))] == [0, 1, 0]


def test_pictures_are_those_of_the_networks(navigation, tmp_path):
    mine, other = choose(navigation), kept_selection(kept(navigation, tmp_path))
    assert other.members == mine.members
    for one, two in zip(other.fields(None), mine.fields(mine.start(0), resolution=50), strict=True):
        torch.testing.assert_close(one.snd, two.snd, rtol=2e-3, atol=1e-4)
    one, two = other.record(0), mine.record(0)
    assert torch.equal(one.running, two.running)
    torch.testing.assert_close(one.states.position, two.states.position, rtol=2e-3, atol=1e-3)
    with pytest.raises(ValueError, match="the only start that a summary keeps"):
        other.record(1)


def test_all_figures_are_drawn_from_a_summary(navigation, dispersion, tmp_path):
    written = write_figures([kept(navigation, tmp_path)], tmp_path / "figures", formats=("png",))
    assert [path.stem for path in written] == ["curves", "decision", "tracking", "outcomes", "map", "trajectories"]
    drawn = draw_figures([kept(dispersion, tmp_path)])
    assert list(drawn) == ["curves", "decision", "tracking", "outcomes", "trajectories"]


def test_a_page_of_a_summary_has_maps_and_episodes(navigation, dispersion, tmp_path):
    found = payload([kept(navigation, tmp_path)])
    (run,) = found["runs"]
    assert run["name"] == "kept"
    assert [panel["level"] for panel in run["maps"]["panels"]] == levels(navigation)
    assert (run["maps"]["rows"], run["maps"]["columns"]) == (50, 50)
    assert len(run["episodes"]) == len(levels(navigation))
    assert "keeps no networks" in found["missing"]["live"]
    assert payload([kept(dispersion, tmp_path)])["runs"][0]["episodes"]


def test_a_summary_without_pictures_draws_its_curves(navigation, tmp_path):
    write_summary(navigation, tmp_path / "bare.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(draw_figures([load(tmp_path / "bare.json")])) == ["curves", "decision", "tracking", "outcomes"]


def test_what_needs_networks_says_that_there_are_none(navigation, tmp_path):
    again = kept(navigation, tmp_path)
    with pytest.raises(RunError, match="keeps no networks"):
        again.task()
    with pytest.raises(RunError, match="keeps no networks"):
        again.policy(snd=0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is no JSON"), ("{}", "is no summary"), ("[1]", "is no summary"), ('{"summary": 99}', "newer dico")],
    ids=["empty", "no fields", "a list", "newer"],
)
def test_files_that_are_none_are_refused(tmp_path, text, message):
    (tmp_path / "kept.json").write_text(text)
    with pytest.raises(RunError, match=message):
        load(tmp_path / "kept.json")


DAMAGES = {
    "a member fewer": lambda kept: kept["members"].pop(),
    "a member out of order": lambda kept: kept["members"].reverse(),
    "a point fewer": lambda kept: kept["curves"]["agents"]["reward"][0].pop(),
    "a curve fewer": lambda kept: kept["curves"]["agents"]["reward"].pop(),
    "a text for a curve": lambda kept: kept["curves"]["agents"].update(reward="high"),
    "texts for numbers": lambda kept: kept["curves"]["agents"]["reward"].__setitem__(0, ["high"] * len(kept["frames"])),
    "no curves": lambda kept: kept.pop("curves"),
    "no frames": lambda kept: kept["frames"].clear(),
    "frames that are none": lambda kept: kept["frames"].__setitem__(0, None),
    "no groups": lambda kept: kept["groups"].clear(),
    "groups of another kind": lambda kept: kept.update(groups=["agents"]),
    "no task": lambda kept: kept["config"].pop("task"),
    "settings of another kind": lambda kept: kept.update(config=[1]),
    "behaviours for others": lambda kept: kept["behaviours"]["midpoint"].pop(),
    "no behaviours": lambda kept: kept.update(behaviours=None),
    "about of another kind": lambda kept: kept.update(about="me"),
    "a constraint that is none": lambda kept: kept["members"][0].update(constraint="much"),
    "strangers that diverged": lambda kept: kept["diverged"].append(99),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_summary_says_so_in_a_line(navigation, tmp_path, damage):
    kept(navigation, tmp_path)
    told = json.loads((tmp_path / "kept.json").read_text())
    DAMAGES[damage](told)
    (tmp_path / "kept.json").write_text(json.dumps(told))
    with pytest.raises(RunError, match=r"kept\.json cannot be used: ") as error:
        load(tmp_path / "kept.json")
    assert "\n" not in str(error.value)


def test_damaged_pictures_say_so_in_a_line(navigation, dispersion, tmp_path):
    again = kept(navigation, tmp_path)
    path, whole = tmp_path / "kept.npz", (tmp_path / "kept.npz").read_bytes()
    keep_pictures(dispersion, tmp_path / "other.npz")
    for damaged in (b"", whole[: len(whole) // 2], b"nothing of the kind", (tmp_path / "other.npz").read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match="delete it, or keep the run again") as error:
            kept_selection(again)
        assert "\n" not in str(error.value)


def test_a_summary_is_small(tmp_path):
    run = write_run(tmp_path / "run", steady, snd=("0", "0.3", "1", "free"), seeds=4, frames=6000 * 200)
    write_summary(run, tmp_path / "kept.json")
    assert (tmp_path / "kept.json").stat().st_size < 6000 * len(run.members)
    json.loads((tmp_path / "kept.json").read_text())


def test_cross_play_is_drawn_by_levels(tag, tmp_path):
    earned = np.arange(len(tag.members) ** 2, dtype=float).reshape(len(tag.members), -1)
    write_summary(tag, tmp_path / "kept.json", behaviours={"cross_play": earned})
    again = load(tmp_path / "kept.json")
    drawn = draw_figures([again])["cross-play"].axes[0]
    assert [text.get_text() for text in drawn.get_yticklabels()] == levels(tag)
    assert [float(text.get_text()) for text in drawn.texts] == earned.flatten().tolist()
    assert "red agents" in drawn.get_ylabel()
