"""What levels, metrics and runs are called, in figures and on the page."""

from collections.abc import Sequence

import numpy as np

from dico.analysis import bounds_of, controlled_metric
from dico.runs import Run, RunError
from dico.tasks import from_settings, is_wrapped


def metric_name(run: Run) -> str:
    """The controlled metric as figures write it: SND, HSE, det root."""
    name = controlled_metric(run)
    return name.upper() if len(name) <= 3 else name.replace("_", " ")


def changed_options(run: Run) -> list[str]:
    """The task's settings that are not its defaults, as name=value; of a VMAS scenario all that were given."""
    name, options = run.config["task"], run.config.get("task_options", ())
    try:
        usual = None if is_wrapped(name) else from_settings(name)
        return [option for option in options if usual is None or from_settings(name, [option]) != usual]
    except ValueError:  # a task that this version does not know
        return list(options)


def level_label(level: str) -> str:
    """A constraint as a legend writes it.

    >>> [level_label(level) for level in ("0.3", ">=0.3", "<=0.5", "0.2..0.5", "free")]
    ['0.3', '≥ 0.3', '≤ 0.5', '0.2 to 0.5', 'free']
    """
    if level == "free":
        return level
    low, high = bounds_of(level)
    if low == high:
        return f"{low:g}"
    if high == np.inf:
        return f"≥ {low:g}"
    return f"≤ {high:g}" if low == 0 else f"{low:g} to {high:g}"


def run_names(runs: Sequence[Run]) -> list[str]:
    """Folder names; with as many parents as tell the runs apart.

    >>> run_names([run])
    ['navigation']
    """
    paths = [run.folder.resolve() for run in runs]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    raise RunError("runs must be given once each, got " + ", ".join(str(run.folder) for run in runs))
