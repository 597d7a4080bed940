"""Any parallel environment of PettingZoo behind the functions of a task, many copies of it in worker processes.

What an environment keeps inside cannot be read out. A state is therefore its start's seed and the actions taken since,
which say all of it, as long as the environment repeats itself. Usually the environments of a pool are where a state is,
and a step costs a step; where they are not, as after a resume or an evaluation, they start again and follow actions.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dico._checks import check_number
from dico.random import Random, mix
from dico.tasks.base import Group, Task, check_shape, group_by_name
from dico.tasks.pool import Pool
from dico.tasks.scene import Scene, discs, square

PREFIX = "pettingzoo:"
"""Before the name of a module that has a parallel environment."""
PARALLEL = "parallel_env"
"""The function that makes one, if no other is named."""
USUAL_STEPS = 100
"""In an episode, where neither the user nor the environment says."""
MOST_WORKERS = 16


@dataclass(frozen=True)
class PettingZooState:
    """All that a step depends on."""

    seed: Int[Tensor, "*batch"]
    """Of the start."""
    time: Int[Tensor, "*batch"]
    """Steps since."""
    history: Float[Tensor, "*batch horizon agents act"]
    """The actions of these steps, and zeros."""
    ticket: Int[Tensor, "*batch"]
    """A hash of the three."""


@dataclass(frozen=True, kw_only=True)
class PettingZooTask(Task[PettingZooState]):
    """A parallel environment as it comes: its observations, rewards and endings. Make one with :func:`pettingzoo`."""

    snd_levels: ClassVar[tuple[str, ...]] = ("0", "free")
    compiles: ClassVar[bool] = False

    module: str
    """Where its ``parallel_env`` is."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Passed to it."""
    horizon: int = 0
    """Steps in an episode; 0 is the environment's own ``max_cycles``."""
    workers: int = 0
    """Processes; 0 is one for each core."""
    pool: Pool = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        check_number("horizon", self.horizon, 0, whole=True)
        check_number("workers", self.workers, 0, whole=True)
        set_ = object.__setattr__
        module, _, function = self.module.partition(":")
        set_(self, "workers", self.workers or min(len(_cores()), MOST_WORKERS))
        set_(self, "pool", _pool(self.name, module, function or PARALLEL, self.options, self.workers))
        set_(self, "horizon", self.horizon or self.pool.about["steps"] or USUAL_STEPS)
        if not self.pool.about["repeats"]:
            raise ValueError(
                f"{self.name} does not repeat itself when it is given the same seed and actions, so a training could "
                "not be resumed: choose another environment"
            )

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As configurations name it: ``pettingzoo:MODULE``."""
        return f"{PREFIX}{self.module}"

    @property
    def n_agents(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All that the environment ever has."""
        return len(self.pool.about["agents"])

    @property
    def groups(self) -> tuple[Group, ...]:
        """Agents called ``name_i`` form the group ``name``; if that makes one group, it is called ``agents``."""
        return group_by_name(self.pool.about["agents"], self.pool.about["sizes"])

    @property
    def action_low(self) -> tuple[float, ...]:
        """Least action."""
        return tuple(self.pool.about["low"])

    @property
    def action_high(self) -> tuple[float, ...]:
        """Greatest action."""
        return tuple(self.pool.about["high"])

    def reset(self, n: int, rng: Random) -> PettingZooState:
        """Fresh starts, each of its own seed; the environments follow when they are looked at."""
        seed = rng.bits(n) & 0x7FFFFFFF
        none = torch.zeros(*seed.shape, self.horizon, self.n_agents, self.act_dim, device=seed.device)
        return PettingZooState(seed, torch.zeros_like(seed), none, mix(seed))

    def step(
        self, state: PettingZooState, actions: Float[Tensor, "*batch agents act"]
    ) -> tuple[PettingZooState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """One step of every environment. An agent that has left earns nothing; it ends when all have."""
        batch = state.time.shape
        check_shape("actions", actions, (*batch, self.n_agents, self.act_dim))
        if int(state.time.max()) >= self.horizon:
            raise ValueError(f"an episode of {self.name} has {self.horizon} steps, got one more")
        low, high = (torch.tensor(corner, device=actions.device) for corner in (self.action_low, self.action_high))
        actions = actions.float().clamp(low, high)
        now = torch.arange(self.horizon, device=actions.device) == state.time.unsqueeze(-1)
        history = torch.where(now[..., None, None], actions.unsqueeze(-3), state.history)
        following = PettingZooState(state.seed, state.time + 1, history, mix(state.ticket + _digest(actions)))
        self._bring(state)
        flat = actions.reshape(-1, *actions.shape[-2:])
        rewards, done = self.pool.step(_numpy(flat), _numpy(following.ticket.flatten()))
        device = actions.device
        return following, _tensor(rewards, device).reshape(*batch, -1), _tensor(done, device).reshape(batch)

    def observe(self, state: PettingZooState) -> tuple[Float[Tensor, "*batch group obs"], ...]:
        """What each agent sees; one that has left sees zeros."""
        batch, device = state.time.shape, state.time.device
        parts = _tensor(self._bring(state), device).split(list(self.pool.about["sizes"]), -1)
        return tuple(
            torch.stack([parts[k] for k in group.agents], -2).reshape(*batch, len(group.agents), group.obs_dim)
            for group in self.groups
        )

    def scene(self, state: PettingZooState) -> Scene:
        """The agents in a row, where they stay: an environment does not say where its bodies are."""
        count, device = self.n_agents, state.time.device
        across = (torch.arange(count, device=device) + 0.5) * 2 / count - 1
        row = torch.stack((across, torch.zeros_like(across)), -1)
        return Scene(extent=square(1.0), circles=discs("agent", row.expand(*state.time.shape, count, 2), 0.5 / count))

    def _bring(self, state: PettingZooState) -> np.ndarray:
        batch = state.time.shape
        history = state.history.reshape(-1, *state.history.shape[len(batch) :])
        ticket, seed, time = (_numpy(each.flatten()) for each in (state.ticket, state.seed, state.time))
        return self.pool.bring(ticket, seed, time, _numpy(history))


def pettingzoo(module: str, *, horizon: int = 0, workers: int = 0, **options: Any) -> PettingZooTask:
    """A parallel environment with continuous actions as a task: ``options`` are those of its ``parallel_env``.

    ``module`` may name another function, as ``module:function``. Where the actions are discrete and the environment
    takes ``continuous_actions=True``, as those of MPE, it is told so. Needs ``pip install "dico-marl[pettingzoo]"``.

    >>> task = pettingzoo("mpe2.simple_spread_v3", N=2, workers=1)
    >>> state = task.reset(4, Random([0, 1]))
    >>> state, rewards, done = task.step(state, torch.zeros(2, 4, 2, 5))
    >>> task.observe(state)[0].shape, rewards.shape, task.horizon
    (torch.Size([2, 4, 2, 12]), torch.Size([2, 4, 2]), 25)
    """
    return PettingZooTask(module=module, options=options, horizon=horizon, workers=workers)


def _pool(name: str, module: str, function: str, options: Mapping[str, Any], workers: int) -> Pool:
    try:
        return Pool(module, function, options, workers)
    except ValueError as error:
        missing = re.search(r"No module named '([^'.]+)", str(error))
        is_there = missing is None or find_spec(missing[1]) is not None  # and only a module in it is not
        hint = "" if is_there else ': pip install "dico-marl[pettingzoo]", or what has it'
        raise ValueError(f"task {name!r} cannot be made of {dict(options) or 'no options'}: {error}{hint}") from None


def _cores() -> set[int]:
    available = getattr(os, "sched_getaffinity", None)
    return available(0) if available else set(range(os.cpu_count() or 1))


def _digest(actions: Float[Tensor, "*batch agents act"]) -> Int[Tensor, "*batch"]:
    """A number that other actions do not have."""
    bits = actions.contiguous().view(torch.int32).long().flatten(-2)
    return (mix(bits) * mix(torch.arange(bits.shape[-1], device=bits.device) + 1)).sum(-1)


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def _tensor(array: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(array.copy()).to(device)
