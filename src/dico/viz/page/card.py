"""The picture that a link to the page shows: what was found, and episodes side by side, on their maps, as a PNG."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import PIL.Image
from jaxtyping import Float, UInt8
from matplotlib import get_data_path
from PIL import ImageDraw, ImageFont

from dico.viz.colours import rgb

HEIGHT, WIDTH, GAP = 420, 800, 16
TOP, PANEL_HEIGHT = 90, 236
"""Where panels begin, and how high they are, at most: text is above and below them."""
LETTERS = 82
"""Of a line of the finding, at most."""
MOST = 3
"""Panels."""
PAPER, PANEL, WHITE, GREY = (16, 20, 24), (38, 45, 53), (255, 255, 255), (176, 186, 196)
AGENTS, WIDER, RING = ("agent", "adversary"), 0.45, 5
"""What is drawn larger for each one that stands on it, by which share and at least so many pixels: all are seen."""
TRAIL = 0.012
"""Half the width of a trail, of a panel's."""
Image = UInt8[np.ndarray, "rows columns 3"]


def card(found: Mapping[str, Any], scale: Sequence[str]) -> bytes | None:
    """The picture of a page as a PNG file: what was trained, episodes by name, what was found; None without episodes.

    Of one run it shows levels, of several a level of each.

    >>> card({"runs": [{}]}, ["#000000", "#ffffff"])
    """
    shown = _shown(found["runs"])
    if not shown:
        return None
    size = min((WIDTH - GAP * (len(shown) + 1)) // len(shown), PANEL_HEIGHT)
    picture = np.full((HEIGHT, WIDTH, 3), PAPER, np.uint8)
    left = (WIDTH - len(shown) * size - (len(shown) - 1) * GAP) // 2
    columns = [left + k * (size + GAP) for k in range(len(shown))]
    for column, (run, episode, _) in zip(columns, shown, strict=True):
        picture[TOP : TOP + size, column : column + size] = _panel(run, episode, scale, size)
    return png(_written(picture, found, list(zip(columns, (name for *_, name in shown), strict=True)), TOP + size))


def _shown(runs: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any], str]]:
    """Runs with an episode of each, and its name: of one run the first, the middle and the last level."""
    playing = [run for run in runs if run.get("episodes")]
    if len(runs) > 1:
        return [
            (run, each, f"{run['name']}: {each['level']}") for run in playing[:MOST] for each in run["episodes"][-1:]
        ]
    return [
        (run, run["episodes"][k], run["episodes"][k]["level"])
        for run in playing
        for k in np.unique(np.linspace(0, len(run["episodes"]) - 1, MOST).round().astype(int))
    ]


def _written(picture: Image, found: Mapping[str, Any], names: Sequence[tuple[int, str]], below: int) -> Image:
    """With the facts above, a name over each panel, and the finding below."""
    fonts = Path(get_data_path()) / "fonts" / "ttf"
    small, large = (ImageFont.truetype(fonts / "DejaVuSans.ttf", size) for size in (15, 17))
    bold = ImageFont.truetype(fonts / "DejaVuSans-Bold.ttf", 20)
    image = PIL.Image.fromarray(picture)
    drawing = ImageDraw.Draw(image)
    several = f": {len(found['runs'])} runs compared" if len(found["runs"]) > 1 else ""
    drawing.text((GAP, 12), found["facts"][0] + several, WHITE, bold)
    drawing.text((GAP, 40), " · ".join(found["facts"][1:]), GREY, small)
    title = "" if len(found["runs"]) > 1 or not found["grouping"]["desired"] else f"{found['grouping']['title']} "
    for column, name in names:
        drawing.text((column, TOP - 22), (title if name != "free" else "") + name, GREY, small)
    rows = min((HEIGHT - below - 10) // 24, 3)
    lines = wrap(" ".join(found["findings"]), LETTERS, max_lines=rows, placeholder=" …")
    for k, line in enumerate(lines):
        drawing.text((GAP, below + 10 + 24 * k), line, WHITE, large)
    return np.asarray(image)


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
    last = {k: pixels[-1, each["place"]] for k, each in enumerate(episode["circles"]) if each["role"] in AGENTS}
    for k, circle in enumerate(episode["circles"]):
        way, colour = pixels[:, circle["place"]], rgb(circle["colour"])
        if circle["moves"]:
            between = np.linspace(way[:-1], way[1:], 4, endpoint=False).swapaxes(0, 1).reshape(-1, 2)
            for point in between:
                _disc(image, point, TRAIL * size, colour)
        radius = max(circle["radius"] / (right - left) * size, 3)
        near = [other for other in last if other > k and np.hypot(*(last[other] - way[-1])) < radius / 2]
        radius += max(WIDER * radius, RING) * len(near) * (k in last)
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
