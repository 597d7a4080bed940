"""The commands, thin: each one calls what Python users call."""

import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import OmitArgPrefixes, Positional

from dico._checks import check_choice, check_positive
from dico.bounds import max_snd
from dico.experiments import preset
from dico.runs import Run, RunError, load
from dico.runs.evaluation import evaluate
from dico.tasks import TASKS
from dico.training.config import Config
from dico.training.loggers import TensorBoard, WandB
from dico.training.progress import make_progress, summary
from dico.training.session import ITERATIONS_BETWEEN_CHECKPOINTS, Interrupted, Observer, resume, train
from dico.viz.commands import Map, Report, Video, draw, film, report


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a population: every desired diversity and seed at once."""

    settings: OmitArgPrefixes[Config]
    preset: str = "quick"
    """Where settings come from that you do not give: quick (minutes on two cores), paper (the original's, to the
    letter) or tuned (the paper's networks and frames, our conditioning)."""
    run: Path | None = None
    """The run folder; by default one under runs/, named after task, algorithm and time."""
    device: str = "auto"
    """auto, cpu or cuda."""
    stage: str = "auto"
    """eager, compiled or graphs (CUDA graphs); auto is graphs on a CUDA device and eager elsewhere."""
    precision: str = "tf32"
    """Of matrix products on a CUDA device: tf32, bf16 or float32."""
    block: int | None = None
    """Members on the device at once, the others waiting in the host's memory; by default as many as fit."""
    checkpoint_every: int = ITERATIONS_BETWEEN_CHECKPOINTS
    """Iterations between two checkpoints."""
    replay_checkpoint: bool = True
    """Keep replayed frames on disk (DDPG, SAC), so that a resume is exact."""
    tensorboard: bool = False
    """Log to RUN/tensorboard too."""
    wandb: bool = False
    """Log to Weights & Biases too."""


@dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted, exactly where its newest checkpoint left off."""

    run: Positional[Path]
    """The run folder."""
    device: str = "auto"
    """auto, cpu or cuda."""
    block: int | None = None
    """Members on the device at once, the others waiting in the host's memory; by default as many as fit."""
    tensorboard: bool = False
    """Log to RUN/tensorboard too."""
    wandb: bool = False
    """Log to Weights & Biases too."""


@dataclass(frozen=True)
class Eval:
    """Let the trained members play fresh episodes."""

    run: Positional[Path]
    """The run folder."""
    episodes: int = 200
    """Episodes of each member."""
    seed: int = 0
    """Of the episodes' starts; the same for all members."""
    deterministic: bool = False
    """Act by the mean instead of sampling."""


@dataclass(frozen=True)
class Bound:
    """The largest SND that a team can have in an action box."""

    agents: int
    """How many agents."""
    low: tuple[float, ...]
    """Least value of each action component."""
    high: tuple[float, ...]
    """Greatest value of each action component."""


@dataclass(frozen=True)
class Tasks:
    """List the tasks: agents, sizes of observations and actions, the paper's diversity levels."""


COMMANDS = {
    "train": Train, "resume": Resume, "eval": Eval, "report": Report, "map": Map, "video": Video, "bound": Bound,
    "tasks": Tasks,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    console, errors = Console(), Console(stderr=True)
    if arguments in ([], ["-h"], ["--help"]):
        _help(console)
        return 0
    warnings.showwarning = lambda message, *_, **__: errors.print(f"warning: {message}", markup=False, highlight=False)
    warnings.filterwarnings("ignore", module=r"torch\._inductor")  # the compiler's remarks on its own code
    try:
        return _run(_parse(arguments), console)
    except Interrupted as stopped:
        errors.print(stopped, markup=False, highlight=False, soft_wrap=True)
        return 130
    except (ValueError, ImportError) as error:
        errors.print("error:", style="bold red", end=" ")
        errors.print(error, markup=False, highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        return 130


def _parse(arguments: list[str]) -> object:
    """The command with its settings; a training's defaults are those of its preset and task."""
    name, rest = arguments[0], arguments[1:]
    if check_choice("command", name, COMMANDS) != "train":
        return tyro.cli(COMMANDS[name], args=rest, prog=f"dico {name}")
    task = rest[0] if rest and not rest[0].startswith("-") else "navigation"
    later = pairwise(rest)
    misplaced = [word for before, word in later if before != "--run" and (word in TASKS or word.startswith("vmas:"))]
    if misplaced:
        raise ValueError(f"the task comes first: dico train {misplaced[0]} --option ...")
    finder = ArgumentParser(add_help=False, allow_abbrev=False)
    finder.add_argument("--preset", default="quick")
    finder.add_argument("--algorithm")
    found = finder.parse_known_args(rest)[0]
    chosen = {} if found.algorithm is None else {"algorithm": found.algorithm}  # which other settings depend on
    default = Train(settings=preset(found.preset, task, **chosen), preset=found.preset)
    return tyro.cli(Train, args=rest, default=default, prog="dico train")


def _run(command: object, console: Console) -> int:
    match command:
        case Train():
            run = train(
                command.settings, command.run, device=command.device, stage=command.stage, precision=command.precision,
                observers=_observers(command, console), checkpoint_every=command.checkpoint_every,
                replay_checkpoint=command.replay_checkpoint, block=command.block,
            )  # fmt: skip
            _conclude(run, console)
        case Resume():
            run = resume(
                command.run, device=command.device, block=command.block, observers=_observers(command, console)
            )
            _conclude(run, console)
        case Eval():
            check_positive("episodes", command.episodes)
            rows = evaluate(
                load(command.run), episodes=command.episodes, seed=command.seed, deterministic=command.deterministic
            )
            console.print(summary(rows, f"{command.episodes} episodes of each member"))
        case Report():
            page, figures = report(command)
            _say_where(page, console)
            if figures:
                _say_where(f"{len(figures)} figures into {figures[0].parent}", console)
        case Map():
            _say_where(draw(command), console)
        case Video():
            _say_where(film(command, console), console)
        case Bound():
            best = max_snd(command.agents, command.low, command.high)
            proof = "exact" if best.exact else f"at most {best.upper_bound:.6g}"
            console.print(f"maximum SND: {best.value:.6g} ({proof})", highlight=False)
            for i, action in enumerate(best.actions.tolist()):
                console.print(f"  agent {i}: {', '.join(f'{x:g}' for x in action)}", highlight=False)
        case Tasks():
            console.print(_tasks())
            console.print("settings, to change with --task-options name=value:", highlight=False)
            for task in (make() for make in TASKS.values()):
                console.print(f"  {task}", highlight=False)
    return 0


def _observers(command: Train | Resume, console: Console) -> list[Observer]:
    observers: list[Observer] = [make_progress(console)]
    if command.tensorboard:
        observers.append(TensorBoard())
    if command.wandb:
        observers.append(WandB())
    return observers


def _conclude(run: Run, console: Console) -> None:
    rows = run.rows()
    if not rows:
        raise RunError(f"{run.folder / 'metrics.jsonl'} is missing or empty, though the run is finished")
    console.print(
        summary([row for row in rows if row["iteration"] == rows[-1]["iteration"]], "last batch of each member")
    )
    where = f"results in {run.folder}; dico.load({str(run.folder)!r}) opens them in Python"
    console.print(where, markup=False, highlight=False, soft_wrap=True)


def _say_where(what: Path | str, console: Console) -> None:
    console.print(f"wrote {what}", markup=False, highlight=False, soft_wrap=True)


def _tasks() -> Table:
    table = Table()
    for column in ("task", "agents", "observes", "acts", "horizon", "the paper's SND levels"):
        table.add_column(column, overflow="fold", no_wrap=column == "task")
    for name, make in TASKS.items():
        task = make()
        several = len(task.groups) > 1
        agents = ", ".join(f"{len(g.agents)} {g.name}" if several else str(len(g.agents)) for g in task.groups)
        sizes = ", ".join(str(group.obs_dim) for group in task.groups)
        table.add_row(name, agents, sizes, str(task.act_dim), str(task.horizon), " ".join(task.snd_levels))
    return table


def _help(console: Console) -> None:
    console.print("dico: diversity control for multi-agent reinforcement learning\n")
    for name, command in COMMANDS.items():
        console.print(f"  dico {name:8} {command.__doc__}", highlight=False)
    console.print("\ndico COMMAND --help tells more of each", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
