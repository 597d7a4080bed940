"""The command that trains a run again, and what it does."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from dico.runs import Run

Presets = Callable[[str, str | None], Mapping[str, Mapping[str, Any]]]
"""Of a task and an algorithm, the task's own if that is None: the settings of each preset by its name."""
USUAL = {"stage": "auto", "precision": "tf32"}
"""How trainings are run if nothing else is said."""


def short_command(config: Mapping[str, Any], session: Mapping[str, Any], presets: Presets | None) -> str | None:
    """``dico train`` with the nearest preset and what differs from it; None where no preset is known.

    >>> def presets(task, algorithm):
    ...     return {"paper": {"task": task, "algorithm": algorithm or "ippo", "seeds": 4, "tau": 0.01},
    ...             "quick": {"task": task, "algorithm": algorithm or "ippo", "seeds": 2, "tau": 0.3}}
    >>> config = {"task": "navigation", "algorithm": "ippo", "seeds": 2, "tau": 0.01}
    >>> short_command(config, {}, presets)
    'dico train navigation --preset paper --seeds 2'
    >>> short_command({**config, "algorithm": "mappo"}, {}, presets)
    'dico train navigation --preset paper --algorithm mappo --seeds 2'
    """
    if presets is None or "command" in session:
        return None
    try:
        known, own = presets(config["task"], config["algorithm"]), presets(config["task"], None)
    except (ValueError, LookupError):  # a task or an algorithm that this version does not know
        return None
    differing = {name: _differing(config, settings) for name, settings in known.items()}
    nearest = min(differing, key=lambda name: len(differing[name]))
    how = {name: session[name] for name, usual in USUAL.items() if session.get(name, usual) != usual}
    usual = own[nearest]["algorithm"] == config["algorithm"]
    algorithm = {} if usual else {"algorithm": config["algorithm"]}
    settings = {"preset": nearest, **algorithm, **differing[nearest], **how}
    words = (word for name, value in settings.items() for word in _option(name, value))
    return shlex.join(["dico", "train", config["task"], *words])


def _differing(config: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not those of a preset; JSON has lists where a preset has tuples."""

    def plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    return {name: value for name, value in config.items() if name not in usual or plain(value) != plain(usual[name])}


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
