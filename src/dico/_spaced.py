"""How much of a batch is measured: as many frames by every trainer, evenly spaced."""

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


def stride(frames: int, n_agents: int) -> int:
    """Every how manieth frame of a batch is measured.

    >>> stride(6000, n_agents=2), stride(4000, n_agents=2)
    (2, 1)
    """
    return -(-frames // measured_frames(n_agents))
