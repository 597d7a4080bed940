"""The levels' names where their lines end, so that nobody has to match a colour with a legend."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from dico.viz.labels import level_label
from dico.viz.style import INK

SIZE = 7.0
"""Of the letters, in points."""
LINE = 1.2
"""Height of a line of text, in sizes of its letters."""
LETTER = 0.65
"""Width of a letter, in its size, at most on average."""
LONGEST = 12
"""Letters of a name; longer ones are left to the legend."""
LAID_OUT = 0.8
"""What the layout leaves of an axes' height, for titles and captions, about."""
BESIDE, REACH = 3.0, 9.0
"""Where a name stands, right of the axes, in points: at its line's end, or at the end of a thread that leads to it."""
MOVED = 0.5
"""A name has a thread if it stands so many of its lines away from where its own line ends."""


def label_ends(axes: Axes) -> Axes:
    """Write the levels' names at the right of the axes, each at the end of its line, none over another.

    Lines are those that bear a level as their ``gid``. Where names would hide each other they make room, and a thread
    leads to each that moved. Limits should be final; names that are too long or too many are left to the legend.

    >>> from dico.viz.curves import plot_diversity
    >>> from dico.viz.style import new_figure
    >>> axes = label_ends(plot_diversity(new_figure(4, 3).subplots(), run))
    >>> [text.get_text() for text in axes.texts]
    ['0', '0.3', 'free', '1']
    """
    ends = {str(line.get_gid()): line for line in axes.get_lines() if line.get_gid() is not None}
    heights = {level: _share(axes, np.asarray(line.get_ydata(), dtype=float)) for level, line in ends.items()}
    shown = sorted((level for level in ends if np.isfinite(heights[level])), key=lambda level: heights[level])
    figure = axes.get_figure(root=True)
    assert figure is not None
    tall = LAID_OUT * 72 * axes.get_position().height * figure.get_figheight()
    room = LINE * SIZE / tall
    if len(shown) * room > 1 + room or any(len(level_label(level)) > LONGEST for level in shown):
        return axes
    wanted = [heights[level] for level in shown]
    places = spread(wanted, room)
    moved = any(abs(place - at) > MOVED * room for place, at in zip(places, wanted, strict=True))
    for level, place, at in zip(shown, places, wanted, strict=True):
        colour = ends[level].get_color()
        axes.annotate(
            level_label(level), (1, at), (REACH if moved else BESIDE, (place - at) * tall), "axes fraction",
            "offset points", fontsize=SIZE, color=INK, va="center", annotation_clip=False, gid=f"end {level}",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0,
                        "relpos": (0, 0.5)} if moved else None,
        )  # fmt: skip
    return axes


def room_of_names(axes: Axes) -> float:
    """How far the names reach beyond the axes, in points; 0 if there are none."""
    names = [text.get_text() for text in axes.texts if str(text.get_gid()).startswith("end ")]
    return REACH + LETTER * SIZE * max(map(len, names)) if names else 0.0


def spread(wanted: Sequence[float], room: float) -> list[float]:
    """Places from 0 to 1 in the order of those wanted, as near to them as ``room`` between neighbours lets them be.

    Names that touch stand around the mean of where they want to be.

    >>> [round(place, 2) for place in spread([0.5, 0.52, 0.9], 0.1)], spread([0.0, 0.0], 0.5)
    ([0.46, 0.56, 0.9], [0.0, 0.5])
    """
    blocks: list[tuple[float, int]] = []  # where the first of each stands, and how many there are
    for place in wanted:
        blocks.append((place, 1))
        while len(blocks) > 1 and blocks[-2][0] + blocks[-2][1] * room > blocks[-1][0]:
            (first, count), (second, more) = blocks[-2:]
            middle = (count * first + more * (second - count * room)) / (count + more)
            blocks[-2:] = [(min(max(middle, 0.0), 1 - (count + more - 1) * room), count + more)]
    return [first + k * room for first, count in blocks for k in range(count)]


def _share(axes: Axes, values: np.ndarray) -> float:
    """How high a line ends, from 0 at the bottom of the axes to 1 at the top; NaN if it is nowhere."""
    known = values[np.isfinite(values)]
    if not len(known):
        return float("nan")
    bottom, top = axes.get_ylim()
    return float(np.clip((known[-1] - bottom) / (top - bottom), 0, 1))
