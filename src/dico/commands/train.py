"""``dico train``."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from tyro.conf import OmitArgPrefixes

from dico.commands._config_file import settings_of
from dico.commands._follow import follow
from dico.commands._parsing import parse_words
from dico.commands._scale import ScaleOptions, dry_run, in_pieces
from dico.experiments import preset
from dico.runs import Run
from dico.tasks import TASKS, is_wrapped
from dico.training.config import Config
from dico.training.observers import Observer
from dico.training.options import SessionOptions
from dico.training.session import train


@dataclass(frozen=True, kw_only=True)
class Options:
    """What it takes."""

    settings: OmitArgPrefixes[Config]
    preset: str = "quick"
    """Where settings come from that you do not give: quick (minutes on two cores), paper (the original's, to the
    letter) or tuned (the paper's networks and frames, our conditioning)."""
    config: Path | None = None
    """A file to take settings from: a run's config.json, or TOML; what is given here wins over it."""
    run: Path | None = None
    """The run folder; by default one under runs/, named after task, algorithm and time."""
    session: OmitArgPrefixes[SessionOptions] = field(default_factory=SessionOptions)
    scale: OmitArgPrefixes[ScaleOptions] = field(default_factory=ScaleOptions)
    tensorboard: bool = False
    """Log to RUN/tensorboard too."""
    wandb: bool = False
    """Log to Weights & Biases too."""


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """The options on which the defaults of others depend, beside the task."""

    preset: str | None = None
    algorithm: str | None = None
    config: Path | None = None


def defaults(words: Sequence[str]) -> Options:
    """The options that are not given: those of the preset, for the task and the algorithm.

    Help shows them as defaults, so they must be known before the words are parsed. The parser itself is asked for the
    few that choose them first, and leaves the others alone.

    >>> defaults(["dispersion", "--preset=paper", "--seeds", "1"]).settings.algorithm
    'maddpg'
    """
    task = words[0] if words and not words[0].startswith("-") else None
    later = pairwise(words)
    misplaced = [
        word for before, word in later if before not in ("--run", "--config") and (word in TASKS or is_wrapped(word))
    ]
    if misplaced:
        raise ValueError(f"the task comes first: dico train {misplaced[0]} --option ...")
    chosen, _ = parse_words(_Choice, words, "dico train", return_unknown_args=True, add_help=False)
    if chosen.config is not None:
        settings = settings_of(chosen.config, chosen.preset, task, chosen.algorithm)
        return Options(settings=settings, preset=chosen.preset or "quick")
    algorithm = {} if chosen.algorithm is None else {"algorithm": chosen.algorithm}
    name = chosen.preset or "quick"
    return Options(settings=preset(name, task or "navigation", **algorithm), preset=name)


def run(options: Options, console: Console) -> int:
    """Train, with its progress shown."""
    options.scale.check(options.session.device, loggers=options.tensorboard or options.wandb)
    if options.scale.dry_run:
        return dry_run(options.settings, options.run, options.session, options.scale, console)

    def start(observers: Sequence[Observer]) -> Run:
        if options.scale.wanted:
            return in_pieces(options.settings, options.run, options.session, options.scale, observers, console)
        return train(options.settings, options.run, observers=observers, **asdict(options.session))

    source = f"preset {options.preset}" if options.config is None else f"settings of {options.config}"
    remark = f" ({source})"
    return follow(start, console, tensorboard=options.tensorboard, wandb=options.wandb, remark=remark)
