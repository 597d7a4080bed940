"""Schedules: what they desire when, their texts, and policies that follow them."""

import math
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dico
from dico import at_least, equal, free, parse_constraint, scheduled, stack_constraints
from dico.constraints import canonical, final_bounds, order
from dico.schedules import check_known_schedules

FRAMES = [0, 250_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 9e9]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0->1@2e6", [0, 0.125, 0.25, 0.5, 0.75, 1, 1]),
        ("cos:0->1@2e6", [0, 0.0380602337, 0.1464466094, 0.5, 0.8535533906, 1, 1]),
        ("step:0->0.5@1e6->1@2e6", [0, 0, 0, 0.5, 0.5, 1, 1]),
        ("1->0.2@1e6->0.4@2e6", [1, 0.8, 0.6, 0.2, 0.3, 0.4, 0.4]),
    ],
)
def test_a_schedule_desires_what_it_says_and_stays_in_the_end(text, expected):
    constraint = parse_constraint(text)
    measured = torch.tensor(0.7, dtype=torch.float64)
    assert [constraint.at_(frames)(measured).item() for frames in FRAMES] == pytest.approx(expected, abs=1e-9)


def test_scheduled_bounds_leave_alone_what_is_within():
    constraint = parse_constraint(">=0->1@2e6").at_(1e6)
    assert constraint(torch.tensor([0.2, 0.7])).tolist() == pytest.approx([0.5, 0.7])
    constraint = parse_constraint("cos:<=1->0@2e6").at_(1e6)
    assert constraint(torch.tensor([0.2, 0.7])).tolist() == pytest.approx([0.2, 0.5])


@given(
    st.lists(st.floats(0, 1e3), min_size=2, max_size=4), st.integers(1, 10**9), st.sampled_from(["", "cos:", "step:"])
)
def test_schedules_stay_between_their_values_and_meet_each(values, length, shape):
    knots = [length * (k + 1) for k in range(len(values) - 1)]
    text = f"{shape}{values[0]!r}" + "".join(f"->{v!r}@{f}" for v, f in zip(values[1:], knots, strict=True))
    constraint = parse_constraint(text)
    met = [constraint.at_(frames).lo.item() for frames in (0, *knots)]
    assert met == pytest.approx(values, rel=1e-12, abs=1e-12)
    between = [constraint.at_(frames).lo.item() for frames in (length / 3, length * 1.5, 10 * length)]
    assert all(min(values) <= value * (1 + 1e-12) and value <= max(values) * (1 + 1e-12) for value in between)


@pytest.mark.parametrize(
    ("loose", "text"),
    [
        (" 0 -> 1.0 @ 2000000 ", "0->1@2e6"),
        ("COS: >= .5->1@60000", "cos:>=0.5->1@60000"),
        ("step:0->.5@1e6->1@1234567", "step:0->0.5@1e6->1@1234567"),
        ("<=1->0.2@2.5e6", "<=1->0.2@2.5e6"),
    ],
)
def test_texts_are_read_and_written(loose, text):
    assert parse_constraint(loose).texts() == [text]
    assert parse_constraint(text).at_(1e5).texts() == [text]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0->1", "a schedule must be such as '0->1@2e6', .*, in a shell in quotes, got '0->1'"),
        ("0-", "a schedule must be such as .* got '0-'"),
        ("->1@2e6", "a schedule must be such as"),
        ("sin:0->1@2e6", "a schedule must be such as"),
        ("0..1->2@2e6", "a schedule must be such as"),
        ("free->1@2e6", "a schedule must be such as"),
        ("0->1@0", "the frames of a schedule must be above 0, finite and rising, got 0"),
        ("0->1@2e6->2@1e6", "must be above 0, finite and rising, got 2000000, 1000000"),
        ("0->-1@2e6", "the values of a schedule must be a diversity, finite and at least 0"),
        ("0->1@1e999", "must be above 0, finite and rising, got inf"),
    ],
)
def test_bad_texts_are_told_in_one_line(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_constraint(text)
    assert "\n" not in str(caught.value)


@pytest.mark.unchecked
def test_bad_input_is_told():
    with pytest.raises(ValueError, match="frames must be a number from 0 up, got -1"):
        equal(0.3).at_(-1)
    with pytest.raises(ValueError, match=r"of_frames must be a function of frames, got 0\.3"):
        scheduled(0.3)
    with pytest.raises(ValueError, match="x must be a diversity, finite and at least 0, got nan"):
        scheduled(lambda frames: math.nan if frames else 0.0).at_(1)
    with pytest.raises(ValueError, match="a schedule must give a number or a constraint"):
        scheduled(lambda _: "0->1@2e6")


def test_any_function_of_frames_is_a_schedule():
    def halving(frames):
        return 2.0 ** -(frames / 1e6)

    assert scheduled(halving).at_(2e6).lo.item() == 0.25
    assert scheduled(halving).texts() == ["halving(frames)"]
    bounded = scheduled(lambda frames: at_least(frames / 1e6))
    assert bounded.at_(2e6)(torch.tensor([1.0, 3.0])).tolist() == [2.0, 3.0]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's, beside him."""
    (tmp_path / "my_schedules.py").write_text(
        "import math, torch\n"
        "def rising(frames):\n    return min(1.0, frames / 100)\n"
        "def of_a_tensor(frames):\n    return torch.tensor(0.25)\n"
        "class Steps:\n    @staticmethod\n    def Two(frames):\n        return 1 if frames else 0\n"
        "def negative(frames):\n    return 0.5 - frames\n"
        "def endless(frames):\n    return math.inf\n"
        "def text(frames):\n    return '0.3'\n"
        "def switch(frames):\n    return True\n"
        "def nothing(frames):\n    return None\n"
        "def several(frames):\n    return [0.1, 0.2]\n"
        "def broken(frames):\n    return 1 / (1 - frames)\n"
        "def leaving(frames):\n    raise SystemExit(0)\n"
        "def two_numbers(frames):\n    import torch\n    return torch.tensor([0.1, 0.2])\n"
        "number = 3\n"
        "from posix import nice\n"
    )
    monkeypatch.setenv("DICO_TRUST", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_schedules", raising=False)


@pytest.mark.usefixtures("mine")
def test_a_function_may_be_named():
    ramp = parse_constraint(" my_schedules:rising ")
    assert [ramp.at_(frames).lo.item() for frames in (0, 25, 100, 1000)] == [0, 0.25, 1, 1]
    assert ramp.texts() == ["my_schedules:rising"]
    assert parse_constraint("my_schedules:of_a_tensor")(torch.tensor(2.0)) == 0.25
    assert parse_constraint("my_schedules:Steps.Two").at_(5).hi.item() == 1  # names keep their capitals
    mixed = stack_constraints([equal(0.3), ramp, parse_constraint("0->1@50"), free()]).at_(25)
    assert mixed.lo.tolist() == [0.3, 0.25, 0.5, 0]
    assert dico.DiCo.mlp(2, 4, 2, "my_schedules:rising", hidden=(8,)).constraint.at_(50).lo == 0.5


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("negative", "what schedule 'my_schedules:negative' gives after 1 frames must be a diversity.* got -0.5"),
        ("endless", "gives after 0 frames must be a diversity, finite and at least 0, got inf"),
        ("text", "gives after 0 frames must be a number, got '0.3'"),
        ("switch", "gives after 0 frames must be a number, got True"),
        ("nothing", "gives after 0 frames must be a number, got None"),
        ("several", r"gives after 0 frames must be a number, got \[0.1, 0.2\]"),
        ("two_numbers", r"gives after 0 frames must be a number, got tensor\(\[0.1000, 0.2000\]\)"),
        ("leaving", r"schedule 'my_schedules:leaving' failed after 0 frames: SystemExit\(0\)"),
        ("broken", r"schedule 'my_schedules:broken' failed after 1 frames: ZeroDivisionError"),
        ("number", "schedule 'my_schedules:number' must be a function of frames, got 3"),
        ("nowhere", "schedule 'my_schedules:nowhere' cannot be imported"),
    ],
)
def test_what_a_named_function_gives_is_checked_whenever_it_is_asked(name, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_constraint(f"my_schedules:{name}").at_(1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def rising(:", r"\(invalid syntax \(my_broken.py, line 1\)\)"),
        ("undefined", r"\(NameError\(\"name 'undefined' is not defined\"\)\)"),
        ("raise RuntimeError('one' + chr(10) + 'two')", r"RuntimeError\('one.ntwo'\)"),
        ("raise SystemExit(0)", r"SystemExit\(0\)"),
    ],
)
def test_a_module_that_fails_when_it_is_imported_is_told_in_a_line(tmp_path, monkeypatch, body, said):
    (tmp_path / "my_broken.py").write_text(body)
    monkeypatch.setenv("DICO_TRUST", "")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"'my_broken:rising' cannot be imported .*{said}.*: it must") as caught:
        parse_constraint("my_broken:rising")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("mine")
def test_a_text_is_read_without_running_what_it_names():
    assert canonical("my_schedules:broken") == "my_schedules:broken"
    assert final_bounds("my_schedules:broken") == (0, math.inf)
    assert "my_schedules" not in sys.modules
    with pytest.raises(ValueError, match="is code of its own, which is not run for being named in a folder"):
        check_known_schedules(["0.3", "my_schedules:rising"])
    assert "my_schedules" not in sys.modules
    parse_constraint("my_schedules:rising")
    check_known_schedules(["0.3", "my_schedules:rising"])
    with pytest.raises(ValueError, match="is of posix, which my_schedules has only imported"):
        check_known_schedules(["my_schedules:nice"])


def test_constant_and_scheduled_members_live_in_one_population():
    mixed = stack_constraints([equal(0.3), parse_constraint("0->1@100"), free(), parse_constraint(">=1->0@200")])
    assert mixed.texts() == ["0.3", "0->1@100", "free", ">=1->0@200"]
    assert mixed.least == 1
    mixed.at_(50)
    assert mixed.lo.tolist() == [0.3, 0.5, 0.0, 0.75]
    assert mixed.hi.tolist() == [0.3, 0.5, math.inf, math.inf]


def test_they_stand_after_what_they_end_with():
    texts = ["free", "1->0.3@2e6", "1", "cos:0->1@2e6", "0->1@2e6", "0.3"]
    assert sorted(texts, key=order) == ["0.3", "1->0.3@2e6", "1", "0->1@2e6", "cos:0->1@2e6", "free"]


@pytest.mark.unchecked
def test_a_policy_meets_the_desired_value_of_every_time():
    """thm:scaling, with tau = 1, in a plain loop; passes that were compiled before see the new bounds."""
    constraint = parse_constraint("0->1@1000")
    policy = dico.DiCo.mlp(3, 4, 2, constraint, tau=1.0, hidden=(8,)).double()
    obs = torch.randn(16, 3, 4, dtype=torch.float64)
    compiled = torch.compile(policy.everyone, fullgraph=True, backend="aot_eager")
    lo = constraint.lo
    for frames in (0, 100, 600, 1000, 2000):
        constraint.at_(frames)
        policy.commit_(policy.estimate(obs))
        for everyone in (policy.everyone, compiled):
            assert dico.snd(everyone(obs)).item() == pytest.approx(min(frames / 1000, 1), rel=1e-9)
    assert policy.constraint.lo is lo


def test_a_schedule_beyond_the_action_box_is_warned_of_though_it_begins_within():
    with pytest.warns(UserWarning, match="a desired diversity of 9 is out of reach"):
        dico.DiCo.mlp(2, 4, 2, "0->9@1e6", low=[-1, -1], high=[1, 1], hidden=(8,))


def test_what_is_saved_is_the_value_of_the_moment():
    policy = dico.DiCo.mlp(2, 4, 2, "0->1@100", hidden=(8,))
    policy.constraint.at_(25)
    other = dico.DiCo.mlp(2, 4, 2, 0.9, hidden=(8,))
    other.load_state_dict(policy.state_dict())
    assert other.constraint.texts() == ["0.25"]
