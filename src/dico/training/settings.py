"""The settings of a training, each with a sentence that says what it is."""

from dataclasses import dataclass
from typing import Literal

from tyro.conf import Positional

from dico._checks import check_choice
from dico.analytical import Density
from dico.members import NUMBERS


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a training depends on; :class:`~dico.training.config.Config` checks them, and expands them to members."""

    task: Positional[str] = "navigation"
    """A task's name, as `dico tasks` lists them, vmas:SCENARIO, pettingzoo:MODULE, or module:function for your own."""
    task_options: tuple[str, ...] = ()
    """The task's own settings as name=value, such as n_agents=3 or share_reward=false."""
    algorithm: str = "ippo"
    """ippo, mappo, iddpg, maddpg, itd3, matd3, isac or masac."""
    snd: tuple[str, ...] = ("0", "0.3", "1", "free")
    """Desired diversities: 0.3, >=0.3, <=0.5, 0.2..0.5, free, a schedule such as 0->1@2e6, from 0 to 1 by 2e6 frames,
    or module:function, which gives it for the frames so far; each of them with every seed."""
    dial: bool = False
    """Give all desired diversities of a seed the same networks, which take the desired one as an input: a dial, to be
    turned to any value between them (`run.dial().at(0.4)`)."""
    seek_window: int = 10
    """Batches after which levels such as seek:0.4 move together, each seed's by themselves, to where the reward is
    greater: two or more of them, whose rewards tell the slope."""
    seek_step: float = 0.05
    """How far they move at most; less where the slope is not clear."""
    seeds: int = 4
    """Members for each desired diversity, and for each combination of what varies."""
    first_seed: int = 0
    """The first of their seeds."""
    vary: tuple[str, ...] = ()
    """Numbers in which members differ too, as name=value,value: tau, lr, action_loss_lr, action_loss_weight, gamma,
    gae_lambda, clip, entropy, max_grad_norm; all combinations are trained."""
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
    """PPO: epochs over a batch."""
    minibatch: int = 4096
    """PPO: frames in a minibatch; the last of an epoch has what is left."""
    clip: float = 0.2
    """PPO: clip range, how far the probability ratio may leave 1."""
    gae_lambda: float = 0.9
    """PPO: GAE lambda, the weight of longer returns in the advantage."""
    entropy: float = 0.0
    """PPO: weight of the entropy bonus, the Gaussian's before it is squashed."""

    updates: int = 1000
    """DDPG, TD3 and SAC: optimiser steps for each batch."""
    batch: int = 128
    """DDPG, TD3 and SAC: replay batch size, the frames for each of them."""
    replay: int = 1_000_000
    """DDPG, TD3 and SAC: size of each member's replay buffer, in frames."""
    polyak: float = 0.005
    """DDPG, TD3 and SAC: how far target networks move towards the critics in each step."""
    noise: tuple[float, float] = (0.8, 0.01)
    """DDPG and TD3: standard deviation of the exploration noise, at first and in the end."""
    noise_frames: int = 1_000_000
    """DDPG and TD3: frames over which the noise falls."""
    policy_delay: int = 2
    """TD3: updates of the critics for each one of the actor."""
    target_noise: float = 0.2
    """TD3: standard deviation of the noise on the actions that targets are computed with."""
    target_noise_clip: float = 0.5
    """TD3: the most that this noise may be."""
    alpha: float = 1.0
    """SAC: initial temperature, the weight of the entropy; it is then tuned."""

    kind: str = "auto"
    """The policies' kind: deterministic, shared_std, agent_std, agent_std_paper; auto is what the algorithm needs."""
    tau: float = 0.01
    """Soft update of the diversity estimate in [0, 1]; 1 makes thm:scaling exact on a minibatch compared in full."""
    estimate_on: Literal["minibatch", "both", "newest"] = "both"
    """DDPG, TD3 and SAC: frames that the estimate is made on: of the minibatch, of the newest batch, or, for DDPG and
    TD3, as in the original, twice in each step, at the minibatch's next observations and then at its own (both)."""
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
    control: Literal["empirical", "analytical"] = "empirical"
    """Where the diversity is the desired one: on the observations met, or on average over a box of them (app:finn)."""
    density: Density = "autoregressive"
    """Analytical control: what decides where in the box diversity goes; finn and finn-signed, the paper's network
    without and with signed inputs, take up to 6 observed numbers."""
    coordinates: tuple[int, ...] = ()
    """Analytical control: the observed numbers that the density depends on, such as 0 1; empty is all. It is uniform in
    the others."""
    obs_low: tuple[float, ...] = ()
    """Analytical control: the box's least observation, one number for each that an agent sees; empty is the task's."""
    obs_high: tuple[float, ...] = ()
    """Analytical control: the box's greatest observation; empty is the task's."""
    obs_quantile: float | None = None
    """Analytical control: take the box from a first rollout of random actions instead, less this share of each observed
    number at either end, such as 0.01."""
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
    """Groups that stop learning after so many frames, as group=3000000, or a share of all frames, as group=25%."""
    controlled: tuple[str, ...] = ()
    """Groups whose diversity is controlled; empty is the first of several agents."""

    @property
    def varied(self) -> dict[str, list[float]]:
        """What varies, with its values.

        >>> Settings(vary=("tau=0.1,0.01", "lr=1e-3")).varied
        {'tau': [0.1, 0.01], 'lr': [0.001]}
        """
        varied: dict[str, list[float]] = {}
        for text in self.vary:
            name, _, values = text.partition("=")
            if check_choice("name in vary", name, NUMBERS) in varied:
                raise ValueError(f"vary must name each number once, got {name!r} again")
            try:
                varied[name] = [float(value) for value in values.split(",")]
            except ValueError:
                raise ValueError(f"vary must be name=value,value, such as tau=0.1,0.01, got {text!r}") from None
            if len(set(varied[name])) < len(varied[name]):
                raise ValueError(f"vary must hold each value once, got {text!r}")
        return varied

    def estimate_rows(self, frames: int) -> int:
        """How many frames of a minibatch the estimate is made on."""
        return min(frames, self.estimate_frames or frames)

    def agents_compared(self, n_agents: int) -> int:
        """How many agents of a team are compared at each of those frames."""
        return min(n_agents, self.estimate_agents or n_agents)

    @property
    def steps(self) -> int:
        """Steps of every environment for each batch."""
        return self.frames_per_batch // self.envs

    @property
    def iterations(self) -> int:
        """Batches until the frames are reached."""
        return -(-self.frames // self.frames_per_batch)
