"""``dico eval``."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from dico._checks import check_positive
from dico._files import plain, write_json
from dico.commands import say_where
from dico.commands._spread import spread, spread_table
from dico.runs import evaluate, load
from dico.viz.files import check_place, output_file


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
    json: Path | None = None
    """A file for the numbers: of each member, and of each level with their spread over seeds and episodes."""


def run(options: Options, console: Console) -> int:
    """Play, and print a table."""
    check_positive("episodes", options.episodes)
    if options.json is not None:
        check_place(options.json)
    opened = load(options.run)
    played = evaluate(opened, episodes=options.episodes, seed=options.seed, deterministic=options.deterministic)
    metric = opened.config["metric"]
    levels = spread(played, metric)
    console.print(spread_table(levels, f"{options.episodes} episodes of each member", metric), crop=False)
    if options.json is not None:
        how = {"run": str(opened.folder), "episodes": options.episodes, "seed": options.seed}
        record = {**how, "deterministic": options.deterministic, "levels": levels, "members": played}
        with output_file(options.json) as scratch:
            write_json(scratch, plain(record))
        say_where(options.json, console)
    return 0
