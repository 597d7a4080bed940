"""Animations: episodes of several members side by side, and who differs from whom over a training."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

from dico._checks import check_positive
from dico.analysis import frames, level_of
from dico.analysis.fields import Extent, Field, field_of, grid, seen_on_grid
from dico.runs import Run
from dico.runs.episodes import Recording
from dico.tasks import MappedTask, map_state, of_group
from dico.viz.distances import DISTANCE, distance_scale, matrices, plot_distances, renew_distances
from dico.viz.kept import selection_of
from dico.viz.maps import colour_bar, map_scale, plot_field
from dico.viz.own_axes import of_run
from dico.viz.scenes import Picture
from dico.viz.selection import Selection, one_of_each, shown_of
from dico.viz.style import caption, level_panels, level_title, use_style, what, who
from dico.viz.video import Video
from dico.viz.views import array, aspect_of, extent_around, legend

HOLD = 1.0
"""Seconds for which the last picture stands."""
DPI = 200
MAP_RESOLUTION = 50


def animate_episode(
    selection: Selection | Run, seed: int = 0, *, with_map: bool = False, fps: int = 20, dpi: int = DPI
) -> Video:
    """One episode of every member from the same start, with the diversity map underneath where wanted.

    Args:
        selection: a run, or members of one that ``dico.viz.choose`` gives.
        seed: of the start.
        with_map: draw diversity at each position underneath.
        fps: pictures a second.
        dpi: dots per inch.

    Returns:
        The video, whose pictures are drawn as it is written.
    """
    check_positive("fps", fps)
    selection = selection_of(selection)
    recording = selection.record(seed)
    lengths = [recording.length(k) for k in range(len(selection.members))]
    scenes = [selection.scene(recording, k) for k in range(len(selection.members))]
    extent = extent_around(scenes)
    with use_style():
        figure, axes = level_panels(len(scenes), legend=0.9 if with_map else 0.0, label=0.55, aspect=aspect_of(extent))
        figure.set_dpi(dpi)
        beneath = _MapBeneath(selection, recording, axes, extent) if with_map else None
        pictures = [
            Picture(each, scene, over_map=with_map, extent=extent) for each, scene in zip(axes, scenes, strict=True)
        ]
        for each, member in zip(axes, selection.members, strict=True):
            each.set_title(level_title(selection.run, level_of(selection.run, member)))
        if beneath is not None:
            colour_bar(figure, axes, "SND at each position")
        key = legend(selection.task, pictures[0].scene, over_map=with_map)
        caption(figure, ", ".join([*who(selection), f"start {seed}", "actions by the mean", *key]))
    returns = _returns(selection, recording)

    def show(step: int) -> None:
        if beneath is not None:
            beneath.show(step)
        for k, (each, picture) in enumerate(zip(axes, pictures, strict=True)):
            now = min(step, lengths[k])
            picture.show(now)
            each.set_xlabel(f"step {now}, return {returns[k, now]:.2f}", fontsize=8)

    return _video(figure, show, max(lengths) + 1, fps)


@of_run
def animate_distances(
    run: Run, wanted: Sequence[str | float] = (), seed: int | None = None, *, fps: int = 10, dpi: int = DPI
) -> Video:
    """The behavioural distances in one member of each level, or of the levels wanted, from iteration to iteration.

    Args:
        run: a run, as ``dico.load`` gives it.
        wanted: levels to show; by default all.
        seed: of the member to show; by default of the first that did not diverge.
        fps: pictures a second.
        dpi: dots per inch.

    Returns:
        The video, whose pictures are drawn as it is written.
    """
    check_positive("fps", fps)
    members, every = one_of_each(run, wanted, seed), matrices(run)
    shown = {level_of(run, member): every[member.index] for member in members}
    scale, trained = distance_scale(list(shown.values())), frames(run)
    with use_style():
        figure, axes = level_panels(len(shown), label=0.55)
        figure.set_dpi(dpi)
        for each, (level, matrix) in zip(axes, shown.items(), strict=True):
            plot_distances(each, matrix[0], scale)
            each.set_title(level_title(run, level))
            each.set_xlabel("agent")
        axes[0].set_ylabel("agent")
        colour_bar(figure, axes, DISTANCE)
        below = caption(figure, "")

    def show(step: int) -> None:
        below.set_text(f"{what(run)}, {shown_of(run, members)}, after {int(trained[step]):,} frames")
        for each, matrix in zip(axes, shown.values(), strict=True):
            renew_distances(each, matrix[step])

    return _video(figure, show, every.shape[1], fps)


@dataclass
class _MapBeneath:
    """Each member's diversity map, renewed whenever what an agent would see somewhere has changed."""

    selection: Selection
    recording: Recording
    axes: list[Axes]
    extent: Extent
    images: list[AxesImage] = field(init=False)
    _seen: Tensor = field(init=False)

    def __post_init__(self):
        self._grid = grid(self.extent, MAP_RESOLUTION)
        self._seen = self._see(0)
        first = self._fields()
        scale = map_scale(first)
        self.images = [plot_field(axes, each, scale) for axes, each in zip(self.axes, first, strict=True)]

    def show(self, step: int) -> None:
        seen = self._see(step)
        if not torch.equal(seen, self._seen):
            self._seen = seen
            for image, each in zip(self.images, self._fields(), strict=True):
                image.set_data(array(each.snd))

    def _states(self, step: int) -> Any:
        lengths = [self.recording.length(k) for k in range(len(self.selection.members))]
        member, now = torch.arange(len(lengths)), torch.tensor(lengths).clamp_max(step)
        return map_state(lambda tensor: tensor[member, now, 0], self.recording.states)

    def _see(self, step: int) -> Tensor:
        task = self.selection.task
        assert isinstance(task, MappedTask)
        return seen_on_grid(task, self._states(step), self.selection.policy.members, *self._grid)

    def _fields(self) -> list[Field]:
        return field_of(self.selection.policy, self._seen, *self._grid, self.extent).apart()


def _returns(selection: Selection, recording: Recording) -> Float[np.ndarray, "members steps"]:
    """What the controlled group has earned before each step, the mean of its agents."""
    group = selection.task.groups[selection.controlled]
    earned = of_group(group, recording.reward[:, :, 0]).mean(-1) * recording.running[:, :, 0]
    return np.pad(array(earned.cumsum(1)), ((0, 0), (1, 0)))


def _video(figure: Figure, show: Callable[[int], None], steps: int, fps: int) -> Video:
    held = round(HOLD * fps)
    return Video(steps + held, fps, _draw_images(figure, show, steps, held))


def _draw_images(
    figure: Figure, show: Callable[[int], None], steps: int, held: int
) -> Iterator[UInt8[np.ndarray, "height width 3"]]:
    show(steps - 1)  # the longest texts
    figure.canvas.draw()
    figure.set_layout_engine("none")  # everything has its place now
    image = np.empty(0, dtype=np.uint8)
    for step in range(steps):
        show(step)
        figure.canvas.draw()
        drawn = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # pyright: ignore[reportAttributeAccessIssue]
        height, width = (size - size % 2 for size in drawn.shape[:2])
        image = drawn[:height, :width].copy()
        yield image
    for _ in range(held):
        yield image
