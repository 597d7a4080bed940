"""Drawing a task's scenes: what stands where, and the trails that lead there."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Circle as Disc
from matplotlib.patches import Rectangle

from dico.analysis.fields import Extent
from dico.tasks.scene import Box, Circle, Scene
from dico.viz.views import FRESH, MOVES, OLD, TRAIL, array, drawn_radii, least_radius

HALO = [patheffects.withStroke(linewidth=2.4, foreground="white")]
CROWDED = 0.15
"""Width of the outline of an agent that others stand on: a wide one would hide its colour."""
EDGE, PAPER, VALUE = "#b8b8b8", "#ffffff", "#c9dcea"
"""The edge of a world; a cell with nothing left in it, and one that is full."""


@dataclass
class Picture:
    """A scene over time in one axes; :meth:`show` moves everything to another time.

    The scene's batch is time: ``(steps,)``.
    """

    axes: Axes
    scene: Scene
    over_map: bool = False
    """Whether diversity is painted underneath: then of the scene's own cells only the empty ones show."""
    extent: Extent | None = None
    """What to show, if not what the scene asks for."""
    _moving: list[tuple[Any, Artist]] = field(init=False, default_factory=list)
    _radii: list[tuple[Disc, np.ndarray, float, float]] = field(init=False, default_factory=list)
    _trails: list[tuple[Float[np.ndarray, "steps 2"], str, LineCollection]] = field(init=False, default_factory=list)
    _cells: AxesImage | None = field(init=False, default=None)

    def __post_init__(self):
        frame_axes(self.axes, self.extent or self.scene.extent)
        if any(box.role == "bounds" for box in self.scene.boxes):  # which frames the scene by itself
            self.axes.spines[:].set_visible(False)
        if self.scene.field is not None:
            self._cells = self.axes.imshow(
                self._paint(0), extent=self.scene.extent, origin="lower", interpolation="nearest", zorder=0.5
            )
        for line in self.scene.lines:
            link = line.role == "link"
            dashes = (0, (2, 2)) if link else "-"
            drawn = Line2D([], [], color=line.colour, linewidth=0.9 if link else 2, linestyle=dashes, zorder=1)
            self._moving.append((line, self.axes.add_line(drawn)))
        for box in self.scene.boxes:
            self._moving.append((box, self.axes.add_patch(self._rectangle(box))))
        left, right, *_ = self.extent or self.scene.extent
        width = right - left
        for circle, radius in zip(self.scene.circles, drawn_radii(self.scene.circles, width), strict=True):
            path = array(circle.centre)
            if np.ptp(path, axis=0).max() > MOVES:
                trail = LineCollection([], zorder=3, linewidths=1.6, capstyle="butt")
                self.axes.add_collection(trail)
                self._trails.append((path, circle.colour, trail))
            disc = self._disc(circle)
            self._moving.append((circle, self.axes.add_patch(disc)))
            self._radii.append((disc, radius, least_radius(circle, width), disc.get_linewidth()))

    def show(self, step: int) -> None:
        """Move everything to where it was at a step."""
        if self._cells is not None:
            self._cells.set_data(self._paint(step))
        for path, colour, trail in self._trails:
            points = path[: step + 1]
            age = np.minimum(np.arange(step, 0, -1) / TRAIL, 1)
            trail.set_segments(list(np.stack([points[:-1], points[1:]], 1)))
            trail.set_color([to_rgba(colour, alpha) for alpha in FRESH + (OLD - FRESH) * age])
        for shape, artist in self._moving:
            self._move(shape, artist, step)
        for disc, radius, least, usual in self._radii:
            disc.set_radius(float(radius[step]))
            disc.set_linewidth(usual if radius[step] == least else min(usual, CROWDED))

    def _move(self, shape: Any, artist: Any, step: int) -> None:
        if isinstance(shape, Circle):
            artist.set_center(array(shape.centre)[step])
            if shape.visible is not None:
                self._mark_gone(artist, shape, bool(shape.visible[step]))
        elif isinstance(shape, Box):
            centre = array(shape.centre)[step]
            artist.set_xy(centre - np.array([shape.length, shape.width]) / 2)
            artist.set_angle(0.0 if shape.angle is None else float(np.degrees(float(shape.angle[step]))))
        else:
            artist.set_data(*np.stack([array(shape.start)[step], array(shape.end)[step]], 1))

    def _mark_gone(self, artist: Any, circle: Circle, there: bool) -> None:
        """What is gone, such as food that was eaten, leaves a faint ring."""
        artist.set_facecolor(circle.colour if there and circle.filled else "none")
        artist.set_edgecolor("white" if there else circle.colour)
        artist.set_linestyle("-" if there else (0, (1.5, 1.5)))

    def _disc(self, circle: Circle) -> Disc:
        if circle.filled:
            return Disc((0, 0), circle.radius, facecolor=circle.colour, edgecolor="white", linewidth=0.7, zorder=5)
        return Disc((0, 0), circle.radius, facecolor="none", edgecolor=circle.colour, linewidth=1.4, zorder=4,
                    path_effects=HALO)  # fmt: skip

    def _rectangle(self, box: Box) -> Rectangle:
        border = box.role == "bounds"
        return Rectangle((0, 0), box.length, box.width, rotation_point="center", zorder=1.5 if border else 2,
                         facecolor=box.colour if box.filled else "none", edgecolor=EDGE if border else box.colour,
                         linewidth=1 if border else 2)  # fmt: skip

    def _paint(self, step: int) -> Float[np.ndarray, "rows columns 4"]:
        """The scene's cells: from empty to full, or over a map a veil on the empty ones."""
        assert self.scene.field is not None
        left = array(self.scene.field[step])[..., None]
        if self.over_map:
            return np.where(left > 0, 0.0, np.array([1.0, 1.0, 1.0, 0.45]))
        return np.array(to_rgba(PAPER)) * (1 - left) + np.array(to_rgba(VALUE)) * left


def frame_axes(axes: Axes, extent: Extent) -> None:
    """A view with equal scales and no ticks."""
    axes.set_aspect("equal")
    axes.set_xlim(extent[0], extent[1])
    axes.set_ylim(extent[2], extent[3])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(EDGE)
