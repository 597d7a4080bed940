"""What trained teams do, as one number for each member: what the paper says of behaviour can be judged by it."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from dico.analysis.behaviour.dispersion import DISPERSION, dispersion
from dico.analysis.behaviour.navigation import NAVIGATION, SAME_GOAL, navigation, same_goal
from dico.analysis.behaviour.reverse_transport import REVERSE_TRANSPORT, reverse_transport
from dico.analysis.behaviour.sampling import SAMPLING, sampling
from dico.analysis.behaviour.tag import TAG, cross_play, tag
from dico.runs import Run

BEHAVIOURS: dict[str, dict[str, str]] = {
    "navigation": NAVIGATION,
    "same-goal": SAME_GOAL,
    "dispersion": DISPERSION,
    "sampling": SAMPLING,
    "tag": TAG,
    "reverse-transport": REVERSE_TRANSPORT,
}
"""What is measured in each of the paper's tasks, in words."""
_MEASURES: dict[str, Callable[[Run, int, int], dict[str, np.ndarray]]] = {
    "navigation": navigation,
    "same-goal": same_goal,
    "dispersion": dispersion,
    "sampling": sampling,
    "tag": tag,
    "reverse-transport": reverse_transport,
}

__all__ = ["BEHAVIOURS", "behaviours", "cross_play"]


def behaviours(run: Run, *, episodes: int = 200, seed: int = 0) -> dict[str, Float[np.ndarray, "members *rest"]]:
    """What each member does in fresh episodes, the same for all, by the names in :data:`BEHAVIOURS`.

    It is a number for each, or in cross-play a row, against each. A member that diverged is NaN; a task that is not the
    paper's has nothing. Agents act by the mean, in tag by chance. A run whose episodes were played before, and which
    tells what came of it, is taken at its word.

    >>> sorted(behaviours(run, episodes=2))
    ['goals_reached', 'map_correlation', 'map_ratio', 'map_roughness', 'midpoint']
    """
    stored = getattr(run.source, "behaviours", None)
    if stored is not None:
        return {name: np.array(values, dtype=float) for name, values in stored.items()}  # None becomes NaN
    measure = _MEASURES.get(run.config["task"])
    return {} if measure is None else measure(run, episodes, seed)
