"""Everything that a training depends on, in one frozen dataclass."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from tyro.conf import Positional

from dico._checks import check_choice, check_number, check_positive, pairs
from dico.constraints import FORMS, parse_constraint
from dico.kinds import KINDS
from dico.metrics import METRICS
from dico.policy import GRADIENTS, INITIALS
from dico.tasks import TASKS

ALGORITHMS = ("ippo", "mappo", "iddpg", "maddpg", "isac", "masac")
ON_POLICY = ("ippo", "mappo")
CENTRAL = ("mappo", "maddpg", "masac")
DETERMINISTIC = ("iddpg", "maddpg")

CHOICES: dict[str, Iterable[str]] = {
    "algorithm": ALGORITHMS,
    "kind": ("auto", *KINDS),
    "gradient": GRADIENTS,
    "initial": INITIALS,
    "metric": METRICS,
    "action_loss": ("separate", "merged", "off"),
    "action_loss_rows": ("own", "all"),
    "estimate_on": ("minibatch", "both", "newest"),
}
COUNTS = (
    "seeds", "frames", "envs", "frames_per_batch", "epochs", "minibatch", "updates", "batch", "replay", "noise_frames",
)  # fmt: skip
RANGES = {
    "gamma": (0, 1),
    "gae_lambda": (0, 1),
    "tau": (0, 1),
    "polyak": (0, 1),
    "clip": (0.001, 0.999),
    "entropy": (0, math.inf),
    "action_loss_weight": (0, math.inf),
}
ABOVE_ZERO = ("lr", "adam_eps", "max_grad_norm", "alpha", "action_loss_lr", "action_loss_eps")
"""What each number may be."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one population; ``dico.experiments`` has the presets."""

    task: Positional[str] = "navigation"
    """A task's name, as `dico tasks` lists them, or vmas:SCENARIO."""
    task_options: tuple[str, ...] = ()
    """The task's own settings as name=value, such as n_agents=3 or share_reward=false."""
    algorithm: str = "ippo"
    """ippo, mappo, iddpg, maddpg, isac or masac."""
    snd: tuple[str, ...] = ("0", "0.3", "1", "free")
    """Desired diversities: 0.3, >=0.3, <=0.5, 0.2..0.5 or free; one block of members each."""
    seeds: int = 4
    """Members for each desired diversity."""
    first_seed: int = 0
    """The first of their seeds."""
    frames: int = 10_000_000
    """Environment steps for each member."""

    envs: int = 600
    """Environments for each member."""
    frames_per_batch: int = 60_000
    """Environment steps for each member between two rounds of updates."""
    hidden: tuple[int, ...] = (256, 256)
    """Units in the hidden layers of every network."""
    gamma: float = 0.9
    """Discount."""
    lr: float = 5e-5
    """Adam's step size, for actors and critics."""
    adam_eps: float = 1e-5
    """Adam's epsilon."""
    max_grad_norm: float = 5.0
    """Gradients of actor and critic are clipped to this norm, each member's by itself."""

    epochs: int = 45
    """PPO: passes over a batch."""
    minibatch: int = 4096
    """PPO: frames in a minibatch; the last of a pass has what is left."""
    clip: float = 0.2
    """PPO: how far the probability ratio may leave 1."""
    gae_lambda: float = 0.9
    """PPO: weight of longer returns in the advantage."""
    entropy: float = 0.0
    """PPO: weight of the entropy bonus, the Gaussian's before it is squashed."""

    updates: int = 1000
    """DDPG and SAC: optimiser steps for each batch."""
    batch: int = 128
    """DDPG and SAC: frames for each of them."""
    replay: int = 1_000_000
    """DDPG and SAC: frames kept for each member."""
    polyak: float = 0.005
    """DDPG and SAC: how far targets move towards the networks in each step."""
    noise: tuple[float, float] = (0.8, 0.01)
    """DDPG: standard deviation of the exploration noise, at first and in the end."""
    noise_frames: int = 1_000_000
    """DDPG: frames over which the noise falls."""
    alpha: float = 1.0
    """SAC: initial weight of the entropy; it is then tuned."""

    kind: str = "auto"
    """The policies' kind: deterministic, shared_std, agent_std, agent_std_paper; auto is what the algorithm needs."""
    tau: float = 0.01
    """Soft update of the diversity estimate in [0, 1]; 1 makes thm:scaling exact on a minibatch compared in full."""
    estimate_on: Literal["minibatch", "both", "newest"] = "both"
    """DDPG and SAC: frames that the estimate is made on: of the minibatch, of the newest batch, or, for DDPG as in the
    original, twice in each step, at the minibatch's next observations and then at its observations (both)."""
    estimate_frames: int | None = None
    """Frames of a minibatch that the estimate is made on, all by default; fewer make large teams cheaper."""
    estimate_agents: int | None = None
    """Agents compared at each observation of those frames, drawn at random, all by default; 2 is one pair."""
    gradient: Literal["soft", "detached", "straight_through"] = "soft"
    """How the gradient flows through the diversity estimate."""
    initial: Literal["batch", "desired"] = "batch"
    """The first estimate: measured on the first batch, or the desired value."""
    metric: str = "snd"
    """The diversity metric under control."""
    squash_shared: bool = True
    """Bring the shared mean into the action box by a tanh."""
    action_loss: Literal["separate", "merged", "off"] = "separate"
    """The loss on means outside the action box: a step of its own as in the original, or part of the actor's."""
    action_loss_rows: Literal["own", "all"] = "own"
    """Where it looks at an agent's mean: at the agent's own observations, as in the original, or at those of all."""
    action_loss_weight: float = 1.0
    """Its weight."""
    action_loss_lr: float = 3e-5
    """Adam's step size for it where it is separate."""
    action_loss_eps: float = 1e-8
    """Adam's epsilon for it where it is separate."""

    freeze: tuple[str, ...] = ()
    """Groups that stop learning after so many frames, as group=frames, or group=0.25 for that share of all frames."""
    controlled: tuple[str, ...] = ()
    """Groups whose diversity is controlled; empty is the first of several agents."""

    def __post_init__(self):
        if not self.task.startswith("vmas:"):
            check_choice("task", self.task, TASKS)
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for name in COUNTS:
            check_positive(name, getattr(self, name))
        for name, (low, high) in RANGES.items():
            check_number(name, getattr(self, name), low, high)
        for name in ABOVE_ZERO:
            _check_above_zero(name, getattr(self, name))
        if self.estimate_frames is not None:
            check_positive("estimate_frames", self.estimate_frames)
        if self.estimate_agents is not None:
            check_number("estimate_agents", self.estimate_agents, 2, whole=True)
            if self.metric != "snd":
                raise ValueError(
                    f"estimate_agents must be unset for metric={self.metric!r}: only snd is a mean over pairs"
                )
        check_number("first_seed", self.first_seed, 0, whole=True)
        for size in self.hidden:
            check_positive("hidden", size)
        pairs("task_options", self.task_options)
        for group, frames in pairs("freeze", self.freeze).items():
            check_number(f"freeze of {group!r}", frames, 0, whole=not isinstance(frames, float) or frames > 1)
        if len(self.noise) != 2 or not 0 <= self.noise[1] <= self.noise[0] < math.inf:
            raise ValueError(f"noise must be two numbers, falling and at least 0, got {self.noise}")
        if self.action_loss == "merged" and self.action_loss_rows == "all":
            raise ValueError("action_loss_rows must be own for action_loss='merged', got 'all': take 'separate'")
        self._check_snd()
        self._check_sizes()
        stochastic = self.algorithm not in DETERMINISTIC
        if self.kind != "auto" and stochastic == (self.kind == "deterministic"):
            kinds = "shared_std, agent_std or agent_std_paper" if stochastic else "deterministic"
            raise ValueError(f"kind must be auto, {kinds} for {self.algorithm}, got {self.kind!r}")

    def _check_snd(self) -> None:
        if not self.snd or isinstance(self.snd, str):
            raise ValueError(f"snd must be a sequence of desired diversities such as {FORMS}, got {self.snd!r}")
        known: set[str] = set()
        for text in self.snd:
            try:
                canonical = parse_constraint(text).texts()[0]
            except (ValueError, AttributeError) as error:
                raise ValueError(f"snd must hold desired diversities such as {FORMS}, got {text!r}") from error

            if canonical in known:
                raise ValueError(f"snd must hold each desired diversity once, got {text!r} again")
            known.add(canonical)

    def frozen_after(self, group: str) -> float:
        """How many frames a group learns for."""
        frames = pairs("freeze", self.freeze).get(group, math.inf)
        return frames * self.frames if isinstance(frames, float) and frames <= 1 else frames

    def estimated(self, frames: int) -> int:
        """How many frames of a minibatch the estimate is made on."""
        return min(frames, self.estimate_frames or frames)

    def compared(self, n_agents: int) -> int:
        """How many agents of a team are compared at each of those frames."""
        return min(n_agents, self.estimate_agents or n_agents)

    def _check_sizes(self) -> None:
        batch = f"frames_per_batch={self.frames_per_batch}"
        if self.frames < self.frames_per_batch:
            raise ValueError(f"frames must be at least one batch, {batch}, got {self.frames}")
        if self.frames_per_batch % self.envs:
            raise ValueError(f"frames_per_batch must be a multiple of envs={self.envs}, got {self.frames_per_batch}")
        if not self.on_policy and self.replay < self.frames_per_batch:
            raise ValueError(f"replay must hold at least one batch, {batch}, got {self.replay}")

    @property
    def on_policy(self) -> bool:
        """Whether each batch is used once."""
        return self.algorithm in ON_POLICY

    @property
    def central(self) -> bool:
        """Whether the critic sees the whole group."""
        return self.algorithm in CENTRAL

    @property
    def policy_kind(self) -> str:
        """The kind of policies, ``auto`` resolved."""
        if self.kind != "auto":
            return self.kind
        return "deterministic" if self.algorithm in DETERMINISTIC else "shared_std"

    @property
    def steps(self) -> int:
        """Steps of every environment for each batch."""
        return self.frames_per_batch // self.envs

    @property
    def iterations(self) -> int:
        """Batches until the frames are reached."""
        return -(-self.frames // self.frames_per_batch)

    @property
    def members(self) -> list[tuple[str, int]]:
        """(desired diversity, seed) of each member."""
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        return [(parse_constraint(text).texts()[0], seed) for text in self.snd for seed in seeds]

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Config":
        """The configuration of a run folder, whose tuples JSON made lists."""
        settings: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items()}
        for name in settings:
            check_choice("setting", name, [field.name for field in fields(cls)])
        return cls(**settings)

    def differs_from(self, other: "Config") -> list[str]:
        """Names of the settings in which two configurations differ."""
        theirs = asdict(other)
        return [name for name, value in asdict(self).items() if value != theirs[name]]


def _check_above_zero(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
