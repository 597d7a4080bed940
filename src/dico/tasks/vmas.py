"""Any VMAS scenario behind the functions of a task: its worlds' tensors are read out after a step and put back before.

VMAS keeps its state in attributes of many objects, and in dictionaries by body. Which of them belong to the worlds is
found by making two small simulators of different sizes: a tensor is state if its first dimension is the number of
worlds in both. What a scenario keeps besides, such as one goal for all worlds, cannot be put back world by world: a few
steps are tried, and a scenario that does not repeat them is refused.
"""

import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dico._checks import check_choice, check_number
from dico.random import Random
from dico.tasks.base import Group, Task, check_shape, group_by_name
from dico.tasks.scene import Box, Circle, Line, Scene, told_apart

PROBES = (3, 5)
"""Worlds in the two simulators that are compared; sizes that no constant of VMAS has in common with both."""
TRIED = (0, 4, 24, 0)
"""Seeds of the starts from which a scenario must repeat a step: few, as some take a second to reset, and such that
their first random choices, among 2 to 8 things, are never all the same."""
REMADE = ("forces_dict", "torques_dict", "_delta_anchor_tensor_map")
"""Dictionaries by body that VMAS makes anew in each step, or never changes."""
WRAPPED = "vmas:"
"""Before the name of a scenario that VMAS itself steps."""
Path = tuple[str | int, ...]
"""Attributes, indices and names of bodies that lead from a simulator to one of its tensors."""


@dataclass(frozen=True)
class VmasState:
    """All that a step depends on."""

    tensors: tuple[Tensor, ...]
    """Those of the worlds, in the order of the task's ``paths``."""
    noise: Int[Tensor, "*batch"]
    """Counts up from the seed of a start; what is random in a step or an observation is drawn from it."""


@dataclass(frozen=True, kw_only=True)
class VmasTask(Task[VmasState]):
    """A VMAS scenario as released: its observations, rewards and endings.

    Fresh states depend on the member's seed alone, and a step on the state and the actions alone: a resume is exact.
    A member's numbers depend on the others' where a scenario draws noise while it steps, as football's scripted players
    do, for it is drawn for all worlds together, and where it asks whether *any* world has contacts. Scenarios that keep
    more than tensors of their worlds are refused: of VMAS 1.5.2 ``het_mass``, ``road_traffic``, ``simple_adversary``,
    ``simple_push`` and ``simple_reference``. Make one with :func:`vmas`.
    """

    snd_levels: ClassVar[tuple[str, ...]] = ("0", "free")
    compiles: ClassVar[bool] = False

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
    made: dict[tuple[int, str], dict[Path, Tensor]] = field(init=False, repr=False, compare=False, default_factory=dict)
    """The tensors of each simulator as it was made, for what a scenario does not reset."""

    def __post_init__(self):
        check_number("horizon", self.horizon, 1, whole=True)
        _check_scenario(self.scenario)
        small, large = (self._simulator(n, "cpu") for n in PROBES)
        batched = {path for path, tensor in _tensors(large) if tensor.shape[:1] == PROBES[1:]}
        paths = tuple(path for path, tensor in _tensors(small) if path in batched and tensor.shape[:1] == PROBES[:1])
        object.__setattr__(self, "paths", paths)
        bounds = {_bounds(small, agent) for agent in small.agents}
        if len(bounds) != 1:
            raise ValueError(f"scenario must give all agents the same actions, {self.scenario!r} has {sorted(bounds)}")
        self._check_repeats()

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As configurations name it: ``vmas:SCENARIO``."""
        return f"{WRAPPED}{self.scenario}"

    @property
    def n_agents(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Agents that a policy moves."""
        return self._probe.n_agents

    @property
    def groups(self) -> tuple[Group, ...]:
        """Agents called ``name_i`` form the group ``name``; if that makes one group, it is called ``agents``."""
        sizes = [space.shape[0] for space in self._probe.observation_space]
        return group_by_name([agent.name for agent in self._probe.agents], sizes)

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
        seeds = rng.bits(1) & 0x7FFFFFFF
        device = str(rng.keys.device)
        simulator, drawn = self._simulator(n, device), []
        for seed in seeds.flatten().tolist():
            self._write(simulator, [self.made[n, device][path] for path in self.paths])
            simulator.reset(seed=seed, return_observations=False)
            drawn.append(self._read(simulator))
        stacked = [torch.stack(each) for each in zip(*drawn, strict=True)]
        tensors = tuple(tensor.reshape(*rng.keys.shape, *tensor.shape[1:]) for tensor in stacked)
        return VmasState(tensors, seeds.expand(*rng.keys.shape, n).clone())

    def step(
        self, state: VmasState, actions: Float[Tensor, "*batch agents act"]
    ) -> tuple[VmasState, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """One step of VMAS from ``state``."""
        batch = state.noise.shape
        check_shape("actions", actions, (*batch, self.n_agents, self.act_dim))
        simulator = self._restore(state)
        simulator.seed(_seed(state.noise))
        _, rewards, done, _ = simulator.step(list(actions.reshape(-1, *actions.shape[-2:]).unbind(1)))
        tensors = tuple(tensor.reshape(*batch, *tensor.shape[1:]) for tensor in self._read(simulator))
        after = VmasState(tensors, state.noise + 2)
        return after, torch.stack(rewards, -1).reshape(*batch, self.n_agents), done.reshape(batch)

    def observe(self, state: VmasState) -> tuple[Float[Tensor, "*batch group obs"], ...]:
        """What VMAS shows each agent."""
        batch = state.noise.shape
        simulator = self._restore(state)
        simulator.seed(_seed(state.noise + 1))
        (seen,) = simulator.get_from_scenario(
            get_observations=True, get_rewards=False, get_infos=False, get_dones=False
        )
        return tuple(
            torch.stack([seen[i] for i in group.agents], -2).reshape(*batch, len(group.agents), group.obs_dim)
            for group in self.groups
        )

    def scene(self, state: VmasState) -> Scene:
        """Every body that VMAS has, agents on top."""
        batch = state.noise.shape
        world = self._restore(state).world
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
        agents = tuple(circle for circle in circles if circle.role == "agent")
        circles = circles[: len(circles) - len(agents)] + told_apart(agents)
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
            made = {path: tensor.clone() for path, tensor in _tensors(simulator)}
            # scenarios make some of their attributes in the first step
            idle = [torch.zeros(n, simulator.get_agent_action_size(agent), device=device) for agent in simulator.agents]
            simulator.step(idle)
            self.simulators[n, device] = simulator
            self.made[n, device] = {path: tensor.clone() for path, tensor in _tensors(simulator)} | made
        return self.simulators[n, device]

    def _read(self, simulator: Any) -> tuple[Tensor, ...]:
        found = dict(_tensors(simulator))
        return tuple(found[path].clone() for path in self.paths)

    def _write(self, simulator: Any, tensors: Sequence[Tensor]) -> None:
        for path, tensor in zip(self.paths, tensors, strict=True):
            owner = _items(simulator)
            for step in path[:-1]:
                owner = _items(owner[_key(owner, step)])
            owner[_key(owner, path[-1])] = tensor.clone()

    def _restore(self, state: VmasState) -> Any:
        """A simulator put into ``state``."""
        worlds, dims = state.noise.numel(), state.noise.ndim
        simulator = self._simulator(worlds, str(state.noise.device))
        self._write(simulator, [tensor.reshape(worlds, *tensor.shape[dims:]) for tensor in state.tensors])
        return simulator

    def _check_repeats(self) -> None:
        """A step must follow from the state, and a start from its seed, whatever the simulator did meanwhile."""
        starts, ends = [], []
        for seed in TRIED:
            starts.append(self.reset(PROBES[0], Random([seed])))
            ends.append(self._try_steps(starts[-1]))
        again = [self._try_steps(start) for start in starts]
        pairs = [*zip(ends, again, strict=True), (starts[0].tensors, starts[-1].tensors)]
        if not all(torch.allclose(a, b, equal_nan=True) for one, two in pairs for a, b in zip(one, two, strict=True)):
            raise ValueError(
                f"scenario {self.scenario!r} keeps more than tensors of its worlds, so its steps cannot be repeated, "
                "nor a training resumed: choose another, or train it in BenchMARL (dico.adapters.benchmarl), if it is "
                "there"
            )

    def _try_steps(self, state: VmasState) -> tuple[Tensor, ...]:
        """What some actions lead to."""
        low, high = torch.tensor(self.action_low), torch.tensor(self.action_high)
        actions = Random([0]).uniform(PROBES[0], self.n_agents, self.act_dim, low=low, high=high)
        after, rewards, done = self.step(state, actions)
        return *after.tensors, rewards, done, *self.observe(after)


def vmas(scenario: str, *, horizon: int = 100, **options: Any) -> VmasTask:
    """Any VMAS scenario as a task, eager and slower than ours: ``options`` are the scenario's own.

    Needs ``pip install "dico-marl[vmas]"``. A scenario whose steps cannot be repeated is refused (:class:`VmasTask`).

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


def _seed(noise: Int[Tensor, "*batch"]) -> int:
    """For what VMAS draws for all worlds together."""
    return int(noise.sum()) & 0x7FFFFFFF


def _items(owner: Any) -> Any:
    """What an object of VMAS holds, to read and to write."""
    return owner if isinstance(owner, list | dict) else vars(owner)


def _names(items: Any) -> Iterator[tuple[str | int, Any]]:
    """What an object holds, by names that are the same in any simulator: of a body, its own."""
    for key, value in enumerate(items) if isinstance(items, list) else items.items():
        name = key if isinstance(key, str | int) else getattr(key, "name", None)
        if name is not None and name not in REMADE:
            yield name, value


def _key(items: Any, name: str | int) -> Any:
    """The key of which :func:`_names` gives the name."""
    if isinstance(items, list) or name in items:
        return name
    return next(key for key in items if getattr(key, "name", None) == name)


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
        for name, value in _names(_items(owner)):
            if isinstance(value, Tensor):
                yield (*path, name), value
            elif isinstance(value, list | dict) or (_module(value) in modules and hasattr(value, "__dict__")):
                waiting.append(((*path, name), value))


def _module(value: Any) -> str:
    return type(value).__module__.partition(".")[0]
