"""Members that differ in more than desired diversity: how they are grouped, and found."""

import numpy as np
import pytest
from command_line import dico
from folders import write_run
from varied import TAUS, trained_fixture, two_by_two, two_taus

from dico.analysis import (
    align,
    best_level,
    curves,
    desired_of,
    final,
    group_fields,
    level_of,
    levels,
    of_level,
    sample_name,
    sample_sizes,
    summary,
    tracking_error,
)
from dico.commands._progress import level_table
from dico.members import Member, level_text, parse_level
from dico.runs import RunError, evaluate
from dico.viz.selection import one_of_each

trained = trained_fixture()


def test_levels_are_what_members_differ_in_in_order(tmp_path):
    taus, both = two_taus(tmp_path / "taus"), two_by_two(tmp_path / "both")
    assert levels(taus) == ["tau=0.01", "tau=0.3"]
    assert levels(both) == ["0.5, tau=0.01", "0.5, tau=0.3", "free, tau=0.01", "free, tau=0.3"]
    assert [group_fields(run) for run in (taus, both)] == [("tau",), ("constraint", "tau")]
    one = write_run(tmp_path / "one", lambda *_: {"reward": 0.0, "snd": 0.0}, vary=("tau=0.3",), frames=6000)
    assert levels(one) == ["0", "0.5", "free"]  # what has one value does not vary


def test_other_fields_on_request(tmp_path):
    both = two_by_two(tmp_path / "both")
    assert levels(both.group_by("tau")) == ["tau=0.01", "tau=0.3"]
    assert levels(both.group_by("constraint")) == ["0.5", "free"]
    assert levels(both.group_by("tau", "constraint")) == levels(both)
    assert levels(both.group_by("lr")) == ["lr=0.002"]
    assert levels(both.group_by("seed")) == ["seed=0", "seed=1"]
    assert both.group_by("tau").group_by().by == ()
    with pytest.raises(ValueError, match=r"field to group by must be one of .* got 'taw'; did you mean 'tau'"):
        both.group_by("taw")


def test_a_regrouped_run_keeps_what_was_read(tmp_path):
    both = two_by_two(tmp_path / "both").read()
    (both.folder / "metrics.jsonl").unlink()
    assert len(both.group_by("tau").rows()) == len(both.rows()) > 0


def test_curves_of_a_level_are_those_of_its_members(tmp_path):
    both = two_by_two(tmp_path / "both")
    chosen = of_level(both, "0.5, tau=0.01")
    assert [member.name for member, own in zip(both.members, chosen, strict=True) if own] == [
        "snd=0.5,tau=0.01,seed=0", "snd=0.5,tau=0.01,seed=1",
    ]  # fmt: skip
    np.testing.assert_allclose(curves(both, "reward")[chosen].mean(0), 0.5 + 0.01 + 0.05)
    by_tau = {each.level: each for each in summary(both.group_by("tau"))}
    for tau in (0.01, 0.3):
        ended = by_tau[f"tau={tau}"]
        assert ended.seeds == 4
        assert ended.values == {"tau": tau}
        assert float(ended.reward.centre) == pytest.approx(np.mean([0.5, 1]) + tau + 0.05)
    assert best_level(both) == "free, tau=0.3"
    assert final(both, "reward")[of_level(both.group_by("constraint"), "free")].shape == (4,)


def test_what_a_level_desires_is_what_its_members_agree_on(tmp_path):
    taus, both = two_taus(tmp_path / "taus"), two_by_two(tmp_path / "both")
    assert desired_of("tau=0.3", taus) == "1"
    assert desired_of("0.5, tau=0.3", both) == "0.5"
    assert desired_of("tau=0.3", both.group_by("tau")) == "free"
    assert [each.desired for each in summary(taus)] == ["1", "1"]


def test_tracking_goes_by_each_members_own_constraint(tmp_path):
    both = two_by_two(tmp_path / "both")
    expected = {("0.5", 0.3): 0.0, ("0.5", 0.01): 0.2, ("free", 0.3): np.nan, ("free", 0.01): np.nan}
    for run in (both, both.group_by("tau")):
        for member in run.members:
            wanted = expected[member.constraint, member.tau]
            np.testing.assert_allclose(tracking_error(run)[member.index], wanted, atol=1e-12)
    np.testing.assert_allclose([each.tracking_error.centre for each in summary(both.group_by("tau"))], [0.2, 0.0])


def test_a_level_has_seeds_or_members(tmp_path):
    both = two_by_two(tmp_path / "both")
    assert (sample_name(both), sample_sizes(both)) == ("seed", [2, 2, 2, 2])
    assert (sample_name(both.group_by("tau")), sample_sizes(both.group_by("tau"))) == ("member", [4, 4])


def test_runs_are_compared_by_all_that_varies_in_any(tmp_path):
    plain = write_run(tmp_path / "plain", lambda *_: {"reward": 0.0, "snd": 0.5}, tau=0.01, frames=6000)
    taus = two_taus(tmp_path / "taus")
    runs = align([plain, taus])
    assert [group_fields(run) for run in runs] == [("constraint", "tau")] * 2
    assert levels(*runs) == ["0, tau=0.01", "0.5, tau=0.01", "1, tau=0.01", "1, tau=0.3", "free, tau=0.01"]
    other = two_taus(tmp_path / "other", snd=("0.5",))
    assert levels(*align([taus, other])) == ["0.5, tau=0.01", "0.5, tau=0.3", "1, tau=0.01", "1, tau=0.3"]
    told = align([run.group_by("tau") for run in (taus, other)])
    assert levels(*told) == ["tau=0.01", "tau=0.3"]
    assert desired_of("tau=0.3", *told) == "free"


def test_a_run_that_tells_no_numbers_is_compared_by_what_it_tells(tmp_path):
    taus, plain = two_taus(tmp_path / "taus"), two_taus(tmp_path / "plain", vary=(), tau=0.01)
    object.__setattr__(plain, "members", tuple(Member(k, "1", k) for k in range(2)))  # as BenchMARL's
    assert levels(*align([taus, plain])) == ["1", "1, tau=0.01", "1, tau=0.3"]
    with pytest.raises(RunError, match="does not tell tau of its members: group by another field"):
        plain.group_by("tau")


def test_texts_tell_near_numbers_apart_and_come_back():
    near = [Member(k, "1", 0, tau=tau) for k, tau in enumerate((0.1234567, 0.12345671, 1 / 3, 1e-7))]
    texts = [level_text(member, ["constraint", "tau"]) for member in near]
    assert len(set(texts)) == 4
    assert [parse_level(text) for text in texts] == [{"constraint": "1", "tau": member.tau} for member in near]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("taw=0.1", "got 'taw'; did you mean 'tau'"),
        ("tau=much", "tau must be a number, got 'much'"),
        ("much", "must be a constraint such as"),
    ],
)
def test_a_text_that_names_no_level_is_told(text, message):
    with pytest.raises(ValueError, match=message):
        parse_level(text)


def test_members_are_found_by_what_varies(tmp_path):
    taus, both = two_taus(tmp_path / "taus"), two_by_two(tmp_path / "both")
    assert taus.member(snd=1, seed=1, tau=0.01).name == taus.member(tau=0.01, seed=1).name == "snd=1,tau=0.01,seed=1"
    with pytest.raises(RunError, match=r"2 members have snd=1 and seed=0: choose one by tau 0\.3, 0\.01$"):
        taus.member(snd=1)
    with pytest.raises(RunError, match=r"4 members have seed=0: choose one by snd free, 0\.5, tau 0\.3, 0\.01$"):
        both.member()
    absent = r"no member has snd=1, tau=0\.2 and seed=0; there are tau 0\.3, 0\.01 with seeds 0, 1$"
    with pytest.raises(RunError, match=absent):
        taus.member(snd=1, tau=0.2)
    with pytest.raises(RunError, match=r"there are snd free, 0\.5; tau 0\.3, 0\.01 with seeds 0, 1$"):
        both.member(snd=2)
    with pytest.raises(ValueError, match=r"got 'taw'; did you mean 'tau'"):
        taus.member(taw=0.1)


def test_policies_are_those_of_the_member(trained):
    weights = [trained.policy(snd=1, seed=0, tau=tau).state_dict()["deviations.mlp.0.weight"] for tau in (0.3, 0.01)]
    every = trained.policies().state_dict()["deviations.mlp.0.weight"]
    for own, tau in zip(weights, (0.3, 0.01), strict=True):
        assert (own == every[trained.member(tau=tau).index]).all()
    assert (weights[0] != weights[1]).any()


def test_one_of_each_level_and_of_those_wanted(tmp_path):
    both = two_by_two(tmp_path / "both")
    assert [level_of(both, member) for member in one_of_each(both)] == levels(both)
    names = [member.name for member in one_of_each(both, ["tau=0.3", "0.50, tau=0.01"], seed=1)]
    assert names == ["snd=free,tau=0.3,seed=1", "snd=0.5,tau=0.3,seed=1", "snd=0.5,tau=0.01,seed=1"]
    by_tau = both.group_by("tau")
    assert [member.constraint for member in one_of_each(by_tau, ["0.5"])] == ["0.5", "0.5"]
    with pytest.raises(RunError, match=r"no member has tau=0\.2; there are snd free, 0\.5; tau 0\.3, 0\.01"):
        one_of_each(both, ["tau=0.2"])


@pytest.mark.filterwarnings("ignore:.*diverged")
def test_who_diverged_is_named(tmp_path):
    gone = two_taus(tmp_path / "gone", snd=("1",))
    text = (gone.folder / "metrics.jsonl").read_text()
    (gone.folder / "metrics.jsonl").write_text(text.replace('"tau": 0.3', '"diverged": true, "tau": 0.3'))
    with pytest.warns(UserWarning, match=r"^tau=0\.3 diverged and is left out"):
        assert [member.tau for member in one_of_each(gone)] == [0.01]


def test_evaluation_and_its_table_keep_members_apart(trained):
    rows = evaluate(trained, episodes=2)
    assert [row["tau"] for row in rows] == [0.3, 0.3, 0.01, 0.01]
    table = level_table(rows)
    assert [column.header for column in table.columns[:3]] == ["desired SND", "tau", "seeds"]
    assert [list(column.cells) for column in table.columns[:3]] == [["1", "1"], ["0.3", "0.01"], ["2", "2"]]
    assert [column.header for column in table.columns[-4:]] == ["reward per step", "return", "success", "coverage"]
    for column, name in zip(table.columns[-4:], ("reward", "return", "success", "coverage"), strict=True):
        expected = [np.mean([row[name] for row in rows[k : k + 2]]) for k in (0, 2)]
        assert [float(cell) for cell in column.cells] == pytest.approx(expected, abs=6e-5)


@pytest.mark.unchecked
def test_reports_and_maps_by_other_fields(capsys, trained, tmp_path):
    out = tmp_path / "page.html"
    assert dico(capsys, "report", trained.folder, "--out", out, "--by", "constraint", "--formats", "svg")[0] == 0
    drawn = (tmp_path / "page-figures" / "curves.svg").read_text()
    assert "desired SND" in drawn
    assert "tau=" not in drawn
    assert "4 members" in drawn
    status, _, err = dico(capsys, "video", trained.folder, "--by", "taw", "--out", out.with_suffix(".gif"))
    assert status == 2
    assert "field to group by must be one of" in err
    words = ("--by", "constraint", "tau", "--levels", "tau=0.3", "--resolution", "8")
    assert dico(capsys, "map", trained.folder, "--out", tmp_path / "map.svg", *words)[0] == 0
    drawn = (tmp_path / "map.svg").read_text()
    assert "desired SND 1, tau=0.3" in drawn
    assert "tau=0.01" not in drawn
    status, _, err = dico(capsys, "report", trained.folder, "--by", "taw", "--out", out)
    assert status == 2
    assert "did you mean 'tau'" in err


def test_a_training_says_who_is_who(capsys, tmp_path):
    words = ("--frames", "80", "--envs", "4", "--frames-per-batch", "40", "--hidden", "8", "--minibatch", "20")
    status, out, _ = dico(
        capsys, "train", "navigation", "--snd", "1", "--vary", TAUS, "--seeds", "1", "--run", tmp_path / "run", *words
    )
    assert status == 0
    assert "| tau=0.3: reward" in out
    assert "; tau=0.01: reward" in out
