"""``dico reproduce``."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional

from dico import viz
from dico.commands import say, say_where
from dico.commands._claims import tables
from dico.commands._follow import follow
from dico.commands._scale import ScaleOptions, dry_run, go_on_in_pieces, in_pieces
from dico.commands._together import run_together
from dico.experiments import EXPERIMENTS, Training, plan
from dico.runs import Run, RunError, load
from dico.runs.schema import PIECES
from dico.training.observers import Observer
from dico.training.options import SessionOptions
from dico.training.stopping import StopWhen


@dataclass(frozen=True)
class Options:
    """What it takes."""

    experiments: Positional[tuple[str, ...]]
    """navigation, same-goal, dispersion, dispersion-shared, sampling, tag, reverse-transport, tau, analytical,
    analytical-finn, or all."""
    preset: tuple[str, ...] = ("paper",)
    """Each experiment with each of these: paper (the original's settings, to the letter), tuned (its networks and
    frames, our conditioning) or quick (minutes on two cores)."""
    scale: float = 1.0
    """How long to train: 0.1 is a tenth of the frames, in whole batches."""
    seeds: int | None = None
    """Members for each desired diversity; by default as many as the preset has."""
    first_seed: int = 0
    """The first of their seeds; if it is not 0, they go into run folders of their own, EXPERIMENT-seedK."""
    folder: Path = Path("runs/reproduce")
    """Where the run folders are: FOLDER/PRESET/EXPERIMENT. What is finished there is left alone, and what was
    interrupted is gone on with."""
    together: bool = False
    """Train them side by side, in processes of their own, with logs in FOLDER/PRESET/EXPERIMENT.log: for a GPU that
    one of them leaves idle."""
    redraw: bool = False
    """Train nothing: judge and draw again by the summaries that the folder holds, FOLDER/PRESET/EXPERIMENT.json."""
    session: OmitArgPrefixes[SessionOptions] = field(default_factory=SessionOptions)
    machines: OmitArgPrefixes[ScaleOptions] = field(default_factory=ScaleOptions)
    part_of: int | None = None
    """Given by --together: the process that trains several and judges them in the end; if it is killed, this one stops
    with a checkpoint."""


def run(options: Options, console: Console) -> int:
    """Train what is not trained yet, then judge it all."""
    _ = viz.write_reproduction  # says what to install if that cannot draw, and not after hours of training
    if options.redraw:
        if options.experiments:
            raise ValueError("--redraw takes no experiments: it draws all that the folder holds summaries of")
        finish_all(options.folder, console)
        return 0
    misplaced = [name for name in options.preset if name in EXPERIMENTS]
    if misplaced and not options.experiments:
        raise ValueError(f"the experiments come first: dico reproduce {' '.join(misplaced)} --option ...")
    trainings = plan(
        options.experiments, options.preset, options.folder,
        scale=options.scale, seeds=options.seeds, first_seed=options.first_seed,
    )  # fmt: skip
    for training in trainings:
        _check_writable(training.folder)
    options.session.check_stage()
    options.machines.check(options.session.device)
    if options.machines.wanted and options.together:
        raise ValueError("together must be off with --on and --devices, which train an experiment in pieces")
    say(_announcement(trainings), console)
    for training in trainings:
        if training.state == "finished":
            say(f"{training.name} is finished in {training.folder}: skipped", console)
    missing = [training for training in trainings if training.state != "finished"]
    if options.machines.dry_run:
        for training in missing:
            say(training.name, console)
            dry_run(training.config, training.folder, options.session, options.machines, console)
        return 0
    if options.together and len(missing) > 1:
        status = run_together(missing, _words(options), console)
    else:
        status = _one_by_one(missing, options, console)
    if status == 130 and options.part_of is None:
        say("the same dico reproduce again goes on with all that is left", Console(stderr=True))
    if status == 0 and options.part_of is None:
        for training in trainings:
            if not _is_kept(training):
                finish(training, options, console)
        finish_all(options.folder, console)
    return status


def finish(training: Training, options: Options, console: Console) -> None:
    """Keep what came of an experiment: FOLDER/PRESET/EXPERIMENT.json and .npz, which the page is made from."""
    say(f"{training.name}: looking at what its members do", console)
    usual, mine = Options(()), {name: getattr(options, name) for name in ("scale", "seeds", "first_seed")}
    given = {name: value for name, value in mine.items() if value != getattr(usual, name)}
    words = [f"--{name.replace('_', '-')} {value}" for name, value in {"preset": training.preset, **given}.items()]
    viz.keep_run(
        load(training.folder), _summary(training), " ".join(["dico reproduce", training.experiment.name, *words])
    )


def finish_all(folder: Path, console: Console) -> None:
    """Judge by all that the folder holds, and write the page."""
    page, judged = viz.write_reproduction(folder)
    for table in tables(judged):
        console.print(table)
    say_where(page, console)


def _is_kept(training: Training) -> bool:
    """Whether its summary is there, and of this training."""
    try:
        return load(_summary(training)).config == load(training.folder).config
    except RunError:
        return False


def _summary(training: Training) -> Path:
    return training.folder.with_name(f"{training.folder.name}.json")


def _one_by_one(trainings: Sequence[Training], options: Options, console: Console) -> int:
    """Train them in this process; the exit status."""
    watchers: list[Observer] = [] if options.part_of is None else [StopWhen(lambda: os.getppid() != options.part_of)]
    for training in trainings:
        say(f"{training.name}: {training.experiment.purpose}", console)

        def start(observers: Sequence[Observer], training: Training = training) -> Run:
            return _start(training, options, [*observers, *watchers], console)

        status = follow(start, console, tensorboard=False, wandb=False)
        if status:
            return status
        finish(training, options, console)
    return 0


def _start(training: Training, options: Options, observers: Sequence[Observer], console: Console) -> Run:
    """Train it here, or in pieces if so asked; what was begun in pieces goes on in pieces."""
    session, folder, begun = options.session, training.folder, training.state == "interrupted"
    if begun and (options.machines.wanted or (folder / PIECES).exists()):
        return go_on_in_pieces(folder, session.device, session.block, options.machines, observers, console)
    if options.machines.wanted:
        return in_pieces(training.config, folder, session, options.machines, observers, console)
    return training.run(session, observers)


def _words(options: Options) -> list[str]:
    """The options of each of several processes, but for experiment and preset."""
    session = options.session
    words = ["--scale", options.scale, "--first-seed", options.first_seed, "--folder", options.folder]
    words += ["--device", session.device, "--stage", session.stage, "--precision", session.precision]
    words += ["--checkpoint-every", session.checkpoint_every, "--part-of", os.getpid()]
    words += [] if options.seeds is None else ["--seeds", options.seeds]
    words += [] if session.block is None else ["--block", session.block]
    words += [] if session.replay_checkpoint else ["--no-replay-checkpoint"]
    return list(map(str, words))


def _check_writable(folder: Path) -> None:
    """Now, and not after the first training."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise RunError(f"{folder} cannot be written, because of {there}: choose another --folder")


def _announcement(trainings: Sequence[Training]) -> str:
    """How much it is.

    >>> _announcement(plan(["navigation", "tau"], ["paper", "tuned"], "nowhere"))
    '2 experiments, with presets paper, tuned: 96 members, 961,920,000 frames in all'
    """
    experiments, presets = (
        list(dict.fromkeys(names))
        for names in zip(*((training.experiment.name, training.preset) for training in trainings), strict=True)
    )
    members = sum(len(training.config.members) for training in trainings)
    frames = sum(training.frames for training in trainings)
    what = f"{_count(len(experiments), 'experiment')}, with preset{'s' * (len(presets) > 1)} {', '.join(presets)}"
    return f"{what}: {_count(members, 'member')}, {frames:,} frames in all"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
