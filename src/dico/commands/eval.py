"""``dico eval``."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from dico._checks import check_positive
from dico.commands._progress import level_table
from dico.runs import evaluate, load


@dataclass(frozen=True)
class Options:
    """What it takes."""

    run: Positional[Path]
    """The run folder."""
    episodes: int = 200
    """Episodes of each member."""
    seed: int = 0
    """Of the episodes' starts; the same for all members."""
    deterministic: bool = False
    """Act by the mean instead of sampling."""


def run(options: Options, console: Console) -> int:
    """Play, and print a table."""
    check_positive("episodes", options.episodes)
    played = evaluate(
        load(options.run), episodes=options.episodes, seed=options.seed, deterministic=options.deterministic
    )
    console.print(level_table(played, f"{options.episodes} episodes of each member"))
    return 0
