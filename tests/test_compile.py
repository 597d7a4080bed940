"""Nothing is read back to Python: the policy compiles as one graph and runs on tensors that hold no data."""

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, stack_module_state, vmap

from dico import METRICS, DiCo, at_most, between, equal, free, snd, stack_constraints
from dico._pairs import FEW_COMPONENTS
from dico.kinds import KINDS

METHODS = ["forward", "estimate", "everyone", "forward_and_estimate"]


def make(kind="agent_std", constraint=0.5, **options):
    box = {"low": [-1, -1], "high": [1, 1], "squash_shared": True}
    return DiCo.mlp(3, 4, 2, constraint, kind=kind, hidden=(8,), **box, **options)


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch.compiler.reset()


def first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", METHODS)
def test_runs_on_tensors_without_data(method, metric):
    with FakeTensorMode():
        policy = make(metric=metric)
        output = getattr(policy, method)(torch.randn(5, 3, 4))
        first(output).sum().backward()
        policy.commit_(policy.estimate(torch.randn(5, 3, 4)))
    shapes = {"forward": (5, 3, 4), "estimate": (), "everyone": (15, 3, 4), "forward_and_estimate": (5, 3, 4)}
    assert first(output).shape == shapes[method]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    "options",
    [{"kind": kind} for kind in KINDS]
    + [{"metric": metric} for metric in METRICS]
    + [{"gradient": gradient} for gradient in ("detached", "straight_through")]
    + [{"members": (2,), "constraint": stack_constraints([equal(0.2), free()])}, {"constraint": between(0.1, 0.2)}]
    + [{"constraint": at_most(0.01), "gradient": "straight_through"}],
    ids=str,
)
def test_compiles_as_one_graph_with_equal_values_and_gradients(options):
    torch.manual_seed(0)
    policy = make(**options)
    obs = torch.randn(*policy.members, 5, 3, 4)
    policy.commit_(policy.estimate(torch.randn_like(obs)))
    for method in METHODS:
        eager = getattr(policy, method)
        compiled = torch.compile(eager, fullgraph=True, backend="aot_eager")
        results = []
        for run in (eager, compiled):
            policy.zero_grad()
            output = run(obs)
            if first(output).requires_grad:
                first(output).square().sum().backward()
            results.append((output, [p.grad for p in policy.parameters()]))
        torch.testing.assert_close(results[0], results[1])


@pytest.mark.unchecked
def test_compiles_to_machine_code():
    torch.manual_seed(0)
    policy = make()
    obs = torch.randn(5, 3, 4)
    compiled = torch.compile(policy.forward_and_estimate, fullgraph=True)
    torch.testing.assert_close(compiled(obs), policy.forward_and_estimate(obs))


@pytest.mark.unchecked
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(("n", "d"), [(3, 13), (4, 2), (5, 1), (9, 3)])
def test_compiled_sums_over_pairs_equal_plain_ones(n, d, backend):
    team = torch.randn(2, 40, n, d, dtype=torch.float64)
    team[:, :, 1] = team[:, :, 0]  # two agents coincide
    compiled = torch.compile(snd, fullgraph=True, dynamic=False, backend=backend)
    found, expected = (team.clone().requires_grad_() for _ in range(2))
    value, wanted = compiled(found), snd(expected)
    torch.testing.assert_close(value, wanted)
    weights = torch.tensor([1.0, -2.0], dtype=torch.float64)
    (value @ weights).backward()
    (wanted @ weights).backward()
    torch.testing.assert_close(found.grad, expected.grad)
    torch.testing.assert_close(torch.compile(grad(snd), backend=backend)(team[0]), grad(snd)(team[0]))
    team[0, 0, 2] = torch.inf
    torch.testing.assert_close(compiled(team), snd(team))
    assert compiled(team)[0] == torch.inf


@pytest.mark.unchecked
def test_a_compiler_is_handed_all_pairs_at_once():
    def operations(n, d):
        counts = []

        def count(graph, _):
            counts.append(len(graph.graph.nodes))
            return make_boxed_func(graph.forward)

        compiled = torch.compile(snd, fullgraph=True, dynamic=False, backend=aot_autograd(fw_compiler=count))
        compiled(torch.randn(6, n, d, requires_grad=True)).backward()
        return counts  # forward and backward

    assert operations(3, 2) == operations(4, 2) == operations(12, 2)
    assert operations(3, FEW_COMPONENTS + 1) == operations(3, 40) < operations(3, FEW_COMPONENTS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_vmap_over_a_stacked_population_equals_a_loop_over_its_members(method, kind):
    torch.manual_seed(0)
    members = [make(kind=kind, constraint=c) for c in (equal(0.2), between(0.1, 0.3), free())]
    for policy in members:
        policy.commit_(policy.estimate(torch.randn(5, 3, 4)))
    obs = torch.randn(3, 5, 3, 4)
    params, buffers = stack_module_state(members)

    class Call(torch.nn.Module):
        def __init__(self, policy):
            super().__init__()
            self.policy = policy

        def forward(self, obs):
            return first(getattr(self.policy, method)(obs))

    def call(params, buffers, obs):
        state = {f"policy.{name}": value for name, value in (params | buffers).items()}
        return functional_call(Call(members[0]), state, (obs,))

    together = vmap(call)(params, buffers, obs)
    alone = torch.stack([first(getattr(policy, method)(o)) for policy, o in zip(members, obs, strict=True)])
    torch.testing.assert_close(together, alone)


def test_vmapped_gradients_equal_a_loops():
    torch.manual_seed(0)
    members = [make() for _ in range(3)]
    obs = torch.randn(3, 5, 3, 4)
    params, buffers = stack_module_state(members)

    def loss(params, buffers, obs):
        return functional_call(members[0], params | buffers, (obs, torch.tensor(1.0))).square().mean()

    together = vmap(torch.func.grad(loss))(params, buffers, obs)
    for k, policy in enumerate(members):
        policy(obs[k], torch.tensor(1.0)).square().mean().backward()
        for name, parameter in policy.named_parameters():
            torch.testing.assert_close(together[name][k], parameter.grad)


def test_vmapped_gradients_of_the_metric_equal_a_loops():
    x = torch.randn(4, 6, 5, 2, dtype=torch.float64)
    together = vmap(torch.func.grad(snd))(x)
    alone = torch.stack([torch.func.grad(snd)(row) for row in x])
    torch.testing.assert_close(together, alone)


@pytest.mark.unchecked
@pytest.mark.parametrize("bf16", [False, True], ids=["float32", "bf16"])
def test_narrow_layers_of_many_rows_are_written_out_alike(bf16):
    torch.manual_seed(0)
    policy = make(members=(2,), constraint=stack_constraints([equal(0.2), free()]))
    obs = torch.randn(2, 700, 3, 4)  # 2100 rows of each member
    policy.commit_(policy.estimate(obs))

    def loss(obs):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            return policy.forward_and_estimate(obs)[0].float().square().mean()

    values, gradients = [], []
    for run in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        values.append(run(obs))
        gradients.append(torch.autograd.grad(values[-1], list(policy.parameters())))
    close = {"rtol": 3e-2, "atol": 3e-3} if bf16 else {"rtol": 1e-4, "atol": 1e-6}
    torch.testing.assert_close(*values, **close)
    for eager, compiled in zip(*gradients, strict=True):
        torch.testing.assert_close(compiled, eager, **close)


@pytest.mark.unchecked
def test_a_compiled_narrow_layer_needs_no_matrix_product():
    products = []

    def backend(graph, inputs):
        products.extend(node for node in graph.graph.nodes if "matmul" in str(node.target))
        return graph.forward

    policy = make()
    torch.compile(policy.estimate, fullgraph=True, backend=backend)(torch.randn(2048, 4))
    assert not products  # with one hidden layer, all layers are narrow on one side
    torch.compile(policy.estimate, fullgraph=True, backend=backend)(torch.randn(2047, 4))
    assert products
