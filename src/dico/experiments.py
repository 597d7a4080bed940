"""The paper's experiments, and a quick preset, as data (settings of the paper's experiments)."""

from collections.abc import Mapping
from typing import Any

from dico._checks import check_choice
from dico.tasks import TASKS
from dico.train.config import Config

_PPO = {"algorithm": "ippo", "envs": 600, "frames_per_batch": 60_000}
_DDPG = {"envs": 60, "frames_per_batch": 6_000}

PAPER: dict[str, dict[str, Any]] = {
    "navigation": {**_PPO, "frames": 10_000_000, "seeds": 4},
    "same-goal": {**_PPO, "frames": 10_000_000, "seeds": 4},
    "dispersion": {**_DDPG, "algorithm": "maddpg", "frames": 10_000_000, "seeds": 4},
    "sampling": {**_DDPG, "algorithm": "iddpg", "frames": 5_000_000, "seeds": 3},
    "tag": {
        **_PPO, "frames": 12_000_000, "seeds": 5, "freeze": ("agent=3000000",),
    },
    "reverse-transport": {
        "algorithm": "iddpg", "envs": 30, "frames_per_batch": 6_000, "frames": 8_000_000, "seeds": 3,
        "initial": "desired", "squash_shared": False,
    },
}  # fmt: skip
"""The settings of each of the paper's experiments, beyond the defaults of :class:`~dico.train.config.Config`."""

QUICK: dict[str, Any] = {
    "snd": ("0", "0.3", "1", "free"), "seeds": 2, "frames": 240_000, "hidden": (32, 32), "lr": 2e-3,
    "envs": 60, "frames_per_batch": 6_000, "epochs": 5, "minibatch": 600,
    "updates": 200, "batch": 128, "replay": 100_000, "noise_frames": 120_000,
    "tau": 0.3, "gradient": "straight_through", "action_loss": "merged",
}  # fmt: skip
"""Small networks and few frames, for a look within minutes on two cores; the paper's algorithm for each task."""

PRESETS = ("paper", "quick")


def preset(name: str, task: str = "navigation", **changes: Any) -> Config:
    """The settings of a preset for a task, with changes.

    >>> preset("paper", "dispersion").algorithm, preset("quick", "dispersion", seeds=1).seeds
    ('maddpg', 1)
    """
    check_choice("preset", name, PRESETS)
    paper: Mapping[str, Any] = PAPER.get(task, _PPO)
    if not task.startswith("vmas:"):
        check_choice("task", task, TASKS)
    settings = dict(paper) if name == "paper" else {"algorithm": paper["algorithm"], **QUICK}
    if name == "paper" and task in TASKS:
        settings["snd"] = TASKS[task].snd_levels
    if name == "quick" and task in TASKS:  # whole horizons, or all environments would be in one phase of their episodes
        settings["envs"] = QUICK["frames_per_batch"] // TASKS[task]().horizon
    if name == "quick" and "freeze" in paper:
        settings["freeze"] = tuple(f"{text.partition('=')[0]}=0.25" for text in paper["freeze"])
    return Config(task=task, **(settings | changes))
