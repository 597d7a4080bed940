"""Preset `paper` beside BenchMARL with model=dico at the same settings: are they one algorithm, at full size?

python benchmarks/original.py train navigation --levels free 0.3 1 --batches 11 --folder runs/original/navigation
python benchmarks/original.py train tag --levels 0 0.6 --batches 40 --folder runs/original/tag
python benchmarks/original.py collect runs/original/navigation --json docs/results/original/navigation.json
python benchmarks/original.py draw docs/results/original/navigation.json docs/results/original/navigation.png

`train` runs the population and every BenchMARL experiment as processes side by side, on one device; what of it is there
already is left as it is, and `collect` takes what has been trained so far.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dico
from dico.analysis import controlled_group, in_order
from dico.experiments import preset
from dico.runs import Run
from dico.training.config import Config
from dico.training.session import train

COLUMNS = ("reward", "snd", "snd_hat", "scale")
SIDES = {"population": "#0072b2", "benchmarl": "#d55e00"}
LABELS = {"population": "population trainer, preset paper", "benchmarl": "BenchMARL, model=dico"}
TITLES = {"reward": "mean reward per step", "snd": "measured SND", "snd_hat": "estimate"}


def config_of(task: str, levels: list[str], seeds: int, batches: int) -> Config:
    """The paper's settings for so many batches."""
    config = preset("paper", task, snd=tuple(levels), seeds=seeds)
    return replace(config, frames=batches * config.frames_per_batch)


def train_population(config: Config, folder: Path, device: str) -> None:
    """Every level and seed at once."""
    train(config, folder, device=device, checkpoint_every=1000)


def train_benchmarl(config: Config, folder: Path, device: str) -> None:
    """The first member alone."""
    from in_benchmarl import experiment

    folder.mkdir(parents=True)
    experiment(config, config.members[0].constraint, config.members[0].seed, folder, device).run()


def side_by_side(options: argparse.Namespace) -> None:
    """A process for the population, and one for each experiment of BenchMARL; wait for all."""
    shared = [sys.executable, __file__, "one", options.task, "--batches", str(options.batches)]
    shared += ["--device", options.device]
    jobs = {"population": ["--levels", *options.levels, "--seeds", str(options.seeds)]}
    for level in options.levels:
        for seed in range(options.benchmarl_seeds):
            jobs[f"benchmarl/{level}-{seed}"] = ["--levels", level, "--first-seed", str(seed)]
    options.folder.mkdir(parents=True, exist_ok=True)
    running = []
    for name, arguments in jobs.items():
        if (options.folder / name).exists():
            continue
        log = (options.folder / f"{name.replace('/', '-')}.log").open("w")
        command = [*shared, *arguments, "--folder", str(options.folder / name)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment))
    failed = [process.args for process in running if process.wait()]
    if failed:
        sys.exit(f"{len(failed)} processes failed, see the logs in {options.folder}: {failed[0]}")


def curves_of(run: Run) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Every member's curves: level -> seed -> column -> values."""
    group = controlled_group(run)
    values = {name: run.metric(name, group) for name in COLUMNS}
    curves: dict[str, dict[str, dict[str, list[float]]]] = {}
    for member in run.members:
        own = {name: [float(f"{x:.5g}") for x in column[member.index].tolist()] for name, column in values.items()}
        curves.setdefault(member.constraint, {})[str(member.seed)] = own
    return curves


def collect(folder: Path) -> dict[str, Any]:
    """What both sides have trained so far."""
    population = dico.load(folder / "population")
    sides: dict[str, Any] = {"population": curves_of(population), "benchmarl": {}}
    for experiment in sorted((folder / "benchmarl").iterdir()):
        for level, seeds in curves_of(dico.load(experiment)).items():
            sides["benchmarl"].setdefault(level, {}).update(seeds)
    return {
        "task": population.config["task"],
        "frames_per_batch": population.config["frames_per_batch"],
        "machine": json.loads((folder / "population" / "machine.json").read_text()),
        "curves": sides,
    }


def last(measured: dict[str, Any], side: str, level: str, column: str, batches: int) -> list[float]:
    """Each seed's mean over the last batches that all seeds of both sides have."""
    common = min(
        len(seed[column]) for seeds in (measured["curves"][s][level] for s in SIDES) for seed in seeds.values()
    )
    seeds = measured["curves"][side][level].values()
    return [float(np.mean(seed[column][common - min(batches, common) : common])) for seed in seeds]


def table(measured: dict[str, Any], batches: int = 5) -> None:
    """Each seed's mean over the last batches, side by side."""
    print(f"{measured['task']}, mean over the last {batches} batches that all have, each seed")
    for level in in_order(measured["curves"]["population"]):
        for column in ("reward", "snd", "snd_hat"):
            cells = [
                " ".join(f"{value:.4g}" for value in last(measured, side, level, column, batches)) for side in SIDES
            ]
            print(f"  {level:5} {column:8} ours {cells[0]} | BenchMARL {cells[1]}")


def draw(measured: dict[str, Any], path: Path) -> None:
    """Reward, measured SND and estimate, a column for each level: each seed, and the mean over seeds.

    A team without diversity is scaled by 0, whatever its estimate: of level 0 only the reward is drawn.
    """
    from dico.viz.style import new_figure, use_style

    levels = in_order(measured["curves"]["population"])
    with use_style():
        figure = new_figure(2.7 * len(levels) + 0.6, 6.0)
        figure.set_layout_engine("constrained")
        axes = figure.subplots(len(TITLES), len(levels), sharex=True, squeeze=False)
        for row, (column, title) in zip(axes, TITLES.items(), strict=True):
            for axis, level in zip(row, levels, strict=True):
                if level == "0" and column != "reward":
                    axis.set_axis_off()
                    continue
                draw_sides(axis, measured, level, column)
                if axis.get_subplotspec().is_first_col() or levels[0] == "0":
                    axis.set_ylabel(title)
        for axis, level in zip(axes[0], levels, strict=True):
            axis.set_title("free" if level == "free" else f"desired SND {level}")
        for column in axes.T:
            lowest = next(axis for axis in reversed(column) if axis.axison)
            lowest.set_xlabel("frames (millions)")
            lowest.tick_params(labelbottom=True)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.savefig(path, dpi=130)


def draw_sides(axis: Any, measured: dict[str, Any], level: str, column: str) -> None:
    """One panel: each seed of both sides, and their means as far as all seeds have come."""
    for side, colour in SIDES.items():
        seeds = [np.array(seed[column]) for seed in measured["curves"][side][level].values()]
        common = min(map(len, seeds))
        x = np.arange(1, common + 1) * measured["frames_per_batch"] / 1e6
        for seed in seeds:
            axis.plot(x, seed[:common], color=colour, alpha=0.35, linewidth=0.8)
        mean = np.mean([seed[:common] for seed in seeds], 0)
        axis.plot(x, mean, color=colour, linewidth=1.8, label=f"{LABELS[side]}, {len(seeds)} seeds")
    if column == "snd" and level != "free":
        axis.axhline(float(level), color="0.4", linestyle="--", linewidth=0.8, zorder=0)
    if column == "snd_hat":
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "one"):
        command = commands.add_parser(name, help="train all" if name == "train" else "train one process's part")
        command.add_argument("task")
        command.add_argument("--levels", nargs="+", required=True)
        command.add_argument("--batches", type=int, required=True)
        command.add_argument("--folder", type=Path, required=True)
        command.add_argument("--seeds", type=int, default=4, help="of the population")
        command.add_argument("--benchmarl-seeds", type=int, default=3)
        command.add_argument("--first-seed", type=int, help="of one experiment of BenchMARL, in place of a population")
        command.add_argument("--device", default="cuda")
    command = commands.add_parser("collect", help="the curves of both sides as JSON, and a table")
    command.add_argument("folder", type=Path)
    command.add_argument("--json", type=Path, required=True)
    command = commands.add_parser("draw", help="the figure and the table of a JSON file")
    command.add_argument("json", type=Path)
    command.add_argument("figure", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    if options.command == "train":
        side_by_side(options)
    elif options.command == "one":
        alone = options.first_seed is not None
        config = config_of(options.task, options.levels, 1 if alone else options.seeds, options.batches)
        if alone:
            train_benchmarl(replace(config, first_seed=options.first_seed), options.folder, options.device)
        else:
            train_population(config, options.folder, options.device)
    elif options.command == "collect":
        measured = collect(options.folder)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(measured) + "\n")
        table(measured)
    else:
        measured = json.loads(options.json.read_text())
        table(measured)
        draw(measured, options.figure)


if __name__ == "__main__":
    main()
