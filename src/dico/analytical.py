"""Analytical DiCo: diversity that is guaranteed over a whole box of observations (app:finn)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from dico._building import check_coordinates, corners, mlp_networks
from dico._checks import Value, Vector, check_box, check_choice, check_positive
from dico._inputs import check_obs, check_weight, check_widths
from dico.constraints import Constraint, Goal, let_inward
from dico.density import AutoregressiveDensity
from dico.finn import MAX_INPUTS, FixedIntegralNetwork
from dico.kinds import KINDS
from dico.metrics import Metric, snd, snd_at
from dico.policy import DiCo, Estimated, Terms

Density = Literal["autoregressive", "finn", "finn-signed"]
"""The names of ``DENSITIES``, for signatures."""
DENSITIES: dict[str, Callable[..., nn.Module]] = {
    "autoregressive": AutoregressiveDensity,
    "finn": FixedIntegralNetwork,
    "finn-signed": partial(FixedIntegralNetwork, signed=True),
}
"""What may say where diversity goes, by name; called with the number of coordinates and ``members``."""
SMOOTHING = 0.1
"""Gradients treat agents as no nearer to each other than this share of the kept estimate."""
COINCIDENT = 1e-6
"""Agents that differ by less than this are taken for alike: single precision hardly tells them apart."""
POINTS_AT_A_TIME = 2**12
"""Of the box, so that measuring a population there takes little memory."""


class AnalyticalDiCo(DiCo):
    r"""A team's policies whose diversity, averaged over a box of observations, is the desired one (eq:finn_pi).

    .. math::
        \pi_i(o) = \pi_h(o) + \frac{f(o)}{\mathrm{SND}_o(o)}\,\bar\pi_{h,i}(o),\qquad
        f(o) = \mathrm{SND}_{des}\,q(u(o)),\qquad u(o) = \frac{o - o_{low}}{o_{high} - o_{low}}

    The agents' outputs at o differ by :math:`\mathrm{SND}_o = f(o)` (eq:finn_f). q is a density on the unit cube that
    is learned with the policies: it decides where diversity goes, and :math:`\mathrm{SND}_I` (eq:snd_continuous), the
    mean of f over the box, is :math:`\mathrm{SND}_{des}` whatever has been learned. On rollouts, which do not fill the
    box evenly, the measured SND is another. Choose a tight box: q may place diversity where nobody ever goes.
    Observations outside it count as the nearest in it, for q alone; :meth:`outside` counts them.

    It is called as :class:`~dico.policy.DiCo`. Acting takes all n deviation networks at an agent's observation, because
    :math:`\mathrm{SND}_o` does. The networks must treat rows one by one for the integral to be over o.

    **Estimate.** ``estimate``, ``commit_``, ``snd_hat`` and ``scale`` mean what they do in DiCo, the diversity of the
    unscaled deviations on batches and the factor that would bring this to the desired one, but only tell: no output
    depends on them, and ``estimate`` has no gradient. The policies' gradient is the formula's, and ``gradient``, which
    is taken as DiCo takes it, makes no difference.

    **Centring.** :math:`\bar\pi_{h,i}` is the deviation less what all agents have in common at o: the mean of their
    means, and of their standard deviations the least (so that none gets below the shared one). SND is the same, and
    no mean moves by more than :math:`\frac{n-1}{2}f(o)`, however small :math:`\mathrm{SND}_o` is. Below 1e-6 it is too
    small to scale by: there, at few observations of networks that differ at all, agents differ by less than f(o).

    **Smoothing.** The formula's gradient grows as :math:`1/\mathrm{SND}_o` towards where agents agree, and for two
    agents with one action it is 0 elsewhere: they could never change sides. So outputs are the formula's, exactly, and
    gradients those of :math:`f\,\bar\pi_{h,i}/\sqrt{\mathrm{SND}_o^2+\epsilon^2}`, with :math:`\epsilon` a tenth of
    ``snd_hat``: finite where all agents coincide, and within about a percent where :math:`\mathrm{SND}_o` is
    ``snd_hat`` or more. Outputs smoothed in this way would fall half a percent short of the desired diversity.

    **Inequalities** hold at each observation: :math:`f=\mathrm{clamp}(\mathrm{SND}_o,\,lo\,q,\,hi\,q)`, whose mean
    over the box is within [lo, hi] because that of q is 1. They exclude nothing that q can follow: deviations with an
    :math:`\mathrm{SND}_I` within the bounds keep their size by :math:`q=\mathrm{SND}_o/\mathrm{SND}_I`. A free
    member is :math:`\pi_h+\pi_{h,i}`, as in DiCo. A function g has no such form.

    Args:
        obs_low, obs_high: the box, one number per component of an observation.
        density: a name in ``DENSITIES``, or a module ``(*members, ..., d) -> (*members, ...)``.
        coordinates: the components of an observation that q depends on, all by default; it is uniform in the others.
        kind: ``deterministic``, ``shared_std`` or ``agent_std``.
        metric: only ``snd``: the formula needs a mean over observations.

    The others are those of :class:`~dico.policy.DiCo`.

    References:
        Bettini, Kortvelesy, Prorok, Controlling Behavioral Diversity in Multi-Agent Reinforcement Learning, ICML 2024,
        appendix on closed-form diversity; Kortvelesy, Fixed Integral Neural Networks, 2023.

    >>> policy = AnalyticalDiCo.mlp(3, 4, 2, 0.5, obs_low=[-1] * 4, obs_high=[1] * 4)
    >>> policy(torch.zeros(32, 3, 4)).shape
    torch.Size([32, 3, 2])
    >>> round(box_snd(policy, points=256).item(), 4)
    0.5
    """

    obs_low: Tensor
    obs_high: Tensor
    coordinates: Tensor | None

    def __init__(
        self,
        shared: nn.Module,
        deviations: nn.Module | Sequence[nn.Module],
        constraint: Goal | str | float,
        *,
        obs_low: Vector,
        obs_high: Vector,
        density: str | nn.Module = "autoregressive",
        coordinates: Sequence[int] | None = None,
        kind: str = "deterministic",
        tau: Value = 0.01,
        low: Vector | None = None,
        high: Vector | None = None,
        squash_shared: bool = False,
        gradient: Literal["soft", "detached", "straight_through"] = "soft",
        initial: Literal["batch", "desired"] = "batch",
        metric: str | Metric = "snd",
        members: Sequence[int] = (),
        n_agents: int | None = None,
    ):
        check_choice("kind", kind, [name for name in KINDS if name != "agent_std_paper"])
        super().__init__(
            shared, deviations, constraint,
            kind=kind, tau=tau, low=low, high=high, squash_shared=squash_shared,
            gradient=gradient, initial=initial, metric=metric, members=members, n_agents=n_agents,
        )  # fmt: skip
        if not isinstance(self.constraint, Constraint):
            raise ValueError(
                f"constraint must be bounds such as equal(0.3) for a box, got {constraint!r}; DiCo takes any g"
            )
        if self.metric.fn is not snd:
            raise ValueError(f"metric must be 'snd' for a box, got {metric!r}; DiCo controls any other")
        box = check_box(obs_low, obs_high, "obs_")
        obs_dim = getattr(self.deviations, "inputs", len(box[0]))
        if len(box[0]) != obs_dim:
            raise ValueError(f"obs_low and obs_high must hold obs_dim={obs_dim} numbers each, got {len(box[0])}")
        for name, corner in zip(("obs_low", "obs_high"), box, strict=True):
            self.register_buffer(name, torch.tensor(corner, dtype=torch.float64))
        chosen = None if coordinates is None else check_coordinates(coordinates, obs_dim)
        self.register_buffer("coordinates", None if chosen is None else torch.tensor(chosen), persistent=False)
        self._seen = list(range(obs_dim)) if chosen is None else chosen
        if isinstance(density, str):
            density = _named_density(density, len(chosen or box[0]), self.members)
        elif not isinstance(density, nn.Module):
            raise ValueError(f"density must be a module or one of {', '.join(map(repr, DENSITIES))}, got {density!r}")
        elif getattr(density, "inputs", len(self._seen)) != len(self._seen):
            raise ValueError(
                f"density must be of {len(self._seen)} coordinates, as is seen here, got one of {density.inputs}"
            )
        self.density = density

    @classmethod
    def mlp(  # pyright: ignore[reportIncompatibleMethodOverride]: a box is needed
        cls,
        n_agents: int,
        obs_dim: int,
        act_dim: int,
        constraint: Goal | str | float,
        *,
        obs_low: Vector,
        obs_high: Vector,
        density: str | nn.Module = "autoregressive",
        coordinates: Sequence[int] | None = None,
        kind: str = "deterministic",
        hidden: Sequence[int] = (256, 256),
        tau: Value = 0.01,
        low: Vector | None = None,
        high: Vector | None = None,
        squash_shared: bool = False,
        gradient: Literal["soft", "detached", "straight_through"] = "soft",
        initial: Literal["batch", "desired"] = "batch",
        metric: str | Metric = "snd",
        members: Sequence[int] = (),
    ) -> "AnalyticalDiCo":
        """The paper's networks, as :meth:`DiCo.mlp`.

        Args:
            obs_low, obs_high, density, coordinates: as in :class:`AnalyticalDiCo`.
            n_agents, obs_dim, act_dim, constraint, hidden: as in :meth:`DiCo.mlp`.
            kind, tau, low, high, squash_shared, gradient, initial, metric, members: as in :class:`~dico.policy.DiCo`.

        Returns:
            The policies.

        >>> box = {"obs_low": [-1] * 4, "obs_high": [1] * 4}
        >>> AnalyticalDiCo.mlp(2, 4, 2, 0.3, kind="shared_std", **box)(torch.zeros(10, 2, 4)).shape
        torch.Size([10, 2, 4])
        """
        shared, deviations = mlp_networks(n_agents, obs_dim, act_dim, kind, hidden, members)
        corners(low, high, squash_shared, act_dim)
        return cls(
            shared, deviations, constraint,
            obs_low=obs_low, obs_high=obs_high, density=density, coordinates=coordinates,
            kind=kind, tau=tau, low=low, high=high, squash_shared=squash_shared,
            gradient=gradient, initial=initial, metric=metric, members=members,
        )  # fmt: skip

    def forward(
        self, obs: Float[Tensor, "*batch n o"], snd_hat: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d"]:
        """Each agent's output at its own row; ``snd_hat`` in place of the current estimate, for the gradient alone."""
        check_obs(obs, self.members, self.deviations, per_agent=True)
        return _own(self._policies(obs, self._deviations_of_everyone(obs), snd_hat))

    def terms(self, obs: Float[Tensor, "*batch n o"]) -> Terms:
        """The terms of :meth:`forward`; the deviations are as f has them, so their factor is 1."""
        shared = self._homogeneous(obs)
        return Terms(shared, self(obs) - shared, torch.ones_like(self.snd_hat))

    @torch.no_grad()
    def estimate(
        self,
        obs: Float[Tensor, "*batch o"],
        offsets: Int[Tensor, "..."] | None = None,
        *,
        weight: Shaped[Tensor, "..."] | None = None,
        current: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*members"]:
        """Soft-updated diversity of the unscaled deviations, as :meth:`DiCo.estimate`, but without gradient."""
        return super().estimate(obs, offsets, weight=weight, current=current)

    def forward_and_estimate(
        self,
        obs: Float[Tensor, "*batch n o"],
        *,
        on: Float[Tensor, "*rows o"] | None = None,
        weight: Shaped[Tensor, "..."] | None = None,
        current: Float[Tensor, "..."] | None = None,
    ) -> Estimated:
        """``forward(obs)`` and ``estimate(obs)`` from one pass of the deviations, or ``estimate(on)`` apart."""
        check_obs(obs, self.members, self.deviations, per_agent=True)
        if on is not None:
            snd_hat = self.estimate(on, weight=weight, current=current)
            return Estimated(self(obs, snd_hat), snd_hat)
        check_weight(weight, obs, self.metric)
        everyone = self._deviations_of_everyone(obs)
        with torch.no_grad():
            snd_hat = self._soft_update(everyone, weight, current)
        return Estimated(_own(self._policies(obs, everyone, snd_hat)), snd_hat)

    def everyone(
        self, obs: Float[Tensor, "*batch o"], snd_hat: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*members obs n d"]:
        """Every agent's output at every row of ``obs``, scaled: its ``snd_at`` is f."""
        check_obs(obs, self.members, self.deviations)
        return self._flat(self._policies(obs, self._deviations_of_everyone(obs), snd_hat))

    def allocated(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch"]:
        r"""How much of the diversity q allots to each row, :math:`q(u(o))`: 1 on average over the box.

        Args:
            obs: any rows; those outside the box count as the nearest in it.

        Returns:
            A number above 0 for each row.
        """
        check_obs(obs, self.members, self.deviations)
        return self.density(self._unit(obs)).to(self.snd_hat.dtype)

    def unscaled(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch"]:
        r""":math:`\mathrm{SND}_o` of the deviations at each row (eq:sndhat_continuous), which f takes the place of.

        Args:
            obs: any rows.

        Returns:
            A diversity for each row.
        """
        check_obs(obs, self.members, self.deviations)
        return snd_at(self._deviations_of_everyone(obs))

    def outside(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*members"]:
        """The share of each member's rows that lie outside the box, where nothing is guaranteed.

        Args:
            obs: any rows.

        Returns:
            One for each member.

        >>> policy = AnalyticalDiCo.mlp(2, 1, 1, 0.3, obs_low=[-1], obs_high=[1])
        >>> policy.outside(torch.tensor([[0.5], [1.0], [1.5], [-9.0]]))
        tensor(0.5000)
        """
        check_obs(obs, self.members, self.deviations)
        beyond = ((obs < self.obs_low.to(obs.dtype)) | (obs > self.obs_high.to(obs.dtype))).any(-1)
        return beyond.to(self.snd_hat.dtype).reshape(*self.members, -1).mean(-1)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Weights tell which coordinates their density is of; that is no buffer, which optimisers would be told of."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}coordinates"] = torch.tensor(self._seen, device=self.obs_low.device)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Those of other coordinates are refused; of earlier versions, nobody knows."""
        saved = state_dict.pop(f"{prefix}coordinates", None)
        if type(saved) is Tensor and not saved.is_meta and (theirs := saved.tolist()) != self._seen:
            error_msgs.append(
                f"these are weights of a density of coordinates {theirs}, and this one is of {self._seen}: make the "
                f"policy with coordinates={theirs}"
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _unit(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch d"]:
        """The nearest points of the box, as the density sees them."""
        dtype = self.snd_hat.dtype
        low, high = self.obs_low.to(dtype), self.obs_high.to(dtype)
        u = (obs.to(dtype).clamp(low, high) - low) / (high - low)
        return u if self.coordinates is None else u.index_select(-1, self.coordinates)

    def _policies(
        self, obs: Float[Tensor, "*batch o"], everyone: Float[Tensor, "*batch n d"], snd_hat: Tensor | None
    ) -> Float[Tensor, "*batch n d"]:
        homogeneous = self._homogeneous(obs).unsqueeze(-2)
        if self.n_agents == 1:
            return self._scaled(homogeneous, everyone, snd_hat)
        check_widths(homogeneous, everyone, self.kind)
        raw = everyone.to(self.snd_hat.dtype)
        centred = self._centred(raw)
        measured, share = snd_at(centred), self.allocated(obs)
        constraint = cast(Constraint, self.constraint)
        lo, hi = (_per_row(bound, measured) for bound in (constraint.lo, constraint.hi))
        # a lower bound of 0 is none
        below, above = (lo > 0) & (measured <= lo * share), measured >= hi * share
        bound = torch.where(below, lo, torch.where(hi.isfinite(), hi, 0)) * share
        nearest = self.snd_hat if snd_hat is None else snd_hat.detach()
        nearest = (SMOOTHING * _per_row(nearest, measured)).clamp_min(COINCIDENT)
        smooth = torch.where(below | above, bound / (measured.square() + nearest.square()).sqrt(), 1)
        exact = torch.where(below | above, bound / measured.clamp_min(COINCIDENT), 1).detach()
        if smooth.requires_grad:
            smooth = let_inward(smooth, above & (lo < hi), below & (lo < hi))
        is_free = (lo == 0) & (hi == torch.inf)
        deviation = torch.where(is_free[..., None, None], raw, centred)
        scaled = smooth[..., None, None] * deviation
        scaled = scaled + (exact[..., None, None] * deviation - scaled).detach()
        return homogeneous + scaled.to(everyone.dtype)

    def _centred(self, deviations: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        if self.kind.deviation_width == 1:
            return deviations - deviations.mean(-2, keepdim=True)
        mean, std = deviations.chunk(2, -1)
        return torch.cat((mean - mean.mean(-2, keepdim=True), std - std.amin(-2, keepdim=True)), -1)


def mlp_policy(
    n_agents: int,
    obs_dim: int,
    act_dim: int,
    constraint: Goal | str | float,
    *,
    obs_box: tuple[Vector, Vector] | None,
    density: str,
    coordinates: Sequence[int] | None = None,
    **options: Any,
) -> DiCo:
    """:meth:`AnalyticalDiCo.mlp` over a box of observations, or :meth:`DiCo.mlp` where there is none.

    No ``coordinates`` are all of them.

    >>> type(mlp_policy(2, 1, 1, 0.3, obs_box=([-1], [1]), density="finn")).__name__
    'AnalyticalDiCo'
    """
    if obs_box is None:
        return DiCo.mlp(n_agents, obs_dim, act_dim, constraint, **options)
    low, high = obs_box
    over: dict[str, Any] = {"obs_low": low, "obs_high": high, "density": density}
    over["coordinates"] = coordinates or None
    return AnalyticalDiCo.mlp(n_agents, obs_dim, act_dim, constraint, **over, **options)


@torch.no_grad()
def box_snd(policy: AnalyticalDiCo, points: int = 2**14, seed: int = 0) -> Float[Tensor, "*members"]:
    r""":math:`\mathrm{SND}_I` (eq:snd_continuous) of each member's policies, by Sobol points over the box.

    Where a density can draw points, half of them lie as it says, the others evenly, and each counts the less the more
    of them there are: evenly spread points alone would miss the narrow peaks that a density may have.

    Args:
        policy: of one member or of a population.
        points: how many.
        seed: of the points.

    Returns:
        One for each member.

    >>> policy = AnalyticalDiCo.mlp(2, 4, 2, ">=0.3", obs_low=[0] * 4, obs_high=[9] * 4)
    >>> bool(box_snd(policy, points=256) >= 0.3)
    True
    """
    check_positive("points", points)
    sobol = torch.quasirandom.SobolEngine(len(policy.obs_low), scramble=True, seed=seed)
    unit = sobol.draw(points, dtype=torch.float64).to(policy.obs_low)
    total = torch.zeros(policy.members, dtype=torch.float64, device=unit.device)
    for some in unit.split(POINTS_AT_A_TIME):
        obs, density = _spread(policy, some.expand(*policy.members, *some.shape))
        total += (snd_at(policy.everyone(obs)).double() / density).sum(-1)
    return (total / points).to(policy.snd_hat.dtype)


def _spread(
    policy: AnalyticalDiCo, unit: Float[Tensor, "*members points o"]
) -> tuple[Float[Tensor, "*members points o"], Float[Tensor, "*members points"]]:
    """Observations of the box, made of even points, and how densely they lie at each, 1 being evenly."""
    low, high, density = policy.obs_low, policy.obs_high, policy.density
    points, dtype = unit.shape[-2], next(policy.parameters()).dtype
    if not isinstance(density, AutoregressiveDensity):
        return (low + (high - low) * unit).to(dtype), torch.ones_like(unit[..., 0])
    evenly = points - points // 2
    chosen = slice(None) if policy.coordinates is None else policy.coordinates
    unit = unit.clone()
    unit[..., evenly:, chosen] = density.draw(unit[..., evenly:, chosen])
    obs = (low + (high - low) * unit).to(dtype)
    return obs, (evenly + (points - evenly) * density.product(policy._unit(obs)).double()) / points


def _named_density(name: str, inputs: int, members: Sequence[int]) -> nn.Module:
    make = DENSITIES[check_choice("density", name, DENSITIES)]
    if name != "autoregressive" and inputs > MAX_INPUTS:
        raise ValueError(
            f"density={name!r} takes at most {MAX_INPUTS} observed numbers, got {inputs}: name some of them by "
            "coordinates, such as 0 1, or take density='autoregressive'"
        )
    return make(inputs, members=members)


def _own(params: Float[Tensor, "*batch n n d"]) -> Float[Tensor, "*batch n d"]:
    """Of every agent's output at every agent's row, each one's at its own."""
    return params.diagonal(dim1=-3, dim2=-2).movedim(-1, -2)


def _per_row(value: Float[Tensor, "..."], rows: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """A number for each member, as it broadcasts to its rows."""
    return value.to(rows.dtype).reshape(value.shape + (1,) * (rows.ndim - value.ndim))
