"""What analytical control costs (app:finn): densities and policies beside a plain MLP and empirical DiCo, and training.

python benchmarks/analytical.py               the table of docs/analytical.md: forward and backward passes
python benchmarks/analytical.py --training    frames per second of the population trainer, as shares of empirical DiCo's
"""

import argparse
import math
import statistics
import time
import warnings

import torch
from torch import nn

from dico.analytical import DENSITIES, AnalyticalDiCo
from dico.experiments import PRESETS, preset
from dico.finn import MAX_INPUTS
from dico.nets import SharedMLP
from dico.policy import DiCo
from dico.training.algorithms import ALGORITHMS
from dico.training.options import SessionOptions
from dico.training.population import Population

CONTROLS: dict[str, dict[str, str]] = {
    "empirical": {},
    **{density: {"control": "analytical", "density": density} for density in DENSITIES},
}
"""What is trained, as changes to a preset."""
UNITS = (64, 64)
"""Of the hidden layers of the MLP that densities stand beside."""
LEVELS = ("0.1", "0.3", "0.5", "1")
"""Desired diversities, each with as many seeds."""


def pass_through(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """A density's or a network's output; of policies what training calls."""
    return module.forward_and_estimate(x).params if isinstance(module, DiCo) else module(x)


def milliseconds(modules: dict[str, nn.Module], x: torch.Tensor, options: argparse.Namespace) -> dict[str, float]:
    """Of a forward and a backward pass: medians of at least three turns, within about ``seconds`` for each module."""
    call = pass_through
    if options.compile:
        torch.compiler.reset()
        call = torch.compile(pass_through, fullgraph=True, dynamic=False)
    times: dict[str, list[float]] = {name: [] for name in modules}
    first, end = next(iter(times.values())), math.inf
    while len(first) < 4 or time.perf_counter() < end:
        for name, module in modules.items():
            module.to(options.device).zero_grad()
            begin = time.perf_counter()
            call(module, x).sum().backward()
            if x.is_cuda:
                torch.cuda.synchronize()
            times[name].append(time.perf_counter() - begin)
        end = min(end, time.perf_counter() + options.seconds * len(modules))
    return {name: 1e3 * statistics.median(each[1:]) for name, each in times.items()}  # the first warms up


def table(options: argparse.Namespace) -> None:
    """Densities by name, in times the MLP's milliseconds, and whole policies with each, in times empirical DiCo's."""
    heads = ("d", "MLP", *DENSITIES, "DiCo", *(f"analytical, {name}" for name in DENSITIES))
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for d in options.inputs:
        possible = [name for name in DENSITIES if name == "autoregressive" or d <= MAX_INPUTS]
        box = {"obs_low": [0.0] * d, "obs_high": [1.0] * d}
        sizes = (options.agents, d, 2, 0.3)
        densities: dict[str, nn.Module] = {"MLP": SharedMLP(d, 1, UNITS)}
        densities |= {name: DENSITIES[name](d) for name in possible}
        policies: dict[str, nn.Module] = {"DiCo": DiCo.mlp(*sizes, hidden=options.hidden)}
        for name in possible:
            policies[name] = AnalyticalDiCo.mlp(*sizes, hidden=options.hidden, density=name, **box)
        rows = torch.rand(options.rows, options.agents, d, device=options.device)
        cells = [cell for modules in (densities, policies) for cell in _cells(milliseconds(modules, rows, options))]
        print(f"| {d} | {' | '.join(cells)} |", flush=True)


def _cells(took: dict[str, float]) -> list[str]:
    first, *_ = took.values()
    return [f"{first:.3g} ms", *(f"{took[name] / first:.1f}" if name in took else "none" for name in DENSITIES)]


def training(options: argparse.Namespace) -> dict[str, list[float]]:
    """Frames per second of each control in turns, all members together: whole iterations on navigation.

    An iteration collects a batch, learns from it and measures; the first ones, which warm up, do not count.
    """
    populations: dict[str, Population] = {}
    sizes = {} if options.updates is None else {"updates": options.updates}
    for name in options.controls:
        config = preset(
            options.preset, "navigation", algorithm=options.algorithm, snd=LEVELS,
            seeds=options.members // len(LEVELS), **CONTROLS[name], **sizes,
        )  # fmt: skip
        populations[name] = Population(config, SessionOptions(device=options.device).make_stage())
    rates: dict[str, list[float]] = {name: [] for name in populations}
    for turn in range(options.warm_up + options.turns):
        for name, population in populations.items():
            begin = time.perf_counter()
            population.iterate()  # whose rows are numbers of the host: the device is done
            frames = population.config.frames_per_batch * len(population.members)
            if turn >= options.warm_up:
                rates[name].append(frames / (time.perf_counter() - begin))
    return rates


def print_training(options: argparse.Namespace) -> None:
    rates = training(options)
    first = statistics.median(next(iter(rates.values())))
    print(f"navigation, {options.algorithm}, {options.preset}, {options.members} members, {options.turns} iterations\n")
    print("| control | frames per second, all members | share of empirical |\n|---|---|---|")
    for name, each in rates.items():
        print(f"| {name} | {statistics.median(each):,.0f} | {statistics.median(each) / first:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, nargs="+", default=[2, 4, 6, 8])
    parser.add_argument("--rows", type=int, default=4096, help="observations of each agent")
    parser.add_argument("--agents", type=int, default=2)
    parser.add_argument("--hidden", type=int, nargs="+", default=[256, 256], help="of the policies' networks")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each measurement")
    parser.add_argument("--training", action="store_true", help="measure training instead")
    parser.add_argument("--controls", nargs="+", choices=CONTROLS, default=list(CONTROLS))
    parser.add_argument("--preset", choices=PRESETS, default="quick")
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="maddpg")
    parser.add_argument("--members", type=int, default=12)
    parser.add_argument("--updates", type=int, help="for each batch; by default the preset's")
    parser.add_argument("--turns", type=int, default=3, help="iterations of each")
    parser.add_argument("--warm-up", type=int, default=1, help="iterations before that")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", message="[0-9]+ inputs make")
    how = "compiled" if options.compile else "eager"
    print(f"torch {torch.__version__}, {options.device}, {how}, {options.threads} threads")
    if options.training:
        print_training(options)
        return
    print(f"{options.rows} rows of {options.agents} agents, networks of {options.hidden} units\n")
    table(options)


if __name__ == "__main__":
    main()
