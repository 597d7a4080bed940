"""The command that trains a run again."""

import shlex
from collections.abc import Mapping
from typing import Any


def command(config: Mapping[str, Any], session: Mapping[str, Any]) -> str:
    """``dico train`` with every setting written out, so that no preset or default of another version matters.

    A run of another trainer says itself how it was started, as ``command`` of its session: that of its first member.

    >>> command({"task": "navigation", "snd": ["0", ">=0.3"], "seeds": 2, "squash_shared": True}, {"stage": "eager"})
    "dico train navigation --snd 0 '>=0.3' --seeds 2 --squash-shared --stage eager"
    """
    if "command" in session:
        return session["command"]
    how = {name: session[name] for name in ("stage", "precision") if name in session}
    settings = {name: value for name, value in config.items() if name != "task"} | how
    words = (word for name, value in settings.items() for word in _option(name, value))
    return shlex.join(["dico", "train", config["task"], *words])


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else [flag.replace("--", "--no-", 1)]
    values = value if isinstance(value, list | tuple) else [value]
    return [flag, *map(str, values)]
