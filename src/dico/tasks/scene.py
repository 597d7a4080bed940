"""What a task looks like: circles, boxes and lines, one batch of pictures at a time."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#e69f00", "#009e73", "#cc79a7"
SKY, VERMILION, YELLOW, BLACK, GREY = "#56b4e9", "#d55e00", "#f0e442", "#262626", "#9a9a9a"
TEAM = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
"""Colours told apart by the colour-blind (Okabe and Ito); agent i has the i-th, over and over."""
RED = "#c1121f"
"""Where the paper says red; darker than its green, for the colour-blind."""
CHASERS = (RED, ORANGE, PURPLE, VERMILION, YELLOW)
"""Warm colours, for a team against a green agent: each of it has its own, over and over."""


@dataclass(frozen=True, kw_only=True)
class Circle:
    """A disc or a ring."""

    role: str
    """What it is: agent, goal, food, obstacle."""
    label: str = ""
    """Which one of them, for a legend."""
    colour: str = BLACK
    """As ``#rrggbb``."""
    filled: bool = True
    """A disc if so, else a ring."""
    centre: Float[Tensor, "*batch 2"]
    """Where it is."""
    radius: float
    """How large it is, in world units."""
    visible: Bool[Tensor, "*batch"] | None = None
    """In which pictures it shows; None: in all."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle."""

    role: str
    """What it is: bounds, package."""
    label: str = ""
    """Which one of them, for a legend."""
    colour: str = BLACK
    """As ``#rrggbb``."""
    filled: bool = False
    """A full rectangle if so, else its outline."""
    centre: Float[Tensor, "*batch 2"]
    """Where it is."""
    length: float
    """Size along x, before it is turned."""
    width: float
    """Size along y, before it is turned."""
    angle: Float[Tensor, "*batch"] | None = None
    """How far it is turned, counter-clockwise in radians; None: not at all."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A straight line."""

    role: str
    """What it is: link (an agent and its goal), wall."""
    label: str = ""
    """Which one of them, for a legend."""
    colour: str = BLACK
    """As ``#rrggbb``."""
    start: Float[Tensor, "*batch 2"]
    """One end."""
    end: Float[Tensor, "*batch 2"]
    """The other end."""


@dataclass(frozen=True, kw_only=True)
class Legend:
    """What the signs in a task's pictures mean, in the task's own words; what is drawn at all says its role."""

    hidden: str = "gone"
    """A circle that is not visible any more."""
    value: str = "value"
    """A painted cell of the field."""
    empty: str = "no value"
    """A cell of the field at 0."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A batch of pictures: tensors stay where they are until a drawing picks one.

    >>> from dico.random import Random
    >>> from dico.tasks import make
    >>> task = make("dispersion")
    >>> scene = task.scene(task.reset(10, Random([0])))
    >>> len(scene.circles), scene.circles[0].centre.shape  # 4 agents and 4 food; 1 member, 10 environments
    (8, torch.Size([1, 10, 2]))
    """

    extent: tuple[float, float, float, float]
    """What to show: least x, greatest x, least y, greatest y."""
    circles: tuple[Circle, ...] = ()
    """Drawn in this order, the last on top."""
    boxes: tuple[Box, ...] = ()
    """Drawn under the circles."""
    lines: tuple[Line, ...] = ()
    """Drawn under the boxes."""
    field: Float[Tensor, "*batch rows columns"] | None = None
    """Values in [0, 1] of the cells that tile the extent, painted under everything; row 0 is at the least y."""


def discs(
    role: str,
    centres: Float[Tensor, "*batch n 2"],
    radius: float,
    colours: tuple[str, ...] = TEAM,
    *,
    filled: bool = True,
) -> tuple[Circle, ...]:
    """A circle for each of the ``n``, labelled by its number; the colours take turns.

    >>> [(circle.role, circle.label) for circle in discs("agent", torch.zeros(10, 2, 2), 0.1)]
    [('agent', '0'), ('agent', '1')]
    """
    return tuple(
        Circle(role=role, label=str(i), colour=colours[i % len(colours)], centre=centre, radius=radius, filled=filled)
        for i, centre in enumerate(centres.unbind(-2))
    )


def told_apart(agents: tuple[Circle, ...]) -> tuple[Circle, ...]:
    """Agents with colours of their own: those that they have, or the team's where several have the same.

    >>> agents = discs("agent", torch.zeros(10, 2, 2), 0.1, (RED,))
    >>> [circle.colour for circle in told_apart(agents)] == [BLUE, ORANGE]
    True
    """
    if len({agent.colour for agent in agents}) == len(agents):
        return agents
    return tuple(replace(agent, colour=TEAM[i % len(TEAM)]) for i, agent in enumerate(agents))


def bounds(edge: float, like: Float[Tensor, "*batch n 2"]) -> Box:
    """The outline of a world in ``[-edge, edge]`` squared, for as many pictures as ``like`` has.

    >>> bounds(1.0, torch.zeros(10, 3, 2)).centre.shape
    torch.Size([10, 2])
    """
    return Box(role="bounds", centre=torch.zeros_like(like[..., 0, :]), length=2 * edge, width=2 * edge)


def square(edge: float) -> tuple[float, float, float, float]:
    """The extent of ``[-edge, edge]`` squared.

    >>> square(1.0)
    (-1.0, 1.0, -1.0, 1.0)
    """
    return (-edge, edge, -edge, edge)
