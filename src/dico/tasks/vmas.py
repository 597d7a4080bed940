"""Any VMAS scenario behind the functions of a task: its worlds' tensors are read out after a step and put back before.

VMAS keeps its state in attributes of many objects. Which of them belong to the worlds is found by making two small
simulators of different sizes: an attribute is state if its first dimension is the number of worlds in both.
"""

import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import check_choice, check_number
from dico.random import Random
from dico.tasks.base import Group, Task, check_shape
from dico.tasks.scene import Box, Circle, Line, Scene

PROBES = (3, 5)
"""Worlds in the two simulators that are compared; sizes that no constant of VMAS has in common with both."""
Path = tuple[str | int, ...]
"""Attributes and indices that lead from a simulator to one of its tensors."""


@dataclass(frozen=True)
class VmasState:
    """All tensors of the worlds, in the order of the task's ``paths``."""

    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class VmasTask(Task[VmasState]):
    """A VMAS scenario as released: its observations, rewards and endings.

    Fresh states depend on the member's seed alone; noise that a scenario draws while it steps does not. What a scenario
    keeps in plain Python numbers is no part of the state. Some scenarios ask whether *any* world has contacts, so that
    a member's numbers depend on the others'. Make one with :func:`vmas`.
    """

    name: ClassVar[str] = "vmas"
    snd_levels: ClassVar[tuple[str, ...]] = ("0", "free")

    scenario: str
    """The scenario's name in VMAS."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Passed to the scenario."""
    horizon: int = 100
    """Steps in an episode."""
    paths: tuple[Path, ...] = field(init=False, repr=False, compare=False)
    """Where the worlds' tensors are in a simulator."""
    simulators: dict[tuple[int, str], Any] = field(init=False, repr=False, compare=False, default_factory=dict)
    """One for each number of worlds and device asked for so far."""

    def __post_init__(self):
        check_number("horizon", self.horizon, 1, whole=True)
        _check_scenario(self.scenario)
        small, large = (self._simulator(n, "cpu") for n in PROBES)
        batched = {path for path, tensor in _tensors(large) if tensor.shape[:1] == PROBES[1:]}
        paths = tuple(path for path, tensor in _tensors(small) if path in batched and tensor.shape[:1] == PROBES[:1])
        object.__setattr__(self, "paths", paths)
        bounds = {_bounds(small, agent) for agent in small.agents}
        if len(bounds) > 1:
            raise ValueError(f"scenario must give all agents the same actions, {self.scenario!r} has {sorted(bounds)}")

    @property
    def n_agents(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Agents that a policy moves."""
        return self._probe.n_agents

    @property
    def groups(self) -> tuple[Group, ...]:
        """Agents called ``name_i`` form the group ``name``; if that makes one group, it is called ``agents``."""
        members: dict[str, list[int]] = {}
        for i, agent in enumerate(self._probe.agents):
            name, _, number = agent.name.rpartition("_")
            members.setdefault(name if number.isdigit() else "", []).append(i)
        if len(members) == 1 or "" in members:
            members = {"agents": list(range(self.n_agents))}
        sizes = [space.shape[0] for space in self._probe.observation_space]
        for name, agents in members.items():
            if len({sizes[i] for i in agents}) > 1:
                raise ValueError(f"agents of group {name!r} must observe as much as each other, got {sizes}")
        return tuple(Group(name, tuple(agents), sizes[agents[0]]) for name, agents in members.items())

    @property
    def action_low(self) -> tuple[float, ...]:
        """Least action."""
        return _bounds(self._probe, self._probe.agents[0])[0]

    @property
    def action_high(self) -> tuple[float, ...]:
        """Greatest action."""
        return _bounds(self._probe, self._probe.agents[0])[1]

    def reset(self, n: int, rng: Random) -> VmasState:
        """Fresh states, each member's drawn by VMAS from a seed of its own."""
        seeds = (rng.bits(1) & 0x7FFFFFFF).flatten().tolist()
        simulator = self._simulator(n, str(rng.keys.device))
        drawn = []
        for seed in seeds:
            simulator.reset(seed=seed, return_observations=False)
            drawn.append(self._read(simulator))
        stacked = [torch.stack(each) for each in zip(*drawn, strict=True)]
        return VmasState(tuple(tensor.reshape(*rng.keys.shape, *tensor.shape[1:]) for tensor in stacked))

    def step(
        self, state: VmasState, actions: Float[Tensor, "*batch agents act"]
    ) -> tuple[VmasState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """One step of VMAS from ``state``."""
        batch = self._batch(state)
        check_shape("actions", actions, (*batch, self.n_agents, self.act_dim))
        simulator = self._restored(state, batch)
        _, rewards, done, _ = simulator.step(list(actions.reshape(-1, *actions.shape[-2:]).unbind(1)))
        tensors = tuple(tensor.reshape(*batch, *tensor.shape[1:]) for tensor in self._read(simulator))
        return VmasState(tensors), torch.stack(rewards, -1).reshape(*batch, self.n_agents), done.reshape(batch)

    def observe(self, state: VmasState) -> tuple[Float[Tensor, "*batch group obs"], ...]:
        """What VMAS shows each agent."""
        batch = self._batch(state)
        simulator = self._restored(state, batch)
        (seen,) = simulator.get_from_scenario(
            get_observations=True, get_rewards=False, get_infos=False, get_dones=False
        )
        return tuple(
            torch.stack([seen[i] for i in group.agents], -2).reshape(*batch, len(group.agents), group.obs_dim)
            for group in self.groups
        )

    def scene(self, state: VmasState) -> Scene:
        """Every body that VMAS has, agents on top."""
        batch = self._batch(state)
        world = self._restored(state, batch).world
        shapes: dict[str, list[Any]] = {"Sphere": [], "Box": [], "Line": []}
        for entity in (*world.landmarks, *world.agents):
            look = {
                "role": "agent" if entity in world.agents else "landmark",
                "label": entity.name,
                "colour": "#" + "".join(f"{round(255 * min(max(float(c), 0), 1)):02x}" for c in _colour(entity)),
            }
            centre, angle = entity.state.pos.reshape(*batch, 2).clone(), entity.state.rot.reshape(batch).clone()
            shape, kind = entity.shape, type(entity.shape).__name__
            if kind == "Sphere":
                shapes[kind].append(Circle(centre=centre, radius=shape.radius, **look))
            elif kind == "Box":
                size = {"length": shape.length, "width": shape.width}
                shapes[kind].append(Box(centre=centre, angle=angle, filled=not shape.hollow, **size, **look))
            else:
                along = torch.stack([angle.cos(), angle.sin()], -1) * shape.length / 2
                shapes[kind].append(Line(start=centre - along, end=centre + along, **look))
        x, y = (float(bound or 1.2) for bound in (world.x_semidim, world.y_semidim))
        circles, boxes, lines = (tuple(each) for each in shapes.values())
        return Scene(extent=(-x, x, -y, y), circles=circles, boxes=boxes, lines=lines)

    @property
    def _probe(self) -> Any:
        return self.simulators[PROBES[0], "cpu"]

    def _simulator(self, n: int, device: str) -> Any:
        if (n, device) not in self.simulators:
            with warnings.catch_warnings():
                # VMAS only warns of an option it does not know
                warnings.filterwarnings("error", "Scenario kwargs")
                try:
                    simulator = _import_vmas().make_env(
                        self.scenario, num_envs=n, device=device, seed=0, clamp_actions=True, **self.options
                    )
                except UserWarning as warning:
                    raise ValueError(f"options must be known to scenario {self.scenario!r}: {warning}") from None
            # scenarios make some of their attributes in the first step
            idle = [torch.zeros(n, simulator.get_agent_action_size(agent), device=device) for agent in simulator.agents]
            simulator.step(idle)
            self.simulators[n, device] = simulator
        return self.simulators[n, device]

    def _batch(self, state: VmasState) -> torch.Size:
        own = next(tensor for path, tensor in _tensors(self._probe) if path == self.paths[0])
        return state.tensors[0].shape[: state.tensors[0].ndim - own.ndim + 1]

    def _read(self, simulator: Any) -> tuple[Tensor, ...]:
        found = dict(_tensors(simulator))
        return tuple(found[path].clone() for path in self.paths)

    def _restored(self, state: VmasState, batch: torch.Size) -> Any:
        """A simulator put into ``state``."""
        simulator = self._simulator(batch.numel(), str(state.tensors[0].device))
        for path, tensor in zip(self.paths, state.tensors, strict=True):
            owner = simulator
            for step in path[:-1]:
                owner = _items(owner)[step]
            _items(owner)[path[-1]] = tensor.reshape(batch.numel(), *tensor.shape[len(batch) :]).clone()
        return simulator


def vmas(scenario: str, *, horizon: int = 100, **options: Any) -> VmasTask:
    """Any VMAS scenario as a task, eager and slower than ours: ``options`` are the scenario's own.

    Needs ``pip install "dico-marl[vmas]"``.

    >>> task = vmas("balance", n_agents=3)
    >>> state = task.reset(4, Random([0, 1]))
    >>> state, rewards, done = task.step(state, torch.zeros(2, 4, 3, 2))
    >>> (observation,) = task.observe(state)
    >>> observation.shape, rewards.shape, done.shape
    (torch.Size([2, 4, 3, 16]), torch.Size([2, 4, 3]), torch.Size([2, 4]))
    """
    return VmasTask(scenario=scenario, options=options, horizon=horizon)


def _import_vmas() -> Any:
    try:
        import vmas
    except ImportError as error:
        raise ImportError('tasks.vmas needs the VMAS simulator: pip install "dico-marl[vmas]"') from error
    return vmas


def _check_scenario(scenario: str) -> None:
    package = _import_vmas()
    check_choice("scenario", scenario, sorted({*package.scenarios, *package.mpe_scenarios, *package.debug_scenarios}))


def _bounds(simulator: Any, agent: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    space = simulator.get_agent_action_space(agent)
    return tuple(space.low.tolist()), tuple(space.high.tolist())


def _colour(entity: Any) -> Any:
    colour = entity.color
    return colour[0] if isinstance(colour, Tensor) and colour.ndim > 1 else colour


def _items(owner: Any) -> Any:
    """What an object of VMAS holds, to read and to write."""
    return owner if isinstance(owner, list | dict) else vars(owner)


def _tensors(simulator: Any) -> Iterator[tuple[Path, Tensor]]:
    """Every tensor that a simulator holds, by one path: that of a body starts at the world, in any simulator."""
    modules = {"vmas", "torch", _module(simulator.scenario)}
    known: set[int] = set()
    waiting: deque[tuple[Path, Any]] = deque([(("world",), simulator.world), ((), simulator)])
    while waiting:
        path, owner = waiting.popleft()
        if id(owner) in known:
            continue
        known.add(id(owner))
        items = _items(owner)
        # a key that is an object differs from one simulator to the next, and leads to what is made anew in each step
        keys = [key for key in items if isinstance(key, str)] if isinstance(items, dict) else range(len(items))
        for key in keys:
            value = items[key]
            if isinstance(value, Tensor):
                yield (*path, key), value
            elif isinstance(value, list | dict) or (_module(value) in modules and hasattr(value, "__dict__")):
                waiting.append(((*path, key), value))


def _module(value: Any) -> str:
    return type(value).__module__.partition(".")[0]
