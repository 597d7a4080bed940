"""One colour per level: the more diversity, the lighter and warmer, the same for a desired value in every picture."""

from collections.abc import Sequence

import numpy as np

from dico.analysis import bounds_of
from dico.members import NAMED
from dico.tasks.scene import TEAM

SCALE = ("#26409f", "#5b34b5", "#9b2aa6", "#cb3a78", "#e2583f", "#ef8a1f", "#e3b520")
"""From blue over magenta to gold: ever lighter, which the colour-blind read, through as many hues as that leaves, so
that neighbouring levels differ; each colour stands out from white paper and from a dark screen alike."""
FREE = ("#7f7f7f", "#5a5a5a", "#a6a6a6")
"""Free desires no diversity: a neutral grey, apart from the scale, and others where several levels are free."""
MIDDLE = 0.8
"""The desired diversity whose colour is the middle of the scale."""
MANY = 6
"""More levels than this have line patterns besides colours."""
PATTERNS: tuple[tuple[float, ...], ...] = ((), (4.0, 1.7), (1.2, 1.5))
"""How lines of neighbouring levels are broken: strokes and gaps, in line widths."""


def level_colours(levels: Sequence[str]) -> dict[str, str]:
    """A colour ``#rrggbb`` for each level, given in order as ``dico.analysis.levels`` has them.

    The colour is that of the desired value, wherever it is drawn; only levels of which several desire the same, or
    whose texts name no desired value, have colours by rank.

    >>> level_colours(["0", "1", "free"])["1"] == level_colours(["0.3", "1", "2"])["1"]
    True
    >>> level_colours(["tau=0.01", "tau=0.1"])
    {'tau=0.01': '#26409f', 'tau=0.1': '#e3b520'}
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


def run_colour(number: int) -> str:
    """The colour of the first, second, ... of several runs.

    >>> run_colour(0), run_colour(1)
    ('#0072b2', '#e69f00')
    """
    return TEAM[number % len(TEAM)]


def level_patterns(levels: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """How the lines of each level are broken: not at all, unless there are many.

    >>> level_patterns(["0", "1"])["1"], level_patterns([str(k) for k in range(9)])["1"]
    ((), (4.0, 1.7))
    """
    many = len(levels) > MANY
    return {level: PATTERNS[k % len(PATTERNS)] if many else () for k, level in enumerate(levels)}


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
    '#cb3a78'
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
