"""``dico tasks``."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from dico.tasks import TASKS


@dataclass(frozen=True)
class Options:
    """It takes nothing."""


def run(options: Options, console: Console) -> int:  # noqa: ARG001
    """Print a table of the tasks, and their settings."""
    console.print(_table())
    console.print("settings, to change with --task-options name=value:", highlight=False)
    for task in (make() for make in TASKS.values()):
        console.print(f"  {task}", highlight=False)
    console.print("and vmas:SCENARIO, pettingzoo:MODULE, or module:function for your own", highlight=False)
    return 0


def _table() -> Table:
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
