r"""The physics the tasks share: points with drag, spheres that push each other and the walls of a hollow box.

A step of ``DT`` seconds is cut into substeps of semi-implicit Euler, and drag acts once a step:
:math:`v \leftarrow (1-\text{drag})\,v`, then in each substep of length h :math:`v \leftarrow v + h f/m`,
:math:`x \leftarrow x + h v`. Shapes are batch-first everywhere, ``(*batch, n, 2)``.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

DT = 0.1
"""Seconds in a step."""
DRAG = 0.25
"""Share of its velocity a body loses in a step."""
WALL = 4 / 600
"""Half the thickness of a box's wall."""
COINCIDENT = 1e-6
"""Two bodies nearer than this have no direction to push each other in, so they do not."""


def move(
    position: Float[Tensor, "*batch n 2"],
    velocity: Float[Tensor, "*batch n 2"],
    push: Float[Tensor, "*batch n 2"],
    *,
    substeps: int = 1,
    contacts: Callable[[Tensor], Tensor] | None = None,
    mass: float | Float[Tensor, "n 1"] = 1.0,
    max_speed: Float[Tensor, " n"] | None = None,
    bound: float | None = None,
) -> tuple[Float[Tensor, "*batch n 2"], Float[Tensor, "*batch n 2"]]:
    """One step: the positions and velocities after ``push`` acts for ``DT`` seconds.

    ``contacts`` gives the forces among the bodies at their positions, anew in each substep. ``bound`` keeps both
    coordinates in ``[-bound, bound]``; it stops positions, not velocities.

    >>> position, velocity = move(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[1.0, -1.0]]))
    >>> position, velocity
    (tensor([[ 0.0100, -0.0100]]), tensor([[ 0.1000, -0.1000]]))
    """
    h = DT / substeps
    gain = h / mass
    velocity = velocity * (1 - DRAG)
    for _ in range(substeps):
        force = push if contacts is None else push + contacts(position)
        velocity = velocity + force * gain
        if max_speed is not None:
            velocity = limit_speed(velocity, max_speed)
        position = position + velocity * h
        if bound is not None:
            position = position.clamp(-bound, bound)
    return position, velocity


def limit_speed(velocity: Float[Tensor, "*batch n 2"], limit: Float[Tensor, " n"]) -> Float[Tensor, "*batch n 2"]:
    """Velocities shortened to at most ``limit``.

    >>> limit_speed(torch.tensor([[3.0, 4.0], [0.0, 0.5]]), torch.ones(2))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.5000]])
    """
    speed = torch.linalg.vector_norm(velocity, dim=-1)
    return velocity * torch.where(speed > limit, limit / speed, 1.0)[..., None]


def repulsion(
    apart: Float[Tensor, "*pairs 2"],
    reach: float | Float[Tensor, "*#pairs"],
    stiffness: float,
    margin: float,
) -> Float[Tensor, "*pairs 2"]:
    r"""Force on the first body of each pair, ``apart`` from the second, while they are within ``reach``.

    :math:`f = \text{stiffness}\cdot m\log(1+e^{(\text{reach}-d)/m})\,\hat{d}` with d the distance and m the margin: a
    spring with a soft start.

    >>> repulsion(torch.tensor([[0.5, 0.0], [2.0, 0.0]]), reach=1.0, stiffness=10.0, margin=1e-3)
    tensor([[5., 0.],
            [0., 0.]])
    """
    distance = torch.linalg.vector_norm(apart, dim=-1)
    depth = margin * F.softplus((reach - distance) / margin)
    touching = (distance <= reach) & (distance >= COINCIDENT)
    return apart * torch.where(touching, stiffness * depth / distance.clamp_min(COINCIDENT), 0.0)[..., None]


def sphere_contacts(
    position: Float[Tensor, "*batch n 2"],
    others: Float[Tensor, "*batch m 2"],
    reach: float | Float[Tensor, "n m"],
    stiffness: float,
    margin: float,
) -> Float[Tensor, "*batch n 2"]:
    """Force on each sphere from all the ``others``; a sphere that is itself among them feels nothing from itself.

    ``reach`` is the sum of the radii of a pair.

    >>> pair = torch.tensor([[0.0, 0.0], [0.5, 0.0]])
    >>> sphere_contacts(pair, pair, reach=1.0, stiffness=10.0, margin=1e-3)
    tensor([[-5.,  0.],
            [ 5.,  0.]])
    """
    apart = position[..., :, None, :] - others[..., None, :, :]
    return repulsion(apart, reach, stiffness, margin).sum(-2)


def nearest_wall_point(
    point: Float[Tensor, "*batch n 2"], centre: Float[Tensor, "*batch 1 2"], half: tuple[float, float]
) -> Float[Tensor, "*batch n 2"]:
    """The nearest point of the outline of a box with sides along the axes and half sizes ``half``.

    >>> box, half = torch.zeros(1, 2), (0.3, 0.3)
    >>> nearest_wall_point(torch.tensor([[0.2, 0.1], [0.5, 0.5]]), box, half)
    tensor([[0.3000, 0.1000],
            [0.3000, 0.3000]])
    """
    x, y = (point - centre).unbind(-1)
    gap_x, gap_y = half[0] - x.abs(), half[1] - y.abs()
    inside = (gap_x > 0) & (gap_y > 0)
    wall_x = torch.where(x < 0, -half[0], half[0])
    wall_y = torch.where(y < 0, -half[1], half[1])
    nearest_x = torch.where(inside & (gap_x <= gap_y), wall_x, x.clamp(-half[0], half[0]))
    nearest_y = torch.where(inside & (gap_x > gap_y), wall_y, y.clamp(-half[1], half[1]))
    return centre + torch.stack([nearest_x, nearest_y], -1)


def touches_box(
    point: Float[Tensor, "*batch n 2"], radius: float, centre: Float[Tensor, "*batch 1 2"], half: tuple[float, float]
) -> Bool[Tensor, "*batch n"]:
    """Whether a sphere is inside a box or touches its walls.

    >>> touches_box(torch.tensor([[0.2, 0.1], [0.35, 0.0], [0.5, 0.5]]), 0.1, torch.zeros(1, 2), (0.3, 0.3))
    tensor([ True,  True, False])
    """
    wall = nearest_wall_point(point, centre, half)
    inside = torch.linalg.vector_norm(point - centre, dim=-1) < torch.linalg.vector_norm(wall - centre, dim=-1)
    return inside | (torch.linalg.vector_norm(point - wall, dim=-1) < radius + WALL)


def batch_last(tensor: Float[Tensor, "*batch n 2"]) -> Float[Tensor, "*batch n 2"]:
    """The same numbers in the same shape, neighbours in memory from one environment to the next.

    A processor computes several environments at once that way, where ``n`` and ``2`` alone would not fill its lanes;
    what is computed from such tensors element by element is laid out alike.

    >>> batch_last(torch.zeros(100, 4, 2)).stride()
    (1, 200, 100)
    """
    return tensor.movedim((-2, -1), (0, 1)).contiguous().movedim((0, 1), (-2, -1))
