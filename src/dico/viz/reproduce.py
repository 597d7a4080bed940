"""The command that trains a run again."""

import shlex
from collections.abc import Mapping
from typing import Any


def command(config: Mapping[str, Any], session: Mapping[str, Any] | None = None) -> str:
    """``dico train`` with every setting written out, so that no preset or default of another version matters.

    >>> command({"task": "navigation", "snd": ["0", ">=0.3"], "seeds": 2, "squash_shared": True, "freeze": []})
    "dico train navigation --snd 0 '>=0.3' --seeds 2 --squash-shared --freeze"
    """
    words = ["dico", "train", config["task"]]
    for name, value in config.items():
        if name != "task":
            words += _option(name, value)
    if session is not None:
        words += [word for name in ("stage", "precision") for word in _option(name, session[name])]
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else [flag.replace("--", "--no-", 1)]
    values = value if isinstance(value, list | tuple) else [value]
    return [flag, *map(str, values)]
