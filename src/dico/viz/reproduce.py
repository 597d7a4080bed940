"""The command that trains a run again, and what it does."""

import shlex
from collections.abc import Mapping
from typing import Any

from dico.runs import Run


def command(config: Mapping[str, Any], session: Mapping[str, Any]) -> str | None:
    """``dico train`` with every setting written out, so that no preset or default of another version matters.

    A run of another trainer says itself how it was started, as ``command`` of its session; None if no command did it.

    >>> command({"task": "navigation", "snd": ["0", ">=0.3"], "seeds": 2, "squash_shared": True}, {"stage": "eager"})
    "dico train navigation --snd 0 '>=0.3' --seeds 2 --squash-shared --stage eager"
    """
    if "command" in session:
        return session["command"]
    how = {name: session[name] for name in ("stage", "precision") if name in session}
    settings = {name: value for name, value in config.items() if name != "task"} | how
    words = (word for name, value in settings.items() for word in _option(name, value))
    return shlex.join(["dico", "train", config["task"], *words])


def about(run: Run) -> str:
    """What the command does.

    >>> about(run)
    'The command with every setting written out, so that defaults of another version do not matter.'
    """
    if "command" not in run.session:
        return "The command with every setting written out, so that defaults of another version do not matter."
    if run.session["command"] is None:
        return (
            "It was started from a Python program, not by a command, and its folder does not keep the program; the "
            "settings are below."
        )
    if len(run.members) == 1:
        return "The command that trained it."
    levels, seeds = ({getattr(member, name) for member in run.members} for name in ("constraint", "seed"))
    if len(run.members) == len(levels) * len(seeds):
        return "The command that trains all members again, one after the other."
    return "The command that trained the first member; the others differ in desired diversity and seed."


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else [flag.replace("--", "--no-", 1)]
    values = value if isinstance(value, list | tuple) else [value]
    return [flag, *map(str, values)]
