"""What every trainer measures alike: which frames of a batch, and over which iterations a run is said to have ended.

It is no part of the method, but stands beside it: the BenchMARL adapter, which imports the method alone, measures as
the population trainer does and as :mod:`dico.runs` and :mod:`dico.analysis` do, or their numbers could not be compared.
"""

import math

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

MEASURED_FRAMES = 4096
"""SND, action-bound violation and the like are measured on up to so many frames of each batch."""
MEASURED_ROWS = 16_384
"""And on up to so many observations, of which a frame has one for each agent."""
MAX_DISTANCES = 16
"""Up to so many agents, the distance of every pair is kept too."""
LAST = 0.1
"""A final value is the mean over this share of the iterations, the last ones."""


def measured_frames(n_agents: int) -> int:
    """How many frames of a batch diversity is measured on, at most.

    >>> measured_frames(2), measured_frames(40)
    (4096, 409)
    """
    return max(1, min(MEASURED_FRAMES, MEASURED_ROWS // n_agents))


def spaced(
    frames: int, n_agents: int, device: torch.device | str = "cpu", at_most: int | None = None
) -> Int[Tensor, " picked"]:
    """Which frames of a batch diversity is measured on: spread evenly over its steps and its environments.

    All of them if they are few; else every one that comes next in steps of the golden section, around and around. Steps
    of 15 through batches of 600 environments would meet the same 40 environments every time. ``at_most`` is how many
    are wanted, if fewer than usual.

    >>> spaced(3, n_agents=2), len(spaced(60_000, n_agents=2)), len(spaced(60_000, n_agents=2, at_most=10))
    (tensor([0, 1, 2]), 4096, 10)
    >>> len((spaced(60_000, n_agents=2) % 600).unique())
    600
    """
    picked = min(frames, measured_frames(n_agents), frames if at_most is None else at_most)
    step = 1 if picked == frames else next(s for s in range(int(0.618 * frames), frames) if math.gcd(s, frames) == 1)
    return torch.arange(picked, device=device) * step % frames


def take(
    values: Shaped[Tensor, "members rows *rest"], index: Int[Tensor, "members picked"]
) -> Shaped[Tensor, "members picked *rest"]:
    """Each member's own rows, by indices from 0 to ``rows - 1``: beyond them are those of other members.

    ``values`` should be contiguous, as all that is collected is; else they are copied whole.

    >>> take(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([[2, 0], [1, 1]]))
    tensor([[3., 1.],
            [5., 5.]])
    """
    members, rows = values.shape[:2]
    first = rows * torch.arange(members, device=values.device)[:, None]
    picked = values.flatten(0, 1).index_select(0, (first + index).flatten())
    return picked.unflatten(0, (members, index.shape[1]))


def last(iterations: int) -> int:
    """How many iterations count as the last ones: a tenth, and at least one.

    >>> last(167), last(2)
    (17, 1)
    """
    return max(1, round(LAST * iterations))
