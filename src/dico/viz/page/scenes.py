"""Episodes as text for the page: what a task's scene shows, step by step."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dico.analysis.fields import Extent
from dico.tasks import Scene
from dico.viz.page.encode import floats, octets, quantise, words
from dico.viz.views import MOVES

LEVELS = 255
"""Cells have so many shades."""


def encode_scene(scene: Scene, extent: Extent | None = None) -> dict[str, Any]:
    """A scene whose one batch dimension is the steps of an episode; ``extent`` is what to show instead of its own.

    >>> from dico.random import Random
    >>> from dico.tasks import make
    >>> task = make("navigation")
    >>> encoded = encode_scene(task.scene(task.reset(1, Random(torch.tensor(0)))))
    >>> encoded["steps"], encoded["things"], [circle["role"] for circle in encoded["circles"]]
    (1, 8, ['goal', 'goal', 'agent', 'agent'])
    """
    places: list[Tensor] = []

    def place(tensor: Tensor) -> int:
        places.append(tensor)
        return len(places) - 1

    circles = [
        {
            "role": circle.role, "label": circle.label, "colour": circle.colour, "filled": circle.filled,
            "radius": circle.radius, "moves": _moves(circle.centre), "place": place(circle.centre),
            "visible": None if circle.visible is None else octets(circle.visible.numpy().astype(np.uint8)),
        }
        for circle in scene.circles
    ]  # fmt: skip
    boxes = [
        {
            "role": box.role, "colour": box.colour, "filled": box.filled, "length": box.length, "width": box.width,
            "place": place(box.centre), "angle": None if box.angle is None else floats(box.angle.numpy()),
        }
        for box in scene.boxes
    ]  # fmt: skip
    lines = [
        {"role": line.role, "colour": line.colour, "start": place(line.start), "end": place(line.end)}
        for line in scene.lines
    ]
    stacked = torch.stack(places, -2)
    return {
        "extent": extent or scene.extent, "steps": len(stacked), "things": len(places),
        "places": quantise(stacked.double().numpy()),
        "circles": circles, "boxes": boxes, "lines": lines, "field": _cells(scene),
    }  # fmt: skip


def _moves(centre: Tensor) -> bool:
    return bool((centre - centre[:1]).abs().max() > MOVES)


def _cells(scene: Scene) -> dict[str, Any] | None:
    """The cells at first, and each change of a cell as step, cell and new value."""
    field = scene.field
    if field is None:
        return None
    shades = (field.clamp(0, 1) * LEVELS).round().to(torch.int64).flatten(1).numpy()
    step, cell = np.nonzero(shades[1:] != shades[:-1])
    changes = np.stack([step + 1, cell, shades[step + 1, cell]], -1)
    rows, columns = field.shape[-2:]
    first = octets(shades[0].astype(np.uint8))
    return {"rows": rows, "columns": columns, "extent": scene.extent, "first": first, "changes": words(changes)}
