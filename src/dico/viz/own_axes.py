"""Plots that make their own axes when they are given none, as in a notebook: ``viz.plot_reward(run)``."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from matplotlib.axes import Axes

from dico.runs import Run

SIZE = (6.4, 3.6)
"""Of a figure of its own, in inches."""
Plot = Callable[..., Axes]
Draw = TypeVar("Draw", bound=Callable[..., Any])


def on_axes(legend: Callable[[Axes, Any], Any] | None = None) -> Callable[[Plot], Plot]:
    """Let a plot be called without axes: it then has a figure of its own, in our style, which a notebook shows.

    What it is of, a run or several, is checked first; ``legend`` is drawn too where the axes are its own.
    """

    def decorate(plot: Plot) -> Plot:
        @wraps(plot)
        def call(*arguments: Any, **options: Any) -> Axes:
            if arguments and isinstance(arguments[0], Axes):
                return plot(*arguments, **options)
            if "axes" in options:
                return plot(options.pop("axes"), *arguments, **options)
            first = arguments[0] if arguments else options.get("run", options.get("runs"))
            _check(plot.__name__, first)
            from matplotlib import pyplot  # what notebooks show figures of

            from dico.viz.style import use_style

            with use_style():
                axes = pyplot.subplots(figsize=SIZE, layout="constrained")[1]
                plot(axes, *arguments, **options)
                if legend is not None:
                    legend(axes, first)
            return axes

        return call

    return decorate


def of_run(draw: Draw) -> Draw:
    """Let what draws a run say so if it is given anything else."""

    @wraps(draw)
    def call(*arguments: Any, **options: Any) -> Any:
        run = arguments[0] if arguments else options.get("run")
        if not isinstance(run, Run):
            raise ValueError(f"{draw.__name__} takes a run, as dico.load gives it, got {run!r:.80}")
        return draw(*arguments, **options)

    return cast(Draw, call)


def not_of_run(takes: str, instead: str) -> Callable[[Draw], Draw]:
    """Let a plot that a run is not enough for say what it ``takes``, and what there is ``instead``."""

    def decorate(plot: Draw) -> Draw:
        @wraps(plot)
        def call(*arguments: Any, **options: Any) -> Any:
            if arguments and isinstance(arguments[0], Run):
                raise ValueError(f"{plot.__name__} takes {takes}, got a run: dico.viz.{instead} draws one")
            return plot(*arguments, **options)

        return cast(Draw, call)

    return decorate


def several(runs: Run | Sequence[Run]) -> list[Run]:
    """One run or more, as a list."""
    return [runs] if isinstance(runs, Run) else list(runs)


def _check(name: str, first: Any) -> None:
    runs = first if isinstance(first, Sequence) and not isinstance(first, str) and first else [first]
    if not all(isinstance(run, Run) for run in runs):
        raise ValueError(f"{name} takes a run, as dico.load gives it, or axes and a run, got {first!r}")
