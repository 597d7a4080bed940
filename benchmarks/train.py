"""Training against BenchMARL's, and against the number of members, in one run.

python benchmarks/train.py               needs dico-marl[benchmarl] for the first table; about 8 minutes
python benchmarks/train.py --epochs 5    the same with fewer passes over the batch
"""

import argparse
import importlib.util
import time

import torch

from dico.experiments import preset
from dico.training.config import Config
from dico.training.population import Population
from dico.training.products import quick_float32


def ours(config: Config) -> tuple[float, float]:
    """Seconds to collect and to learn from one batch, all members together, after one round to warm up."""
    population = Population(config)
    with population.stage.entered():
        population.rollout.collect(population.learners, 2, 0)
        start = time.perf_counter()
        batches = population.rollout.collect(population.learners, config.steps, 0)
        collected = time.perf_counter()
        for learner, batch in zip(population.learners, batches, strict=True):
            learner.learn(batch)
    return collected - start, time.perf_counter() - collected


def against_benchmarl(epochs: int) -> None:
    from in_benchmarl import iteration_seconds

    config = preset("paper", "navigation", snd=("0.5",), seeds=1, epochs=epochs)
    merged = preset("paper", "navigation", snd=("0.5",), seeds=1, epochs=epochs, action_loss="merged")
    rows = {"BenchMARL, model=dico": iteration_seconds(config)[0]}
    with quick_float32():
        rows["BenchMARL, its products by oneDNN as ours"] = iteration_seconds(config)[0]
    rows["ours, separate action loss"] = ours(config)
    rows["ours, merged action loss"] = ours(merged)
    theirs = sum(next(iter(rows.values())))
    print(f"IPPO, navigation, paper settings, one member, one iteration of 60,000 frames, {epochs} passes\n")
    print("| | collect | learn | in all | times faster |")
    print("|---|---|---|---|---|")
    for name, (collect, learn) in rows.items():
        both = collect + learn
        print(f"| {name} | {collect:.1f} s | {learn:.1f} s | {both:.1f} s | **{theirs / both:.1f}** |", flush=True)


def against_members(members: list[int], rounds: int = 3) -> None:
    print("\nIPPO, navigation, quick preset: one iteration of 6,000 frames of each member\n")
    print("| members | seconds | times one member | frames/s in all |")
    print("|---|---|---|---|")
    one = 0.0
    for count in members:
        config = preset("quick", "navigation", snd=("0.5",), seeds=count)
        seconds = min(sum(ours(config)) for _ in range(rounds))
        one = one or seconds
        rate = count * config.frames_per_batch / seconds
        print(f"| {count} | {seconds:.2f} | {seconds / one:.1f} | {rate:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=45)
    parser.add_argument("--members", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads\n")
    if importlib.util.find_spec("benchmarl"):
        against_benchmarl(options.epochs)
    else:
        print("BenchMARL is not installed: pip install 'dico-marl[benchmarl]' to compare with it")
    against_members(options.members)


if __name__ == "__main__":
    main()
