"""What densities on the unit cube cost (app:finn): q's forward and backward pass beside a plain MLP.

python benchmarks/analytical.py           prints a table for each choice of hidden layers
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import nn

from dico.density import AutoregressiveDensity
from dico.finn import FixedIntegralNetwork
from dico.nets import SharedMLP

DENSITIES: dict[str, Callable[[int, Sequence[int]], nn.Module]] = {
    "autoregressive": lambda d, hidden: AutoregressiveDensity(d, hidden=hidden),
    "FINN": lambda d, hidden: FixedIntegralNetwork(d, hidden),
    "FINN, signed": lambda d, hidden: FixedIntegralNetwork(d, hidden, signed=True),
}
"""From the number of inputs and the sizes of the hidden layers; a ValueError says that there is none."""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, nargs="+", default=[2, 4, 6, 8])
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each measurement")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", message="[0-9]+ inputs make")
    how = "compiled" if options.compile else "eager"
    print(f"torch {torch.__version__}, {options.device}, {how}, {options.threads} threads, {options.rows} rows\n")
    for hidden in ((128,), (64, 64)):
        table(hidden, options.inputs, options)
        print()


if __name__ == "__main__":
    main()
