r"""The largest SND that deterministic policies can have in an action box (app:max_snd).

The problem maximises a convex function, so it is not a convex problem, but its maximum lies at vertices of the box:
with all others held, an agent's sum of distances is convex in its own action. What remains is how many agents to
put on each vertex. For few combinations all are tried. For more, as many agents as can be are spread evenly, which is
the best for them; the rest are moved one at a time while that helps, and an upper bound tells how far from the maximum
the result can be at most.
"""

import itertools
import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import Vector, check_box, check_positive

ENUMERABLE = 2_000_000
"""All ways to place the agents are tried if writing them down takes no more numbers than this."""
MAX_VERTEX_AXES = 10
"""Up to so many action components an agent may move to any vertex; beyond, along one of them or to the opposite one."""
STARTS = 8
FEW = 1000
"""Up to so many agents, all of them are moved; of more, those that are not evenly spread."""
SEARCHABLE = 5_000
"""Agents times action components, where these are too many for a list of vertices, that a search ends for in time."""
MOST_NUMBERS = 10**8
"""Agents times action components that there is room for."""


@dataclass(frozen=True)
class MaxSND:
    """The result of :func:`max_snd`."""

    value: float
    """The SND of ``actions``: attained, so the maximum is no less."""
    upper_bound: float
    """Proven: the maximum is no more. Equal to ``value`` where that is exact."""
    actions: Float[Tensor, "n m"]
    """One action per agent that attains ``value``."""

    @property
    def exact(self) -> bool:
        """Whether ``value`` is the maximum, up to rounding."""
        return self.upper_bound <= self.value * (1 + 1e-12)


def max_snd(n_agents: int, low: Vector, high: Vector) -> MaxSND:
    r"""Maximise :math:`\frac{2}{n(n-1)}\sum_{i<j}\|\mu_i-\mu_j\|_2` over :math:`a_{min}\le\mu_i\le a_{max}`.

    Args:
        n_agents: how many agents.
        low: the box, the least of each action component.
        high: the greatest of each.

    Returns:
        The greatest value, an upper bound on it, and actions that attain it; ``exact`` if value and bound are the same.

    References:
        Bettini et al., ICML 2024: app:max_snd.

    >>> best = max_snd(4, [-1, -1], [1, 1])
    >>> round(best.value, 4), best.exact
    (2.2761, True)
    """
    check_positive("n_agents", n_agents)
    low, high = (torch.tensor(corner, dtype=torch.float64) for corner in check_box(low, high))
    sides = high - low
    if n_agents == 1:
        return MaxSND(0.0, 0.0, low[None])
    m = len(sides)
    _check_size(n_agents, m)
    # Reflections map the box to itself, so one agent may be held on the first vertex.
    ways = math.comb(2**m + n_agents - 2, n_agents - 1) if m <= MAX_VERTEX_AXES else math.inf
    if ways * (n_agents + 2**m) <= ENUMERABLE:
        corners = _enumerate(n_agents, sides)
        value = upper_bound = _snd(corners, sides)
    else:
        corners = _spread(n_agents, sides) if m <= MAX_VERTEX_AXES else _search(_starts(n_agents, m), sides)
        value = _snd(corners, sides)
        upper_bound = max(value, snd_upper_bound(n_agents, low, high))
    return MaxSND(value, upper_bound, torch.where(corners, high, low))


def snd_upper_bound(n_agents: int, low: Vector, high: Vector) -> float:
    r"""A value that the SND of n agents in the box cannot exceed, the smaller of two, with side lengths :math:`L_k`:

    - :math:`\frac{n}{n-1}E\|V-W\|` over independent uniform vertices V, W; tight when :math:`2^m` divides n;
    - :math:`\sqrt{\sum_k L_k^2 \cdot 2\lfloor n/2\rfloor\lceil n/2\rceil / (n(n-1))}`; tight for two agents.

    >>> round(snd_upper_bound(2, [-1, -1], [1, 1]), 4)
    2.8284
    """
    check_positive("n_agents", n_agents)
    if n_agents == 1:
        return 0.0
    squares = [(b - a) ** 2 for a, b in zip(*check_box(low, high), strict=True)]
    if len(squares) <= MAX_VERTEX_AXES:
        lengths = [math.sqrt(sum(chosen)) for chosen in itertools.product(*((0.0, square) for square in squares))]
        expected = sum(lengths) / len(lengths)
    else:  # by Jensen's inequality no less than the expectation
        expected = math.sqrt(sum(squares) / 2)
    n, half = n_agents, n_agents // 2
    split = sum(squares) * 2 * half * (n - half) / (n * (n - 1))
    return min(expected * n / (n - 1), math.sqrt(split))


def _vertices(m: int) -> Bool[Tensor, "vertices m"]:
    return (torch.arange(2**m)[:, None] >> torch.arange(m)) & 1 == 1


def _distances(a: Bool[Tensor, "*a m"], b: Bool[Tensor, "*b m"], sides: Float[Tensor, " m"]) -> Tensor:
    return ((a[..., :, None, :] != b[..., None, :, :]).double() @ sides.square()).sqrt()


def _snd(corners: Bool[Tensor, "n m"], sides: Float[Tensor, " m"]) -> float:
    n = len(corners)
    places, counts = corners.unique(dim=0, return_counts=True)
    counts = counts.double()
    return (counts @ _distances(places, places, sides) @ counts).item() / (n * (n - 1))


def _enumerate(n: int, sides: Float[Tensor, " m"]) -> Bool[Tensor, "n m"]:
    vertices = _vertices(len(sides))
    between = _distances(vertices, vertices, sides)
    others = torch.tensor(list(itertools.combinations_with_replacement(range(len(vertices)), n - 1)))
    placed = torch.nn.functional.pad(others, (1, 0))
    counts = torch.zeros(len(placed), len(vertices), dtype=torch.float64)
    counts.scatter_add_(1, placed, torch.ones_like(placed, dtype=torch.float64))
    total = ((counts @ between) * counts).sum(1)
    return vertices[placed[total.argmax()]]


def _spread(n: int, sides: Float[Tensor, " m"]) -> Bool[Tensor, "n m"]:
    """As many agents on each vertex as on every other, then the rest.

    Seen from everywhere the former are equally far, so where the latter are best depends on them alone.
    """
    vertices = _vertices(len(sides))
    each, rest = divmod(n, len(vertices))
    evenly = vertices.repeat(each, 1)
    spread = torch.cat((evenly, _search(_starts(rest, len(sides)), sides))) if rest else evenly
    return _search([spread, *_starts(n, len(sides))], sides) if n <= FEW else spread


def _search(starts: list[Bool[Tensor, "n m"]], sides: Float[Tensor, " m"]) -> Bool[Tensor, "n m"]:
    """The best that was found from any of the starts."""
    search = _search_vertices if len(sides) <= MAX_VERTEX_AXES else _search_axes
    found = [search(start, sides) for start in starts]
    return max(found, key=lambda corners: _snd(corners, sides)) if len(starts[0]) > 1 else found[0]


def _starts(n: int, m: int) -> list[Bool[Tensor, "n m"]]:
    """Spread evenly over vertices and their opposites, then at random; the same every time."""
    generator = torch.Generator().manual_seed(0)
    half = (torch.arange((n + 1) // 2)[:, None] >> torch.arange(m).clamp(max=62)) & 1 == 1
    spread = torch.stack((half, ~half), 1).flatten(0, 1)[:n]
    return [spread, *(torch.rand(n, m, generator=generator) < 0.5 for _ in range(STARTS - 1))]


def _search_vertices(corners: Bool[Tensor, "n m"], sides: Float[Tensor, " m"]) -> Bool[Tensor, "n m"]:
    """Move one agent at a time to its best vertex until no move helps."""
    vertices = _vertices(len(sides))
    between = _distances(vertices, vertices, sides)
    placed = (corners.long() << torch.arange(len(sides))).sum(1)
    pull = between[placed].sum(0)  # the distance of all agents from each vertex
    moved = True
    while moved:
        moved = False
        for i, here in enumerate(placed.tolist()):
            others = pull - between[here]
            best = int(others.argmax())
            if others[best] > others[here] * (1 + 1e-12):
                placed[i], pull, moved = best, others + between[best], True
    return vertices[placed]


def _search_axes(corners: Bool[Tensor, "n m"], sides: Float[Tensor, " m"]) -> Bool[Tensor, "n m"]:
    """Move one agent at a time along an axis, or to the opposite vertex, until no move helps."""
    corners = corners.clone()
    n, m = corners.shape
    steps = torch.cat((torch.zeros(1, m), torch.eye(m), torch.ones(1, m))).bool()
    moved = True
    while moved:
        moved = False
        for i in range(n):
            reachable = corners[i] ^ steps
            others = torch.cat((corners[:i], corners[i + 1 :]))
            gain = _distances(reachable, others, sides).sum(1)
            best = int(gain.argmax())
            if gain[best] > gain[0] * (1 + 1e-12):
                corners[i] = reachable[best]
                moved = True
    return corners


def _check_size(n: int, m: int) -> None:
    most = (MOST_NUMBERS if m <= MAX_VERTEX_AXES else SEARCHABLE) // m
    if n > most:
        raise ValueError(
            f"n_agents must be at most {most} with {m} action components, got {n}: dico.bounds.snd_upper_bound has an "
            "upper bound for any number"
        )
