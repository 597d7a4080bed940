"""A configuration: settings that have been checked, and the members that they expand to."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from dico._checks import (
    check_box,
    check_choice,
    check_number,
    check_positive,
    check_sequence,
    check_switch,
    pairs,
    plain_numbers,
)
from dico.analytical import DENSITIES
from dico.boxes import MOST_SHARE
from dico.constraints import FORMS, canonical, final_bounds
from dico.kinds import KINDS
from dico.members import NUMBERS, Member, expand
from dico.metrics import METRICS
from dico.policy import GRADIENTS, INITIALS
from dico.schedules import is_scheduled, is_seeking, parse_schedule
from dico.tasks import check_name, describe
from dico.training.algorithms import ALGORITHMS, Algorithm
from dico.training.settings import Settings

CHOICES: dict[str, Iterable[str]] = {
    "algorithm": ALGORITHMS,
    "kind": ("auto", *KINDS),
    "gradient": GRADIENTS,
    "initial": INITIALS,
    "metric": METRICS,
    "control": ("empirical", "analytical"),
    "density": DENSITIES,
    "action_loss": ("separate", "merged", "off"),
    "action_loss_rows": ("own", "all"),
    "estimate_on": ("minibatch", "both", "newest"),
}
COUNTS = (
    "seeds", "frames", "envs", "frames_per_batch", "epochs", "minibatch", "updates", "batch", "replay", "noise_frames",
    "policy_delay", "seek_window",
)  # fmt: skip
RANGES = {
    "gamma": (0, 1),
    "gae_lambda": (0, 1),
    "tau": (0, 1),
    "polyak": (0, 1),
    "clip": (0.001, 0.999),
    "entropy": (0, math.inf),
    "action_loss_weight": (0, math.inf),
    "target_noise": (0, math.inf),
    "target_noise_clip": (0, math.inf),
}
ABOVE_ZERO = ("lr", "adam_eps", "max_grad_norm", "alpha", "action_loss_lr", "action_loss_eps", "seek_step")
"""What each number may be."""
TEXTS = ("task_options", "vary", "freeze", "controlled")
SEQUENCES = ("hidden", "noise", "coordinates", "obs_low", "obs_high")
"""What is a sequence, of texts and of numbers."""
LATER = (
    "vary", "policy_delay", "target_noise", "target_noise_clip", "control", "density", "coordinates", "obs_low",
    "obs_high", "obs_quantile", "dial", "seek_window", "seek_step",
)  # fmt: skip
"""Settings that earlier versions did not have: what they did is today's default, and what a later one adds must be."""


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """The settings of one population; ``dico.experiments`` has the presets."""

    def __post_init__(self):
        for name, value in vars(self).items():
            object.__setattr__(self, name, plain_numbers(value))
        if not isinstance(self.task, str):
            self._name_task(self.task)
        check_name(self.task)
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for name in COUNTS:
            check_positive(name, getattr(self, name))
        for name in (*RANGES, *ABOVE_ZERO):
            _check_range(name, getattr(self, name))
        for name in (*TEXTS, *SEQUENCES):
            check_sequence(name, getattr(self, name), of_texts=name in TEXTS)
        check_switch("squash_shared", self.squash_shared)
        check_switch("dial", self.dial)
        check_number("first_seed", self.first_seed, 0, whole=True)
        if self.first_seed + self.seeds > 2**63:
            raise ValueError(f"first_seed must leave all seeds below 2**63, got {self.first_seed}")
        for size in self.hidden:
            check_positive("hidden", size)
        pairs("task_options", self.task_options)
        for group in pairs("freeze", self.freeze):
            self.frozen_after(group)
        for value in self.noise:
            check_number("noise", value, 0)
        if len(self.noise) != 2 or self.noise[1] > self.noise[0]:
            raise ValueError(f"noise must be two numbers, falling and at least 0, got {self.noise}")
        if self.action_loss == "merged" and self.action_loss_rows == "all":
            raise ValueError("action_loss_rows must be own for action_loss='merged', got 'all': take 'separate'")
        self._check_estimate()
        self._check_members()
        self._check_sizes()
        allowed = self.spec.learner.KINDS
        if self.kind not in ("auto", *allowed):
            raise ValueError(f"kind must be auto, {', '.join(allowed)} for {self.algorithm}, got {self.kind!r}")
        self._check_control()

    def _name_task(self, task: object) -> None:
        """A task that was given as an object, as its name and options."""
        if self.task_options:
            raise ValueError(f"task_options must be empty for a task given as an object, got {self.task_options}")
        name, options = describe(task)
        object.__setattr__(self, "task", name)
        object.__setattr__(self, "task_options", options)

    def _check_estimate(self) -> None:
        if self.estimate_frames is not None:
            check_positive("estimate_frames", self.estimate_frames)
        if self.estimate_agents is not None:
            check_number("estimate_agents", self.estimate_agents, 2, whole=True)
            if not METRICS[self.metric].of_pairs:
                raise ValueError(f"estimate_agents must be unset for metric={self.metric!r}: it is no mean over pairs")

    def _check_control(self) -> None:
        """What analytical control cannot do, and what nothing but it reads."""
        if self.control == "analytical":
            only: dict[str, Any] = {"metric": "snd", "estimate_frames": None, "estimate_agents": None}
        else:
            only = {"density": "autoregressive", "coordinates": (), "obs_low": (), "obs_high": (), "obs_quantile": None}
        for name, value in only.items():
            if getattr(self, name) != value:
                raise ValueError(f"{name} must be {value} for control={self.control!r}, got {getattr(self, name)!r}")
        if self.control == "analytical" and self.kind == "agent_std_paper":
            raise ValueError(f"kind must be auto, shared_std, agent_std for control='analytical', got {self.kind!r}")
        if self.obs_low or self.obs_high:
            check_box(self.obs_low, self.obs_high, "obs_")
        if self.obs_quantile is not None:
            check_number("obs_quantile", self.obs_quantile, 0, MOST_SHARE)
            if self.obs_low:
                raise ValueError(f"obs_quantile must be None where obs_low is given, got {self.obs_quantile}")

    def _check_members(self) -> None:
        if not self.snd or not isinstance(self.snd, list | tuple):
            raise ValueError(f"snd must be a sequence of desired diversities such as {FORMS}, got {self.snd!r}")
        known: set[str] = set()
        for text in self.snd:
            try:
                level = canonical(text)
            except (ValueError, AttributeError) as error:
                if isinstance(text, str) and is_scheduled(text):
                    raise
                raise ValueError(f"snd must hold desired diversities such as {FORMS}, got {text!r}") from error
            if level in known:
                raise ValueError(f"snd must hold each desired diversity once, got {text!r} again")
            known.add(level)
        if self.dial:
            self._check_dial(known)
        if sum(map(is_seeking, known)) == 1:
            raise ValueError("snd must hold two levels or more that seek, such as seek:0.3 and seek:0.5, got one")
        if self.seek_window < 2:
            raise ValueError(f"seek_window must be at least 2 batches, got {self.seek_window}")
        for name, values in self.varied.items():
            if name not in self.spec.learner.READS:
                read = ", ".join(self.spec.learner.READS)
                raise ValueError(f"vary must name numbers that {self.algorithm} reads, {read}, got {name!r}")
            if name.startswith("action_loss") and self.action_loss == "off":
                raise ValueError(f"vary must not name {name!r} where action_loss is off: nothing reads it")
            if name == "action_loss_lr" and self.action_loss == "merged":
                raise ValueError("vary must not name 'action_loss_lr' where action_loss is merged: nothing reads it")
            for value in values:
                _check_range(name, value)

    def _check_dial(self, levels: Iterable[str]) -> None:
        """What one set of networks cannot be told by a number."""
        if self.control == "analytical":
            raise ValueError("dial must be False for control='analytical', got True")
        others = [text for text in levels if is_scheduled(text) or len(set(final_bounds(text))) > 1]
        if others or len(self.snd) < 2:
            raise ValueError(f"snd must hold two values or more for a dial, such as 0 0.5 1, got {' '.join(self.snd)}")

    def _check_sizes(self) -> None:
        batch = f"frames_per_batch={self.frames_per_batch}"
        if self.frames < self.frames_per_batch:
            raise ValueError(f"frames must be at least one batch, {batch}, got {self.frames}")
        if self.frames_per_batch % self.envs:
            raise ValueError(f"frames_per_batch must be a multiple of envs={self.envs}, got {self.frames_per_batch}")
        if not self.on_policy and self.replay < self.frames_per_batch:
            raise ValueError(f"replay must hold at least one batch, {batch}, got {self.replay}")

    @property
    def spec(self) -> Algorithm:
        """What the algorithm is."""
        return ALGORITHMS[self.algorithm]

    @property
    def on_policy(self) -> bool:
        """Whether each batch is used once."""
        return self.spec.on_policy

    @property
    def policy_kind(self) -> str:
        """The kind of policies, ``auto`` resolved."""
        return self.spec.learner.policy_kind(self)

    @property
    def members(self) -> list[Member]:
        """Every desired diversity with all that varies, and every seed.

        >>> [member.name for member in Config(snd=("1",), seeds=1, vary=("tau=0.1,0.01",)).members]
        ['snd=1,tau=0.1,seed=0', 'snd=1,tau=0.01,seed=0']
        """
        constraints = [canonical(text) for text in self.snd]
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        common = {name: float(getattr(self, name)) for name in NUMBERS}
        return expand(constraints, self.varied, seeds, common)

    def unfinished_schedules(self) -> list[str]:
        """What a user should know of schedules that are longer than the training.

        >>> Config(snd=("0->1@2e6",), frames=1_000_000).unfinished_schedules()
        ['snd 0->1@2e6 goes on to change after 1,000,000 frames, the last of this training']
        """
        schedules = [parse_schedule(text) for text in self.snd if is_scheduled(text)]
        told = f"goes on to change after {self.frames:,} frames, the last of this training"
        return [f"snd {schedule} {told}" for schedule in schedules if schedule.frames[-1] > self.frames]

    def frozen_after(self, group: str) -> float:
        """How many frames a group learns for.

        >>> config = Config(freeze=("agent=25%", "other=3000000"), frames=1_000_000)
        >>> config.frozen_after("agent"), config.frozen_after("other"), config.frozen_after("third")
        (250000.0, 3000000, inf)
        """
        frames = pairs("freeze", self.freeze).get(group, math.inf)
        share = _share(frames)
        if share is not None:
            return share * self.frames
        if frames != math.inf:
            if isinstance(frames, float) and frames <= 1:
                raise ValueError(f"freeze of {group!r} must be frames, or a share such as 25%, got {frames}")
            check_number(f"freeze of {group!r}", frames, 0, whole=True)
        return frames

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Config":
        """The configuration of a run folder, whose tuples JSON made lists; it must tell every setting.

        >>> Config.from_json({"task": "navigation"})
        Traceback (most recent call last):
        ValueError: the configuration does not tell task_options, algorithm, snd, ...
        """
        settings: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items()}
        if settings.get("coordinates", ()) is None:  # all of them, as Python has it, and BenchMARL's run folders
            settings["coordinates"] = ()
        known = [field.name for field in fields(cls)]
        for name in settings:
            check_choice("setting", name, known)
        missing = [name for name in known if name not in (*settings, *LATER)]
        if missing:
            raise ValueError(f"the configuration does not tell {', '.join(missing)}")
        return cls(**settings)

    def differs_from(self, other: "Config") -> list[str]:
        """Names of the settings in which two configurations differ."""
        theirs = asdict(other)
        return [name for name, value in asdict(self).items() if value != theirs[name]]


def _check_range(name: str, value: Any) -> None:
    """A setting's number, or one of the values that it varies over."""
    if name in RANGES:
        check_number(name, value, *RANGES[name])
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


def _share(frames: Any) -> float | None:
    """The share that a text such as ``25%`` is of the whole."""
    if not (isinstance(frames, str) and frames.endswith("%")):
        return None
    try:
        percent = float(frames[:-1])
    except ValueError:
        return None
    return percent / 100 if 0 <= percent <= 100 else None
