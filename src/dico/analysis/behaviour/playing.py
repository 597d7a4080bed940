"""Members at play: how a measure of one team becomes an array over a run, and when its episodes ended."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from dico.analysis.measured import diverged
from dico.policy import DiCo
from dico.runs import Run

Policies = list[DiCo]
"""Of each of the task's groups; the population is of one member."""
Measure = Callable[[Policies], Mapping[str, Float[Tensor, ""]]]
"""What is said of one member."""


def of_members(run: Run, names: Iterable[str], measure: Measure) -> dict[str, Float[np.ndarray, " members"]]:
    """A measure of each member, under these names; one that diverged is NaN.

    Members play by themselves, so that no number depends on who else is in the run, nor memory on how many they are.
    """
    found = {name: np.full(len(run.members), np.nan) for name in names}
    groups = [group.name for group in run.task().groups]
    for member in np.flatnonzero(~diverged(run)).tolist():
        with torch.no_grad():
            numbers = measure([run.policies(group, [member]) for group in groups])
        for name, values in found.items():
            values[member] = numbers[name].item()
    return found


def at_end(
    states: Shaped[Tensor, "moments episodes *rest"], running: Bool[Tensor, "steps episodes"]
) -> Shaped[Tensor, "episodes *rest"]:
    """What a recording's states had come to when their episodes ended; there is one more of them than steps.

    >>> at_end(torch.tensor([[0, 0], [1, 1], [2, 2]]), torch.tensor([[True, True], [True, False]]))
    tensor([2, 1])
    """
    length = running.sum(0)
    return states[length, torch.arange(len(length))]


def mean_steps(running: Bool[Tensor, "steps episodes"]) -> Float[Tensor, ""]:
    """How long the episodes took.

    >>> mean_steps(torch.tensor([[True, True], [True, False]]))
    tensor(1.5000)
    """
    return running.sum(0).float().mean()
