"""Writing moving pictures: mp4 or GIF, whole or not at all."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from imageio_ffmpeg import write_frames
from jaxtyping import UInt8
from PIL import Image

from dico._checks import check_choice
from dico.viz.files import output_file

ENDINGS = (".mp4", ".gif")
QUALITY = 8
"""Of an mp4, from 0 to 10."""
GIF_COLOURS = 255
"""One fewer than a palette has: the last says that a point has not changed."""
GIF_FPS = 50
SAMPLED = 12
"""Pictures that a GIF's palette is made from."""
NEARLY = 249
"""Channels above this become 255: a palette's white is else slightly grey."""


@dataclass(frozen=True)
class Video:
    """Pictures that are drawn when they are asked for, one after the other; all of one size, which is even."""

    count: int
    fps: int
    images: Iterable[UInt8[np.ndarray, "height width 3"]]


def check_video(path: Path) -> Path:
    """The path, if it ends as a video does."""
    check_choice("the video's ending", path.suffix, ENDINGS)
    return path


def check_fps(fps: int, path: Path) -> None:
    """A GIF counts in hundredths of a second, and browsers slow down those that change with each."""
    if path.suffix == ".gif" and fps > GIF_FPS:
        raise ValueError(f"fps must be at most {GIF_FPS} for a GIF, got {fps}: show fewer pictures, or write an .mp4")


def write_video(video: Video, path: Path) -> Path:
    """Draw all pictures into an mp4 or a GIF, by the path's ending."""
    check_fps(video.fps, path)
    write = {".mp4": _write_mp4, ".gif": _write_gif}[check_video(path).suffix]
    with output_file(path) as scratch:
        write(video, scratch)
    return path


def _write_mp4(video: Video, path: Path) -> None:
    images = iter(video.images)
    first = next(images)
    writer = write_frames(path, (first.shape[1], first.shape[0]), fps=video.fps, quality=QUALITY, macro_block_size=2)
    writer.send(None)
    try:
        writer.send(np.ascontiguousarray(first))
        for image in images:
            writer.send(np.ascontiguousarray(image))
    finally:
        writer.close()


def _write_gif(video: Video, path: Path) -> None:
    """One palette for all pictures, from some over the whole video: palettes of their own would flicker."""
    pictures = [Image.fromarray(image) for image in video.images]
    chosen = np.linspace(0, len(pictures) - 1, SAMPLED).round().astype(int)
    sample = np.concatenate([np.asarray(pictures[k]) for k in dict.fromkeys(chosen.tolist())])
    palette = Image.fromarray(sample).quantize(GIF_COLOURS)
    shades = np.array(palette.getpalette())
    palette.putpalette(np.where(shades > NEARLY, 255, shades).tolist())
    first, *others = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    duration = round(1000 / video.fps)
    first.save(path, format="GIF", save_all=True, append_images=others, duration=duration, loop=0, optimize=True)
