"""How figures look, what they say of themselves, and how they are written: headless, whole or not at all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from dico._checks import check_choice
from dico.analysis import STATISTICS, controlled_group, frames, group_fields, sample_name, sample_sizes
from dico.analysis.statistics import FEWEST
from dico.runs import Run
from dico.viz.files import FORMATS, output_file
from dico.viz.labels import changed_options, common_desire, field_title, level_label
from dico.viz.selection import Selection, shown_of

INK, FAINT = "#262626", "#6b6b6b"
"""Of what is to be read, and of what stands back."""
MAP = "viridis"
"""The colours of diversity over positions, dark where agents agree."""
PANEL = 1.65
"""Width of one panel of a map or a trajectory, in inches."""
NARROWEST = 4.2
"""Width of a figure of panels, at least: its caption needs it."""
ONE = "one seed for each level"
DIVERGED = "all members diverged"
LETTERS = 17
"""How many letters of a caption fit into an inch."""
COLUMNS = 5
"""Panels in a row, at most."""
STYLE: dict[str, Any] = {
    "figure.dpi": 100, "savefig.dpi": 200, "font.size": 9, "font.family": "DejaVu Sans",
    "axes.titlesize": 9, "axes.labelsize": 9, "axes.labelcolor": INK, "axes.edgecolor": FAINT, "axes.titlecolor": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#e6e6e6", "grid.linewidth": 0.7, "xtick.color": FAINT, "ytick.color": FAINT,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "legend.frameon": False, "legend.fontsize": 8, "legend.title_fontsize": 8, "lines.linewidth": 1.7,
    "figure.constrained_layout.use": True, "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.09,
    "svg.hashsalt": "dico", "pdf.fonttype": 42, "text.parse_math": False,
}  # fmt: skip


@contextmanager
def use_style() -> Iterator[None]:
    """Draw within: nothing of the style stays behind."""
    with rc_context(STYLE):  # pyright: ignore[reportArgumentType]
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own, in inches, that no window or other figure knows of."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def panels(
    rows: int, columns: int, *, legend: float = 0.0, label: float = 0.3, aspect: float = 1.0
) -> tuple[Figure, np.ndarray]:
    """Panels of a height that is ``aspect`` times their width, and the axes as (rows, columns).

    ``legend`` is the room to their right and ``label`` the room that each row needs besides, in inches.
    """
    panel = max(PANEL, (NARROWEST - legend) / columns - 0.1)
    figure = new_figure(columns * (panel + 0.1) + legend, rows * (panel * aspect + label) + 0.35)
    return figure, figure.subplots(rows, columns, squeeze=False)


def level_panels(
    count: int, *, legend: float = 0.9, label: float = 0.3, aspect: float = 1.0
) -> tuple[Figure, list[Axes]]:
    """A panel for each of as many levels, in rows of up to five that are as even as can be."""
    columns = columns_of(count)
    figure, axes = panels(-(-count // columns), columns, legend=legend, label=label, aspect=aspect)
    for spare in axes.flat[count:]:
        spare.set_visible(False)
    return figure, list(axes.flat[:count])


def columns_of(count: int) -> int:
    """How many panels stand in a row, so that rows are filled.

    >>> [columns_of(count) for count in (1, 5, 6, 7, 8, 9)]
    [1, 5, 3, 4, 4, 5]
    """
    return -(-count // -(-count // COLUMNS))


def label_edges(axes: Sequence[Axes]) -> None:
    """Keep labels and numbers at the left and where no axes are below, in rows as :func:`level_panels` has them."""
    columns = columns_of(len(axes))
    for k, each in enumerate(axes):
        last, first = k + columns >= len(axes), k % columns == 0
        each.tick_params(labelbottom=last, labelleft=first)
        if not last:
            each.set_xlabel("")
        if not first:
            each.set_ylabel("")


def paired_panels(count: int, *, legend: float = 0.9, label: float = 0.3) -> tuple[Figure, list[Axes], list[Axes]]:
    """Two panels for each of as many levels, one above the other, in rows of up to five pairs."""
    columns = columns_of(count)
    figure, axes = panels(2 * -(-count // columns), columns, legend=legend, label=label)
    above, below = list(axes[::2].flat), list(axes[1::2].flat)
    for spare in above[count:] + below[count:]:
        spare.set_visible(False)
    return figure, above[:count], below[:count]


def caption(figure: Figure, text: str) -> Text:
    """What is shown, under the whole figure."""
    return figure.supxlabel(
        in_lines(text, round(LETTERS * figure.get_figwidth())), x=0.01, ha="left", fontsize=7.5, color=FAINT
    )


def in_lines(text: str, width: int) -> str:
    r"""A text in lines of up to so many letters, broken only after commas.

    >>> in_lines("navigation, IPPO, one seed for each level, 240,000 frames", 25)
    'navigation, IPPO,\none seed for each level,\n240,000 frames'
    """
    lines = [""]
    for part in text.split(", "):
        if lines[-1] and len(lines[-1]) + len(part) + 2 > width:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{part}"
    return ",\n".join(lines)


def save(figure: Figure, path: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure as ``path`` with each ending, each file whole or not at all."""
    written = []
    for ending in formats:
        check_choice("format", ending, FORMATS)
        target = path.with_name(f"{path.name}.{ending}")
        with output_file(target) as scratch, use_style():
            dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
            figure.savefig(scratch, format=ending, metadata=dated)
        written.append(target)
    return written


def check_figure(path: Path) -> Path:
    """The path, if it ends as a figure does."""
    check_choice("the figure's ending", path.suffix, [f".{name}" for name in FORMATS])
    return path


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure in the format that its file's ending says, whole or not at all."""
    (written,) = save(figure, check_figure(path).with_suffix(""), [path.suffix.removeprefix(".")])
    return written


def level_title(run: Run, level: str, between: str = " ") -> str:
    """A level as the title of a panel, with what stands between the name of the desired diversity and its value."""
    desires = group_fields(run)[0] == "constraint" and level.split(", ")[0] != "free"
    return f"{field_title(run, 'constraint')}{between}{level_label(level)}" if desires else level_label(level)


def lost(diverged: int, members: int) -> str:
    """What a legend says of members that diverged.

    >>> lost(1, 4), lost(0, 4)
    (' (1 of 4 diverged)', '')
    """
    return f" ({diverged} of {members} diverged)" if diverged else ""


def what(run: Run) -> str:
    """Task, with the options that are not its defaults, group, algorithm, and what all members desire."""
    task = ", ".join([run.config["task"], *changed_options(run)])
    group = f", group {controlled_group(run)}" if len(run.groups) > 1 else ""
    return ", ".join([f"{task}{group}", run.config["algorithm"].upper(), *common_desire([run])])


def seeds_in_words(run: Run) -> str:
    """How many seeds each level has; members, where it has several of a seed."""
    counts = sample_sizes(run)
    least, most = min(counts), max(counts)
    if most == 1:
        return ONE
    return f"{most if least == most else f'{least} to {most}'} {sample_name(run)}s"


def statistic(runs: Sequence[Run], stat: str) -> str:
    """What is shown of the seeds."""
    check_choice("stat", stat, STATISTICS)
    if all(seeds_in_words(run) == ONE for run in runs):
        return "so no interval"
    if all(max(sample_sizes(run)) < FEWEST for run in runs):
        return "mean and each of them, too few for an interval"
    return STATISTICS[stat]


def so_far(run: Run) -> str:
    """How long it has trained, by its metrics."""
    return after(run, int(frames(run)[-1]))


def after(run: Run, done: int) -> str:
    """Frames that were done, and of how many if there are more to come.

    >>> after(run, 40), after(run, 80)
    ('after 40 of 80 frames', 'after 80 frames')
    """
    wanted = run.config.get("frames", 0)
    return f"after {done:,} of {wanted:,} frames" if done < wanted else f"after {done:,} frames"


def who(selection: Selection) -> list[str]:
    """Whose policies are shown, and of when."""
    return [
        what(selection.run),
        shown_of(selection.run, selection.members),
        f"checkpoint {after(selection.run, selection.frames)}",
    ]


def plain_numbers(axis: Axis) -> None:
    """Numbers written out at each tick, with no factor beside the axis."""
    axis.set_major_formatter(lambda value, _: f"{round(value, 12) + 0:.6g}")


def in_thousands(run_frames: np.ndarray, longest: float | None = None) -> tuple[np.ndarray, str]:
    """Frames in a unit that keeps numbers short, and the axis's label; ``longest`` is where an axis of several ends.

    >>> in_thousands(np.array([500_000]), longest=3e6)
    (array([0.5]), 'frames of each member (millions)')
    """
    last = run_frames[-1] if longest is None else longest
    unit, name = (1e6, "millions") if last >= 2e6 else (1e3, "thousands")
    return run_frames / unit, f"frames of each member ({name})"
