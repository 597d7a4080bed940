"""``dico bound``."""

from dataclasses import dataclass

from rich.console import Console

from dico.bounds import max_snd

SHOWN = 100
"""Agents whose actions are printed, at most."""


@dataclass(frozen=True)
class Options:
    """What it takes."""

    agents: int
    """How many agents."""
    low: tuple[float, ...]
    """Least value of each action component."""
    high: tuple[float, ...]
    """Greatest value of each action component."""


def run(options: Options, console: Console) -> int:
    """Print the bound, and actions that reach it."""
    best = max_snd(options.agents, options.low, options.high)
    proof = "exact" if best.exact else f"at most {best.upper_bound:.6g}"
    console.print(f"maximum SND: {best.value:.6g} ({proof})", highlight=False)
    for i, action in enumerate(best.actions[:SHOWN].tolist()):
        console.print(f"  agent {i}: {', '.join(f'{x:g}' for x in action)}", highlight=False)
    if options.agents > SHOWN:
        console.print(f"  and {options.agents - SHOWN:,} more", highlight=False)
    return 0
