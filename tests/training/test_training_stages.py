"""All stages do the same: compiled and eager agree on the CPU; captured graphs too, where there is a CUDA device."""

import copy
import io
from contextlib import contextmanager
from functools import partial

import pytest
import torch
from populations import config
from rich.console import Console
from shuffled import Interleaved
from torch._inductor.async_compile import AsyncCompile

import dico
from dico.commands._progress import LiveProgress, PlainProgress
from dico.runs import RunError
from dico.tasks import TASKS
from dico.training.population import Population
from dico.training.session import resume
from dico.training.staging import Branch, Stage, first_error

pytestmark = pytest.mark.unchecked
STAGES = [("compiled", "cpu")] + [(name, "cuda") for name in ("compiled", "graphs") if torch.cuda.is_available()]


@pytest.mark.parametrize(("stage", "device"), STAGES, ids=lambda value: value)
@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("ippo", {}),
        ("ippo", {"minibatch": 14}),
        ("maddpg", {}),
        ("isac", {}),
        ("isac", {"task_options": ("n_agents=6",), "estimate_agents": 5}),
        pytest.param("matd3", {}, marks=pytest.mark.slow),
        pytest.param("ippo", {"task": "vmas:balance"}, marks=pytest.mark.slow),
        pytest.param("ippo", {"task": "interleaved"}, marks=pytest.mark.slow),
        pytest.param("ippo", {"task": "tag"}, marks=pytest.mark.slow),
    ],
    ids=[
        "ippo",
        "filled up",
        "maddpg",
        "isac",
        "some agents",
        "matd3",
        "VMAS",
        "groups that interleave",
        "tag",
    ],
)
def test_stages_agree(algorithm, options, stage, device, monkeypatch):
    torch.compiler.reset()
    monkeypatch.setitem(TASKS, "interleaved", Interleaved)
    settings = config(algorithm=algorithm, **options)
    eager = Population(settings, Stage("eager", device, "float32"))
    fast = Population(settings, Stage(stage, device, "float32"))
    for _ in range(2):
        expected, rows = eager.iterate(), fast.iterate()
        for row, other in zip(rows, expected, strict=True):
            for name in ("reward", "snd", "snd_hat", "scale", "action_bound_violation"):
                assert row[name] == pytest.approx(other[name], rel=1e-3, abs=1e-5), name
    for name, value in fast.tensors().items():
        torch.testing.assert_close(value, eager.tensors()[name], rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.parametrize("task", ["tag", "interleaved"])
def test_a_step_of_several_groups_compiles_as_one_graph(task, monkeypatch):
    torch.compiler.reset()
    monkeypatch.setitem(TASKS, "interleaved", Interleaved)
    ours = Population(config(task=task))
    ours.rollout.collect(ours.learners, 1, 0)
    one, two = (copy.deepcopy(ours) for _ in range(2))
    arguments = [
        (each.state, each.clock, each.used, (each.outcomes.earned, each.outcomes.sums), each.starts)
        for each in (one.rollout, two.rollout)
    ]
    compiled = torch.compile(two.rollout._advance, fullgraph=True, dynamic=False, backend="aot_eager")
    with torch.no_grad():
        expected, result = one.rollout._advance(*arguments[0]), compiled(*arguments[1])
    torch.testing.assert_close(result[-1], expected[-1], rtol=0, atol=1e-6)
    for mine, other in zip(vars(result[0]).values(), vars(expected[0]).values(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-6)


class FakeStream:
    """Of a CUDA device that is not there: it tells who waits for whom."""

    current: "FakeStream"

    def __init__(self, name, waits):
        self.name, self.waits = name, waits

    def wait_stream(self, other):
        self.waits.append(f"{self.name} for {other.name}")

    @contextmanager
    def used(self):
        before, FakeStream.current = FakeStream.current, self
        yield
        FakeStream.current = before


def test_a_branch_waits_for_what_stands_before_it_and_only_a_join_waits_for_it(monkeypatch):
    waits: list[str] = []
    monkeypatch.setattr(FakeStream, "current", FakeStream("main", waits), raising=False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: FakeStream.current)
    monkeypatch.setattr(torch.cuda, "stream", FakeStream.used)
    branch = Branch(FakeStream("side", waits))
    for _ in range(2):
        with branch:
            assert FakeStream.current.name == "side"
        assert FakeStream.current.name == "main"
    assert waits == ["side for main"] * 2
    branch.join()
    assert waits[2:] == ["main for side"]


def test_of_a_capture_that_fails_the_first_error_is_told():
    @contextmanager
    def capture():
        try:
            yield
        finally:
            raise RuntimeError("there is work that was not joined")

    with pytest.raises(torch.OutOfMemoryError, match="the first"), first_error(), capture():
        raise torch.OutOfMemoryError("the first")
    with pytest.raises(RuntimeError, match="not joined"), first_error(), capture():
        pass


def test_the_device_is_the_current_one_while_it_works(monkeypatch):
    stage, entered = Stage("eager", "cpu"), []

    @contextmanager
    def device(name):
        entered.append(str(name))
        yield

    monkeypatch.setattr(torch.cuda, "device", device)
    stage.device = torch.device("cuda:1")
    before = torch.backends.cuda.matmul.allow_tf32
    with stage.entered():
        assert torch.backends.cuda.matmul.allow_tf32
    assert entered == ["cuda:1"]
    assert torch.backends.cuda.matmul.allow_tf32 == before


def test_where_nothing_is_captured_a_branch_is_done_in_its_turn(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: pytest.fail("there is none"))
    branch, done = Stage("compiled", "cpu").branch(), []
    with branch:
        done.append("inside")
    done.append("behind")
    branch.join()
    assert done == ["inside", "behind"]


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        (("graphs", "cuda"), 1),
        (("auto", "cuda"), 1),
        (("compiled", "cuda"), 1),
        (("eager", "cuda"), 0),
        (("compiled",), 0),
    ],
)
def test_compilers_for_a_cuda_device_start_at_once(monkeypatch, arguments, starts):
    asked = []
    monkeypatch.setattr(AsyncCompile, "use_process_pool", lambda: asked.append(1))
    Stage(*arguments)
    assert len(asked) == starts
    monkeypatch.delattr(AsyncCompile, "use_process_pool")  # it is PyTorch's own, and may go
    Stage(*arguments)


@pytest.mark.parametrize("minibatch", [24, 14], ids=["", "filled up"])
def test_bf16_rounds_and_trains(minibatch):
    settings = config(minibatch=minibatch)
    exact, rounded = (Population(settings, Stage("eager", "cpu", p)).iterate() for p in ("float32", "bf16"))
    assert exact[0]["snd"] != rounded[0]["snd"]
    assert rounded[0]["reward"] == pytest.approx(exact[0]["reward"], abs=1e-2)


def test_a_compiler_that_fails_is_explained(monkeypatch, tmp_path):
    def fails(error):
        def backend(graph, inputs):
            raise error

        monkeypatch.setattr(Population, "iterate", lambda _: torch.compile(torch.sin, backend=backend)(torch.ones(2)))

    fails(AssertionError("no such node"))
    with pytest.raises(
        RunError, match=r"compiler of PyTorch .* failed \(.*no such node\): start a new run with --stage"
    ):
        dico.train(config(), tmp_path / "run")
    fails(torch.OutOfMemoryError("out of memory"))
    with pytest.raises(RunError, match=r"ran out of memory with 2 members at once: .*--block 1"):
        dico.train(config(), tmp_path / "large")


@pytest.mark.parametrize("stage", ["eager", "compiled"])
def test_an_error_of_our_own_is_not_blamed_on_the_compiler(monkeypatch, tmp_path, stage):
    product = Stage(stage).function(lambda: torch.ones(2) @ torch.ones(3))
    monkeypatch.setattr(Population, "iterate", lambda _: product())
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        dico.train(config(), tmp_path / "run")


@pytest.mark.parametrize("display", [PlainProgress, LiveProgress])
@pytest.mark.parametrize(("stage", "compiled"), [("eager", False), ("compiled", True)])
def test_the_user_is_told_of_compiling_and_its_time_is_not_taken_for_speed(
    monkeypatch, tmp_path, stage, compiled, display
):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr("dico.commands._progress.SECONDS_BETWEEN_LINES", 0)

    def said(train):
        console = Console(file=io.StringIO(), width=200, force_terminal=display is LiveProgress)
        paces = []
        monkeypatch.setattr(display, "pace", lambda self, seconds: paces.append(pace(self, seconds)) or paces[-1])
        train(observers=[display(console)])
        return console.file.getvalue(), paces

    pace = display.pace
    text, paces = said(partial(dico.train, config(), tmp_path / "run", stage=stage))
    assert ("the first iteration is compiled" in text) == compiled
    assert [each.startswith("compiled in 0 s") for each in paces] == [compiled, False, False]
    assert paces[-1] in text
    text, paces = said(partial(resume, tmp_path / "run"))  # nothing is left to train
    assert "the first iteration is compiled" not in text
    assert paces == []


def test_a_log_tells_the_time_left_from_the_second_iteration_on_if_the_first_was_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr("dico.commands._progress.SECONDS_BETWEEN_LINES", 0)
    console = Console(file=io.StringIO())
    dico.train(config(), tmp_path / "run", stage="compiled", observers=[PlainProgress(console)])
    lines = [line for line in console.file.getvalue().splitlines() if " of 120 frames" in line]
    assert [" s left | 0.3: reward" in line for line in lines] == [False, True, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("graph",), "did you mean 'graphs'"),
        (("graphs", "cpu"), "got 'graphs': it needs CUDA"),
        (("eager", "cpu", "tf16"), "precision must be one of 'tf32', 'bf16', 'float32', got 'tf16'"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        Stage(*arguments)
