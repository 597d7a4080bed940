"""What analytical control costs (app:finn): densities beside a plain MLP, and training beside empirical DiCo.

python benchmarks/analytical.py               q's forward and backward pass, a table for each choice of hidden layers
python benchmarks/analytical.py --training    frames per second of the population trainer, as shares of empirical DiCo's
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import nn

from dico.density import AutoregressiveDensity
from dico.experiments import PRESETS, preset
from dico.finn import FixedIntegralNetwork
from dico.nets import SharedMLP
from dico.training.algorithms import ALGORITHMS
from dico.training.options import SessionOptions
from dico.training.population import Population

DENSITIES: dict[str, Callable[[int, Sequence[int]], nn.Module]] = {
    "autoregressive": lambda d, hidden: AutoregressiveDensity(d, hidden=hidden),
    "FINN": lambda d, hidden: FixedIntegralNetwork(d, hidden),
    "FINN, signed": lambda d, hidden: FixedIntegralNetwork(d, hidden, signed=True),
}
"""From the number of inputs and the sizes of the hidden layers; a ValueError says that there is none."""
CONTROLS: dict[str, dict[str, str]] = {
    "empirical": {},
    "analytical": {"control": "analytical"},
    "analytical, FINN": {"control": "analytical", "density": "finn"},
}
"""What is trained, as changes to a preset."""
LEVELS = ("0.1", "0.3", "0.5", "1")
"""Desired diversities, each with as many seeds."""


def step(module: nn.Module, u: torch.Tensor) -> None:
    module.zero_grad()
    module(u).sum().backward()


def milliseconds(modules: dict[str, nn.Module], u: torch.Tensor, budget: float) -> dict[str, float]:
    """Medians of at least three turns of all modules within about ``budget`` seconds for each."""
    for module in modules.values():
        step(module, u)
    times: dict[str, list[float]] = {name: [] for name in modules}
    start = time.perf_counter()
    while len(times["MLP"]) < 3 or time.perf_counter() - start < budget * len(modules):
        for name, module in modules.items():
            begin = time.perf_counter()
            step(module, u)
            if u.is_cuda:
                torch.cuda.synchronize()
            times[name].append(time.perf_counter() - begin)
    return {name: 1e3 * statistics.median(each) for name, each in times.items()}


def table(hidden: Sequence[int], inputs: Sequence[int], options: argparse.Namespace) -> None:
    print(f"Hidden layers {tuple(hidden)}, times the MLP's milliseconds\n")
    print("| d | MLP | " + " | ".join(DENSITIES) + " |\n|---|---|" + "---|" * len(DENSITIES))
    for d in inputs:
        modules: dict[str, nn.Module] = {"MLP": SharedMLP(d, 1, hidden)}
        for name, density in DENSITIES.items():
            try:
                modules[name] = density(d, hidden)
            except ValueError:
                continue
        modules = {name: module.to(options.device) for name, module in modules.items()}
        if options.compile:
            torch.compiler.reset()
            for module in modules.values():
                module.compile(fullgraph=True, dynamic=False)
        u = torch.rand(options.rows, d, device=options.device)
        took = milliseconds(modules, u, options.seconds)
        cells = [f"{took[name] / took['MLP']:.1f}" if name in took else "none" for name in DENSITIES]
        print(f"| {d} | {took['MLP']:.3g} ms | " + " | ".join(cells) + " |", flush=True)


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
    parser.add_argument("--rows", type=int, default=4096)
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
    print(f"torch {torch.__version__}, {options.device}, {how}, {options.threads} threads, {options.rows} rows\n")
    if options.training:
        print_training(options)
        return
    for hidden in ((128,), (64, 64)):
        table(hidden, options.inputs, options)
        print()


if __name__ == "__main__":
    main()
