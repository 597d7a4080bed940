"""Ways to let the gradient through the estimate, and step sizes, as members of one population: dispersion, to the end.

python benchmarks/gradients.py train --folder runs/gradients --minutes 26 --json docs/results/gradients.json
python benchmarks/gradients.py draw docs/results/gradients.json docs/results/gradients.png
python benchmarks/gradients.py table docs/results/gradients.json

One population trains faster than one for each case. Every case has the preset `tuned` (estimate on frames of the newest
batch, the action-space loss a step of its own) but for what CASES says; `free` has no estimate, so it is at once the
preset `paper`. The JSON is a summary (`dico report` opens it); a case's members are told by their fields.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

import dico
from dico import viz
from dico.analysis import frames
from dico.experiments import EXPERIMENTS, scaled
from dico.members import Member
from dico.policy import DiCo
from dico.runs import Run
from dico.scale.worker import counted
from dico.training.options import SessionOptions
from dico.training.population import Population
from dico.training.session import Session, describe
from dico.training.stopping import Interrupted, StopWhen


@dataclass(frozen=True)
class Case:
    """What sets the members of a case apart; the gradient is told by tau."""

    label: str
    colour: str
    constraint: str
    tau: float
    lr: float

    def has(self, member: Member) -> bool:
        """Whether the member is one of its."""
        return (member.constraint, member.tau, member.lr) == (self.constraint, self.tau, self.lr)


SOFT_TAU, STRAIGHT_TAU = 0.01, 0.3
"""A soft gradient goes with a slow estimate, as in the original; the whole gradient with a quick one."""
CASES = (
    Case("straight-through, lr 2e-4", "#009e73", "6", STRAIGHT_TAU, 2e-4),
    Case("soft, lr 5e-5", "#0072b2", "6", SOFT_TAU, 5e-5),
    Case("straight-through, lr 5e-5", "#d55e00", "6", STRAIGHT_TAU, 5e-5),
    Case("free, lr 5e-5", "#777777", "free", STRAIGHT_TAU, 5e-5),
)
PAPER = Path(__file__).parents[1] / "docs" / "results" / "paper" / "dispersion.json"
"""The preset `paper`, trained by `dico reproduce`, to be drawn beside them."""
LAST = 500_000
"""Frames at the end that the table has means over."""


class SoftOrStraight(DiCo):
    """Members with a slow estimate have the soft gradient, the others the whole one."""

    def _let_through(self, soft: Tensor, measured: Tensor) -> Tensor:
        return torch.where(self.tau <= SOFT_TAU, soft, super()._let_through(soft, measured))


def population_of(options: argparse.Namespace) -> Population:
    """The members of all cases, of those that every combination would give."""
    config = replace(
        scaled(EXPERIMENTS["dispersion"].config("tuned"), options.scale),
        snd=("6", "free"), vary=(f"tau={STRAIGHT_TAU},{SOFT_TAU}", "lr=5e-5,2e-4"),
        seeds=options.seeds, first_seed=options.first_seed,
    )  # fmt: skip
    if options.quick:
        config = replace(config, hidden=(32, 32), updates=50, envs=60)
    indices = [member.index for member in config.members if any(case.has(member) for case in CASES)]
    population = Population(config, SessionOptions(device=options.device, stage=options.stage).make_stage(), indices)
    population.members = counted(population.members)
    for learner in population.learners:
        learner.policy.__class__ = SoftOrStraight
    return population


def train(options: argparse.Namespace) -> None:
    """Until the minutes are over, or to the end."""
    warnings.filterwarnings("ignore", message="a desired diversity")
    end = time.monotonic() + 60 * options.minutes
    chosen = SessionOptions(device=options.device, replay_checkpoint=False, checkpoint_every=100)
    population = population_of(options)
    options.folder.mkdir(parents=True)
    describe(population, options.folder, chosen)
    try:
        Session(population, options.folder, chosen, [StopWhen(lambda: time.monotonic() > end)]).run()
    except Interrupted as stopped:
        print(stopped, flush=True)
    viz.keep_run(dico.load(options.folder), options.json, "python benchmarks/gradients.py train")


def curves_of(options: argparse.Namespace) -> Iterator[tuple[str, str, Run, list[int]]]:
    """Label, colour, run and members of each case, and of the preset `paper` at 6."""
    run, paper = dico.load(options.json), dico.load(PAPER)
    for case in CASES:
        yield case.label, case.colour, run, [member.index for member in run.members if case.has(member)]
    yield "preset paper", "#56b4e9", paper, [member.index for member in paper.members if member.constraint == "6"]


def table(options: argparse.Namespace) -> None:
    """Each seed, over the last frames that all of them have."""
    until = dico.load(options.json).rows()[-1]["frames"]
    for label, _, run, members in curves_of(options):
        there = (frames(run) > until - LAST) & (frames(run) <= until)
        named = {name: run.metric(name)[members][:, there].mean(1).tolist() for name in ("reward", "snd", "scale")}
        half = run.metric("snd")[members][:, (frames(run) > until / 2) & (frames(run) <= until)]
        told = " | ".join(f"{name} " + " ".join(f"{value:.4g}" for value in values) for name, values in named.items())
        print(
            f"{label:28} {told} | SND of the last half {half.mean():.3f}, least {half.min():.3f}, most {half.max():.3f}"
        )


def draw(options: argparse.Namespace) -> None:
    """Reward and scale, every seed a line."""
    from dico.viz.style import new_figure, use_style

    with use_style():
        figure = new_figure(8.4, 3.4)
        figure.set_layout_engine("constrained")
        axes = figure.subplots(1, 2)
        for label, colour, run, members in curves_of(options):
            for k, member in enumerate(members):
                for axis, name in zip(axes, ("reward", "scale"), strict=True):
                    if name == "scale" and label.startswith("free"):
                        continue
                    named = {"label": f"{label} ({len(members)} seeds)"} if not k and name == "reward" else {}
                    axis.plot(frames(run) / 1e6, run.metric(name)[member], color=colour, linewidth=1.2, **named)
        axes[0].set(title="Reward", ylabel="reward per step")
        axes[1].set(title="Scale of the deviations", ylabel="desired / estimated SND", yscale="log")
        axes[1].yaxis.set_major_formatter("{x:g}")
        for axis in axes:
            axis.set_xlabel("frames (millions)")
        figure.legend(loc="outside lower center", ncols=3)
        figure.savefig(options.picture, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train", help="all cases, as members of one population")
    command.set_defaults(run=train)
    command.add_argument("--folder", type=Path, required=True)
    command.add_argument("--json", type=Path, required=True)
    command.add_argument("--minutes", type=float, required=True, help="stop after so many, wherever it is")
    command.add_argument("--scale", type=float, default=1.0)
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--first-seed", type=int, default=2, help="the preset `paper` has been trained with 0 and 1")
    command.add_argument("--device", default="auto")
    command.add_argument("--stage", default="auto")
    command.add_argument("--quick", action="store_true", help="small networks, few updates: to try this file")
    command = commands.add_parser("draw", help="reward and scale over frames")
    command.set_defaults(run=draw)
    command.add_argument("json", type=Path)
    command.add_argument("picture", type=Path)
    command = commands.add_parser("table", help="what each case came to")
    command.set_defaults(run=table)
    command.add_argument("json", type=Path)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
