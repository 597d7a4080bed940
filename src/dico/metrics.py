r"""How differently a team behaves: :math:`W_2`, SND, and other system metrics.

Throughout, ``params`` has shape ``(..., obs, n, d)``: what each of ``n`` agents would output at each observation,
``d`` being action means alone, or means and standard deviations stacked. Every leading dimension is a batch.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from dico._checks import check_choice, check_positive, check_switch
from dico._pairs import mean_distances, pair_distance_sum, pair_distances, upper

MAX_CLIQUE_AGENTS = 14
"""Overlapping clusters are found among all 2^n subsets of agents; beyond this many agents that is too many."""


def pairwise_w2(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch pairs"]:
    r"""2-Wasserstein distance of every agent pair :math:`i<j`, in the order of ``torch.triu_indices(n, n, 1)``.

    For diagonal Gaussians (eq:wasserstein) :math:`W_2^2=\|\mu_i-\mu_j\|^2+\|\sigma_i-\sigma_j\|^2`:
    stack ``[mu, sigma]`` on the last axis, or pass ``mu`` alone if the policies are deterministic.

    Args:
        params: ``(..., n, d)``, one row for each agent.

    Returns:
        ``(..., n(n-1)/2)``, a distance for each pair.

    References:
        Bettini et al., ICML 2024: eq:wasserstein.

    >>> pairwise_w2(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    _check(params, "(..., n, d)")
    n = params.shape[-2]
    i, j = torch.triu_indices(n, n, 1, device=params.device)
    return torch.linalg.vector_norm(params[..., i, :] - params[..., j, :], dim=-1)


def snd_at(params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch"]:
    r"""Diversity at each observation: :math:`\mathrm{SND}_o=\frac{2}{n(n-1)}\sum_{i<j}W_2(\pi_i(o),\pi_j(o))`.

    The value of ``pairwise_w2(params).mean(-1)`` in memory linear in agents, forward and backward. One agent: 0.

    Args:
        params: ``(..., n, d)``, one row for each agent.

    Returns:
        ``(...)``, the mean distance of two agents at each observation.

    References:
        Bettini et al., ICML 2024: sec:case_study.

    >>> snd_at(torch.tensor([[[0.0], [1.0], [3.0]], [[2.0], [2.0], [2.0]]]))
    tensor([2., 0.])
    """
    _check(params, "(..., n, d)")
    n = params.shape[-2]
    return pair_distance_sum(params) * (2 / max(n * (n - 1), 1))


def snd(
    params: Float[Tensor, "*batch obs n d"],
    *,
    pairs: int | None = None,
    observations: int | None = None,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch"]:
    r"""System Neural Diversity (eq:snd): :math:`\frac{2}{n(n-1)|O|}\sum_{i<j}\sum_{o\in O}W_2(\pi_i(o),\pi_j(o))`.

    ``pairs=k`` averages over ``k`` random agent pairs and ``observations=m`` over ``m`` random observations, shared by
    the whole batch. Each is drawn uniformly, with replacement (the pairs' first agents take turns): unbiased, at a cost
    linear in ``k`` and ``m`` whatever the size of the team.

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.
        pairs: how many random pairs of agents to average over; all by default.
        observations: how many random observations to average over; all by default.
        generator: what the random ones are drawn by.

    Returns:
        ``(...)``, one number for each team.

    References:
        Bettini et al., ICML 2024: eq:snd. Bettini, Shankar and Prorok, *System Neural Diversity*, arXiv:2305.02128.

    >>> team = torch.tensor([[[0.0], [1.0], [3.0]], [[2.0], [2.0], [2.0]]])
    >>> snd(team)
    tensor(1.)
    >>> team = torch.zeros(10, 512, 2)
    >>> snd(team, pairs=512, generator=torch.Generator().manual_seed(0))
    tensor(0.)
    """
    _check(params, "(..., obs, n, d)")
    if observations is not None:
        check_positive("observations", observations)
        drawn = torch.randint(params.shape[-3], (observations,), generator=generator, device=params.device)
        params = params.index_select(-3, drawn)
    if pairs is None:
        return snd_at(params).mean(-1)
    check_positive("pairs", pairs)
    i, j = _random_pairs(params.shape[-2], pairs, generator, params.device)
    return pair_distances(params, i, j).mean(0).mean(-1)


def behavioural_distances(params: Float[Tensor, "*batch obs n d"]) -> Float[Tensor, "*batch n n"]:
    r"""The symmetric matrix of :math:`d(\pi_i,\pi_j)=\frac{1}{|O|}\sum_{o\in O}W_2(\pi_i(o),\pi_j(o))`.

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.

    Returns:
        ``(..., n, n)``, 0 on the diagonal.

    References:
        Bettini et al., ICML 2024: eq:snd.

    >>> behavioural_distances(torch.tensor([[[0.0], [1.0], [3.0]]]))
    tensor([[0., 1., 3.],
            [1., 0., 2.],
            [3., 2., 0.]])
    """
    _check(params, "(..., obs, n, d)")
    return mean_distances(params)


def max_distance(params: Float[Tensor, "*batch obs n d"]) -> Float[Tensor, "*batch"]:
    """Distance of the two agents that differ most.

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.

    Returns:
        ``(...)``.

    References:
        Bettini et al., ICML 2024: app:general_metric.

    >>> max_distance(torch.tensor([[[0.0], [1.0], [3.0]]]))
    tensor(3.)
    """
    return behavioural_distances(params).amax((-2, -1))


def min_distance(params: Float[Tensor, "*batch obs n d"]) -> Float[Tensor, "*batch"]:
    """Distance of the two agents that differ least.

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.

    Returns:
        ``(...)``; of one agent 0.

    References:
        Bettini et al., ICML 2024: app:general_metric.

    >>> min_distance(torch.tensor([[[0.0], [1.0], [3.0]]]))
    tensor(1.)
    """
    distances = behavioural_distances(params)
    if params.shape[-2] == 1:
        return distances[..., 0, 0]
    return upper(distances).amin(-1)


def det_root(params: Float[Tensor, "*batch obs n d"]) -> Float[Tensor, "*batch"]:
    r"""Root of the distance matrix's determinant, :math:`(|\det D|/(n-1))^{1/n}`: the distance if all are equal.

    The determinant itself, which app:general_metric suggests, has degree n in the deviations; the root has degree 1.
    Two agents that coincide make it 0, and its derivative, which is infinite there, is given as 0.

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.

    Returns:
        ``(...)``.

    References:
        Bettini et al., ICML 2024: app:general_metric.

    >>> round(det_root(torch.tensor([[[0.0, 0.0], [2.0, 0.0], [1.0, 3.0**0.5]]])).item(), 4)
    2.0
    """
    distances = behavioural_distances(params)
    n = params.shape[-2]
    regular = torch.linalg.slogdet(distances.detach())[1].isfinite()
    stand_in = torch.eye(n, dtype=params.dtype, device=params.device)
    log_det = torch.linalg.slogdet(torch.where(regular[..., None, None], distances, stand_in))[1]
    root = (log_det / n).exp() * max(n - 1, 1) ** (-1 / n)
    return torch.where(regular, root, torch.zeros_like(root))


def mst_length(params: Float[Tensor, "*batch obs n d"]) -> Float[Tensor, "*batch"]:
    r"""Total length of the minimum spanning tree over agents.

    One unit of length per cluster beyond the first and per unit of the linkage threshold h:
    :math:`\int_0^\infty \big(\sum_i 1/s_i(h) - 1\big)\,dh`, where :math:`s_i(h)` is the size of agent i's cluster.

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.

    Returns:
        ``(...)``.

    References:
        Bettini et al., ICML 2024: app:general_metric.

    >>> round(mst_length(torch.tensor([[[0.0], [1.0], [3.0]]])).item(), 4)
    3.0
    """
    n = params.shape[-2]
    size = torch.arange(1, n, dtype=params.dtype, device=params.device)
    return (_merge_steps(behavioural_distances(params)) * (1 / size - 1 / n)).sum((-2, -1))


def hse(
    params: Float[Tensor, "*batch obs n d"], *, clustering: Literal["single", "cliques"] = "single"
) -> Float[Tensor, "*batch"]:
    r"""Hierarchic social entropy :math:`\int_0^\infty H(h)\,dh`, in bits times distance.

    :math:`H(h)` is the entropy of the sizes of the clusters that a distance threshold h makes: ``"single"`` linkage,
    where clusters are disjoint, or Balch's overlapping clusters, the maximal ``"cliques"`` of agents pairwise
    within h (their sizes normalised to sum to 1; up to 14 agents).

    Args:
        params: ``(..., obs, n, d)``, what each agent would output at each observation: means, or means and standard
            deviations stacked.
        clustering: ``single`` or ``cliques``.

    Returns:
        ``(...)``.

    References:
        Bettini et al., ICML 2024: app:general_metric. Balch, *Hierarchic Social Entropy*, Autonomous Robots 8, 2000.

    >>> hse(torch.tensor([[[0.0], [1.0], [3.0]]]))
    tensor(2.5033)
    >>> hse(torch.tensor([[[0.0], [1.0], [3.0]]]), clustering="cliques")
    tensor(3.5033)
    """
    distances = behavioural_distances(params)
    n = params.shape[-2]
    check_choice("clustering", clustering, ("single", "cliques"))
    if clustering == "single":
        size = torch.arange(1, n, dtype=params.dtype, device=params.device)
        return (_merge_steps(distances) * torch.log2(n / size)).sum((-2, -1)) / n
    return _clique_entropy(distances)


@dataclass(frozen=True)
class Metric:
    r"""A system metric DiCo can control.

    Args:
        fn: called as :func:`snd`, ``fn(params)``.
        degree: p in :math:`M(\{\pi_h + c\,\pi_{h,i}\}) = c^p M(\{\pi_{h,i}\})`: thm:general_metric asks p = 1, and any
            p > 0 works with the scale :math:`(M_{des}/\widehat{M})^{1/p}`.
        of_means: it is made of distances averaged over observations, and of nothing else. Deviations multiplied by w at
            one observation then make that count w times, which is how :meth:`DiCo.estimate` weighs it; a metric that
            does not say so refuses weights.
        of_pairs: it is a mean over observations and pairs of agents, as SND is, so that some pairs at each observation
            will do for an estimate; a metric that does not say so refuses offsets.

    >>> METRICS["mean square"] = Metric(lambda params: pairwise_w2(params).square().mean((-2, -1)), degree=2)
    >>> METRICS.pop("mean square").degree
    2
    """

    fn: Callable[[Tensor], Tensor]
    degree: float = 1.0
    of_means: bool = False
    of_pairs: bool = False

    def __post_init__(self):
        if not callable(self.fn):
            raise ValueError(f"fn must be a function of params, as snd is, got {self.fn!r}")
        number = isinstance(self.degree, Real) and not isinstance(self.degree, bool)
        if not number or not 0 < self.degree < math.inf:
            raise ValueError(f"degree must be a finite number above 0, got {self.degree!r}")
        check_switch("of_means", self.of_means)
        check_switch("of_pairs", self.of_pairs)


METRICS: dict[str, Metric] = {
    "snd": Metric(snd, of_means=True, of_pairs=True),
    "hse": Metric(hse, of_means=True),
    "det_root": Metric(det_root, of_means=True),
    "max": Metric(max_distance, of_means=True),
    "min": Metric(min_distance, of_means=True),
    "mst": Metric(mst_length, of_means=True),
}
"""Metrics by name; add your own."""


def _merge_steps(distances: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n-1"]:
    """Entry (i, k-1): over how long a stretch of the linkage threshold agent i's cluster has k members.

    Two agents share a cluster from the threshold on that equals the least possible longest hop between them.
    """
    for k in range(distances.shape[-1]):
        via_k = torch.maximum(distances[..., :, k, None], distances[..., None, k, :])
        distances = torch.minimum(distances, via_k)
    return distances.sort(dim=-1).values.diff(dim=-1)


def _clique_entropy(distances: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch"]:
    n = distances.shape[-1]
    if n > MAX_CLIQUE_AGENTS:
        raise ValueError(f"clustering='cliques' allows at most {MAX_CLIQUE_AGENTS} agents, got {n}; use 'single'")
    subset = torch.arange(1, 2**n, device=distances.device)
    inside = (subset[:, None] >> torch.arange(n, device=distances.device)) & 1 == 1  # (subsets, n)
    zero, infinity = distances.new_zeros(()), distances.new_full((), torch.inf)
    reach = torch.where(inside[:, None, :], distances[..., None, :, :], zero).amax(-1)  # farthest member, per agent
    diameter = torch.where(inside, reach, zero).amax(-1)
    grown = torch.where(inside, infinity, reach).amin(-1).maximum(diameter)  # diameter with one more agent
    level = torch.nn.functional.pad(upper(distances).sort(-1).values, (1, 0))
    threshold = level[..., :-1, None]  # the clusters stay the same from one level to the next
    clique = (diameter[..., None, :] <= threshold) & (threshold < grown[..., None, :])
    size = clique * inside.sum(-1).to(distances.dtype)
    bits = torch.special.entr(size / size.sum(-1, keepdim=True)).sum(-1) / math.log(2)
    return (bits * level.diff(dim=-1)).sum(-1)


def _random_pairs(n: int, count: int, generator: torch.Generator | None, device: torch.device) -> tuple[Tensor, Tensor]:
    """Uniform pairs; their first agents take turns, which lowers the variance and keeps each draw uniform."""
    if n == 1:
        alone = torch.zeros(count, dtype=torch.long, device=device)
        return alone, alone
    start = torch.randint(n, (1,), generator=generator, device=device)
    first = (start + torch.arange(count, device=device)) % n
    return first, (first + torch.randint(1, n, (count,), generator=generator, device=device)) % n


def _check(params: Tensor, form: str) -> None:
    if not isinstance(params, Tensor):
        raise ValueError(f"params must be a floating-point tensor {form}, got {params!r}")
    axes = form.count(",")
    if params.ndim < axes or 0 in params.shape[-axes:] or not params.is_floating_point():
        raise ValueError(
            f"params must be a floating-point tensor {form}, no axis empty, got {tuple(params.shape)} {params.dtype}"
        )
