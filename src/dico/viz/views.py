"""What to show of a scene, and what to say of it: the same in figures, videos and on the page, whatever draws them."""

from collections.abc import Sequence
from colorsys import rgb_to_hsv

import numpy as np
from torch import Tensor

from dico.analysis.fields import Extent
from dico.tasks import Task
from dico.tasks.scene import Box, Circle, Line, Scene
from dico.viz.colours import rgb

TRAIL = 100
"""Steps over which a trail fades."""
FRESH, OLD = 0.8, 0.15
"""How strong a trail is where it begins, and when it has faded."""
MOVES = 1e-3
"""Whatever moves farther than this within an episode leaves a trail."""
AGENTS = ("agent", "adversary")
"""The roles of what acts."""
WIDER = 0.45
"""How much larger an agent is drawn for each one that stands on it, so that all are seen."""
SMALLEST = 0.014
"""Radius of an agent in a view, in its width, at least: of a smaller one no colour is seen. The page has the same."""
ROOM = 1.5
"""How much more than its own extent a scene may need for what moves out of it."""
MARGIN = 0.06
"""Around what a view is cut down to, in its longer side."""
LEAST = 0.4
"""The shorter side of such a view, in its longer one, at least."""
HUES = {15: "red", 45: "orange", 70: "yellow", 170: "green", 260: "blue", 300: "purple", 345: "pink", 360: "red"}
"""What a colour is called whose hue is below so many degrees."""


def extent_around(scenes: Sequence[Scene]) -> Extent:
    """What to show so that no circle leaves the picture, but no more than ``ROOM`` times what the scenes ask for."""
    extent = np.array(scenes[0].extent).reshape(2, 2)  # (x, y), (least, greatest)
    middle, asked = extent.mean(1), np.ptp(extent, axis=1) / 2
    circles = [circle for scene in scenes for circle in scene.circles]
    reach = [np.abs(array(circle.centre) - middle).reshape(-1, 2).max(0) for circle in circles]
    half = asked
    for _ in range(2):  # in a wider view, small agents are drawn larger
        radii = [least_radius(circle, 2 * float(half[0])) for circle in circles]
        ends = [far + radius for far, radius in zip(reach, radii, strict=True)]
        half = np.clip(np.max([asked, *ends], axis=0), asked, ROOM * asked)
    (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
    return left, right, bottom, top


def extent_within(scenes: Sequence[Scene]) -> Extent:
    """The part of what :func:`extent_around` shows in which anything is, at any time, with a margin.

    Scenes with edges or cells of their own are shown whole. No side is shorter than ``LEAST`` of the longer one, which
    would be a strip to squint at.
    """
    whole = np.array(extent_around(scenes)).reshape(2, 2)
    framed = any(box.role == "bounds" for scene in scenes for box in scene.boxes)
    if framed or any(scene.field is not None for scene in scenes):
        left, right, bottom, top = whole.ravel().tolist()
        return left, right, bottom, top
    places = [array(circle.centre).reshape(-1, 2) for scene in scenes for circle in scene.circles]
    sizes = [circle.radius for scene in scenes for circle in scene.circles]
    for scene in scenes:
        for box in scene.boxes:
            places.append(array(box.centre).reshape(-1, 2))
            sizes.append(float(np.hypot(box.length, box.width)) / 2)
    low = np.min([each.min(0) - size for each, size in zip(places, sizes, strict=True)], axis=0)
    high = np.max([each.max(0) + size for each, size in zip(places, sizes, strict=True)], axis=0)
    margin = MARGIN * (high - low).max()
    low, high = np.maximum(low - margin, whole[:, 0]), np.minimum(high + margin, whole[:, 1])
    middle, half = (low + high) / 2, (high - low) / 2
    half = np.maximum(half, LEAST * half.max())
    (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
    return left, right, bottom, top


def least_radius(circle: Circle, width: float) -> float:
    """How large a circle is drawn where it stands alone, in a view of that width."""
    return max(circle.radius, SMALLEST * width) if circle.role in AGENTS else circle.radius


def drawn_radii(circles: Sequence[Circle], width: float) -> list[np.ndarray]:
    """How large each circle is drawn at each step: an agent that others stand on is larger, and looks out.

    >>> import torch
    >>> from dico.tasks.scene import discs
    >>> [radius.tolist() for radius in drawn_radii(discs("agent", torch.zeros(1, 2, 2), 1.0), 10.0)]
    [[1.45], [1.0]]
    >>> drawn_radii(discs("agent", torch.zeros(1, 1, 2), 0.001), 10.0)[0].tolist()  # too small to be seen
    [0.14]
    """
    agents = [k for k, circle in enumerate(circles) if circle.role in AGENTS]
    centres = {k: array(circles[k].centre) for k in agents}
    least = [least_radius(circle, width) for circle in circles]
    radii = [np.full(array(circle.centre).shape[:-1], size) for circle, size in zip(circles, least, strict=True)]
    for k in agents:
        near = [np.linalg.norm(centres[k] - centres[j], axis=-1) < least[k] / 2 for j in agents if j > k]
        radii[k] = radii[k] * (1 + WIDER * np.sum(near, axis=0)) if near else radii[k]
    return radii


def aspect_of(extent: Extent) -> float:
    """Height of a view, in units of its width."""
    return (extent[3] - extent[2]) / (extent[1] - extent[0])


def legend(task: Task, scene: Scene, *, over_map: bool = False) -> list[str]:
    """What the shapes of a task's scene are, in words."""
    colours: dict[tuple[str, str], set[str]] = {}
    for shape in (*scene.circles, *scene.boxes, *scene.lines):
        if shape.role not in ("bounds", "link"):
            colours.setdefault((_form(shape), _name_of(shape)), set()).add(shape.colour)
    told = []
    for (form, name), used in colours.items():
        colour = f"{colour_name(next(iter(used)))} " if len(used) == 1 else ""
        told.append(f"{colour}{form}: {name}")
    if any(circle.visible is not None for circle in scene.circles):
        told.append(f"dotted: {task.legend.hidden}")
    if scene.field is not None:
        told.append(f"pale: {task.legend.empty}" if over_map else f"blue: {task.legend.value}")
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


def _name_of(shape: Circle | Box | Line) -> str:
    """What it is; of VMAS, where all is a landmark or an agent, the scenario's own name without its number."""
    return shape.label.rstrip("0123456789").rstrip("_ ") or shape.role if shape.role == "landmark" else shape.role


def array(tensor: Tensor) -> np.ndarray:
    """A tensor's numbers for drawing."""
    return tensor.detach().cpu().numpy()
