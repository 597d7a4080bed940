"""What to show of a scene, and what to say of it: the same in figures, films and on the page, whatever draws them."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from dico.tasks.scene import BLACK, GREEN, RED, Scene
from dico.viz.fields import Extent

TRAIL = 100
"""Steps over which a trail fades."""
FRESH, OLD = 0.8, 0.15
"""How strong a trail is where it begins, and when it has faded."""
MOVES = 1e-3
"""Whatever moves farther than this within an episode leaves a trail."""
ROOM = 1.5
"""How much more than its own extent a scene may need for what moves out of it."""
COLOURS = {BLACK: "black", GREEN: "green", RED: "red"}


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
    for circle in scene.circles:
        colours.setdefault(("discs" if circle.filled else "rings", circle.role), set()).add(circle.colour)
    told = []
    for (shape, role), used in colours.items():
        named = f"{COLOURS[next(iter(used))]} " if len(used) == 1 and used <= COLOURS.keys() else ""
        told.append(f"{named}{shape}: {role}")
    told += [f"box: {box.role}" for box in scene.boxes if box.role != "bounds"]
    if any(circle.visible is not None for circle in scene.circles):
        told.append("dotted: eaten")
    if scene.field is not None:
        told.append("pale: visited cells" if over_map else "blue: value not yet taken")
    return told


def array(tensor: Tensor) -> np.ndarray:
    """A tensor's numbers for drawing."""
    return tensor.detach().cpu().numpy()
