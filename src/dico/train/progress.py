"""What a user sees of a training: a live table and bar on a terminal, plain lines elsewhere."""

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from dico.metrics import METRICS
from dico.train.population import Population

SECONDS_BETWEEN_LINES = 5.0


def summary(rows: Sequence[dict[str, Any]], title: str | None = None) -> Table:
    """Desired and measured diversity and reward of each level, the mean over its seeds."""
    groups = list(dict.fromkeys(row.get("group", "") for row in rows))
    metrics = [name for name in METRICS if name in rows[0]]  # SND, and the controlled metric where that is another
    table = Table(title=title, title_justify="left")
    table.add_column(f"desired {_title_of(metrics[-1])}")
    table.add_column("seeds", justify="right")
    for group in groups:
        for name in (*(f"measured {_title_of(metric)}" for metric in metrics), "reward per step"):
            table.add_column(f"{group} {name}".strip(), justify="right")
    for level, members in _by_level(rows).items():
        cells = [level, str(len({row["member"] for row in members}))]
        for group in groups:
            own = [row for row in members if row.get("group", "") == group]
            cells += [_mean(own, name) for name in (*metrics, "reward")]
        table.add_row(*cells)
    return table


class LiveProgress:
    """A table of levels above a bar with frames/s and the time left."""

    def __init__(self, console: Console):
        self.console = console
        self.bar = Progress(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} frames"), BarColumn(bar_width=None),
            TaskProgressColumn(), TimeRemainingColumn(compact=True), TextColumn("left"), console=console, expand=True,
        )  # fmt: skip

    def begin(self, population: Population, folder: Path) -> None:
        """Show the bar."""
        self.population = population
        self.say(_title(population, folder))
        self.task = self.bar.add_task("", total=_total(population), completed=population.frames)
        self.live = Live(self.bar, console=self.console, refresh_per_second=4)
        self.live.start()

    def say(self, message: str) -> None:
        """Above the table."""
        self.console.print(message, markup=False, highlight=False)

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """Renew table and bar."""
        self.bar.update(self.task, completed=self.population.frames)
        self.live.update(Group(summary(rows, _speed(self.population, seconds)), self.bar))

    def end(self) -> None:
        """Leave the last picture standing."""
        self.live.stop()


class PlainProgress:
    """A line every few seconds, for logs."""

    def __init__(self, console: Console):
        self.console = console
        self.last = 0.0

    def begin(self, population: Population, folder: Path) -> None:
        """Say what is trained."""
        self.population = population
        self.compiling = population.stage.name != "eager"
        self.say(_title(population, folder))

    def say(self, message: str) -> None:
        """A line."""
        self.console.print(message, markup=False, highlight=False, soft_wrap=True)

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """A line if it is time, and after the last iteration; the first says nothing of speed if it was compiled."""
        compiling, self.compiling = self.compiling, False
        soon = compiling or time.monotonic() - self.last < SECONDS_BETWEEN_LINES
        if soon and not self.population.finished:
            return
        self.last = time.monotonic()
        left = seconds * (self.population.config.iterations - self.population.iteration)
        levels = ", ".join(
            f"{level}: reward {_mean(members, 'reward')} snd {_mean(members, 'snd')}"
            for level, members in _by_level(rows).items()
        )
        speed = _speed(self.population, seconds)
        self.say(
            f"{self.population.frames:,} of {_total(self.population):,} frames, {speed}, {left:.0f} s left | {levels}"
        )

    def end(self) -> None:
        """Nothing to tidy up."""


def make_progress(console: Console) -> LiveProgress | PlainProgress:
    """What suits where the output goes."""
    return LiveProgress(console) if console.is_terminal else PlainProgress(console)


def _title_of(metric: str) -> str:
    return metric.upper() if len(metric) <= 3 else metric


def _by_level(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    levels: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        levels[row["constraint"]].append(row)
    return levels


def _mean(rows: Sequence[dict[str, Any]], name: str) -> str:
    values = [row[name] for row in rows if row[name] is not None and not row.get("diverged")]
    return f"{mean(values):.4f}" if values else "diverged"


def _speed(population: Population, seconds: float) -> str:
    each = population.config.frames_per_batch / seconds
    return f"{each:,.0f} frames/s per member, {each * len(population.members):,.0f} in all"


def _total(population: Population) -> int:
    return population.config.iterations * population.config.frames_per_batch


def _title(population: Population, folder: Path) -> str:
    config = population.config
    count, stage = len(population.members), population.stage
    members = "1 member" if count == 1 else f"{count} members"
    return f"{config.task}, {config.algorithm}: {members} on {stage.device} ({stage.name}), into {folder}"
