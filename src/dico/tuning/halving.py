"""The diversity with the greatest metric: successive halving over levels, all in one population.

All levels start together. At a quarter and at half of a training the losers are dropped, and levels around the leader
take their place; no diversity (0) and free agents stay to the end, since what the best is worth is told against them.

A new level takes over the networks of the leader, member by member of the same seed. The scale makes the same networks
meet any desired diversity at once (eq:scaled_policies), so nothing that was learned is thrown away, and at every moment
all members have been trained for the same frames. That is what the final verdict compares: members of the last
population, all of them trained for as long, and each at its own level for the last half at least, because none comes in
later. What it does not compare is a level trained from nothing with one that began elsewhere: ``since`` in the history
says which did.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dico._checks import check_positive
from dico.analysis import answer
from dico.analysis.gain import HOMOGENEOUS, as_number
from dico.analysis.members import FREE
from dico.experiments import scaled
from dico.runs import Run
from dico.training.blocks import make_population
from dico.training.config import Config
from dico.training.options import SessionOptions
from dico.tuning.trials import Bench, Trial, Tuned, text_of_level, why_left_out

STAGES = (0.25, 0.5, 1.0)
"""Shares of a training after which levels are compared."""
SHORTEST = 4
"""Batches of a training, at least: each stage needs one."""
NEAR = 0.04
"""Levels nearer to one that was tried than this share of the whole range are not tried."""


@dataclass(frozen=True)
class Halving:
    """How wide and how long the search is."""

    high: float
    """The greatest level that is tried at first."""
    explorers: int = 5
    """Levels above 0 that start, evenly spaced."""
    kept: int = 2
    """Of them, those that stay at each stage."""
    refined: int = 2
    """Levels around the leader that take the losers' place."""
    finalists: int = 3
    """Levels that are trained to the end, beside 0 and free."""

    def __post_init__(self):
        if not 0 < self.high < float("inf"):
            raise ValueError(f"high must be a finite number above 0, got {self.high!r}")
        for name in ("explorers", "kept", "refined", "finalists"):
            check_positive(name, getattr(self, name))

    @property
    def widths(self) -> tuple[int, int, int]:
        """Levels of each population, at most."""
        return 2 + self.explorers, 2 + self.kept + self.refined, 2 + self.finalists

    @property
    def start(self) -> list[str]:
        """The first levels.

        >>> Halving(2.0, explorers=4).start
        ['0', '0.5', '1', '1.5', '2', 'free']
        """
        spaced = [text_of_level(self.high * (k + 1) / self.explorers) for k in range(self.explorers)]
        return [HOMOGENEOUS, *spaced, FREE]

    def frames(self, config: Config) -> int:
        """What it spends on all members together, at most.

        >>> Halving(2.0).frames(Config(frames=240_000, frames_per_batch=6_000, envs=60, seeds=3))
        4140000
        """
        ends = stage_ends(config)
        batches = sum(
            width * (end - begin) for width, begin, end in zip(self.widths, (0, *ends[:-1]), ends, strict=True)
        )
        return batches * config.frames_per_batch * config.seeds

    def dense_frames(self, config: Config) -> int:
        """What a sweep of all levels in steps half as wide as the first ones', with free, would spend.

        >>> Halving(2.0).dense_frames(Config(frames=240_000, frames_per_batch=6_000, envs=60, seeds=3))
        8640000
        """
        return (2 * self.explorers + 2) * config.iterations * config.frames_per_batch * config.seeds


def stage_ends(config: Config) -> list[int]:
    """The batches after which levels are compared.

    >>> stage_ends(Config(frames=240_000, frames_per_batch=6_000, envs=60))
    [10, 20, 40]
    """
    if config.iterations < SHORTEST:
        least = SHORTEST * config.frames_per_batch
        raise ValueError(f"frames of each member must be at least {least:,}, four batches, got {config.frames:,}")
    return [round(share * config.iterations) for share in STAGES]


def within_frames(config: Config, halving: Halving, budget: int) -> Config:
    """The longest training whose search spends no more than a budget, of all members together."""
    check_positive("frames", budget)
    each = halving.frames(replace(config, frames=100 * config.frames_per_batch)) / 100  # of a batch
    fitted = _lasting(config, int(budget / each))
    while fitted.iterations >= SHORTEST and halving.frames(fitted) > budget:  # stages are of whole batches
        fitted = _lasting(config, fitted.iterations - 1)
    if fitted.iterations < SHORTEST:
        least = halving.frames(replace(config, frames=SHORTEST * config.frames_per_batch))
        raise ValueError(f"frames must be at least {least:,} for {config.seeds} seeds, got {budget:,}")
    return fitted


def within_minutes(config: Config, halving: Halving, minutes: float, options: SessionOptions) -> Config:
    """The longest training whose search takes about so many minutes here, by the pace of the first population.

    Later ones are smaller, so it rather takes less.
    """
    if not 0 < minutes < float("inf"):
        raise ValueError(f"minutes must be a finite number above 0, got {minutes!r}")
    population = make_population(replace(config, snd=tuple(halving.start)), options.make_stage(), options.block)
    population.iterate()  # which may be compiled
    begin = time.perf_counter()
    population.iterate()
    batches = int(60 * minutes / (time.perf_counter() - begin))
    if batches < SHORTEST:
        raise ValueError(f"minutes must be at least {minutes * SHORTEST / max(batches, 1):.2g} here, got {minutes:g}")
    return _lasting(config, batches)


def maximize(bench: Bench, halving: Halving) -> Tuned:
    """Search for the level with the greatest metric, and say whether diversity pays."""
    config = _absolute(bench.config)
    bench.config = config
    run: Run | None = None
    chosen, leader = halving.start, ""
    trials: list[Trial] = []
    for stage, end in enumerate(stage_ends(config)):
        run, trials = bench.train(chosen, end * config.frames_per_batch, after=run, leader=leader)
        leader = max(trials, key=lambda trial: trial.mean).level
        if not any(trial.known for trial in trials):
            raise ValueError(why_left_out(trials, bench.metric))
        values = [trial for trial in sorted(trials, key=lambda trial: -trial.mean) if _is_explorer(trial)]
        if stage == 0:
            new = refine(bench.history, leader, halving)
            chosen = _in_order([*(trial.level for trial in values[: halving.kept]), *new])
            bench.say(f"{leader} leads; {', '.join(new)} {'takes' if len(new) == 1 else 'take'} over its networks")
        else:
            chosen = _in_order([trial.level for trial in values[: halving.finalists]])
    found = answer({trial.level: np.array(trial.values) for trial in trials}, bench.metric.episodes)
    why = "; ".join(filter(None, (found.why, why_left_out(trials, bench.metric))))
    return Tuned(
        found.outcome, found.level, found.low, found.high, found, bench.frames, halving.dense_frames(config),
        tuple(bench.history), why,
    )  # fmt: skip


def refine(history: Sequence[Trial], leader: str, halving: Halving) -> list[str]:
    """Levels half way from the leader to its neighbours among those that were tried; where free leads, to where it is.

    >>> tried = [Trial(1, level, 100, (0.0,), 1.2) for level in ("0", "1", "2", "free")]
    >>> refine(tried, "1", Halving(2.0)), refine(tried, "2", Halving(2.0)), refine(tried, "0", Halving(2.0))
    (['0.5', '1.5'], ['1.5', '1.75'], ['0.25', '0.5'])
    >>> refine(tried, "free", Halving(2.0))
    ['1.2', '1.6']
    """
    tried = sorted({float(as_number(trial.level)) for trial in history if trial.level != FREE})
    if leader == FREE:
        centre = next(trial.measured for trial in reversed(history) if trial.level == FREE)
    else:
        centre = float(as_number(leader))
    below = max((level for level in tried if level < centre), default=None)
    above = min((level for level in tried if level > centre), default=None)
    wanted = [centre] if leader == FREE else []
    wanted += [(centre + level) / 2 for level in (above, below) if level is not None]
    if above is None or below is None:  # at an end, both on its one side
        inside = below if above is None else above
        wanted.append(centre + (inside - centre) / 4 if inside is not None else centre / 2)
    fresh: list[float] = []
    for level in wanted:
        if all(abs(level - other) > NEAR * halving.high for other in (*tried, *fresh)):
            fresh.append(level)
    return [text_of_level(float(f"{level:.3g}")) for level in sorted(fresh[: halving.refined])]


def _is_explorer(trial: Trial) -> bool:
    return trial.level not in (HOMOGENEOUS, FREE)


def _in_order(explorers: Sequence[str]) -> list[str]:
    return [HOMOGENEOUS, *sorted(explorers, key=float), FREE]


def _lasting(config: Config, batches: int) -> Config:
    """A training of so many batches; what is counted in frames goes along."""
    if batches < 1:
        return replace(config, frames=config.frames_per_batch)
    return scaled(config, batches / config.iterations)


def _absolute(config: Config) -> Config:
    """With shares of the whole training as frames, so that a part of it means the same."""
    named = [text.partition("=")[0] for text in config.freeze]
    return replace(config, freeze=tuple(f"{group}={round(config.frozen_after(group))}" for group in named))
