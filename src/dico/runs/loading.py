"""Opening a folder, whoever wrote it."""

import os
from pathlib import Path

from dico._files import found_below
from dico.runs.benchmarl import open_experiments
from dico.runs.folder import open_folder
from dico.runs.run import Run
from dico.runs.schema import RunError
from dico.runs.summary import open_summary

LISTED = 4
"""Run folders that are named where a folder of them is given, at most."""


def load(run: str | Path) -> Run:
    """Open a run folder, a summary of one, or a result folder of BenchMARL.

    Args:
        run: the folder, the JSON file of a summary, or a folder of BenchMARL's with one experiment or several.

    Returns:
        The run as it is now; one that is still training is opened again to see more.

    >>> run = load("runs/navigation")
    >>> run.metric("reward").shape  # members, iterations
    torch.Size([8, 2])
    """
    if not isinstance(run, str | os.PathLike):
        raise ValueError(f"run must be the path of a run folder, got {run!r}")
    folder = Path(run)
    if not folder.exists():
        raise RunError(f"{folder} is no run folder: it does not exist; dico train writes run folders under runs/")
    if folder.is_file():
        return open_summary(folder)
    if (folder / "config.json").is_file():
        return open_folder(folder)
    if folder.resolve() == Path(folder.resolve().anchor):
        raise RunError(f"{folder} is no run folder: it is all of the disk")
    below = [config.parent for config in found_below(folder, 1, "config.json")]
    if below:
        shown = ", ".join(map(str, below[:LISTED])) + (", ..." if len(below) > LISTED else "")
        raise RunError(f"{folder} is no run folder: it has no config.json; did you mean one in it: {shown}?")
    return open_experiments(folder)
