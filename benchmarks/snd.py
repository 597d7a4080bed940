"""SND against the obvious loop over agent pairs, with sampled pairs and agents, and compiled.

python benchmarks/snd.py           prints the tables of docs/performance-notes.md
"""

import argparse
import gc
import itertools
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._inductor.utils import fresh_cache
from torch.profiler import ProfilerActivity, profile

import dico
from dico._pairs import PairDistanceSum


def pair_by_pair(params: Tensor) -> Tensor:
    """SND as one would write it down."""
    n = params.shape[-2]
    distances = [
        torch.linalg.vector_norm(params[:, i] - params[:, j], dim=-1).mean()
        for i, j in itertools.combinations(range(n), 2)
    ]
    return torch.stack(distances).mean()


def forward(metric: Callable[[Tensor], Tensor], params: Tensor) -> None:
    with torch.no_grad():
        metric(params)


def forward_backward(metric: Callable[[Tensor], Tensor], params: Tensor) -> None:
    metric(params).backward()
    params.grad = None


def milliseconds(run: Callable[[], None], budget: float) -> float:
    """Median of at least three runs within about ``budget`` seconds."""
    run()
    times: list[float] = []
    while len(times) < 3 or sum(times) < budget:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def peak_bytes(run: Callable[[], None]) -> int:
    """Most memory in use at once beyond the inputs, from the allocations and frees that the profiler sees."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    recorded: Any = profiler.profiler
    changes = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    peak = held = 0
    for event in sorted(changes, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def against_the_loop(agents: list[int], observations: int, budget: float) -> None:
    print(
        "| agents | loop | `snd` | times faster | loop, with backward | `snd` | times faster | memory | with backward |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n in agents:
        params = torch.randn(observations, n, 2, requires_grad=True)
        torch.testing.assert_close(dico.snd(params), pair_by_pair(params), rtol=1e-4, atol=0)
        cells = []
        for run in (forward, forward_backward):
            loop = milliseconds(partial(run, pair_by_pair, params), budget)
            ours = milliseconds(partial(run, dico.snd, params), budget)
            cells += [f"{loop:.3g} ms", f"{ours:.3g} ms", f"**{loop / ours:.1f}**"]
        size = params.numel() * params.element_size()
        for run in (forward, forward_backward):
            cells.append(f"{peak_bytes(partial(run, dico.snd, params)) / size:.1f}")
        print(f"| {n} | " + " | ".join(cells) + " |", flush=True)


def sampled_pairs(agents: list[int], observations: int, budget: float) -> None:
    print("| agents n | all pairs | n sampled pairs | the same, per agent | standard error at 64 observations |")
    print("|---|---|---|---|---|")
    for n in agents:
        params = torch.randn(observations, n, 2)
        sample = partial(dico.snd, pairs=n)
        every = milliseconds(partial(forward, dico.snd, params), budget)
        sampled = milliseconds(partial(forward, sample, params), budget)
        few = params[:64]
        error = torch.stack([sample(few) for _ in range(200)]).std() / dico.snd(few)
        print(f"| {n} | {every:.3g} ms | {sampled:.3g} ms | {1e3 * sampled / n:.0f} us | {error:.1%} |", flush=True)


def from_some_agents(teams: list[int], draws: int = 200) -> None:
    """Standard deviation of ``estimate(obs, offsets)`` over draws of two agents, of teams in which no two are alike."""
    frames = (16, 128, 1024)
    print("| agents | " + " | ".join(f"{count} frames" for count in frames) + " |\n|" + "---|" * (len(frames) + 1))
    for n in teams:
        policy = dico.DiCo.mlp(n, 4, 2, "free", hidden=(32, 32), tau=1.0).requires_grad_(requires_grad=False)
        for parameter in policy.deviations.mlp[-1].parameters():  # pyright: ignore
            parameter *= torch.linspace(0.5, 2, n)[:, None, None]
        cells = []
        for count in frames:
            obs = torch.randn(count, n, 4)
            drawn = [torch.rand(count, n).argsort(-1)[:, :2] for _ in range(draws)]
            spread = torch.stack([policy.estimate(obs, offsets) for offsets in drawn]).std() / policy.estimate(obs)
            cells.append(f"{spread:.1%}")
        print(f"| {n} | " + " | ".join(cells) + " |", flush=True)


def shift_by_shift(params: Tensor) -> Tensor:
    """One cyclic shift of the team after the other, as in eager mode, but for all observations together."""
    n = params.shape[-2]
    return PairDistanceSum.apply(params).mean() * 2 / (n * (n - 1))  # pyright: ignore


def compiled(teams: list[int], observations: int, budget: float) -> None:
    """First call, which compiles, and later ones: forward and backward."""
    torch.compile(torch.sin)(torch.ones(1))  # what only the first compilation of a process takes
    print("| agents | handed over | first call | each |\n|---|---|---|---|")
    for n in teams:
        params = torch.randn(observations, n, 2, requires_grad=True)
        for name, function in (("shift by shift", shift_by_shift), ("all pairs at once", dico.snd)):
            torch.compiler.reset()
            metric = torch.compile(function, dynamic=False)
            with fresh_cache():
                start = time.perf_counter()
                forward_backward(metric, params)
                first = time.perf_counter() - start
            each = milliseconds(partial(forward_backward, metric, params), budget)
            print(f"| {n} | {name} | {first:.0f} s | {each:.3g} ms |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=int, default=8192)
    parser.add_argument("--agents", type=int, nargs="+", default=[2, 8, 32, 128])
    parser.add_argument("--many", type=int, nargs="+", default=[8, 32, 128, 256, 512])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each measurement")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.observations} observations, d = 2\n")
    against_the_loop(options.agents, options.observations, options.seconds)
    print()
    sampled_pairs(options.many, options.observations, options.seconds)
    print()
    from_some_agents([4, 8, 32])
    print()
    compiled([4, 8, 16], options.observations, options.seconds)


if __name__ == "__main__":
    main()
