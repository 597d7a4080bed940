"""The memory plan: what a member takes on the device, and so how many fit at once."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from dico._measuring import measured_frames
from dico.tasks import TASKS
from dico.training.config import Config
from dico.training.learner import Learner
from dico.training.offpolicy import OffPolicyLearner
from dico.training.population import Population
from dico.training.ppo import padding
from dico.training.rollout import STARTS_PER_ENV, tensors_of
from dico.training.staging import Stage

COPIES = 6
"""An update holds so many numbers for each hidden unit of each row: its value, and what the backward pass adds."""
COMPARED_COPIES = 3
"""And so many of each row that agents are compared at: nearly all rows of a large team. Both fit measurements."""
DENSITY_UNITS = 256
"""Hidden units of analytical control's density for each row and number it depends on, about as many for any."""
ALONGSIDE = 2**30
"""Bytes that CUDA, its libraries and captured graphs take beside the tensors."""
FILLED = 0.9
"""The share of the free memory that is planned with; the rest is for fragments."""


@dataclass(frozen=True)
class Plan:
    """Bytes that one member takes on the device.

    >>> from dico.experiments import preset
    >>> Plan.of(preset("paper", "dispersion"))
    Plan(networks=8 MB, batch=5 MB, replay=436 MB, working=503 MB)
    """

    networks: int
    """Parameters, target networks, optimisers, environments."""
    batch: int
    """The newest frames, the starts drawn ahead, and gradients."""
    replay: int
    """The replay buffer."""
    working: int
    """What an update, or measuring, holds at its peak; an estimate."""

    @property
    def member(self) -> int:
        """All of it."""
        return self.networks + self.batch + self.replay + self.working

    @classmethod
    def of(cls, config: Config) -> "Plan":
        """The plan of a configuration."""
        one = shapes_of(config)
        starts = _bytes(tensors_of(one.rollout.state).values()) * STARTS_PER_ENV
        gradients = sum(
            _bytes(module.parameters()) for learner in one.learners for module in learner.modules().values()
        )
        batches = (learner.empty_batch(config.steps, config.envs) for learner in one.learners)
        frames = _bytes(getattr(batch, field.name) for batch in batches for field in fields(batch))
        stored = (
            value
            for learner in one.learners
            if isinstance(learner, OffPolicyLearner)
            for value in learner.replay_buffer.values()
        )
        return cls(_bytes(one.tensors().values()), frames + starts + gradients, _bytes(stored),
                   sum(_working(learner) for learner in one.learners))  # fmt: skip

    def fitting(self, free: int) -> int:
        """How many members fit into ``free`` bytes; at least one is tried."""
        return max(1, int((FILLED * free - ALONGSIDE) // self.member))

    def __str__(self) -> str:
        parts = ", ".join(f"{field.name} {_text(getattr(self, field.name))}" for field in fields(self))
        return f"{_text(self.member)} a member ({parts})"

    def __repr__(self) -> str:
        parts = ", ".join(f"{field.name}={_text(getattr(self, field.name))}" for field in fields(self))
        return f"Plan({parts})"


def shapes_of(config: Config, precision: str = "tf32") -> Population:
    """A population of the first member, made of shapes without memory (others' tasks need some)."""
    return Population(config, Stage("eager", "meta" if config.task in TASKS else "cpu", precision), indices=[0])


def free_bytes(device: torch.device) -> int | None:
    """What a CUDA device has left, or the process is allowed of it; None for other devices, which share the host's."""
    if device.type != "cuda":
        return None
    index = torch.cuda.current_device() if device.index is None else device.index
    free, total = torch.cuda.mem_get_info(index)
    allowed = int(torch.cuda.get_per_process_memory_fraction(index) * total) - torch.cuda.memory_reserved(index)
    return min(free, allowed)


def _working(learner: Learner) -> int:
    """Hidden units of all rows at once, times the numbers held for each."""
    config, n, batch = learner.settings, learner.team.n_agents, learner.settings.frames_per_batch
    frames = min(config.minibatch, batch) if learner.ON_POLICY else config.batch
    apart = (batch + padding(config, batch)) % frames / frames if learner.ON_POLICY else 0.0
    estimated, compared = config.estimate_rows(frames), config.agents_compared(n)
    elsewhere = not learner.ON_POLICY and config.estimate_on == "newest"
    over_box = learner.team.obs_box is not None  # then acting takes all agents' networks at each row
    alone = n * n if over_box else n
    own = alone if elsewhere or estimated < frames or compared < n else 0  # otherwise among those of the estimate
    updating = COPIES * frames * n * (1 + learner.CRITIC_PASSES) + COPIES * frames * own
    updating += COMPARED_COPIES * estimated * n * compared
    if config.action_loss == "separate" and config.action_loss_rows == "all":
        updating = max(updating, (COPIES + COMPARED_COPIES) * frames * n * n)
    measuring = 3 * measured_frames(n) * (n + n * n)  # without a backward pass
    hidden = max(config.hidden, default=1) * len(config.hidden)
    density = n * len(config.coordinates or range(learner.team.obs_dim)) * DENSITY_UNITS if over_box else 0
    updating = hidden * updating + COPIES * frames * density
    measuring = hidden * measuring + 3 * measured_frames(n) * density
    # every captured graph has memory of its own
    return 4 * max(round((1 + apart) * updating), measuring)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def _text(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
