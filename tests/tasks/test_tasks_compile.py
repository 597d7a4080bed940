"""Nothing is read back to Python: each function of a task compiles as one graph, with equal results."""

from dataclasses import fields

import pytest
import torch
from judge import small_task
from shuffled import GreenFirst, Interleaved

from dico.random import Random
from dico.tasks import TASKS, join_groups, of_group, reverse_transport, tag, where_done

pytestmark = pytest.mark.unchecked


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def tensors(output):
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, tuple):
        return [tensor for each in output for tensor in tensors(each)]
    return [getattr(output, field.name) for field in fields(output)]


def assert_compiles(function, *arguments, again=None, backend="aot_eager", atol=1e-6):
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True, backend=backend)
    for expected, result in zip(tensors(function(*(again or arguments))), tensors(compiled(*arguments)), strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", TASKS)
def test_every_function_compiles_as_one_graph(name):
    task = small_task(name)
    rng = Random([0, 1])
    state, fresh = task.reset(4, rng), task.reset(4, rng)
    actions = torch.randn(2, 4, 5, 2)
    assert_compiles(task.step, state, actions)
    assert_compiles(task.observe, state)
    assert_compiles(where_done, torch.rand(2, 4) < 0.5, fresh, state)
    assert_compiles(lambda rng: task.reset(4, rng), Random([2, 3]), again=[Random([2, 3])])


@pytest.mark.parametrize("name", TASKS)
def test_a_step_with_resets_and_observations_compiles_as_one_graph(name):
    task = small_task(name)

    def advance(state, actions, rng):
        state, rewards, done = task.step(state, actions)
        state = where_done(done, task.reset(4, rng), state)
        return state, rewards, done, task.observe(state)

    state, actions = task.reset(4, Random([0])), torch.randn(1, 4, 5, 2)
    assert_compiles(advance, state, actions, Random([1]), again=[state, actions, Random([1])])


@pytest.mark.parametrize("task", [tag.Tag(), GreenFirst(), Interleaved()], ids=lambda task: task.name)
def test_actions_of_groups_and_their_rewards_compile_as_one_graph(task):
    groups = task.groups

    def advance(state, parts):
        state, rewards, _ = task.step(state, join_groups(groups, parts))
        return state, *(of_group(group, rewards) for group in groups), *task.observe(state)

    parts = tuple(torch.randn(2, 4, len(group.agents), 2) for group in groups)
    assert_compiles(advance, task.reset(4, Random([0, 1])), parts)


@pytest.mark.parametrize(
    ("name", "substeps"), [("tag", tag.SUBSTEPS), ("reverse-transport", reverse_transport.SUBSTEPS), ("navigation", 0)]
)
def test_a_compiler_is_handed_a_substep_with_contacts_once(name, substeps):
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    task = small_task(name)
    torch.compile(task.step, fullgraph=True, backend=keep)(task.reset(4, Random([0])), torch.randn(1, 4, 5, 2))
    (graph,) = graphs
    calls = [node for node in graph.graph.nodes if node.target is torch.ops.higher_order.invoke_subgraph]
    assert len(calls) == substeps
    assert len({node.args[0].target for node in calls}) == min(substeps, 1)


@pytest.mark.parametrize("name", ["tag", "reverse-transport"])
def test_compiled_substeps_equal_plain_ones(name):
    task = small_task(name)
    state, actions = task.reset(64, Random([0, 1])), torch.randn(2, 64, 5, 2)
    assert_compiles(task.step, state, actions, backend="inductor", atol=1e-4)  # a reward is 100 lengths
