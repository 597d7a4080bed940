"""A figure of your own: a plot takes axes and a run, and gives the axes back.

Here reward against the diversity that agents execute, a point for each member: for stochastic policies it is less than
the measured one, as a tanh brings actions into their box.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import dico
from dico.analysis import final, levels, of_level
from dico.runs import Run
from dico.viz.colours import level_colours


def plot_executed(axes: Axes, run: Run) -> Axes:
    executed, reward, colours = final(run, "snd_acted"), final(run, "reward"), level_colours(levels(run))
    for level in levels(run):
        own = of_level(run, level)
        axes.scatter(executed[own], reward[own], color=colours[level], label=level)
    axes.set_xlabel("executed SND")
    axes.set_ylabel("final reward per step")
    axes.legend(title="desired SND")
    return axes


def main(folder: str, out: str = "executed.png") -> Path:
    figure, axes = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
    plot_executed(axes, dico.load(folder))
    figure.savefig(out, dpi=150)
    return Path(out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python own_figure.py RUN [FILE]")
    print(f"wrote {main(*sys.argv[1:])}")
