"""Pieces joined are the whole, and the whole cut is its pieces."""

import json
import os
import shutil
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pieced import OFTEN, small
from safetensors.torch import load_file, save_file

import dico
from dico.runs import RunError, load
from dico.scale.driver import cut_out, split
from dico.scale.gather import Source, _write_state, write_tensors
from dico.scale.gather_rows import gather_rows, last_rows
from dico.scale.joining import join, places_of
from dico.scale.pieces import Piece, Pieces
from dico.training.checkpoint import replay_store, restore
from dico.training.population import Population

ALGORITHMS = {"ippo": {}, "iddpg": {"algorithm": "iddpg"}, "tag": {"task": "tag", "algorithm": "maddpg"}}


@pytest.fixture(scope="module", params=ALGORITHMS)
def trained(request, tmp_path_factory):
    """A run of six members, whose replay buffer has been written over."""
    folder = tmp_path_factory.mktemp("gather") / "run"
    config = small(**ALGORITHMS[request.param])
    dico.train(config, folder, device="cpu", checkpoint_every=2)
    return config, folder


partitions = st.lists(st.integers(0, 3), min_size=6, max_size=6)


def pieces_of(owners):
    found = [tuple(k for k, owner in enumerate(owners) if owner == piece) for piece in sorted(set(owners))]
    return [Piece(f"{k:03d}", members) for k, members in enumerate(found)]


def cut_run(config, folder, copy, parts):
    """A copy of a run as the run's own pieces."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("config.json", "members.json", "machine.json"):
        shutil.copy(folder / name, copy / name)
    pieces, options = Pieces(copy), OFTEN_TWO
    cut_out(config, options, pieces, Source.newest(folder, 6), range(6), parts)
    pieces.write(parts)
    return pieces


OFTEN_TWO = type(OFTEN)(device="cpu", checkpoint_every=2)


def replayed(config, folder):
    """What a population that is resumed from a folder replays."""
    population = Population(config)
    restore(population, load(folder).checkpoints()[0], replay_store(population, folder, OFTEN_TWO))
    return [value for learner in population.learners for value in getattr(learner, "replay_buffer", {}).values()]


@settings(max_examples=3)
@given(owners=partitions, later=st.integers(0, 5))
def test_what_was_cut_and_joined_is_what_it_was(trained, tmp_path_factory, owners, later):
    """However it was cut, and if a piece was cut once more."""
    config, folder = trained
    copy = tmp_path_factory.mktemp("cut") / "copy"
    pieces = cut_run(config, folder, copy, pieces_of(owners))
    piece = next(piece for piece in pieces.read() if later in piece.members)
    if len(piece.members) > 1:
        split(config, OFTEN_TWO, pieces, piece, [piece.members[:1], piece.members[1:]])
    join(config, OFTEN_TWO, pieces)
    assert (copy / "metrics.jsonl").read_bytes() == (folder / "metrics.jsonl").read_bytes()
    expected = load(folder).checkpoints()[0]
    found = load(copy).checkpoints()[0]
    assert {**found.meta, "chunks": 0, "checksums": 0, "seal": 0} == {
        **expected.meta, "chunks": 0, "checksums": 0, "seal": 0,
    }  # fmt: skip
    assert found.tensors().keys() == expected.tensors().keys()
    for name, value in expected.tensors().items():
        assert torch.equal(found.tensors()[name], value), name
    for value, other in zip(replayed(config, copy), replayed(config, folder), strict=True):
        assert torch.equal(value, other)
    assert not list(copy.glob(".*.part"))
    assert not pieces.path.exists()


def test_a_piece_is_a_run_that_opens(trained, tmp_path):
    config, folder = trained
    pieces = cut_run(config, folder, tmp_path / "copy", pieces_of([0, 1, 0, 1, 1, 0]))
    run, whole = load(tmp_path / "copy" / "pieces" / "001"), load(folder)
    assert [member.name for member in run.members] == [whole.members[k].name for k in (1, 3, 4)]
    assert torch.equal(run.metric("reward"), whole.metric("reward")[[1, 3, 4]])
    group = whole.groups[0]
    obs = torch.randn(9, group["n_agents"], group["obs_dim"])
    expected = whole.policy_of(whole.members[3])(obs)
    torch.testing.assert_close(run.policy_of(run.members[1])(obs), expected)
    assert pieces.frames(pieces.read()[0]) == 240


def test_pieces_that_do_not_agree_are_not_joined(trained, tmp_path):
    config, folder = trained
    pieces = cut_run(config, folder, tmp_path / "copy", pieces_of([0, 0, 0, 1, 1, 1]))
    other = tmp_path / "other"
    dico.train(small(frames=200, task=config.task, algorithm=config.algorithm), other, device="cpu")
    cut_out(config, OFTEN_TWO, pieces, Source.newest(other, 6), range(6), pieces.read()[1:])
    with pytest.raises(RunError, match="different frames"):
        join(config, OFTEN_TWO, pieces)
    assert pieces.exist


def test_a_piece_of_another_size_is_not_joined(trained, tmp_path):
    source = Source.newest(trained[1], 6)
    with pytest.raises(RunError, match="is not of 9 members, as many as its piece has"):
        _write_state([replace(source, members=9)], [(0, 0)], tmp_path / "state")


def cut_replay(trained, tmp_path):
    """A run in two pieces, and a file of the frames that the second replays."""
    config, folder = trained
    if config.on_policy:
        pytest.skip("nothing is replayed")
    pieces = cut_run(config, folder, tmp_path / "copy", pieces_of([0, 0, 0, 1, 1, 1]))
    return config, pieces, next((pieces.path / "001" / "replay").glob("*.obs.f32"))


def test_a_flipped_bit_among_replayed_frames_is_not_joined(trained, tmp_path):
    config, pieces, path = cut_replay(trained, tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[-3] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(RunError, match=r"obs\.f32 is damaged"):
        join(config, OFTEN_TWO, pieces)


def test_a_pipe_among_replayed_frames_is_not_waited_for(trained, tmp_path):
    config, pieces, path = cut_replay(trained, tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RunError, match=r"obs\.f32 cannot be used: it is no plain file"):
        join(config, OFTEN_TWO, pieces)


@pytest.mark.parametrize("change", [lambda tensor: tensor.unsqueeze(-1), lambda tensor: tensor.view(torch.int32)])
def test_tensors_of_another_shape_or_kind_are_not_joined(trained, tmp_path, change):
    """Their checksums are gone, as whoever meant it would see to."""
    config, folder = trained
    pieces = cut_run(config, folder, tmp_path / "copy", pieces_of([0, 0, 0, 1, 1, 1]))
    checkpoint = load(pieces.path / "001").newest.folder
    state, meta = load_file(checkpoint / "state.safetensors"), json.loads((checkpoint / "meta.json").read_text())
    name = next(name for name, tensor in state.items() if name.endswith("policy.snd_hat"))
    save_file(state | {name: change(state[name])}, checkpoint / "state.safetensors")
    told = {key: value for key, value in meta.items() if key not in ("seal", "checksums")}
    (checkpoint / "meta.json").write_text(json.dumps(told))
    with pytest.raises(RunError, match="in another shape or of another kind than other pieces"):
        join(config, OFTEN_TWO, pieces)
    assert pieces.exist


def rows_of(members, iterations, groups=("",)):
    named = [{"group": group} if group else {} for group in groups]
    return [
        {"member": k, "iteration": t, **group, "reward": t + k / 10}
        for t in range(1, iterations + 1)
        for group in named
        for k in range(members)
    ]


@settings(max_examples=20)
@given(owners=partitions, behind=st.integers(0, 3), groups=st.sampled_from([("",), ("b", "a")]))
def test_rows_of_pieces_that_are_not_equally_far(tmp_path_factory, owners, behind, groups):
    folder = tmp_path_factory.mktemp("rows")
    parts = pieces_of(owners)
    for k, part in enumerate(parts):
        lines = rows_of(len(part.members), 4 - behind if k == 0 else 4, groups)
        (folder / part.name).write_text("".join(json.dumps(row) + "\n" for row in lines) + '{"member": 0, "it')
    gather_rows([folder / part.name for part in parts], places_of(parts), folder / "all")
    found = [json.loads(line) for line in (folder / "all").read_text().splitlines()]
    ends = {member: 4 - behind if part is parts[0] else 4 for part in parts for member in part.members}
    expected = [row for row in rows_of(6, 4, groups) if row["iteration"] <= ends[row["member"]]]
    assert [(row["iteration"], row.get("group"), row["member"]) for row in found] == [
        (row["iteration"], row.get("group"), row["member"]) for row in expected
    ]


def test_the_last_rows_are_read_from_the_end(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert last_rows(path, 3) == []
    rows = [{"member": 0, "iteration": t, "filling": [0.5] * 300} for t in range(1, 50)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"torn')
    assert last_rows(path, 3) == rows[-3:]
    assert last_rows(path, 100) == rows


def test_metrics_so_far_can_be_shown(trained, tmp_path):
    config, folder = trained
    pieces = cut_run(config, folder, tmp_path / "copy", pieces_of([0, 0, 1, 1, 2, 2]))
    shutil.rmtree(pieces.path / "002")
    assert {row["member"] for row in load(tmp_path / "copy").rows()} == {0, 1, 2, 3}


def test_tensors_of_every_kind_are_written_as_safetensors_does(tmp_path):
    kinds = [torch.float32, torch.int64, torch.bool, torch.float64, torch.bfloat16, torch.uint8, torch.int32]
    tensors = {str(kind): torch.arange(6).reshape(2, 3).to(kind) for kind in kinds}
    tensors |= {"nothing": torch.zeros(0, 3), "number": torch.tensor(3)}
    sizes = {name: (value.dtype, tuple(value.shape)) for name, value in tensors.items()}
    write_tensors(tmp_path / "state", sizes, tensors.__getitem__)
    found = load_file(tmp_path / "state")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], value) for name, value in tensors.items())
