r"""The physics the tasks share: points with drag, spheres that push each other and the walls of a hollow box.

A step of ``DT`` seconds is cut into substeps of semi-implicit Euler, and drag acts once a step:
:math:`v \leftarrow (1-\text{drag})\,v`, then in each substep of length h :math:`v \leftarrow v + h f/m`,
:math:`x \leftarrow x + h v`.

Contacts are computed with x and y first and the worlds last, ``(2, n, worlds)``: neighbours in memory then need
the same computation, so that a processor does several at once (:func:`worlds_last`, :func:`worlds_first`).
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
    position: Float[Tensor, "*shape"],
    velocity: Float[Tensor, "*shape"],
    push: Float[Tensor, "*shape"],
    *,
    substeps: int = 1,
    contacts: Callable[[Tensor], Tensor] | None = None,
    mass: float | Float[Tensor, "n 1"] = 1.0,
    max_speed: Float[Tensor, "n 1"] | None = None,
    bound: float | None = None,
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """One step: the positions and velocities after ``push`` acts for ``DT`` seconds.

    ``contacts`` gives the forces among the bodies at their positions, anew in each substep. ``bound`` keeps both
    coordinates in ``[-bound, bound]``; it stops positions, not velocities. Any shape will do, unless bodies differ in
    mass or speed: then it is ``(2, n, worlds)``.

    >>> move(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[1.0, -1.0]]))
    (tensor([[ 0.0100, -0.0100]]), tensor([[ 0.1000, -0.1000]]))
    """
    h = DT / substeps
    gain = h / mass
    advance: Callable[..., tuple[Tensor, Tensor]] = _substep if contacts is None else _repeated_substep  # pyright: ignore
    velocity = velocity * (1 - DRAG)
    for _ in range(substeps):
        position, velocity = advance(position, velocity, push, contacts, gain, max_speed, h, bound)
    return position, velocity


def _substep(
    position: Float[Tensor, "*shape"],
    velocity: Float[Tensor, "*shape"],
    push: Float[Tensor, "*shape"],
    contacts: Callable[[Tensor], Tensor] | None,
    gain: float | Float[Tensor, "n 1"],
    max_speed: Float[Tensor, "n 1"] | None,
    h: float,
    bound: float | None,
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """A step of ``h`` seconds without drag; ``gain`` is h over the mass."""
    force = push if contacts is None else push + contacts(position)
    velocity = velocity + force * gain
    if max_speed is not None:
        velocity = limit_speed(velocity, max_speed)
    position = position + velocity * h
    if bound is not None:
        position = position.clamp(-bound, bound)
    return position, velocity


_repeated_substep = torch.compiler.nested_compile_region(_substep)
"""The same, which PyTorch's compiler compiles once and calls in each substep, instead of writing all of them out.

Contacts are so much to write that this is faster to compile; without them, a step is faster written out. PyTorch 2.13
fails on it with ``dynamic=True``, and in a compiled ``vmap``: compile without, and let leading dimensions be the batch.
"""


def length(vector: Float[Tensor, "2 *shape"]) -> Float[Tensor, "*shape"]:
    """Euclidean length, x and y first: many times faster than a reduction over two numbers.

    >>> length(torch.tensor([[3.0, 0.0], [4.0, 1.0]]))
    tensor([5., 1.])
    """
    x, y = vector
    return (x * x + y * y).sqrt()


def limit_speed(velocity: Float[Tensor, "2 n worlds"], limit: Float[Tensor, "n 1"]) -> Float[Tensor, "2 n worlds"]:
    """Velocities shortened to at most ``limit``.

    >>> limit_speed(torch.tensor([[[3.0], [0.0]], [[4.0], [0.5]]]), torch.ones(2, 1)).mT
    tensor([[[0.6000, 0.0000]],
    <BLANKLINE>
            [[0.8000, 0.5000]]])
    """
    speed = length(velocity)
    return velocity * torch.where(speed > limit, limit / speed, 1.0)


def repulsion(
    apart: Float[Tensor, "2 *pairs"], reach: float | Float[Tensor, "*#pairs"], stiffness: float, margin: float
) -> Float[Tensor, "2 *pairs"]:
    r"""Force on the first body of each pair, ``apart`` from the second, while they are within ``reach``.

    :math:`f = \text{stiffness}\cdot m\log(1+e^{(\text{reach}-d)/m})\,\hat{d}` with d the distance and m the margin: a
    spring with a soft start.

    >>> repulsion(torch.tensor([[0.5, 2.0], [0.0, 0.0]]), reach=1.0, stiffness=10.0, margin=1e-3)
    tensor([[5., 0.],
            [0., 0.]])
    """
    distance = length(apart)
    depth = (reach - distance) / margin
    # endless distance, no force: what a body that coincides with another one feels
    distance = torch.where(distance < COINCIDENT, torch.inf, distance)
    return apart * torch.where(depth >= 0, stiffness * (margin * F.softplus(depth)) / distance, 0.0)


def sphere_contacts(
    position: Float[Tensor, "2 n worlds"],
    others: Float[Tensor, "2 m worlds"],
    reach: float | Float[Tensor, "n m 1"],
    stiffness: float,
    margin: float,
) -> Float[Tensor, "2 n worlds"]:
    """Force on each sphere from all the ``others``; a sphere that is itself among them feels nothing from itself.

    ``reach`` is the sum of the radii of a pair.

    >>> pair = torch.tensor([[[0.0], [0.5]], [[0.0], [0.0]]])
    >>> sphere_contacts(pair, pair, reach=1.0, stiffness=10.0, margin=1e-3)[0]
    tensor([[-5.],
            [ 5.]])
    """
    return repulsion(position[:, :, None] - others[:, None], reach, stiffness, margin).sum(2)


def nearest_wall_point(
    point: Float[Tensor, "2 *shape"], centre: Float[Tensor, "2 *#shape"], half: tuple[float, float]
) -> Float[Tensor, "2 *shape"]:
    """The nearest point of the outline of a box with sides along the axes and half sizes ``half``.

    >>> nearest_wall_point(torch.tensor([[0.2, 0.5], [0.1, 0.5]]), torch.zeros(2, 1), (0.3, 0.3))
    tensor([[0.3000, 0.3000],
            [0.1000, 0.3000]])
    """
    x, y = point - centre
    gap_x, gap_y = half[0] - x.abs(), half[1] - y.abs()
    inside = (gap_x > 0) & (gap_y > 0)
    wall_x = torch.where(x < 0, -half[0], half[0])
    wall_y = torch.where(y < 0, -half[1], half[1])
    nearest_x = torch.where(inside & (gap_x <= gap_y), wall_x, x.clamp(-half[0], half[0]))
    nearest_y = torch.where(inside & (gap_x > gap_y), wall_y, y.clamp(-half[1], half[1]))
    return centre + torch.stack([nearest_x, nearest_y])


def touches_box(
    point: Float[Tensor, "2 *shape"], radius: float, centre: Float[Tensor, "2 *shape"], half: tuple[float, float]
) -> Bool[Tensor, "*shape"]:
    """Whether a sphere is inside a box or touches its walls.

    >>> touches_box(torch.tensor([[0.2, 0.35, 0.5], [0.1, 0.0, 0.5]]), 0.1, torch.zeros(2, 3), (0.3, 0.3))
    tensor([ True,  True, False])
    """
    wall = nearest_wall_point(point, centre, half)
    return (length(point - centre) < length(wall - centre)) | (length(point - wall) < radius + WALL)


def worlds_last(tensor: Float[Tensor, "*batch n 2"]) -> Float[Tensor, "2 n worlds"]:
    """The layout of contacts, all batch dimensions as one.

    >>> worlds_last(torch.zeros(3, 100, 4, 2)).shape
    torch.Size([2, 4, 300])
    """
    return tensor.flatten(end_dim=-3).permute(2, 1, 0).contiguous() if tensor.ndim > 2 else tensor.mT[..., None]


def worlds_first(tensor: Float[Tensor, "2 n worlds"], batch: tuple[int, ...]) -> Float[Tensor, "*batch n 2"]:
    """Back from :func:`worlds_last`.

    >>> worlds_first(torch.zeros(2, 4, 300), (3, 100)).shape
    torch.Size([3, 100, 4, 2])
    """
    return tensor.permute(2, 1, 0).reshape(*batch, *tensor.shape[1::-1]).contiguous()
