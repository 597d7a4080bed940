"""What a task is: settings, and pure functions of tensors that reset, step, observe and draw it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from dico.random import Random
from dico.tasks.scene import Legend, Scene

OUTCOMES = ("success", "coverage")
"""What a task may say of its states, see :class:`Task`."""

State = TypeVar("State")
"""A flat frozen dataclass of tensors whose leading dimensions are the batch."""


@dataclass(frozen=True)
class Group:
    """Agents that share what they see and want: each group has its own policy, critic and constraint."""

    name: str
    """What the group is called in run folders and figures."""
    agents: tuple[int, ...]
    """The group's agents, as indices of the agents' dimension, in any order: that of what the group sees and does."""
    obs_dim: int
    """How many numbers each of them observes."""


class Task(ABC, Generic[State]):
    """A task: a frozen dataclass of settings with pure functions of tensors.

    The batch is ``(*members, n)``: n environments for each member of ``rng``. No function branches on a tensor's value
    or copies it to the host, so all of them compile as one graph and can be captured in a CUDA graph. The horizon is
    the caller's to enforce.
    """

    name: ClassVar[str]
    """The task's name in :data:`dico.tasks.TASKS`."""
    snd_levels: ClassVar[tuple[str, ...]]
    """The diversities of the paper's experiment, as :func:`dico.parse_constraint` reads them."""
    legend: ClassVar[Legend] = Legend()
    """What is said under the task's pictures of the signs in them."""
    position_alone: ClassVar[bool] = False
    """Whether what an agent sees follows from where it stands alone, all through an episode: goals that stay where they
    are, and nothing else. A map that was drawn at the start is then true to the end."""
    success_over: ClassVar[str] = "episodes"
    """What the success rate is a share of: ``episodes``, by how they end, or ``steps``."""
    success_words: ClassVar[str] = "share of episodes that end in success"
    """What the success rate is, as words under a figure."""
    coverage_words: ClassVar[str] = "share of what there is to be done that is done"
    """What coverage is, likewise."""
    compiles: ClassVar[bool] = True
    """Whether PyTorch's compiler and CUDA graphs can take its functions, as they are made of tensors alone; if not, it
    steps as it is while the learners are compiled."""
    n_agents: int
    """Agents, all groups together."""
    horizon: int
    """Steps in an episode."""

    @property
    @abstractmethod
    def groups(self) -> tuple[Group, ...]:
        """The groups, which share out all agents."""

    @property
    def obs_dim(self) -> int:
        """How many numbers an agent of the first group observes."""
        return self.groups[0].obs_dim

    @property
    def act_dim(self) -> int:
        """How many numbers an agent's action has."""
        return len(self.action_low)

    @property
    def action_low(self) -> tuple[float, ...]:
        """Least action; actions below are clamped."""
        return (-1.0, -1.0)

    @property
    def action_high(self) -> tuple[float, ...]:
        """Greatest action; actions above are clamped."""
        return (1.0, 1.0)

    def obs_box(self, group: Group) -> tuple[tuple[float, ...], tuple[float, ...]] | None:  # noqa: ARG002
        """The least and the greatest that an agent of the group usually sees, for analytical control; None if unknown.

        Tight rather than whole: diversity is spread over all of it.
        """
        return None

    def observation_names(self, group: Group) -> tuple[str, ...]:
        """What each of the numbers is that an agent of the group observes, in a few words.

        >>> from dico.tasks import make
        >>> task = make("navigation")
        >>> task.observation_names(task.groups[0])
        ('x from goal 1', 'y from goal 1', 'x from goal 2', 'y from goal 2')
        """
        return tuple(f"observation {k + 1}" for k in range(group.obs_dim))

    def success(self, state: State) -> Bool[Tensor, "*batch"] | None:  # noqa: ARG002
        """Whether the team has done what it is for, where that can be said; None if not."""
        return None

    def coverage(self, state: State) -> Float[Tensor, "*batch"] | None:  # noqa: ARG002
        """How much of what there is to be done has been done, from 0 to 1; None if that cannot be said."""
        return None

    @abstractmethod
    def reset(self, n: int, rng: Random) -> State:
        """Fresh states of ``n`` environments for each member of ``rng``."""

    @abstractmethod
    def step(
        self, state: State, actions: Float[Tensor, "*batch agents act"]
    ) -> tuple[State, Float[Tensor, "*batch agents"], Bool[Tensor, "*batch"]]:
        """The next state, each agent's reward, and whether the task ended of itself."""

    @abstractmethod
    def observe(self, state: State) -> tuple[Float[Tensor, "*batch group obs"], ...]:
        """What the agents see: one tensor ``(*batch, agents of the group, obs_dim)`` for each of ``groups``."""

    @abstractmethod
    def scene(self, state: State) -> Scene:
        """What to draw."""


class MappedTask(Task[State]):
    """A task where an agent's observation is a function of where it stands: diversity can be drawn as a map."""

    @abstractmethod
    def observation_at(
        self, state: State, position: Float[Tensor, "*batch points 2"]
    ) -> Float[Tensor, "*batch points obs"]:
        """What an agent would see at each of the points."""


def outcomes_of(task: Task, state: Any) -> dict[str, Float[Tensor, "*batch"]]:
    """What the task says of a state, from 0 to 1, by name; your own tasks need not say anything.

    >>> from dico.tasks import make
    >>> task = make("tag")
    >>> outcomes_of(task, task.reset(1, Random([0])))
    {'success': tensor([[0.]])}
    """
    said = {name: getattr(task, name)(state) for name in OUTCOMES if hasattr(task, name)}
    return {name: value.to(torch.get_default_dtype()) for name, value in said.items() if value is not None}


def is_over_steps(task: Task, name: str) -> bool:
    """Whether an outcome is a share of all steps rather than of episodes, by how they end."""
    return name == "success" and getattr(task, "success_over", "episodes") == "steps"


def xy(*things: str) -> tuple[str, ...]:
    """Names of the two coordinates of each thing.

    >>> xy("position", "velocity")
    ('x position', 'y position', 'x velocity', 'y velocity')
    """
    return tuple(f"{axis} {thing}" for thing in things for axis in "xy")


def map_state(function: Callable[..., Tensor], state: State, *others: State) -> State:
    """A state of the same kind whose fields are ``function`` of the fields of the states given.

    >>> @dataclass(frozen=True)
    ... class Pair:
    ...     a: Tensor
    ...     b: Tensor
    >>> map_state(torch.add, Pair(torch.tensor(1), torch.tensor(2)), Pair(torch.tensor(10), torch.tensor(20)))
    Pair(a=tensor(11), b=tensor(22))
    """
    names = [field.name for field in fields(state)]  # pyright: ignore[reportArgumentType]
    values = {name: _map(function, *(getattr(each, name) for each in (state, *others))) for name in names}
    return type(state)(**values)


def where_done(done: Bool[Tensor, "*batch"], fresh: State, state: State) -> State:
    """``fresh`` in the environments that are done, ``state`` in the others.

    >>> from dico.tasks import make
    >>> task, rng = make("navigation"), Random([0, 1])
    >>> state, fresh = task.reset(3, rng), task.reset(3, rng)
    >>> mixed = where_done(torch.tensor([[True, False, False], [False, False, True]]), fresh, state)
    >>> torch.equal(mixed.goal[0, 0], fresh.goal[0, 0]), torch.equal(mixed.goal[0, 1], state.goal[0, 1])
    (True, True)
    """

    def choose(new: Tensor, old: Tensor) -> Tensor:
        return torch.where(done.reshape(*done.shape, *[1] * (old.ndim - done.ndim)), new, old)

    return map_state(choose, fresh, state)


def check_groups(task: Task) -> tuple[Group, ...]:
    """The task's groups, which must share out all agents, each to one group."""
    groups = task.groups
    if sorted(agent for group in groups for agent in group.agents) != list(range(task.n_agents)):
        found = ", ".join(f"{group.name}: {group.agents}" for group in groups)
        raise ValueError(f"groups must share out the agents 0 to {task.n_agents - 1}, each to one group, got {found}")
    return groups


def group_by_name(names: Sequence[str], sizes: Sequence[int]) -> tuple[Group, ...]:
    """Agents called ``name_i`` form the group ``name``; if that makes one group, it is called ``agents``.

    ``sizes`` are of what each of them observes.

    >>> [(group.name, group.agents) for group in group_by_name(["red_0", "green_0", "red_1"], [4, 6, 4])]
    [('red', (0, 2)), ('green', (1,))]
    """
    members: dict[str, list[int]] = {}
    for i, agent in enumerate(names):
        name, _, number = agent.rpartition("_")
        members.setdefault(name if number.isdigit() else "", []).append(i)
    if len(members) == 1 or "" in members:
        members = {"agents": list(range(len(names)))}
    for name, agents in members.items():
        if len({sizes[i] for i in agents}) > 1:
            raise ValueError(f"agents of group {name!r} must observe as much as each other, got {list(sizes)}")
    return tuple(Group(name, tuple(agents), sizes[agents[0]]) for name, agents in members.items())


def join_groups(
    groups: Sequence[Group], parts: Sequence[Float[Tensor, "*batch _ act"]]
) -> Float[Tensor, "*batch agents act"]:
    """All agents' actions, each in its agent's place, from those of each group.

    Groups that are in the agents' order are put one after the other; no index is copied to the device for the others.

    >>> groups = Group("odd", (3, 1), obs_dim=4), Group("even", (0, 2), obs_dim=4)
    >>> join_groups(groups, [torch.tensor([[3.0], [1.0]]), torch.tensor([[0.0], [2.0]])]).flatten()
    tensor([0., 1., 2., 3.])
    """
    order = [agent for group in groups for agent in group.agents]
    if order == list(range(len(order))):
        return torch.cat(list(parts), -2)
    rows = [row for part in parts for row in part.unbind(-2)]
    return torch.stack([rows[order.index(agent)] for agent in range(len(order))], -2)


def of_group(group: Group, values: Shaped[Tensor, "*batch agents"]) -> Shaped[Tensor, "*batch group"]:
    """Those of the agents' values that are the group's, in its order.

    >>> of_group(Group("odd", (3, 1), obs_dim=4), torch.tensor([0.0, 1.0, 2.0, 3.0]))
    tensor([3., 1.])
    """
    first, last = group.agents[0], group.agents[-1]
    if group.agents == tuple(range(first, last + 1)):
        return values[..., first : last + 1]
    return torch.stack([values[..., agent] for agent in group.agents], -1)


def clamp_actions(actions: Tensor, position: Float[Tensor, "*batch agents 2"]) -> Float[Tensor, "*batch agents 2"]:
    """The actions in the box ``[-1, 1]``, one for each agent at its position.

    >>> clamp_actions(torch.tensor([[2.0, -0.5]]), torch.zeros(1, 2))
    tensor([[ 1.0000, -0.5000]])
    """
    check_shape("actions", actions, position.shape)
    return actions.clamp(-1, 1)


def check_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """A tensor of another shape might still broadcast, and mean something else."""
    if tensor.shape != shape:
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {tuple(tensor.shape)}")


def _map(function: Callable[..., Tensor], *values: Any) -> Any:
    """A field is a tensor, or a tuple of them."""
    if isinstance(values[0], tuple):
        return tuple(function(*each) for each in zip(*values, strict=True))
    return function(*values)
