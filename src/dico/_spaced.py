"""How much of a batch is measured: as many frames by every trainer, evenly spaced."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

MEASURED_FRAMES = 4096
"""SND, overflow and the like are measured on up to so many frames of each batch."""
MEASURED_ROWS = 16_384
"""And on up to so many observations, of which a frame has one for each agent."""
MAX_DISTANCES = 16
"""Up to so many agents, the distance of every pair is kept too."""


def measured_frames(n_agents: int) -> int:
    """How many frames of a batch diversity is measured on, at most.

    >>> measured_frames(2), measured_frames(40)
    (4096, 409)
    """
    return max(1, min(MEASURED_FRAMES, MEASURED_ROWS // n_agents))


def spaced(frames: int, n_agents: int, device: torch.device | str = "cpu") -> Int[Tensor, " picked"]:
    """Which frames of a batch diversity is measured on: spread evenly over its steps and its environments.

    All of them if they are few; else every one that comes next in steps of the golden section, around and around. Steps
    of 15 through batches of 600 environments would meet the same 40 environments every time.

    >>> spaced(3, n_agents=2), len(spaced(60_000, n_agents=2))
    (tensor([0, 1, 2]), 4096)
    >>> len((spaced(60_000, n_agents=2) % 600).unique())
    600
    """
    picked = min(frames, measured_frames(n_agents))
    step = 1 if picked == frames else next(s for s in range(int(0.618 * frames), frames) if math.gcd(s, frames) == 1)
    return torch.arange(picked, device=device) * step % frames
