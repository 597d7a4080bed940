"""One population on a CUDA device: how long an iteration takes, and how far that is from what the device can do."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from dico.experiments import preset
from dico.training.config import Config
from dico.training.experience import Comparison
from dico.training.learner import Learner
from dico.training.memory import Plan
from dico.training.offpolicy import OffPolicyLearner, ReplayMinibatch
from dico.training.population import Population
from dico.training.ppo import PPO, PPOMinibatch
from dico.training.staging import Stage

PROFILED_UPDATES = 20
KERNELS = {
    "matrix products": ("gemm", "gemv", "cutlass", "nvjet", "xmma", "splitKreduce"),
    "fused activations, losses and optimisers": ("triton_",),
}
"""Kinds of kernels, by what their names hold; the first that fits counts."""


@dataclass(frozen=True)
class Case:
    """What to train."""

    task: str
    members: int
    precision: str = "tf32"
    action_loss: str = "merged"
    agents: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        options = () if self.agents is None else (f"n_agents={self.agents}",)
        return preset(
            "paper", self.task, snd=("0.5",), seeds=self.members, action_loss=self.action_loss, task_options=options,
            **self.settings,
        )  # fmt: skip


def measured(case: Case) -> dict[str, Any]:
    """Seconds of the first iteration, which compiles and captures, and the lesser of two more; memory; limits."""
    config = case.config
    first, population = clocked(lambda: started(case))
    seconds = min(clocked(population.iterate)[0] for _ in range(2))
    learner = population.learners[0]
    update = learner._updates[0] if isinstance(learner, PPO) else learner._sample_and_update  # pyright: ignore
    updating = clocked(lambda: [update() for _ in range(PROFILED_UPDATES)])[0] / PROFILED_UPDATES
    row = {
        "task": case.task, "algorithm": config.algorithm, "members": case.members,
        "agents": learner.team.n_agents, "precision": case.precision, "action loss": case.action_loss,
        "frames of the estimate": config.estimate_frames or "all",
        "agents of the estimate": config.estimate_agents or "all", "s": seconds, "first s": first,
        "update ms": 1e3 * updating, "reserved GB": torch.cuda.max_memory_reserved() / 1e9,
        "planned GB": case.members * Plan.of(config).member / 1e9,
    }  # fmt: skip
    return row | limits(config, case.members, updating) | spent(update, updating)


def compile_seconds(case: Case) -> dict[str, Any]:
    """How much longer making a population and its first iteration take than its second."""
    first, population = clocked(lambda: started(case))
    second = clocked(population.iterate)[0]
    return {
        "task": case.task, "algorithm": case.config.algorithm, "members": case.members,
        "action loss": case.action_loss, "first s": first, "second s": second, "compiling s": first - second,
    }  # fmt: skip


def started(case: Case) -> Population:
    """After its first iteration, in which everything is compiled and captured."""
    population = Population(case.config, Stage("graphs", "cuda", case.precision))
    population.iterate()
    return population


def clocked(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came out."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = action()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def limits(config: Config, members: int, seconds: float) -> dict[str, float]:
    """Operations and bytes of an update's matrix products, and how long they take at the device's measured rates."""
    work = Work()
    learner = Population(config, Stage("eager", "meta"), indices=[0]).learners[0]
    with work:
        _update_once(learner)
    rate, copying = device_rates()
    least = sum(max(flops / rate, size / copying) for flops, size in work.products)
    flops, size = (members * sum(column) for column in zip(*work.products, strict=True))
    return {
        "GFLOP an update": flops / 1e9, "GB an update": size / 1e9, "TFLOP/s": flops / seconds / 1e12,
        "device's TFLOP/s": rate / 1e12, "device's TB/s": copying / 1e12,
        "products at the device's rates, ms": 1e3 * members * least, "share of the time": members * least / seconds,
    }  # fmt: skip


def _update_once(learner: Learner) -> None:
    n, o, a = learner.team.n_agents, learner.team.obs_dim, len(learner.team.low)
    rows = learner.settings.batch if isinstance(learner, OffPolicyLearner) else learner.settings.minibatch
    obs, action = torch.empty(1, rows, n, o, device="meta"), torch.empty(1, rows, n, a, device="meta")
    each, how = torch.empty(1, rows, n, device="meta"), Comparison()
    if isinstance(learner, OffPolicyLearner):
        learner.update(ReplayMinibatch(obs, obs, action, each, each[..., 0], how))
    else:
        learner.update(PPOMinibatch(obs, action, each, each, each, how))  # pyright: ignore


class Work(TorchDispatchMode):
    """Operations of every matrix product, and bytes of its operands and result."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[tuple[int, int]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with FlopCounterMode(display=False) as counter:
            result = func(*args, **(kwargs or {}))
        if counter.get_total_flops():
            tensors = [x for x in (*args, result) if isinstance(x, torch.Tensor)]
            self.products.append((counter.get_total_flops(), sum(x.numel() * x.element_size() for x in tensors)))
        return result


@cache
def device_rates() -> tuple[float, float]:
    """TF32 operations a second of a large matrix product, and bytes a second, read and written, of a large copy."""
    torch.backends.cuda.matmul.allow_tf32 = True
    n, repeats = 8192, 20
    a, b, c = (torch.randn(n, n, device="cuda") for _ in range(3))
    torch.mm(a, b, out=c)
    product = clocked(lambda: [torch.mm(a, b, out=c) for _ in range(repeats)])[0] / repeats
    x, y = (torch.empty(2**28, device="cuda") for _ in range(2))
    y.copy_(x)
    copying = clocked(lambda: [y.copy_(x) for _ in range(repeats)])[0] / repeats
    return 2 * n**3 / product, 2 * x.nbytes / copying


def spent(update: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """What an update's time goes into: kinds of kernels, and waiting between them."""
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        for _ in range(PROFILED_UPDATES):
            update()
        torch.cuda.synchronize()
    times: dict[str, float] = defaultdict(float)
    for event in record.key_averages():
        kind = next((kind for kind, parts in KERNELS.items() if any(p in event.key for p in parts)), "gathers and rest")
        times[kind] += event.self_device_time_total / PROFILED_UPDATES / 1e3
    times["between kernels"] = max(0.0, 1e3 * seconds - sum(times.values()))
    launches = sum(event.count for event in record.key_averages()) / PROFILED_UPDATES
    return {"profile, ms": {kind: round(value, 4) for kind, value in times.items()}, "kernels": round(launches)}
