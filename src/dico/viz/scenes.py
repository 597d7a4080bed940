"""Drawing a task's scenes: what stands where, and the trails that lead there."""

from collections.abc import Sequence
from colorsys import rgb_to_hsv
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
from torch import Tensor

from dico.tasks.scene import Box, Circle, Line, Scene
from dico.viz.colours import rgb
from dico.viz.fields import Extent

TRAIL = 100
"""Steps over which a trail fades."""
FRESH, OLD = 0.8, 0.15
"""How strong a trail is where it begins, and when it has faded."""
MOVES = 1e-3
"""Whatever moves farther than this within an episode leaves a trail."""
ROOM = 1.5
"""How much more than its own extent a scene may need for what moves out of it."""
HALO = [patheffects.withStroke(linewidth=2.4, foreground="white")]
HUES = {15: "red", 45: "orange", 70: "yellow", 170: "green", 260: "blue", 300: "purple", 345: "pink", 360: "red"}
"""What a colour is called whose hue is below so many degrees."""
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
        for circle in self.scene.circles:
            path = array(circle.centre)
            if np.ptp(path, axis=0).max() > MOVES:
                trail = LineCollection([], zorder=3, linewidths=1.6, capstyle="butt")
                self.axes.add_collection(trail)
                self._trails.append((path, circle.colour, trail))
            self._moving.append((circle, self.axes.add_patch(self._disc(circle))))

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


def covering(scenes: Sequence[Scene]) -> Extent:
    """What to show so that no circle leaves the picture, but no more than ``ROOM`` times what the scenes ask for."""
    extent = np.array(scenes[0].extent).reshape(2, 2)  # (x, y), (least, greatest)
    middle, half = extent.mean(1), np.ptp(extent, axis=1) / 2
    centres = [(array(circle.centre), circle.radius) for scene in scenes for circle in scene.circles]
    reach = [np.abs(centre - middle).reshape(-1, 2).max(0) + radius for centre, radius in centres]
    half = np.clip(np.max([half, *reach], axis=0), half, ROOM * half)
    (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
    return left, right, bottom, top


def aspect_of(extent: Extent) -> float:
    """Height of a view, in units of its width."""
    return (extent[3] - extent[2]) / (extent[1] - extent[0])


def legend(scene: Scene, *, over_map: bool = False) -> list[str]:
    """What the shapes of a scene are, in words."""
    colours: dict[tuple[str, str], set[str]] = {}
    for shape in (*scene.circles, *scene.boxes, *scene.lines):
        if shape.role not in ("bounds", "link"):
            colours.setdefault((_form(shape), _called(shape)), set()).add(shape.colour)
    told = []
    for (form, name), used in colours.items():
        colour = f"{colour_name(next(iter(used)))} " if len(used) == 1 else ""
        told.append(f"{colour}{form}: {name}")
    if any(circle.visible is not None for circle in scene.circles):
        told.append("dotted: eaten")
    if scene.field is not None:
        told.append("pale: visited cells" if over_map else "white: visited cells")
    return told


def colour_name(colour: str) -> str:
    """What a colour is called.

    >>> [colour_name(colour) for colour in ("#c1121f", "#009e73", "#73f273", "#262626", "#9a9a9a")]
    ['red', 'green', 'light green', 'black', 'grey']
    """
    hue, saturation, value = rgb_to_hsv(*(channel / 255 for channel in rgb(colour)))
    if value < 0.25:
        return "black"
    if saturation < 0.15:
        return "white" if value > 0.93 else "grey"
    name = next(name for below, name in HUES.items() if 360 * hue < below)
    return f"light {name}" if saturation < 0.65 and value > 0.85 else name


def _form(shape: Circle | Box | Line) -> str:
    if isinstance(shape, Circle):
        return "discs" if shape.filled else "rings"
    return "boxes" if isinstance(shape, Box) else "lines"


def _called(shape: Circle | Box | Line) -> str:
    """What it is; of VMAS, where all is a landmark or an agent, the scenario's own name without its number."""
    return shape.label.rstrip("0123456789").rstrip("_ ") or shape.role if shape.role == "landmark" else shape.role


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


def array(tensor: Tensor) -> np.ndarray:
    """A tensor's numbers for drawing."""
    return tensor.detach().cpu().numpy()
