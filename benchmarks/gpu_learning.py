"""Learning at every stage, as `gpu.py learning --json FILE` measured it: python benchmarks/gpu_learning.py FILE PNG"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from dico.viz.colours import level_colours
from dico.viz.style import new_figure, use_style

LINES = {"cpu eager": "-", "cuda eager": "--", "cuda compiled": "-.", "cuda graphs": ":"}
LATE = 0.5
"""The table is about the batches after this share of the training."""


def by_stage(rows: list[dict[str, Any]], level: str, column: str) -> dict[str, np.ndarray]:
    """(seeds, iterations) of each stage."""
    chosen = [row for row in rows if row["constraint"] == level]
    seeds = sorted({row["seed"] for row in chosen})
    return {
        stage: np.array([[row[column] for row in chosen if (row["stage"], row["seed"]) == (stage, s)] for s in seeds])
        for stage in LINES
    }


def table(rows: list[dict[str, Any]], levels: list[str]) -> None:
    """Mean over seeds and late batches at each stage, and how far the seeds of a stage are apart."""
    print("| desired SND | | " + " | ".join(LINES) + " | seeds apart |\n" + "|---" * (len(LINES) + 3) + "|")
    for level in levels:
        for column, digits in (("reward", 4), ("snd", 3)):
            late = {
                stage: values[:, int(LATE * values.shape[1]) :].mean(1)
                for stage, values in by_stage(rows, level, column).items()
            }
            cells = [f"{values.mean():.{digits}f}" for values in late.values()]
            apart = max(np.ptp(values) for values in late.values())
            print(f"| {level} | {column} | {' | '.join(cells)} | {apart:.{digits}f} |")


def draw(rows: list[dict[str, Any]], levels: list[str], path: Path) -> None:
    """Every stage's mean over seeds, and the span of the seeds on the CPU."""
    colours = level_colours(levels)
    with use_style():
        figure = new_figure(7.0, 3.2)
        for axis, column, name in zip(
            figure.subplots(1, 2), ("reward", "snd"), ("mean reward per step", "measured SND"), strict=True
        ):
            for level in levels:
                for stage, values in by_stage(rows, level, column).items():
                    x = np.arange(1, values.shape[1] + 1) * rows[0]["frames"] / 1000
                    axis.plot(x, values.mean(0), LINES[stage], color=colours[level], linewidth=1.2)
                    if stage == "cpu eager":
                        axis.fill_between(x, values.min(0), values.max(0), color=colours[level], alpha=0.2, linewidth=0)
                axis.plot([], [], color=colours[level], label=f"SND {level}" if level != "free" else "free")
            axis.set(xlabel="frames (thousands)", ylabel=name)
            axis.set_ylim(bottom=0 if column == "snd" else None)
        left, right = figure.axes
        left.legend(loc="upper left")
        lines = [right.plot([], [], line, color="0.3", linewidth=1.2, label=stage)[0] for stage, line in LINES.items()]
        right.legend(handles=lines, loc="center right", bbox_to_anchor=(1.0, 0.42))
        figure.suptitle(
            "navigation, IPPO, quick preset: mean of two seeds; shaded, the two seeds on the CPU", fontsize=9
        )
        figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path)
    parser.add_argument("figure", type=Path)
    options = parser.parse_args()
    rows = json.loads(options.measured.read_text())["learning"]
    levels = list(dict.fromkeys(row["constraint"] for row in rows))
    table(rows, levels)
    draw(rows, levels, options.figure)


if __name__ == "__main__":
    main()
