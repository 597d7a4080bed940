"""Trainings of the paper's experiments, each in a run folder of its own, begun, gone on with or done."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from dico._checks import check_choice
from dico.experiments.paper import EXPERIMENTS, Experiment
from dico.experiments.presets import PRESETS
from dico.runs import Run, RunError, load
from dico.runs.folder import read_checkpoints
from dico.training import session
from dico.training.config import Config
from dico.training.observers import Observer
from dico.training.options import SessionOptions

State = Literal["new", "interrupted", "finished"]


@dataclass(frozen=True)
class Training:
    """One experiment with one preset, and where it is trained."""

    experiment: Experiment
    preset: str
    config: Config
    folder: Path
    state: State
    """What was found in the folder when it was planned."""

    @property
    def name(self) -> str:
        """As users read it."""
        return f"{self.folder.name} ({self.preset})"

    @property
    def frames(self) -> int:
        """Environment steps of all members together."""
        return _frames(self.config) * len(self.config.members)

    def run(self, options: SessionOptions, observers: Sequence[Observer] = ()) -> Run:
        """Train it, or go on exactly where it was interrupted.

        Who goes on may choose another device and block; the other options are those that it was begun with.
        """
        return train_or_go_on(self.config, self.folder, self.state, options, observers)


def plan(
    names: Iterable[str],
    presets: Iterable[str] = ("paper",),
    folder: str | Path = "runs/reproduce",
    *,
    scale: float = 1.0,
    seeds: int | None = None,
    first_seed: int = 0,
) -> list[Training]:
    """The trainings of experiments, ``all`` for all of them, with each of the presets; an error if one cannot be.

    Each goes into ``folder/preset/experiment``; seeds that do not begin at 0 are a piece of their own,
    ``folder/preset/experiment-seed2``. Nothing is written.

    >>> [training.name for training in plan(["navigation", "tau"], ["paper", "tuned"])]
    ['navigation (paper)', 'navigation (tuned)', 'tau (paper)', 'tau (tuned)']
    """
    chosen = [check_choice("experiment", name, (*EXPERIMENTS, "all")) for name in names]
    chosen = list(EXPERIMENTS) if "all" in chosen else list(dict.fromkeys(chosen))
    presets = [check_choice("preset", name, PRESETS) for name in dict.fromkeys(presets)]
    if not chosen:
        raise ValueError(f"experiments must be at least one of {', '.join(EXPERIMENTS)} or all, got none")
    if not presets:
        raise ValueError(f"preset must be at least one of {', '.join(PRESETS)}, got none")
    piece = f"-seed{first_seed}" if first_seed else ""
    trainings = []
    for name in chosen:
        for preset in presets:
            config = EXPERIMENTS[name].config(preset, scale=scale, seeds=seeds, first_seed=first_seed)
            place = Path(folder, preset, name + piece)
            trainings.append(Training(EXPERIMENTS[name], preset, config, place, state_of(place, config)))
    return trainings


def train_or_go_on(
    config: Config, folder: Path, state: State, options: SessionOptions, observers: Sequence[Observer] = ()
) -> Run:
    """Train a population to its end, from its beginning or where it was interrupted; one that is done is opened."""
    if state == "finished":
        return load(folder)
    if state == "new":
        return session.train(config, folder, observers=observers, **asdict(options))
    chosen = {"device": options.device, "block": options.block}
    return session.resume(folder, config=config, observers=observers, **chosen)


def state_of(folder: Path, config: Config) -> State:
    """How far a training is; an error if something else is in its folder."""
    if session.is_free(folder):
        return "new"
    try:
        run = load(folder)
    except RunError as error:
        raise RunError(f"{error}; move it away, or choose another --folder") from None
    saved = session.read_config(run) if "stage" in run.session else None
    if saved != config:
        changed = f" ({', '.join(config.differs_from(saved))})" if saved else ""
        raise RunError(
            f"{folder} was trained with another configuration{changed}: "
            "give the options that it was trained with, or choose another --folder"
        )
    newest = next(read_checkpoints(folder), None)
    return "finished" if newest is not None and newest.frames >= _frames(config) else "interrupted"


def _frames(config: Config) -> int:
    """Environment steps of each member, in whole batches."""
    return config.iterations * config.frames_per_batch
