"""One colour per level: the more diversity, the lighter and warmer, the same for a desired value in every picture."""

from collections.abc import Sequence

import numpy as np

from dico.analysis import bounds_of
from dico.members import NAMED

SCALE = ("#7501a8", "#9613a1", "#b32c8e", "#cc4778", "#df6263", "#ef7e50", "#fa9c3c")
"""The middle of plasma, a perceptually even scale that the colour-blind read by its lightness; without its ends each
colour stands out from white paper and from a dark screen alike."""
FREE = ("#7f7f7f", "#5a5a5a", "#a6a6a6")
"""Free desires no diversity: a neutral grey, apart from the scale, and others where several levels are free."""


MIDDLE = 0.45
"""The desired diversity whose colour is the middle of the scale."""


def level_colours(levels: Sequence[str]) -> dict[str, str]:
    """A colour ``#rrggbb`` for each level, given in order as ``dico.analysis.levels`` has them.

    The colour is that of the desired value, wherever it is drawn; only levels of which several desire the same, or
    whose texts name no desired value, have colours by rank.

    >>> level_colours(["0", "1", "free"])["1"] == level_colours(["0.3", "1", "2"])["1"]
    True
    >>> level_colours(["tau=0.01", "tau=0.1"])
    {'tau=0.01': '#7501a8', 'tau=0.1': '#fa9c3c'}
    >>> level_colours(["free, tau=0.01", "free, tau=0.1"])
    {'free, tau=0.01': '#7f7f7f', 'free, tau=0.1': '#5a5a5a'}
    """
    free = [level for level in levels if level.split(", ")[0] == "free"]
    controlled = [level for level in levels if level not in free]
    values = [_desired(level) for level in controlled]
    if None in values or len(set(values)) < len(values):
        places = np.linspace(0, 1, len(controlled)) if len(controlled) > 1 else np.array([0.5])
    else:
        places = np.array([value / (value + MIDDLE) for value in values if value is not None])
    colours = {level: mix(float(place)) for level, place in zip(controlled, places, strict=False)}
    greys = {level: FREE[k % len(FREE)] for k, level in enumerate(free)}
    return {level: (colours | greys)[level] for level in levels}


def _desired(level: str) -> float | None:
    """The diversity that a level's text names: of bounds the least or, if there is none, the greatest.

    >>> [_desired(level) for level in ("0.3", ">=0.3", "<=0.5", "0->1@2e6", "tau=0.1")]
    [0.3, 0.3, 0.5, 1.0, None]
    """
    first = level.split(", ")[0]
    if NAMED.fullmatch(first):
        return None
    least, most = bounds_of(first)
    return most if least == 0 and np.isfinite(most) else least


def mix(place: float) -> str:
    """The colour at a place from 0 to 1 along the scale.

    >>> mix(0.5)
    '#cc4778'
    """
    stops = np.array([rgb(colour) for colour in SCALE])
    along = np.linspace(0, 1, len(SCALE))
    channels = (round(float(np.interp(place, along, stops[:, k]))) for k in range(3))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of ``#rrggbb``, 0 to 255.

    >>> rgb("#ff8000")
    (255, 128, 0)
    """
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
