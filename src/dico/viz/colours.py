"""One colour per level: the more diversity, the lighter and warmer, the same for a desired value in every picture."""

from collections.abc import Sequence
from itertools import pairwise

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
MAGNITUDES = -5
"""Of numbers other than diversity, where the scale begins: 0.00001; it ends at 1."""
APART = 0.05
"""Levels are nearer along the scale than this: their colours cannot be told apart."""
MANY = 6
"""More levels than this have line patterns besides colours."""
NEAR = 20
"""Steps of red, green and blue together: colours that differ by less look like one."""
RUNS = (*TEAM[:6], "#770044", "#6600ff", "#0022aa", "#665522", "#8877ff")
"""Of runs that are compared: those of agents but yellow, which paper hides, and others told apart as well as these."""
PATTERNS: tuple[tuple[float, ...], ...] = ((), (4.0, 1.7), (1.2, 1.5))
"""How lines of neighbouring levels are broken: strokes and gaps, in line widths."""


def level_colours(levels: Sequence[str]) -> dict[str, str]:
    """A colour ``#rrggbb`` for each level, given in order as ``dico.analysis.levels`` has them.

    The colour is that of the desired value, wherever it is drawn, or where levels name another number alone, as of
    ``tau``, of that by its order of magnitude. Only levels of which several have the same, or nearly, or that name
    several fields, have colours by rank.

    >>> level_colours(["0", "1", "free"])["1"] == level_colours(["0.3", "1", "2"])["1"]
    True
    >>> level_colours(["tau=0.01", "tau=0.1"])
    {'tau=0.01': '#d94c56', 'tau=0.1': '#ec8025'}
    >>> level_colours(["free, tau=0.01", "free, tau=0.1"])
    {'free, tau=0.01': '#7f7f7f', 'free, tau=0.1': '#5a5a5a'}
    """
    free = [level for level in levels if level.split(", ")[0] == "free"]
    controlled = [level for level in levels if level not in free]
    places = _by_value(controlled)
    if places is None:
        places = np.linspace(0, 1, len(controlled)).tolist() if len(controlled) > 1 else [0.5]
    colours = {level: mix(place) for level, place in zip(controlled, places, strict=True)}
    greys = {level: FREE[k % len(FREE)] for k, level in enumerate(free)}
    return {level: (colours | greys)[level] for level in levels}


def run_colour(number: int) -> str:
    """The colour of the first, second, ... of several runs: eleven, over and over.

    >>> run_colour(0), run_colour(1)
    ('#0072b2', '#e69f00')
    """
    return RUNS[number % len(RUNS)]


def level_patterns(levels: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """How the lines of each level are broken: not at all, unless there are many, or some have nearly one colour.

    >>> level_patterns(["0", "1"])["1"], level_patterns([str(k) for k in range(9)])["1"]
    ((), (4.0, 1.7))
    >>> level_patterns(["4", "5"]), level_patterns(["6", "40"])
    ({'4': (), '5': (4.0, 1.7)}, {'6': (), '40': ()})
    """
    colours = [rgb(colour) for colour in level_colours(levels).values()]
    near = any(np.abs(np.subtract(one, other)).sum() < NEAR for one, other in pairwise(colours))
    many = len(levels) > MANY or near
    return {level: PATTERNS[k % len(PATTERNS)] if many else () for k, level in enumerate(levels)}


def _by_value(levels: Sequence[str]) -> list[float] | None:
    """Where levels stand along the scale by what they name, in (0, 1); None if that does not tell them apart."""
    desired = [_desired(level) for level in levels]
    if None not in desired:
        places = [value / (value + MIDDLE) for value in desired if value is not None]
        return places if len(set(desired)) == len(desired) else None
    numbers = [_number(level) for level in levels]
    if None in numbers:
        return None
    places = [float(np.clip(1 - np.log10(value) / MAGNITUDES, 0, 1)) for value in numbers if value is not None]
    return places if all(later - place > APART for place, later in pairwise(sorted(places))) else None


def _number(level: str) -> float | None:
    """The number above 0 that a level's text names, if it names no more.

    >>> [_number(level) for level in ("tau=0.1", "0.3", "0.3, tau=0.1", "tau=0")]
    [0.1, None, None, None]
    """
    if not NAMED.fullmatch(level) or ", " in level:
        return None
    value = float(level.partition("=")[2])
    return value if value > 0 else None


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
