"""The picture that a link to the page shows: episodes side by side, on their maps where there are some, as a PNG."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from dico.viz.colours import rgb

HEIGHT, WIDTH, GAP = 420, 800, 16
MOST = 3
"""Panels."""
PAPER, PANEL = (16, 20, 24), (38, 45, 53)
TRAIL = 0.012
"""Half the width of a trail, of a panel's."""
Image = UInt8[np.ndarray, "rows columns 3"]


def card(runs: Sequence[Mapping[str, Any]], scale: Sequence[str]) -> bytes | None:
    """The picture of a page's first run, as a PNG file; None if there is no episode.

    >>> card([{}], ["#000000", "#ffffff"])
    """
    episodes = runs[0].get("episodes") or []
    if not episodes:
        return None
    chosen = [episodes[k] for k in np.unique(np.linspace(0, len(episodes) - 1, MOST).round().astype(int))]
    size = min((WIDTH - GAP * (len(chosen) + 1)) // len(chosen), HEIGHT - 2 * GAP)
    picture = np.full((HEIGHT, WIDTH, 3), PAPER, np.uint8)
    left = (WIDTH - len(chosen) * size - (len(chosen) - 1) * GAP) // 2
    top = (HEIGHT - size) // 2
    for k, episode in enumerate(chosen):
        column = left + k * (size + GAP)
        picture[top : top + size, column : column + size] = _panel(runs[0], episode, scale, size)
    return png(picture)


def png(picture: Image) -> bytes:
    r"""A picture as a PNG file.

    >>> png(np.zeros((1, 1, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    rows, columns, _ = picture.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), picture.reshape(rows, -1)], 1).tobytes()
    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _panel(run: Mapping[str, Any], episode: Mapping[str, Any], scale: Sequence[str], size: int) -> Image:
    """An episode in its last picture: the map, the ways of what moved, and the circles."""
    image = _ground(run, episode, scale, size)
    left, right, bottom, top = episode["extent"]
    places = _numbers(episode["places"]).reshape(episode["steps"], episode["things"], 2)
    pixels = (places - [left, top]) / [right - left, bottom - top] * size
    for circle in episode["circles"]:
        way, colour = pixels[:, circle["place"]], rgb(circle["colour"])
        if circle["moves"]:
            between = np.linspace(way[:-1], way[1:], 4, endpoint=False).swapaxes(0, 1).reshape(-1, 2)
            for point in between:
                _disc(image, point, TRAIL * size, colour)
        radius = max(circle["radius"] / (right - left) * size, 3)
        _disc(image, way[-1], radius + 2, (255, 255, 255))
        _disc(image, way[-1], radius, colour)
        if not circle["filled"]:
            _disc(image, way[-1], 0.55 * radius, (255, 255, 255))
    return image


def _ground(run: Mapping[str, Any], episode: Mapping[str, Any], scale: Sequence[str], size: int) -> Image:
    """The map under an episode, if it has one that is true all along."""
    maps = (run.get("under") or run.get("maps")) if run.get("lasts") else None
    panel = next((each for each in maps["panels"] if each["level"] == episode["level"]), None) if maps else None
    if maps is None or panel is None:
        return np.full((size, size, 3), PANEL, np.uint8)
    shares = _numbers(panel["values"]).reshape(maps["rows"], maps["columns"])[::-1] / max(maps["most"], 1e-9)
    stops, along = np.array([rgb(colour) for colour in scale]), np.linspace(0, 1, len(scale))
    colours = np.stack([np.interp(shares, along, stops[:, k]) for k in range(3)], -1).round().astype(np.uint8)
    cells = np.arange(size) * maps["rows"] // size
    return colours[cells][:, cells]


def _disc(image: Image, centre: Float[np.ndarray, " 2"], radius: float, colour: tuple[int, int, int]) -> None:
    """A disc, painted in place."""
    x, y = centre
    rows = slice(max(int(y - radius), 0), max(int(y + radius) + 2, 0))
    columns = slice(max(int(x - radius), 0), max(int(x + radius) + 2, 0))
    part = image[rows, columns]
    down, across = np.ogrid[rows.start : rows.start + part.shape[0], columns.start : columns.start + part.shape[1]]
    part[(across - x) ** 2 + (down - y) ** 2 <= radius**2] = colour


def _numbers(encoded: Mapping[str, Any]) -> Float[np.ndarray, " count"]:
    words = np.frombuffer(base64.b64decode(encoded["words"]), "<u2")
    return encoded["low"] + encoded["step"] * words
