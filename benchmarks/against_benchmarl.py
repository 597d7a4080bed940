"""The population trainer and BenchMARL with the same settings: do they reach the same rewards?

python benchmarks/against_benchmarl.py              two levels, 4 seeds of each, 300,000 frames; about 10 min on a core
python benchmarks/against_benchmarl.py --levels 1 --seeds 2 --frames 60000 --out shorter

Writes benchmarl-navigation.json and .png into the folder of --out, by default docs/results.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from in_benchmarl import experiment

import dico
from dico.analysis import aggregate, curves, final, frames, levels, of_level
from dico.experiments import preset
from dico.runs import Run
from dico.training.config import Config
from dico.training.session import train

COLOURS = {"population": "#0072b2", "BenchMARL": "#d55e00"}
LABELS = {"population": "population trainer", "BenchMARL": "BenchMARL, model=dico"}


def in_benchmarl(config: Config, folder: Path) -> Run:
    """Train every member of a configuration in BenchMARL, one after the other."""
    folder.mkdir(parents=True)
    for constraint, seed in ((member.constraint, member.seed) for member in config.members):
        experiment(config, constraint, seed, folder).run()
    return dico.load(folder)


def settings(levels: Sequence[str], seeds: int, frames: int) -> Config:
    """The quick preset, with the action-space loss and the estimate that BenchMARL has here."""
    return preset(
        "quick", "navigation", snd=tuple(levels), seeds=seeds, frames=frames, action_loss="separate",
        action_loss_lr=3e-5, estimate_on="minibatch",
    )  # fmt: skip


def trained(config: Config, folder: Path) -> dict[str, Run]:
    """Both trainers' runs; one that is in the folder already is not trained again."""
    trainers = {
        "population": lambda place: train(config, place, device="cpu"),
        "BenchMARL": lambda place: in_benchmarl(config, place),
    }
    runs = {}
    for name, start in trainers.items():
        place = folder / name.lower()
        runs[name] = dico.load(place) if place.exists() else start(place)
    return runs


def compared(runs: dict[str, Run], config: Config) -> dict[str, Any]:
    """Final reward and SND of both, level by level, and whether the intervals of the rewards overlap."""
    results = {}
    for level in levels(next(iter(runs.values()))):
        sides = {}
        for name, run in runs.items():
            sides[name] = {}
            for metric in ("reward", "snd"):
                values = final(run, metric)[of_level(run, level)]
                band = aggregate(values)
                sides[name][metric] = {
                    "seeds": values.tolist(), "mean": float(band.centre), "low": float(band.low),
                    "high": float(band.high),
                }  # fmt: skip
        one, other = (side["reward"] for side in sides.values())
        results[level] = sides | {"overlap": one["low"] <= other["high"] and other["low"] <= one["high"]}
    told = ("algorithm", "frames", "envs", "frames_per_batch", "hidden", "lr", "gamma", "epochs", "minibatch",
            "tau", "gradient", "action_loss", "seeds")  # fmt: skip
    return {
        "task": "navigation",
        "statistic": "mean and standard deviation over seeds of the last tenth of the iterations",
        "settings": {name: getattr(config, name) for name in told},
        "levels": results,
    }


def draw(runs: dict[str, Run], path: Path) -> None:
    """Reward and SND over training, a column for each level."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    wanted = levels(next(iter(runs.values())))
    figure, axes = plt.subplots(
        2, len(wanted), figsize=(3.6 * len(wanted) + 0.6, 4.8), sharex=True, sharey="row", squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for column, level in zip(axes.T, wanted, strict=True):
        for axis, metric in zip(column, ("reward", "snd"), strict=True):
            for name, run in runs.items():
                band = aggregate(curves(run, metric)[of_level(run, level)])
                x = frames(run) / 1000
                axis.plot(x, band.centre, color=COLOURS[name], label=LABELS[name], linewidth=1.5)
                axis.fill_between(x, band.low, band.high, color=COLOURS[name], alpha=0.2, linewidth=0)
            axis.spines[["top", "right"]].set_visible(False)
        if level != "free":
            column[1].axhline(float(level), color="0.3", linestyle="--", linewidth=1, zorder=0)
        column[0].set_title(f"desired SND {level}")
        column[1].set_xlabel("frames (thousands)")
    axes[0, 0].set_ylabel("mean reward per step")
    axes[1, 0].set_ylabel("measured SND")
    axes[1, 0].set_ylim(bottom=0)
    axes[0, 0].legend(frameon=False, loc="lower right")
    seeds = len({member.seed for member in next(iter(runs.values())).members})
    figure.suptitle(f"navigation, IPPO: {seeds} seeds, mean and standard deviation", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", nargs="+", default=["0.3", "1"])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--frames", type=int, default=300_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs" / "results")
    parser.add_argument(
        "--keep", type=Path, help="where the runs go, and are taken from if there; by default nowhere that lasts"
    )
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    config = settings(options.levels, options.seeds, options.frames)
    with tempfile.TemporaryDirectory() as scratch:
        runs = trained(config, options.keep or Path(scratch))
        results = compared(runs, config)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "benchmarl-navigation.json").write_text(json.dumps(results, indent=2) + "\n")
        draw(runs, options.out / "benchmarl-navigation.png")
    for level, sides in results["levels"].items():
        for name in COLOURS:
            reward, snd = sides[name]["reward"], sides[name]["snd"]
            spread = np.std(reward["seeds"], ddof=1) if len(reward["seeds"]) > 1 else float("nan")
            print(f"snd {level}, {name}: reward {reward['mean']:.4f} ± {spread:.4f}, SND {snd['mean']:.3f}")
        if options.seeds > 1:  # one seed has no interval
            print(f"snd {level}: the intervals {'overlap' if sides['overlap'] else 'do not overlap'}")


if __name__ == "__main__":
    main()
