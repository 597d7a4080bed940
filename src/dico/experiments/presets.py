"""Presets: settings for each of the paper's tasks, as data.

``paper`` is what the original did, to the letter. ``tuned`` has its networks, batches and frames, and our conditioning:
how the deviations are kept learnable at any desired diversity (docs/conditioning.md). ``quick`` has that too, at a size
for a look within minutes on two cores.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, get_origin, get_type_hints

from dico._checks import check_choice
from dico.tasks import TASKS, Task, check_name, describe
from dico.training.algorithms import ALGORITHMS
from dico.training.config import Config

_ON_POLICY = {"envs": 600, "frames_per_batch": 60_000}
_OFF_POLICY = {"envs": 60, "frames_per_batch": 6_000}

PAPER: dict[str, dict[str, Any]] = {
    "navigation": {"algorithm": "ippo", **_ON_POLICY, "frames": 10_000_000, "seeds": 4},
    "same-goal": {"algorithm": "ippo", **_ON_POLICY, "frames": 10_000_000, "seeds": 4},
    "dispersion": {"algorithm": "maddpg", **_OFF_POLICY, "frames": 10_000_000, "seeds": 4},
    "sampling": {"algorithm": "iddpg", **_OFF_POLICY, "frames": 5_000_000, "seeds": 3},
    "tag": {"algorithm": "ippo", **_ON_POLICY, "frames": 12_000_000, "seeds": 5, "freeze": ("agent=3000000",)},
    "reverse-transport": {
        "algorithm": "iddpg", "envs": 30, "frames_per_batch": 6_000, "frames": 8_000_000, "seeds": 3,
        "initial": "desired", "squash_shared": False,
    },
}  # fmt: skip
"""The settings of each of the paper's experiments, beyond the defaults of :class:`~dico.training.config.Config`."""

QUICK: dict[str, Any] = {
    "snd": ("0", "0.3", "1", "2", "free"), "seeds": 2, "frames": 240_000, "hidden": (32, 32), "lr": 2e-3,
    "envs": 60, "frames_per_batch": 6_000, "epochs": 5, "minibatch": 600,
    "updates": 200, "batch": 128, "replay": 100_000, "noise_frames": 120_000, "action_loss_lr": 1.2e-3,
}  # fmt: skip
"""Small networks and few frames; the paper's algorithm for each task, and its ratio of the two step sizes."""

CONDITIONING: dict[str, Any] = {"gradient": "straight_through", "tau": 0.3, "estimate_on": "newest"}
"""What lets teams learn at any desired diversity: the whole gradient of the estimate, which follows the surface of
equal diversity, and an estimate that keeps up, made on the frames that diversity is measured on."""
SQUASHED: dict[str, Any] = {"action_loss": "off", "squash_shared": False}
"""And for stochastic policies: the tanh that all actions pass keeps them in their box, so nothing else need do it."""
STEPS: dict[str, Any] = {"lr": 2e-4}
"""And for deterministic ones at the paper's size: under the original's gradient the scale is 100 to 1,000 and
multiplies every step of the deviations; here it stays near 1, so the step itself is larger."""

PRESETS = ("paper", "tuned", "quick")


def preset(name: str, task: str | Task = "navigation", **changes: Any) -> Config:
    """The settings of a preset for a task, with changes; some settings depend on the algorithm.

    Args:
        name: ``paper``, ``tuned`` or ``quick``.
        task: a name, or an object of your own.
        **changes: fields of :class:`~dico.training.config.Config`; desired diversities may be numbers.

    Returns:
        A configuration, to be trained by :func:`dico.train`.

    >>> preset("paper", "dispersion").algorithm, preset("quick", "dispersion", seeds=1).seeds
    ('maddpg', 1)
    >>> [(tuned.action_loss, tuned.lr) for tuned in (preset("tuned", algorithm=name) for name in ("ippo", "iddpg"))]
    [('off', 5e-05), ('separate', 0.0002)]
    >>> preset("quick", snd=(0, 0.3, ">=0.5")).snd, preset("quick", snd=1).snd
    (('0', '0.3', '>=0.5'), ('1',))
    """
    check_choice("preset", name, PRESETS)
    for each in changes:
        check_choice("setting", each, [field.name for field in fields(Config)])
    if not isinstance(task, str):
        task, options = describe(task)
        changes = {"task_options": options} | changes
    check_name(task)
    paper: Mapping[str, Any] = PAPER.get(task, {"algorithm": "ippo", **_ON_POLICY})
    algorithm = check_choice("algorithm", changes.get("algorithm", paper["algorithm"]), ALGORITHMS)
    settings = (_quick(task, paper) if name == "quick" else _full(task, paper, algorithm)) | {"algorithm": algorithm}
    if name != "paper":
        settings |= CONDITIONING | ({} if ALGORITHMS[algorithm].deterministic else SQUASHED)
    if name == "tuned" and ALGORITHMS[algorithm].deterministic:
        settings |= STEPS
    return Config(task=task, **(settings | {key: _as_setting(key, value) for key, value in changes.items()}))


def _as_setting(name: str, value: Any) -> Any:
    """Lists are tuples, and so is a single value where several may be; numbers among what is told by texts, as desired
    diversities are, are texts too.

    >>> _as_setting("snd", [0, 1]), _as_setting("snd", [0.3, "free"])
    (('0', '1'), ('0.3', 'free'))
    >>> _as_setting("hidden", [32, 32]), _as_setting("snd", 0.3), _as_setting("seeds", 3)
    ((32, 32), ('0.3',), 3)
    """
    kind = get_type_hints(Config)[name]
    if get_origin(kind) is not tuple:
        return tuple(value) if isinstance(value, list) else value
    several = value if isinstance(value, list | tuple) else [value]
    return tuple(str(each) if kind == tuple[str, ...] and _is_number(each) else each for each in several)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def presets_of(task: str, algorithm: str | None = None) -> dict[str, dict[str, Any]]:
    """The settings of every preset, by its name, for a task and an algorithm: the task's own by default.

    >>> presets_of("navigation", "ippo")["paper"]["hidden"], presets_of("navigation")["paper"]["algorithm"]
    ((256, 256), 'ippo')
    """
    changes = {} if algorithm is None else {"algorithm": algorithm}
    return {name: asdict(preset(name, task, **changes)) for name in PRESETS}


def _full(task: str, paper: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """The paper's size; that of its other experiments where the algorithm is of another sort."""
    on_policy = ALGORITHMS[algorithm].on_policy
    sizes = _ON_POLICY if on_policy else _OFF_POLICY
    other = on_policy != ALGORITHMS[paper["algorithm"]].on_policy
    levels = {"snd": TASKS[task].snd_levels} if task in TASKS else {}
    return {**paper, **({**sizes, **_whole_horizons(task, sizes)} if other else {}), **levels}


def _quick(task: str, paper: Mapping[str, Any]) -> dict[str, Any]:
    frozen = tuple(f"{text.partition('=')[0]}=25%" for text in paper.get("freeze", ()))
    return {**QUICK, **_whole_horizons(task, QUICK), "freeze": frozen}


def _whole_horizons(task: str, sizes: Mapping[str, Any]) -> dict[str, int]:
    """As many environments as make batches of whole episodes: or all would be in one phase of theirs."""
    return {"envs": sizes["frames_per_batch"] // TASKS[task]().horizon} if task in TASKS else {}
