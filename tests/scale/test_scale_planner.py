"""What goes where: every member once, together what belongs together, no piece too large."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pieced import OFTEN, Inline

from dico.commands._scale import plan_table
from dico.experiments import preset
from dico.runs import RunError
from dico.scale import start
from dico.scale.joining import join
from dico.scale.pieces import Driven, Driver, Outcome, Piece, Pieces
from dico.scale.planner import Room, bound_together, cut, halves, members_that_fit
from dico.scale.start import Planned
from dico.training.config import Config
from dico.training.memory import Plan

LEVELS = {"plain": ("0", "0.3", "free"), "seeking": ("seek:0.3", "seek:0.5", "free"), "dial": ("0", "0.3", "1")}


@settings(max_examples=25)
@given(
    kind=st.sampled_from(list(LEVELS)), seeds=st.integers(1, 9), at_once=st.integers(1, 12),
    most=st.none() | st.integers(3, 12),
)  # fmt: skip
def test_every_member_once_and_none_apart_from_those_it_needs(kind, seeds, at_once, most):
    config = preset("quick", snd=LEVELS[kind], seeds=seeds, dial=kind == "dial", vary=("tau=0.1,0.01",))
    parts = cut(config, at_once, most)
    assert sorted(member for part in parts for member in part) == list(range(len(config.members)))
    assert all(list(part) == sorted(part) for part in parts)
    assert max(map(len, parts)) <= (most or 10**9)
    for unit in bound_together(config):
        assert len({k for k, part in enumerate(parts) for member in unit if member.index in part}) == 1
    assert len(parts) >= min(at_once, len(bound_together(config)))
    sizes = [sum(unit[0].index in part for unit in bound_together(config)) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for part in parts:
        assert sorted(k for half in halves(config, part) for k in half) == sorted(part)


def test_what_must_stay_together_is_said_if_it_does_not_fit():
    config = preset("quick", snd=LEVELS["seeking"], seeds=2)
    with pytest.raises(RunError, match="2 members depend on each other and stay together: a block of 1 is too small"):
        cut(config, 1, 1)


def test_members_that_fit_are_those_of_the_memory_plan():
    config = preset("quick")
    each = Plan.of(config).member
    assert members_that_fit(config, Room("here", 1)) is None
    assert members_that_fit(config, Room("here", 1, memory=10 * each)) == 9
    assert members_that_fit(config, Room("here", 1, memory=each // 2)) == 1


def test_ten_thousand_members_are_planned_within_seconds():
    config = preset("quick", snd=tuple(f"{k / 100:g}" for k in range(100)), seeds=100)
    start = time.perf_counter()
    parts = cut(config, 2, 20)
    assert len(parts) == 500
    assert time.perf_counter() - start < 20
    plan = Planned([Piece(f"{k:03d}", part) for k, part in enumerate(parts)], config.members, "ray", 2, 10**6)
    assert plan_table(plan).row_count < 20


def test_a_plan_that_was_changed_is_not_gone_on_with(tmp_path):
    pieces = Pieces(tmp_path)
    pieces.write([Piece("000", (0, 2)), Piece("001", (1,))])
    assert pieces.read() == [Piece("000", (0, 2)), Piece("001", (1,))]
    path = pieces.path / "plan.json"
    path.write_text(path.read_text().replace("2", "3"))
    with pytest.raises(RunError, match=r"plan\.json was changed"):
        pieces.read()


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        ([(0, 1)], r"plan.json cannot be used: it omits members \(2, 3, 4, 5, 6, ...\) of 8"),
        ([(0, 1, 2), tuple(range(2, 8))], r"it names more than once members \(2\) of 8"),
        ([tuple(range(9))], r"it names, though there are none of them, members \(8\) of 8"),
    ],
)
def test_a_plan_that_is_not_of_every_member_once_is_refused_and_nothing_is_removed(tmp_path, planned, said):
    pieces = Pieces(tmp_path)
    pieces.write([Piece(f"{k:03d}", members) for k, members in enumerate(planned)])
    (pieces.path / "007").mkdir()
    with pytest.raises(RunError, match=said):
        start._drive(Config(snd=("0", "1"), seeds=4), OFTEN, pieces, Inline(), (), print)
    with pytest.raises(RunError, match=said):
        join(Config(snd=("0", "1"), seeds=4), OFTEN, pieces)
    assert (pieces.path / "007").exists()


def test_what_is_of_no_piece_is_removed_and_names_are_used_once(tmp_path):
    pieces = Pieces(tmp_path)
    pieces.write([Piece("000", (0, 1))])
    (pieces.path / "001").mkdir()
    pieces.note(Piece("001", (1,)), Outcome("finished"))
    assert pieces.new_names(2) == ["002", "003"]
    pieces.write([Piece("000", (0, 1))])
    assert sorted(path.name for path in pieces.path.iterdir()) == ["plan.json"]


def test_a_worker_stops_for_its_driver_for_another_and_for_none(tmp_path):
    pieces, clock = Pieces(tmp_path), [0.0]
    pieces.path.mkdir()
    mine, other = Driver(pieces), Driver(pieces)
    mine.beat()
    driven = Driven(pieces, mine.id, outlives=False, now=lambda: clock[0])
    lasting = Driven(pieces, mine.id, outlives=True, now=lambda: clock[0])
    assert not driven.should_stop()
    clock[0] = 50
    mine.beat()
    assert not driven.should_stop()
    clock[0] = 105
    assert not driven.should_stop()
    clock[0] = 111
    assert driven.should_stop()
    assert not lasting.should_stop()
    mine.ask_to_stop()
    assert lasting.should_stop()
    other.beat()
    assert lasting.should_stop()
