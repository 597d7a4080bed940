"""Everything that a training depends on, in one frozen dataclass."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tyro.conf import Positional

from dico._checks import check_choice, check_positive, check_tau
from dico.constraints import parse_constraint
from dico.kinds import KINDS
from dico.metrics import METRICS
from dico.policy import GRADIENTS, INITIALS

ALGORITHMS = ("ippo", "mappo", "iddpg", "maddpg", "isac", "masac")
ON_POLICY = ("ippo", "mappo")
CENTRAL = ("mappo", "maddpg", "masac")
DETERMINISTIC = ("iddpg", "maddpg")


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
    """PPO: frames in a minibatch."""
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
    """Soft update of the diversity estimate in [0, 1]; 1 makes thm:scaling exact on each batch."""
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
    action_loss_weight: float = 1.0
    """Its weight."""
    action_loss_lr: float = 3e-5
    """Adam's step size for it where it is separate."""

    freeze: tuple[str, ...] = ()
    """Groups that stop learning after so many frames, as group=frames: the green agent of tag is one."""
    controlled: tuple[str, ...] = ()
    """Groups whose diversity is controlled; empty is the first."""

    def __post_init__(self):
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        for name in (
            "seeds",
            "frames",
            "envs",
            "frames_per_batch",
            "epochs",
            "minibatch",
            "updates",
            "batch",
            "replay",
        ):
            check_positive(name, getattr(self, name))
        check_choice("action_loss", self.action_loss, ("separate", "merged", "off"))
        check_tau(self.tau)
        check_choice("metric", self.metric, METRICS)
        check_choice("gradient", self.gradient, GRADIENTS)
        check_choice("initial", self.initial, INITIALS)
        check_choice("kind", self.kind, ("auto", *KINDS))
        pairs("task_options", self.task_options)
        if not all(isinstance(frames, int) for frames in pairs("freeze", self.freeze).values()):
            raise ValueError(f"freeze must hold group=frames, frames a whole number, got {self.freeze}")
        for text in self.snd:
            parse_constraint(text)
        if not self.snd:
            raise ValueError("snd must hold at least one desired diversity, got none")
        if self.frames < self.frames_per_batch:
            raise ValueError(
                f"frames must be at least one batch, frames_per_batch={self.frames_per_batch}, got {self.frames}"
            )
        if self.frames_per_batch % self.envs:
            raise ValueError(f"frames_per_batch must be a multiple of envs={self.envs}, got {self.frames_per_batch}")
        if not self.on_policy and self.replay < self.frames_per_batch:
            raise ValueError(
                f"replay must hold at least one batch, frames_per_batch={self.frames_per_batch}, got {self.replay}"
            )
        stochastic = self.algorithm not in DETERMINISTIC
        if self.kind != "auto" and stochastic == (self.kind == "deterministic"):
            kinds = "shared_std, agent_std or agent_std_paper" if stochastic else "deterministic"
            raise ValueError(f"kind must be auto, {kinds} for {self.algorithm}, got {self.kind!r}")

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
        return cls(**settings)

    def differs_from(self, other: "Config") -> list[str]:
        """Names of the settings in which two configurations differ."""
        theirs = asdict(other)
        return [name for name, value in asdict(self).items() if value != theirs[name]]


def pairs(name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """Settings written as name=value, the values as in JSON or else as text.

    >>> pairs("task_options", ("n_agents=3", "share_reward=false"))
    {'n_agents': 3, 'share_reward': False}
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise ValueError(f"{name} must be written as name=value, got {text!r}")
        try:
            values[key] = json.loads(value)
        except json.JSONDecodeError:
            values[key] = value
    return values
