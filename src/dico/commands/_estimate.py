"""How long a training on a CPU will take, before its first iteration can tell."""

import math
import time

import torch

from dico.training.blocks import AnyPopulation
from dico.training.config import Config
from dico.training.learner import Learner

TRIAL = 0.05
"""Seconds that the machine is tried for."""
RESOLUTION = 1e-9
"""Seconds that anything takes at least, whatever a coarse clock says."""
SHARE = 0.3
"""Of a matrix product's speed that a training has: navigation with the preset ``paper``, on two idle cores."""


def iteration_seconds(population: AnyPopulation) -> float:
    """Roughly, from the sizes: multiplications of the networks, by how fast this machine makes them.

    A machine that has other work is slower.
    """
    work = sum(operations(population.config, learner) for learner in population.learners)
    width = max((*population.config.hidden, *(learner.team.obs_dim for learner in population.learners)))
    return work * len(population.members) / _operations_per_second(width)


def operations(config: Config, learner: Learner) -> float:
    r"""Floating-point operations that a member's networks need in an iteration.

    A frame is shown to :math:`n` agents' networks for each of its :math:`n` observations, which is what measuring
    diversity needs: :math:`2nP` operations for all :math:`P` parameters. Learning takes three times as many, forward
    and backward.
    """
    parameters = sum(each.numel() for module in learner.modules().values() for each in module.parameters())
    learned = config.epochs * config.frames_per_batch if config.on_policy else config.updates * config.batch
    each = 2.0 * learner.team.n_agents * parameters / learner.n_members
    return each * (config.frames_per_batch + 3 * learned)


def _operations_per_second(width: int) -> float:
    """Of matrix products as wide as the networks; the quickest counts, for the others waited for somebody else."""
    rows, weights = torch.ones(256, width), torch.ones(width, width)
    threads, quickest = torch.get_num_threads(), math.inf
    torch.set_num_threads(1)  # threads that wait for each other on a busy machine say nothing of an idle one
    try:
        end, start = time.perf_counter() + TRIAL, -math.inf
        while start < end:  # once at least, however long a busy machine has let it wait
            start = time.perf_counter()
            torch.mm(rows, weights)
            quickest = min(quickest, max(time.perf_counter() - start, RESOLUTION))
    finally:
        torch.set_num_threads(threads)
    return SHARE * threads * 2 * len(rows) * width * width / quickest
