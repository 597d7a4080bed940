"""``dico bound``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from dico import viz
from dico._named import is_name
from dico.bounds import MaxSND, max_snd
from dico.commands import say, say_where
from dico.constraints import parse_constraint
from dico.tasks import from_settings

SHOWN = 100
"""Agents whose actions are printed, at most."""


@dataclass(frozen=True)
class Options:
    """What it takes."""

    task: str | None = None
    """A task, whose agents and actions count: a name as in dico train, each of its groups by itself."""
    task_options: tuple[str, ...] = ()
    """The task's own settings as name=value, such as n_agents=3."""
    agents: int | None = None
    """Without a task: how many agents."""
    low: tuple[float, ...] = ()
    """Without a task: least value of each action component."""
    high: tuple[float, ...] = ()
    """Without a task: greatest value of each action component."""
    snd: tuple[str, ...] = ()
    """Desired diversities, each told to be within the maximum or beyond it."""
    figure: Path | None = None
    """Draw the actions, which must have two components, into this file: .png, .svg or .pdf."""


def run(options: Options, console: Console) -> int:
    """Print the bound, and actions that reach it."""
    groups, low, high = _asked(options)
    desired = [parse_constraint(text) for text in options.snd]
    found = {name: max_snd(count, low, high) for name, count in groups.items()}
    teams = {name: best for name, best in found.items() if len(best.actions) > 1}
    drawn = None if options.figure is None else (viz.draw_bound(teams, low, high), viz.check_figure(options.figure))
    for name, best in found.items():
        prefix = f"{name}: " if options.task is not None else ""
        if name not in teams:
            say(f"{prefix}a lone agent has no diversity", console)
            continue
        _print(best, prefix, console)
        for text, constraint in zip(options.snd, desired, strict=True):
            asked = f"{text} begins with {constraint.least:g}, which" if is_name(text.strip()) else text
            say(f"  {asked} is {_verdict(constraint.least, best)}", console)
    if drawn is not None:
        say_where(viz.save_figure(*drawn), console)
    return 0


def _asked(options: Options) -> tuple[dict[str, int], Sequence[float], Sequence[float]]:
    """How many agents each group has, and the action box."""
    by_hand = options.agents is not None or options.low or options.high
    if (options.task is None) != bool(by_hand):
        raise ValueError("bound must be asked of a --task, or of --agents, --low and --high")
    if options.task is not None:
        task = from_settings(options.task, options.task_options)
        return {group.name: len(group.agents) for group in task.groups}, task.action_low, task.action_high
    if options.agents is None or options.task_options:
        raise ValueError("bound must be given --agents, --low and --high, and no --task-options, without a --task")
    return {"agents": options.agents}, options.low, options.high


def _print(best: MaxSND, prefix: str, console: Console) -> None:
    agents = len(best.actions)
    proof = "exact" if best.exact else f"at most {best.upper_bound:.6g}"
    told = f"{prefix}{agents} agents, " if prefix else ""
    say(f"{told}maximum SND: {best.value:.6g} ({proof})", console)
    for i, action in enumerate(best.actions[:SHOWN].tolist()):
        say(f"  agent {i}: {', '.join(f'{x:g}' for x in action)}", console)
    if agents > SHOWN:
        say(f"  and {agents - SHOWN:,} more", console)


def _verdict(least: float, best: MaxSND) -> str:
    """Whether so much diversity fits the box."""
    if least <= best.value:
        return "within the maximum"
    if least <= best.upper_bound:
        return "more than was found, and not proven to be too much"
    return (
        "beyond the maximum: deterministic means would lie outside the box; that of stochastic policies is of means "
        "before the tanh, and has no maximum"
    )
