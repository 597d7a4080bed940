"""Ways to let the gradient through the estimate, and step sizes, as members of one population: dispersion, to the end.

python benchmarks/gradients.py --folder runs/gradients --minutes 26 --json measured.json

One population trains faster than one for each case. Every case has the preset `tuned` (estimate on frames of the newest
batch, the action-space loss a step of its own) but for what its row of CASES says; `free` has no estimate, so it is at
once the preset `paper`. The JSON is a summary (`dico report` opens it); a case's members are told by their fields.
"""

import argparse
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dico import viz
from dico.experiments import EXPERIMENTS, scaled
from dico.policy import DiCo
from dico.runs import load
from dico.training.options import SessionOptions
from dico.training.population import Population
from dico.training.session import Session, describe
from dico.training.stopping import Interrupted, StopWhen


@dataclass(frozen=True)
class Case:
    """What sets the members of a case apart; the gradient is told by tau."""

    constraint: str
    tau: float
    lr: float


SOFT_TAU, STRAIGHT_TAU = 0.01, 0.3
"""A soft gradient goes with a slow estimate, as in the original; the whole gradient with a quick one."""
CASES = {
    "straight": Case("6", STRAIGHT_TAU, 5e-5),
    "soft": Case("6", SOFT_TAU, 5e-5),
    "straight-fast": Case("6", STRAIGHT_TAU, 2e-4),
    "free": Case("free", STRAIGHT_TAU, 5e-5),
}


class SoftOrStraight(DiCo):
    """Members with a slow estimate have the soft gradient, the others the whole one."""

    def _let_through(self, soft: Tensor, measured: Tensor) -> Tensor:
        return torch.where(self.tau <= SOFT_TAU, soft, super()._let_through(soft, measured))


def population_of(options: argparse.Namespace) -> Population:
    """The members of all cases, of those that every combination would give."""
    config = replace(
        scaled(EXPERIMENTS["dispersion"].config("tuned"), options.scale),
        snd=tuple(dict.fromkeys(case.constraint for case in CASES.values())),
        vary=(f"tau={STRAIGHT_TAU},{SOFT_TAU}", "lr=5e-5,2e-4"), seeds=options.seeds, first_seed=options.first_seed,
    )  # fmt: skip
    if options.quick:
        config = replace(config, hidden=(32, 32), updates=50, envs=60)
    wanted = [asdict(case) for case in CASES.values()]
    indices = [m.index for m in config.members if {key: getattr(m, key) for key in wanted[0]} in wanted]
    population = Population(config, SessionOptions(device=options.device, stage=options.stage).make_stage(), indices)
    population.members = [replace(member, index=k) for k, member in enumerate(population.members)]
    for learner in population.learners:
        learner.policy.__class__ = SoftOrStraight
    return population


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True, help="stop after so many, wherever it is")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=2, help="the preset `paper` has been trained with 0 and 1")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--stage", default="auto")
    parser.add_argument("--quick", action="store_true", help="small networks, few updates: to try this file")
    options = parser.parse_args()
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
    viz.keep_run(load(options.folder), options.json, "python benchmarks/gradients.py")


if __name__ == "__main__":
    main()
