"""How the deviations are conditioned: the paper's settings and others, on the same tasks, levels and seeds.

python benchmarks/conditioning.py train dispersion paper tuned --device cuda --folder runs/conditioning
python benchmarks/conditioning.py train navigation paper tuned --algorithm isac --size quick --folder runs/conditioning
python benchmarks/conditioning.py collect runs/conditioning --json measured.json
python benchmarks/conditioning.py table docs/results/conditioning.json

`--size paper` takes the paper's networks and batches, `quick` those of the preset quick; both for `--frames` frames.
In docs/results/conditioning.json, `-long` and `-six-seeds` stand for other `--frames` and `--seeds`, and `tanh` for a
kind of deterministic policies with a tanh in place of the clamp, which was dropped (commit 30eacc2).
"""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dico.analysis import relative_error
from dico.experiments import CONDITIONING, SQUASHED, preset
from dico.training.config import Config
from dico.training.machine import machine
from dico.training.population import Population
from dico.training.staging import Stage

LEVELS = {
    "navigation": ("0", "0.3", "1", "1.5", "2", "free"),
    "same-goal": ("0", "0.3", "1", "free"),
    "dispersion": ("0", "2", "6", "free"),
    "sampling": ("0", "5", "free"),
    "tag": ("0", "0.6", "free"),
    "reverse-transport": ("0", "0.1", "1.2", "free"),
}
SIZES = ("hidden", "lr", "action_loss_lr", "envs", "frames_per_batch", "epochs", "minibatch", "updates", "batch",
         "replay", "noise_frames")  # fmt: skip
"""Settings that are a matter of size; all others are a matter of conditioning."""
STRAIGHT = CONDITIONING | {"estimate_on": "minibatch"}
SOFT = {"estimate_on": "minibatch"}
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "tuned": {},
    "straight": STRAIGHT,
    "straight-off": {**STRAIGHT, "action_loss": "off"},
    "straight-off-unsquashed": {**STRAIGHT, **SQUASHED},
    "straight-newest": CONDITIONING,
    "straight-newest-all": {**CONDITIONING, "action_loss_rows": "all"},
    "off-newest": {**CONDITIONING, "action_loss": "off"},
    "off-newest-unsquashed": {**CONDITIONING, **SQUASHED},
    "soft-off": {**SOFT, "action_loss": "off"},
    "soft-newest": {**SOFT, "estimate_on": "newest"},
}
"""What each changes of the preset `paper`, but for its size; `tuned` is that preset."""
PARTS = 20
"""Rewards are kept as means over so many parts of the training."""
LAST = 0.2
"""Other columns as the mean over this share of the batches, the last ones."""
COLUMNS = ("snd", "snd_acted", "action_bound_violation", "action_bound_violation_all", "scale")


def config_of(options: argparse.Namespace, variant: str) -> Config:
    """The variant's conditioning at the size asked for."""
    chosen = {"algorithm": options.algorithm} if options.algorithm else {}
    own = "tuned" if variant == "tuned" else "paper"
    base, sized = (preset(name, options.task, **chosen) for name in (own, "quick" if options.size == "quick" else own))
    changes = {name: getattr(sized, name) for name in (*SIZES, "frames", "freeze")} | VARIANTS[variant] | chosen
    if options.frames:
        changes["frames"] = options.frames
    if base.task == "dispersion":
        changes["task_options"] = ("share_reward=false",)
    changes |= {"snd": tuple(options.levels or LEVELS[base.task]), "seeds": options.seeds}
    changes["first_seed"] = options.first_seed
    return preset(own, base.task, **changes)


def trained(config: Config, device: str, stage: str, path: Path) -> list[list[dict[str, Any]]]:
    """Every batch's rows of the controlled group; written as a curve now and then."""
    population = Population(config, Stage(stage, device))
    history: list[list[dict[str, Any]]] = []
    while not population.finished:
        first = population.learners[0].team.name
        history.append([row for row in population.iterate() if row.get("group", first) == first])
        if population.iteration % 10 == 0 or population.finished:
            path.write_text(json.dumps(summary(config, history, device)) + "\n")
    return history


def summary(config: Config, history: list[list[dict[str, Any]]], device: str) -> dict[str, Any]:
    """Each member's rewards, how it ended, and how near to the desired diversity it was over the last half."""
    members = []
    for k, (level, seed) in enumerate((member.constraint, member.seed) for member in config.members):
        snd, scale, reward = (np.array([rows[k][name] for rows in history]) for name in ("snd", "scale", "reward"))
        half = snd[len(snd) // 2 :]
        means = np.convolve(half, np.ones(20) / 20, "valid") if len(half) >= 20 else half.mean(keepdims=True)
        error = {} if level == "free" else {
            "worst_mean_of_20": digits(relative_error(means, level).max()),
            "batches_within_15": digits((relative_error(half, level) <= 0.15).mean()),
        }  # fmt: skip
        last = history[-max(1, round(LAST * len(history))) :]
        members.append(
            {"level": level, "seed": seed, **error, "max_scale": digits(scale.max()),
             "reward": [digits(part.mean()) for part in np.array_split(reward, min(PARTS, len(reward)))],
             "last": {name: digits(np.mean([rows[k][name] for rows in last])) for name in COLUMNS}}
        )  # fmt: skip
    return {
        "task": config.task, "algorithm": config.algorithm, "frames": history[-1][0]["frames"], "of": config.frames,
        "machine": machine(torch.device(device)), "members": members,
    }  # fmt: skip


def digits(value: Any) -> float:
    """Four that count."""
    return float(f"{value:.4g}")


def table(results: dict[str, Any]) -> None:
    """A row for each level of each case: the reward of each seed over the last fifth, and how the scale went."""
    for case, measured in results.items():
        print(f"\n{case}: {measured['frames']:,} of {measured['of']:,} frames")
        for level in dict.fromkeys(member["level"] for member in measured["members"]):
            seeds = [member for member in measured["members"] if member["level"] == level]
            reward = " ".join(f"{np.mean(seed['reward'][-round(LAST * PARTS) :]):.4f}" for seed in seeds)
            last = {name: " ".join(f"{seed['last'][name]:.2f}" for seed in seeds) for name in COLUMNS}
            error = " ".join(f"{seed.get('worst_mean_of_20', np.nan):.0%}" for seed in seeds)
            within = " ".join(f"{seed.get('batches_within_15', np.nan):.0%}" for seed in seeds)
            most = " ".join(f"{seed['max_scale']:.2g}" for seed in seeds)
            beyond, beyond_all = last["action_bound_violation"], last["action_bound_violation_all"]
            print(
                f"  {level:>5} reward {reward} | snd {last['snd']} acted {last['snd_acted']} | worst 20 {error} within "
                f"15 % {within} | scale {most} > {last['scale']} | out {beyond} / {beyond_all}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("train", help="train each variant, one after the other")
    command.add_argument("task", choices=LEVELS)
    command.add_argument("variants", nargs="+", choices=VARIANTS)
    command.add_argument("--algorithm")
    command.add_argument("--levels", nargs="+")
    command.add_argument("--size", choices=("paper", "quick"), default="paper")
    command.add_argument("--frames", type=int)
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--first-seed", type=int, default=0)
    command.add_argument("--device", default="cuda")
    command.add_argument("--stage", default="auto")
    command.add_argument("--folder", type=Path, required=True)
    command = commands.add_parser("collect", help="all that was trained into a folder, as one JSON file")
    command.add_argument("folder", type=Path)
    command.add_argument("--json", type=Path, required=True)
    command = commands.add_parser("table", help="what a JSON file holds")
    command.add_argument("json", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="a desired diversity")
    if options.command == "train":
        options.folder.mkdir(parents=True, exist_ok=True)
        for variant in options.variants:
            config = config_of(options, variant)
            name = f"{options.task}-{config.algorithm}-{options.size}-{variant}"
            trained(config, options.device, options.stage, options.folder / f"{name}.json")
            print(name, "done", file=sys.stderr, flush=True)
    elif options.command == "collect":
        found = {path.stem: json.loads(path.read_text()) for path in sorted(options.folder.glob("*.json"))}
        options.json.write_text(json.dumps(found) + "\n")
        table(found)
    else:
        table(json.loads(options.json.read_text()))


if __name__ == "__main__":
    main()
