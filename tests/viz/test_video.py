"""Videos: how many pictures, of what size, of whom."""

from dataclasses import replace

import imageio_ffmpeg
import numpy as np
import pytest
import torch
from folders import fixture_of, trained
from PIL import Image

from dico.viz import animations
from dico.viz.animations import animate_distances, animate_episode
from dico.viz.selection import choose
from dico.viz.video import Video, write_video

navigation, dispersion = map(fixture_of, ("navigation", "dispersion"))


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_an_mp4_has_every_step_and_a_last_second(navigation, tmp_path):
    video = animate_episode(choose(navigation), seed=1, with_map=True, fps=10, dpi=50)
    path = write_video(video, tmp_path / "video.mp4")
    assert video.count == 100 + 1 + 10  # nobody has learned to arrive
    images, seconds = imageio_ffmpeg.count_frames_and_secs(path)
    assert images == video.count
    assert seconds == pytest.approx(video.count / 10, abs=0.2)
    reader = imageio_ffmpeg.read_frames(path)
    width, height = next(reader)["size"]
    reader.close()
    assert width % 2 == height % 2 == 0
    assert width > 2 * height  # three panels side by side
    assert [each.name for each in tmp_path.iterdir()] == ["video.mp4"]


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_a_gif_has_the_same_pictures(dispersion, tmp_path):
    video = animate_episode(choose(dispersion), with_map=False, fps=20, dpi=50)
    images = list(video.images)
    path = write_video(replace(video, images=images), tmp_path / "video.gif")
    with Image.open(path) as gif:
        assert gif.size == images[0].shape[1::-1]
        assert gif.info["loop"] == 0
        shown = []
        for k in range(gif.n_frames):
            gif.seek(k)
            shown += [np.asarray(gif.convert("RGB"), dtype=int)] * (gif.info["duration"] // 50)
    assert len(shown) == video.count  # pictures that are equal are shown longer
    for k in (0, 10, 40, video.count - 1):
        assert (shown[k][1, 1] == 255).all()
        error = np.abs(shown[k] - images[k]).sum(-1)
        assert (error > 90).mean() < 0.001, k  # no agent, trail or word is missing, or of another time
    assert (np.abs(shown[10] - shown[40]).sum(-1) > 90).mean() > 0.002


def test_a_colour_that_comes_late_is_in_the_palette(tmp_path):
    """Of a map that is renewed, say: here a strip that is red in a sixth of the pictures."""
    noise = np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    images = [noise.copy() for _ in range(48)]
    for image in images[12:20]:
        image[:10] = (255, 0, 0)
    path = write_video(Video(48, 10, images), tmp_path / "video.gif")
    with Image.open(path) as gif:
        assert gif.n_frames == 3
        gif.seek(1)
        red = np.asarray(gif.convert("RGB"), dtype=int)[2:8, 2:38]
    assert (np.abs(red - (255, 0, 0)).max(-1) < 8).all()


def test_a_gif_is_no_faster_than_browsers_show_it(tmp_path):
    with pytest.raises(ValueError, match=r"at most 50 for a GIF, got 60: show fewer pictures, or write an \.mp4"):
        write_video(Video(0, 60, iter(())), tmp_path / "video.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_pictures_change_with_time_and_stand_in_the_end(navigation):
    images = list(animate_episode(choose(navigation, ["free"]), with_map=False, fps=5, dpi=50).images)
    assert len(images) == 106
    assert len({image.shape for image in images}) == 1
    assert (images[0] != images[50]).any()
    assert all((image == images[-1]).all() for image in images[-6:])


@pytest.mark.parametrize(("task", "renewed"), [("navigation", False), ("sampling", True)])
def test_the_map_is_renewed_only_when_something_seen_has_changed(task, renewed, monkeypatch):
    """Visited cells change what is seen; goals stand still."""
    drawn, made = [], animations.field_of
    monkeypatch.setattr(animations, "field_of", lambda *arguments: drawn.append(made(*arguments)) or drawn[-1])
    monkeypatch.setattr(animations, "MAP_RESOLUTION", 12)
    pictures = iter(animate_episode(choose(trained(task), ["free"]), with_map=True, fps=1, dpi=30).images)
    for _ in range(40):
        next(pictures)
    if renewed:
        assert len(drawn) > 10
        assert not torch.equal(drawn[0].snd, drawn[-1].snd)
    else:
        assert len(drawn) == 1


def test_a_video_says_of_which_checkpoint_it_is(navigation, monkeypatch):
    told, made = [], animations.caption
    monkeypatch.setattr(animations, "caption", lambda figure, text: told.append(text) or made(figure, text))
    animate_episode(choose(navigation, ["free"]), with_map=False, fps=1, dpi=30)
    assert "seed 0, checkpoint after 2,000 frames, start 0" in told[0]


def test_a_video_of_distances_has_every_iteration(navigation, tmp_path):
    video = animate_distances(navigation, ["0.5", "free"], 1, fps=2, dpi=50)
    assert video.count == 5 + 2
    assert imageio_ffmpeg.count_frames_and_secs(write_video(video, tmp_path / "d.mp4"))[0] == 7


def test_a_video_that_fails_leaves_nothing_behind(tmp_path):
    def images():
        yield np.zeros((20, 20, 3), dtype=np.uint8)
        raise RuntimeError("out of paint")

    for name in ("video.mp4", "video.gif"):
        with pytest.raises(RuntimeError, match="out of paint"):
            write_video(Video(2, 10, images()), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"ending must be one of '.mp4', '.gif', got '.avi'"):
        write_video(Video(0, 10, iter(())), tmp_path / "video.avi")
