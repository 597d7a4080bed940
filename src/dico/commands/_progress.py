"""What a user sees of a training: a live table and bar on a terminal, plain lines elsewhere."""

import os
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from dico._named import short_name
from dico.analysis import reach_in_words
from dico.boxes import COLUMNS
from dico.commands._digits import mean_text
from dico.commands._estimate import iteration_seconds
from dico.kinds import KINDS
from dico.members import controlled_groups, level_text, member_of, text_of, varying
from dico.metrics import METRICS
from dico.scale.following import Following
from dico.tasks import OUTCOMES
from dico.training.blocks import AnyPopulation
from dico.training.stopping import duration

SECONDS_BETWEEN_LINES = 5.0
NOTEBOOK = "JPY_PARENT_PID"
"""What Jupyter sets for its kernels, and so for what they start."""
LONG = 60.0
"""Seconds of a training from which on it is said beforehand how long it will take."""
VERY_LONG, SMALL = 600.0, 64
"""Seconds of a training on a CPU, and units of its layers, for which compiling pays (docs/performance-notes.md)."""
COMPILED = "; begun anew with --stage compiled, which needs a C++ compiler, a fifth to a half less"
"""What is said then."""
SILENT = 10.0
"""Seconds of an iteration from which on a rough estimate is given before the first one."""
IN_A_TABLE, IN_A_LINE = 24, 12
"""Levels that are shown; of more, so many are chosen evenly."""

Rows = list[dict[str, Any]]
Shown = AnyPopulation | Following
"""What is trained, here or in pieces elsewhere."""


def level_table(rows: Sequence[dict[str, Any]], title: str | None = None) -> Table:
    """Desired, measured and executed diversity and reward of each level, the mean over its seeds.

    A level is all members that differ in nothing but the seed; numbers in which members differ have columns too. Of
    many levels some are shown, evenly chosen, and their number is told.
    """
    every = by_level(rows)
    levels = _some(every, IN_A_TABLE)
    if len(levels) < len(every):
        title = f"{f'{title}; ' if title else ''}{len(levels)} of {len(every)} levels"
    groups = list(dict.fromkeys(row.get("group", "") for row in rows))
    # SND, and the controlled metric where that is another; a line may lack them
    metrics = [name for name in METRICS if any(name in row for row in rows)] or ["snd"]
    # narrow, and folded where that is not enough: no number is cut off
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0)
    table.add_column(f"desired {_title_of(metrics[-1])}", overflow="fold")
    varied = [name for name in _varying(rows) if name != "constraint"]
    for name in (*varied, "seeds"):
        table.add_column(name, justify="right")
    told = [name for name in OUTCOMES if any(name in row for row in rows)]  # of the task, so of all groups alike
    episodes = ["return"] if any("return" in row for row in rows) else []
    guaranteed = [name for name in COLUMNS if any(name in row for row in rows)]
    executed = ["snd_acted"] if any("snd_acted" in row for row in rows) and not guaranteed else []  # or no room is left
    titles = [*(f"measured {_title_of(metric)}" for metric in metrics), *(["executed SND"] if executed else [])]
    over = {group: guaranteed if any("snd_box" in row for row in _of(group, rows)) else [] for group in groups}
    for group in groups:
        for name in (*titles, *(COLUMNS[name] for name in over[group]), "reward per step", *episodes):
            table.add_column(f"{group} {name}".strip(), justify="right", overflow="fold")
    for name in told:
        table.add_column(name, justify="right", overflow="fold")
    for members in levels.values():
        first = member_of(members[0])
        seeds = str(len({row["member"] for row in members}))
        cells = [short_name(first.constraint), *(text_of(first, name) for name in varied), seeds]
        for group in groups:
            shown = (*metrics, *executed, *over[group], "reward", *episodes)
            cells += [_mean(_of(group, members), name) for name in shown]
        table.add_row(*cells, *(_mean(members, name) for name in told))
    return table


class Display(ABC):
    """What a live and a plain one have in common."""

    def __init__(self, console: Console, remark: str = ""):
        self.console, self.remark = console, remark

    def begin(self, population: Shown, folder: Path) -> None:
        """Say what is trained."""
        self.population = population
        self.compiling, self.estimated = population.stage.compiles, False
        self.say(_title(population, folder) + self.remark)
        if isinstance(population, Following):
            return
        if beyond := _beyond(population):
            self.say(beyond)
        if population.stage.device.type == "cpu":
            self._warn(iteration_seconds(population), population)

    def _warn(self, each: float, population: AnyPopulation) -> None:
        """Of a first iteration that will take long, before it."""
        left = population.config.iterations - population.iteration
        if left and each > SILENT:
            whole = f"{duration(each)} for each of {left:,} batches, {duration(each * left)} for all"
            self.say(f"on this CPU the networks take roughly {whole}; --preset quick takes minutes")

    def say(self, message: str) -> None:
        """A line."""
        self.console.print(message, markup=False, highlight=False, soft_wrap=not self.console.is_terminal)

    def iteration(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """Show it; the first that was not compiled tells how long all will take."""
        if not (self.estimated or self.compiling):
            self.estimated = True
            left = seconds * (self.population.config.iterations - self.population.iteration)
            if left > LONG:
                told = f"all {self.population.config.frames:,} frames will take about {duration(left)} more"
                self.say(told + (COMPILED if left > VERY_LONG and self._would_gain() else ""))
        self.show(rows, seconds)
        self.compiling = False

    def _would_gain(self) -> bool:
        """Whether it has just begun, and compiled it would be quicker."""
        if isinstance(self.population, Following) or self.population.iteration > 1:
            return False
        stage, config = self.population.stage, self.population.config
        small = max(config.hidden, default=0) <= SMALL and config.control == "empirical"
        return small and stage.device.type == "cpu" and not stage.compiles

    @abstractmethod
    def show(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """What an iteration came to, and how long it took."""

    def pace(self, seconds: float) -> str:
        """How fast an iteration was; a first one that was compiled says nothing of those to come."""
        if self.compiling:
            return f"compiled in {seconds:.0f} s"
        each = self.population.config.frames_per_batch / seconds
        return f"{each:,.0f} frames/s per member, {each * len(self.population.members):,.0f} in all"


class LiveProgress(Display):
    """A table of levels above a bar with frames/s and the time left."""

    def begin(self, population: Shown, folder: Path) -> None:
        """Show the bar."""
        super().begin(population, folder)
        self.bar = Progress(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} frames"), BarColumn(bar_width=None),
            TaskProgressColumn(), TimeRemainingColumn(compact=True), TextColumn("left"), console=self.console,
            expand=True,
        )  # fmt: skip
        self.task = self.bar.add_task("", total=_total(population), completed=population.frames)
        self.live = Live(self.bar, console=self.console, refresh_per_second=4)
        self.live.start()

    def show(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """Renew table and bar."""
        advance = self.bar.reset if self.compiling else self.bar.update  # the time left is told from then on
        advance(self.task, completed=self.population.frames)
        self.live.update(Group(level_table(rows, self.pace(seconds)), self.bar))

    def end(self) -> None:
        """Leave the last picture standing."""
        self.live.stop()


class PlainProgress(Display):
    """A line every few seconds, for logs."""

    last = 0.0

    def show(self, rows: Sequence[dict[str, Any]], seconds: float) -> None:
        """A line if it is time, and after the last iteration."""
        if time.monotonic() - self.last < SECONDS_BETWEEN_LINES and not self.population.finished:
            return
        self.last = time.monotonic()
        every = by_level(rows)
        shown = _some(every, IN_A_LINE)
        levels = "; ".join(f"{short_name(level)}: {_in_a_line(members)}" for level, members in shown.items())
        levels += f" ({len(shown)} of {len(every)} levels)" if len(shown) < len(every) else ""
        remaining = self.population.config.iterations - self.population.iteration
        left = "" if self.compiling else f", {seconds * remaining:.0f} s left"
        done = f"{self.population.frames:,} of {_total(self.population):,} frames"
        self.say(f"{done}, {self.pace(seconds)}{left} | {levels}")

    def end(self) -> None:
        """Nothing to tidy up."""


def make_progress(console: Console, remark: str = "") -> LiveProgress | PlainProgress:
    """What suits where the output goes: a notebook's cell is no terminal, though `!dico` looks like one."""
    in_notebook = console.is_jupyter or NOTEBOOK in os.environ
    kind = LiveProgress if console.is_terminal and not in_notebook else PlainProgress
    return kind(console, remark)


def progress() -> LiveProgress | PlainProgress:
    """What the commands show of a training, for one from Python: a live table on a terminal, elsewhere lines.

    In a notebook these stand below the cell.

    Returns:
        An observer for :func:`dico.train` or :func:`dico.resume`.

    >>> from dico.experiments import preset
    >>> dico.train(preset("quick"), observers=[dico.progress()])  # doctest: +SKIP
    """
    return make_progress(Console())


def _title_of(metric: str) -> str:
    return metric.upper() if len(metric) <= 3 else metric


def _varying(rows: Sequence[dict[str, Any]]) -> list[str]:
    return varying([member_of(row) for row in rows])


def by_level(rows: Sequence[dict[str, Any]]) -> dict[str, Rows]:
    """The rows of each level, as they come.

    >>> rows = [{"member": k, "constraint": "1", "seed": 0, "tau": tau} for k, tau in enumerate((0.1, 0.01))]
    >>> list(by_level(rows))
    ['tau=0.1', 'tau=0.01']
    """
    by, levels = _varying(rows), defaultdict(list)
    for row in rows:
        levels[level_text(member_of(row), by)].append(row)
    return levels


def _in_a_line(rows: Sequence[dict[str, Any]]) -> str:
    """Reward and diversity, each group's by themselves.

    >>> row = {"reward": 1.0, "snd": 0.5}
    >>> _in_a_line([row | {"group": "adversary"}, row | {"group": "agent", "reward": -1.0, "snd": 0.0}])
    'adversary reward 1.0000 snd 0.5000, agent reward -1.0000 snd 0.0000'
    """
    each = {group: _of(group, rows) for group in dict.fromkeys(row.get("group", "") for row in rows)}
    return ", ".join(
        f"{group} reward {_mean(own, 'reward')} snd {_mean(own, 'snd')}".strip() for group, own in each.items()
    )


def _of(group: str, rows: Sequence[dict[str, Any]]) -> Rows:
    """The rows of a group, or where there is but one of the team."""
    return [row for row in rows if row.get("group", "") == group]


def _some(levels: Mapping[str, Rows], most: int) -> dict[str, Rows]:
    """At most so many of the levels, evenly chosen, first and last included.

    >>> list(_some(dict.fromkeys("abcdefg", []), 3))
    ['a', 'd', 'g']
    """
    if len(levels) <= most:
        return dict(levels)
    names = list(levels)
    return {name: levels[name] for name in (names[round(k * (len(names) - 1) / (most - 1))] for k in range(most))}


def _mean(rows: Sequence[dict[str, Any]], name: str) -> str:
    if all(row.get("diverged") for row in rows):
        return "diverged"
    values = [row[name] for row in rows if row.get(name) is not None and not row.get("diverged")]
    return mean_text(values) if values else ""


def _total(population: Shown) -> int:
    return population.config.iterations * population.config.frames_per_batch


def _beyond(population: AnyPopulation) -> str:
    """What to know of desired values that executed actions cannot have; nothing if there are none.

    Deterministic policies warn of it themselves.
    """
    config, teams = population.config, {learner.team.name: learner.team for learner in population.learners}
    if config.metric != "snd" or KINDS[config.policy_kind].width == 1:
        return ""
    chosen = controlled_groups({name: team.n_agents for name, team in teams.items()}, config.controlled)
    desired = [member.constraint for member in config.members]
    told = (reach_in_words(desired, team.n_agents, team.low, team.high, config.policy_kind)
            for name, team in teams.items() if name in chosen)  # fmt: skip
    return next(filter(None, told), "")


def _title(population: Shown, folder: Path) -> str:
    config = population.config
    count, stage = len(population.members), population.stage
    members = "1 member" if count == 1 else f"{count} members"
    return f"{config.task}, {config.algorithm}: {members} on {stage.device} ({stage.name}), into {folder}"
