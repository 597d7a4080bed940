"""One colour per level: the more diversity, the lighter and warmer."""

from collections.abc import Sequence

import numpy as np

SCALE = ("#7501a8", "#9613a1", "#b32c8e", "#cc4778", "#df6263", "#ef7e50", "#fa9c3c")
"""The middle of plasma, a perceptually even scale that the colour-blind read by its lightness; without its ends each
colour stands out from white paper and from a dark screen alike."""
FREE = ("#7f7f7f", "#5a5a5a", "#a6a6a6")
"""Free desires no diversity: a neutral grey, apart from the scale, and others where several levels are free."""


def level_colours(levels: Sequence[str]) -> dict[str, str]:
    """A colour ``#rrggbb`` for each level, given in order as ``dico.analysis.levels`` has them.

    The colours are spread by rank rather than by value, so that near levels are told apart.

    >>> level_colours(["0", "1", "free"])
    {'0': '#7501a8', '1': '#fa9c3c', 'free': '#7f7f7f'}
    >>> level_colours(["free, tau=0.01", "free, tau=0.1"])
    {'free, tau=0.01': '#7f7f7f', 'free, tau=0.1': '#5a5a5a'}
    """
    free = [level for level in levels if level.split(", ")[0] == "free"]
    controlled = [level for level in levels if level not in free]
    places = np.linspace(0, 1, len(controlled)) if len(controlled) > 1 else np.array([0.5])
    colours = {level: mix(float(place)) for level, place in zip(controlled, places, strict=False)}
    greys = {level: FREE[k % len(FREE)] for k, level in enumerate(free)}
    return {level: (colours | greys)[level] for level in levels}


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
