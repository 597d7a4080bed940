"""Members that follow a schedule: beside others, alone, in blocks, killed and resumed."""

import shutil
import sys
from dataclasses import replace

import pytest
import torch
from populations import ALGORITHMS, config, parameters, population
from test_training_members import check_same, rows_of
from test_training_resume import Listener, final_tensors, metrics, small_run

import dico
from dico.runs import RunError
from dico.training.blocks import Blocks
from dico.training.population import Population
from dico.training.staging import Stage

RAMP = "0.2->0.8@60"
"""Over the first one and a half of three batches of 40 frames."""
MIXED = {"snd": (RAMP, "0.3", "step:>=1->2@80", "free")}
DESIRED = [0.2, 0.6, 0.8]


def test_a_schedule_advances_with_the_frames_before_each_batch():
    ours = population(snd=(RAMP, "step:<=1->0.5@80", "0.3"))
    buffers = [ours.learners[0].policy.constraint.lo, ours.learners[0].policy.constraint.hi]
    pointers = [buffer.data_ptr() for buffer in buffers]
    for value, upper in zip(DESIRED, [1, 1, 0.5], strict=True):
        ramp, step, constant = ours.iterate()
        assert ramp["desired"] == pytest.approx(value, rel=1e-12)
        assert step["desired"] == pytest.approx(min(step["snd"], upper))
        assert "desired" not in constant
        torch.testing.assert_close(buffers[0], torch.tensor([value, 0, 0.3], dtype=torch.float64))
        torch.testing.assert_close(buffers[1], torch.tensor([value, upper, 0.3], dtype=torch.float64))
    assert pointers == [buffer.data_ptr() for buffer in buffers]  # which captured graphs read


def test_the_diversity_measured_follows():
    ours = population(snd=(RAMP,), tau=1.0, lr=1e-5)
    for value in DESIRED:
        (row,) = ours.iterate()
        assert row["snd"] == pytest.approx(value, rel=0.15)


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg"])
def test_a_scheduled_member_alone_is_the_same_as_among_others(algorithm):
    assert algorithm in ALGORITHMS
    ours = population(algorithm=algorithm, **MIXED)
    rows = rows_of(ours)
    for k in (0, 2):
        alone = population(algorithm=algorithm, indices=[k], **MIXED)
        check_same(rows, k, rows_of(alone), ours, alone)


def test_a_constant_schedule_is_the_constant():
    moving, still = (population(snd=(text,)) for text in ("0.3->0.3@60", "0.3"))
    for (ours,), (its,) in zip(rows_of(moving), rows_of(still), strict=True):
        assert ours.pop("desired") == 0.3
        assert {name: value for name, value in ours.items() if name not in ("constraint", "seconds")} == {
            name: value for name, value in its.items() if name not in ("constraint", "seconds")
        }
    expected = parameters(still.learners[0])
    assert all(torch.equal(value, expected[name]) for name, value in parameters(moving.learners[0]).items())


def test_blocks_follow_the_schedules_of_the_members_on_their_seats():
    settings = config(snd=("0.3", "free", RAMP))
    whole, blocks = Population(settings), Blocks(settings, Stage("eager"), block=2)
    for value in DESIRED:
        expected, rows = whole.iterate(), blocks.iterate()
        assert [row.get("desired") for row in rows] == [None, None, pytest.approx(value)]
        for row, other in zip(rows, expected, strict=True):
            for name in ("reward", "snd", "snd_hat", "scale"):
                assert row[name] == pytest.approx(other[name], rel=1e-4, abs=1e-6), name


def test_a_group_that_no_longer_learns_follows_too_and_uncontrolled_ones_desire_nothing():
    ours = population(task="tag", snd=(RAMP,), freeze=("adversary=1",))
    before = None
    for value in DESIRED:
        rows = {row["group"]: row for row in ours.iterate()}
        assert rows["adversary"]["desired"] == pytest.approx(value)
        assert "desired" not in rows["agent"]
        now = parameters(ours.learners[0])
        assert before is None or all(torch.equal(now[name], before[name]) for name in now)
        before = now


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg"])
def test_a_run_that_was_set_back_resumes_exactly(tmp_path, algorithm):
    trained = small_run(tmp_path / "run", algorithm=algorithm, snd=("0.2->0.8@200", "cos:1->0@120"))
    expected, tensors = metrics(trained.folder), final_tensors(trained.folder)
    assert trained.metric("desired")[0].tolist() == pytest.approx([0.2, 0.32, 0.44, 0.56, 0.68, 0.8])
    tensors = {name: value.clone() for name, value in tensors.items()}
    (trained.folder / "checkpoint-240" / "state.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="not whole"):
        dico.resume(trained.folder)
    assert metrics(trained.folder) == expected
    for name, value in final_tensors(trained.folder).items():
        assert torch.equal(value, tensors[name]), name


def test_a_run_folder_knows_a_schedule_by_its_text(tmp_path):
    listener = Listener()
    trained = dico.train(config(snd=("0->1@1e6", "0.3")), tmp_path / "run", observers=[listener])
    assert [member.name for member in trained.members] == ["snd=0->1@1e6,seed=0", "snd=0.3,seed=0"]
    assert trained.member(" 0 -> 1 @ 1000000 ").index == 0
    assert trained.policy("0->1@1e6").constraint.texts() == [repr(80 / 1e6)]  # as it was trained last
    desired = trained.metric("desired")
    assert desired[0].tolist() == pytest.approx([0, 40 / 1e6, 80 / 1e6])
    assert desired[1].isnan().all()
    assert "snd 0->1@1e6 goes on to change after 120 frames, the last of this training" in listener.said


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's: the ramp as a function, and one that fails late."""
    (tmp_path / "my_ramps.py").write_text(
        "def ramp(frames):\n    return min(0.2 + 0.6 * frames / 60, 0.8)\n"
        "asked = []\ndef told(frames):\n    asked.append(frames)\n    return 0.3\n"
        "def late(frames):\n    return 0.3 if frames < 80 else float('nan')\n"
    )
    monkeypatch.setenv("DICO_TRUST", "")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("algorithm", ["ippo", "maddpg"])
def test_a_function_that_is_named_is_followed_as_a_text_is(algorithm):
    named, written = (population(algorithm=algorithm, snd=("0.3", text, "free")) for text in ("my_ramps:ramp", RAMP))
    rows = rows_of(named)
    for ours, its in zip(rows, rows_of(written), strict=True):
        for row, other in zip(ours, its, strict=True):
            assert all(row[name] == other[name] for name in ("reward", "snd", "snd_hat", "scale"))
            assert row.get("desired") == pytest.approx(other.get("desired"))
    alone = population(algorithm=algorithm, snd=("0.3", "my_ramps:ramp", "free"), indices=[1])
    check_same(rows, 1, rows_of(alone), named, alone)


@pytest.mark.usefixtures("mine")
def test_a_run_with_a_named_function_resumes_exactly_if_it_is_trusted(tmp_path, monkeypatch):
    trained = small_run(tmp_path / "run", snd=("my_ramps:ramp", "0.3"))
    expected, tensors = metrics(trained.folder), final_tensors(trained.folder)
    assert trained.member("my_ramps:ramp").index == 0
    assert trained.metric("desired")[0].tolist() == pytest.approx([0.2, 0.6, 0.8, 0.8, 0.8, 0.8])
    shutil.rmtree(trained.folder / "checkpoint-240")
    monkeypatch.setenv("DICO_TRUST", "")
    with pytest.raises(RunError, match="set DICO_TRUST=my_ramps"):
        dico.resume(trained.folder)
    monkeypatch.setenv("DICO_TRUST", "my_ramps")
    dico.resume(trained.folder)
    assert metrics(trained.folder) == expected
    assert all(torch.equal(value, tensors[name]) for name, value in final_tensors(trained.folder).items())


@pytest.mark.usefixtures("mine")
def test_while_it_trains_a_named_function_is_asked_for_the_batch_at_hand_alone():
    trained = population(snd=("my_ramps:told", "free"), seeds=1)
    asked = sys.modules["my_ramps"].asked
    for frames in (0, 40, 80):
        asked.clear()
        trained.iterate()
        assert asked == [frames]


@pytest.mark.usefixtures("mine")
def test_a_named_function_is_asked_for_all_batches_before_anything_is_written(tmp_path):
    settings = config(snd=("my_ramps:late", "0.3"))
    with pytest.raises(ValueError, match="gives after 80 frames must be a diversity, finite and at least 0, got nan"):
        dico.train(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert len(list(dico.train(replace(settings, frames=80), tmp_path / "run").rows())) == 4
    with pytest.raises(ValueError, match="gives after 80 frames must be a diversity"):
        dico.resume(tmp_path / "run", frames=120)


@pytest.mark.slow
@pytest.mark.unchecked
@pytest.mark.parametrize("algorithm", ["ippo", "maddpg"])
def test_compiled_stages_follow_without_compiling_again(algorithm):
    torch.compiler.reset()
    settings = config(algorithm=algorithm, snd=(RAMP, "free"), frames=160)
    eager, fast = (Population(settings, Stage(name, "cpu", "float32")) for name in ("eager", "compiled"))
    compiled = []
    for _ in range(4):
        expected, rows = eager.iterate(), fast.iterate()
        compiled.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
        for row, other in zip(rows, expected, strict=True):
            assert row.get("desired") == other.get("desired")
            for name in ("reward", "snd", "snd_hat", "scale"):
                assert row[name] == pytest.approx(other[name], rel=1e-3, abs=1e-5), name
    assert compiled[1:] == compiled[1:2] * 3
    assert compiled[0] > 0
