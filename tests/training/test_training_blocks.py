"""A population in blocks is the same population."""

import json
from pathlib import Path

import pytest
import torch
from held_memory import HeldMemory
from populations import PAIRS, config

import dico
from dico.experiments import preset
from dico.runs import RunError
from dico.runs.folder import read_checkpoints
from dico.training import session
from dico.training.blocks import Blocks, enough_memory, make_population
from dico.training.checkpoint import restore, save
from dico.training.memory import ALONGSIDE, FILLED, Plan, free_bytes
from dico.training.population import Population
from dico.training.replay_store import ReplayStore
from dico.training.staging import Stage

FIVE = {"snd": ("0.3",), "seeds": 5}
LEVELS = {"snd": ("0", "0.3", "1", ">=0.5", "free"), "seeds": 1}
MEASURED = Path(__file__).parents[2] / "docs" / "results" / "gpu-h200.json"
EAGER = Stage("eager")


def assert_same(rows, expected):
    assert [list(row) for row in rows] == [list(row) for row in expected]
    for row, other in zip(rows, expected, strict=True):
        for name, value in row.items():
            numbers = isinstance(value, float | list)
            expected_value = pytest.approx(other[name], rel=1e-4, abs=1e-6) if numbers else other[name]
            assert name == "seconds" or value == expected_value, name


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "ippo"},
        {"algorithm": "ippo", **LEVELS},
        {"algorithm": "maddpg", "replay": 100},  # written over in the third batch
        {"algorithm": "isac"},
        {"algorithm": "ippo", **PAIRS},
        {"task": "tag", "algorithm": "mappo", "freeze": ("agent=40",)},
    ],
    ids=lambda changes: f"{changes['algorithm']}-{len(changes.get('snd', 'a'))}",
)
@pytest.mark.parametrize("block", [1, 4])  # single ones; 3 and 2, filled up
@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_blocks_equal_the_undivided_population(changes, block):
    settings = config(**(FIVE | changes))
    whole, parts = Population(settings), Blocks(settings, EAGER, block)
    for _ in range(3):
        assert_same(parts.iterate(), whole.iterate())
    for name, value in parts.tensors().items():
        torch.testing.assert_close(value, whole.tensors()[name], rtol=1e-3, atol=1e-5, msg=name)


def test_blocks_are_as_even_as_can_be():
    assert Blocks(config(**FIVE), EAGER, 4).at_once == 3


@pytest.mark.parametrize("algorithm", ["ippo", "iddpg"])
def test_a_checkpoint_of_blocks_goes_on_with_other_blocks(algorithm, tmp_path):
    settings = config(**FIVE, algorithm=algorithm)

    def stored(population):
        return None if settings.on_policy else ReplayStore(population, tmp_path, settings.frames_per_batch, 3)

    first, second = Blocks(settings, EAGER, 2), Blocks(settings, EAGER, 3)
    first.iterate()
    save(first, tmp_path, stored(first), 0, 0)
    restore(second, next(read_checkpoints(tmp_path)), stored(second))
    assert_same(second.iterate(), first.iterate())


class Listener:
    def __init__(self):
        self.heard = []

    def begin(self, population, folder): ...
    def iteration(self, rows, seconds): ...
    def end(self): ...
    def say(self, message):
        self.heard.append(message)


def room_for(settings, members):
    """Bytes that must be free for so many members and no more."""
    return int((ALONGSIDE + (members + 0.5) * Plan.of(settings).member) / FILLED)


@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "by memory"])
def test_training_in_blocks_says_so(tmp_path, monkeypatch, by_hand):
    listener, settings = Listener(), config(**FIVE)
    if not by_hand:
        monkeypatch.setattr("dico.training.blocks.free_bytes", lambda _: room_for(settings, 2))
    run = dico.train(settings, tmp_path / "run", block=2 if by_hand else None, observers=[listener])
    assert "5 members take turns on cpu, 2 at a time; those that wait are in the host's memory" in listener.heard
    assert run.policies().members == (5,)
    assert run.session["block"] == 2


@pytest.mark.parametrize(("fit", "block"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 5)])
def test_as_many_members_as_fit_train_at_once(monkeypatch, fit, block):
    settings = config(**FIVE)
    monkeypatch.setattr("dico.training.blocks.free_bytes", lambda _: room_for(settings, fit))
    assert make_population(settings, EAGER).at_once == block


def test_running_out_of_memory_says_what_to_do(tmp_path, monkeypatch):
    def exhausted(self):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Population, "iterate", exhausted)
    with pytest.raises(RunError, match=r"ran out of memory with 5 members at once.*dico resume .* --block 2"):
        dico.train(config(**FIVE), tmp_path / "run")
    with pytest.raises(RunError, match=r"ran out of memory with one member: .*with fewer --envs"):
        dico.train(config(snd=("0.3",)), tmp_path / "one")


def test_running_out_of_memory_at_once_leaves_no_folder(tmp_path, monkeypatch):
    def exhausted(self, *args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Population, "__init__", exhausted)
    with pytest.raises(RunError, match=r"ran out of memory with 3 members at once.*dico train navigation --block 1"):
        dico.train(config(**FIVE), tmp_path / "run", block=3)
    assert not (tmp_path / "run").exists()


def test_a_resume_keeps_the_block(tmp_path, monkeypatch):
    dico.train(config(**FIVE), tmp_path / "run", block=2)
    blocks = []
    monkeypatch.setattr(session, "make_population", lambda *args: blocks.append(args[-1]) or make_population(*args))
    session.resume(tmp_path / "run")
    session.resume(tmp_path / "run", block=5)
    assert blocks == [2, 5]


@pytest.mark.unchecked
def test_a_block_has_at_least_a_member():
    with pytest.raises(ValueError, match="block must be a positive integer, got 0"):
        make_population(config(), EAGER, 0)


@pytest.mark.parametrize(
    ("algorithm", "parameters", "replay", "left_out"),
    [
        # numbers of the shared network, deviations and critics; of a kept frame; bytes of small things besides
        ("iddpg", 58 + 2 * 58 + 2 * 65 + 2 * 65, 23, 116),
        ("isac", 76 + 2 * 58 + 4 * 65 + 4 * 65, 23, 116),
        ("ippo", 76 + 2 * 58 + 2 * 49, 0, 1116),  # advantages, values and the order of 40 frames
    ],
)
def test_the_plan_counts_what_is_held(algorithm, parameters, replay, left_out):
    settings = config(algorithm=algorithm, replay=500)
    plan = Plan.of(settings)
    with HeldMemory() as held:
        population = Population(settings, indices=[0])
        population.iterate()
    gradients = 4 * parameters  # planned with, and let go after each update
    planned = plan.networks + plan.batch + plan.replay - gradients
    assert 0 <= held.now - planned <= left_out
    assert plan.replay == 4 * 500 * replay
    assert population.finished is False  # alive until here


@pytest.mark.parametrize("compared", [None, 2, 4])
def test_the_plan_leaves_room_for_an_update(compared):
    """Between one and three times what an eager update holds; captured graphs hold more."""
    size = {"frames": 4096, "frames_per_batch": 4096, "minibatch": 4096, "envs": 1024, "epochs": 1, "hidden": (16, 16)}
    settings = config(**size, snd=("0.3",), task_options=("n_agents=8",), estimate_agents=compared)
    population = Population(settings)
    batches = population.rollout.collect(population.learners, settings.steps, 0)
    with HeldMemory() as held:
        population.learners[0].learn(batches[0])
    assert held.peak < Plan.of(settings).working < 3.1 * held.peak


def test_the_plan_knows_that_fewer_agents_are_compared():
    two, four, six, eight, nine, every = (
        _working(task_options=("n_agents=8",), estimate_agents=k) for k in (2, 4, 6, 8, 9, None)
    )
    assert two < four < six <= every
    assert six - four == pytest.approx(four - two)  # so much for each two agents more
    assert eight == nine == every


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        # 15 minibatches of 4096, the last filled up, are those of a larger batch
        ({"minibatch": 4096}, {"minibatch": 4096, "frames_per_batch": 61_440, "envs": 512}),
        # 60,000 = 7 * 8000 + 4000: the graphs of both sizes hold as much as that of 12,000
        ({"minibatch": 8000}, {"minibatch": 12_000}),
        ({"minibatch": 100_000}, {"minibatch": 60_000}),
    ],
    ids=["filled up", "apart", "larger than a batch"],
)
def test_the_plan_knows_of_a_minibatch_that_is_captured_apart(changes, same):
    assert _working(**changes) == pytest.approx(_working(**same))
    assert _working(minibatch=12_000) == pytest.approx(3 * _working(minibatch=4000))


def _working(**changes):
    return Plan.of(preset("paper", **changes)).working


@pytest.mark.parametrize("section", ["iterations", "members", "agents", "sampled"])
def test_the_plan_leaves_room_for_what_was_measured(section):
    rows = [row for row in json.loads(MEASURED.read_text())[section] if "reserved GB" in row]
    assert len(rows) > 1
    for row in rows:
        sampled = {f"estimate_{of}": row.get(f"{of} of the estimate", "all") for of in ("frames", "agents")}
        case = preset(
            "paper", row["task"], snd=("0.5",), action_loss=row["action loss"],
            task_options=(f"n_agents={row['agents']}",),
            **{name: value for name, value in sampled.items() if value != "all"},
        )  # fmt: skip
        planned = (row["members"] * Plan.of(case).member + ALONGSIDE) / FILLED
        assert planned > row["reserved GB"] * 1e9, row


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_free_memory_is_what_the_process_is_allowed_and_has_not_taken(monkeypatch, device):
    asked = []
    for name, answer in (("mem_get_info", (70, 100)), ("get_per_process_memory_fraction", 0.5), ("memory_reserved", 8)):
        monkeypatch.setattr(torch.cuda, name, lambda index, answer=answer: asked.append(index) or answer)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert free_bytes(torch.device(device)) == 42
    assert asked == 3 * [1 if device == "cuda:1" else 0]  # PyTorch takes no device without its number here


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("fit", "block"), [(5, 5), (2, 2)])
def test_members_on_a_cuda_device_train_together_or_in_turns(fit, block):
    settings, stage = config(**FIVE), Stage("eager", "cuda", "float32")
    whole = Population(settings, stage)
    total = torch.cuda.get_device_properties(0).total_memory
    allowed = room_for(settings, fit) + torch.cuda.memory_reserved()
    torch.cuda.set_per_process_memory_fraction(allowed / total)
    try:
        planned = make_population(settings, stage)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert planned.at_once == block
    assert_same(planned.iterate(), whole.iterate())


def test_members_fit_into_what_is_free_less_what_cuda_takes():
    plan = Plan(networks=10**9, batch=0, replay=0, working=10**9)
    assert plan.fitting(20 * 10**9) == 8  # 18 GB are planned with, less 1.07 GB
    assert plan.fitting(0) == 1


def test_a_host_without_memory_is_told_too():
    with (
        pytest.raises(RunError, match="cpu ran out of memory with 2 members at once"),
        enough_memory(torch.device("cpu"), 2, "dico train x"),
    ):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")
    with pytest.raises(RuntimeError, match="something else"), enough_memory(torch.device("cpu"), 2, "dico train x"):
        raise RuntimeError("something else")
