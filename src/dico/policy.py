"""DiCo: policies whose diversity equals a chosen value."""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from dico._checks import (
    Precise,
    Value,
    Vector,
    check_box,
    check_choice,
    check_members,
    check_positive,
    check_tau,
    float64,
)
from dico.bounds import snd_upper_bound
from dico.constraints import Constraint, Goal, as_goal
from dico.kinds import KINDS
from dico.metrics import METRICS, Metric
from dico.nets import AgentMLP, Broadcast, Deviations, PerAgent, SharedMLP, at_offsets

GRADIENTS = ("soft", "detached", "straight_through")
INITIALS = ("batch", "desired")
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
SMALLEST = 1e-8
"""Measured diversity counts as no less than this, so that the scale stays finite where all agents coincide."""


class Estimated(NamedTuple):
    """What one training pass gives."""

    params: Tensor
    """Each agent's output at its own observation: ``(*members, ..., n, d)``."""
    snd_hat: Tensor
    """The estimate the outputs were scaled with: ``(*members)``; hand it to :meth:`DiCo.commit_`."""


class DiCo(Precise):
    r"""A team's policies, scaled to a desired diversity (eq:scaled_policies).

    .. math:: \pi_i(o) = \pi_h(o) + \big(g(\widehat{\mathrm{SND}})/\widehat{\mathrm{SND}}\big)^{1/p}\,\pi_{h,i}(o)

    ``shared`` maps ``(*members, ..., o)`` to the shared output. ``deviations`` is a sequence of n networks, one per
    agent (see :class:`~dico.nets.PerAgent`); or a module ``(..., n, o) -> (..., n, d)`` that sends row i through agent
    i's network, with a method ``everyone`` that sends every row through every network,
    ``(..., o) -> (..., n, d)``. A module without that method is shown each row n times, as ``(..., n, n, o)``: right
    for networks that treat rows one by one (then pass ``n_agents``).

    The estimate :math:`\widehat{\mathrm{SND}}` is kept between batches. :meth:`commit_` alone writes it; everything
    else is pure, compiles with ``fullgraph=True`` and reads no value back to Python.

    Args:
        shared: the homogeneous network :math:`\pi_h`.
        deviations: the per-agent networks :math:`\pi_{h,i}`.
        constraint: g; a :class:`~dico.constraints.Constraint`, a number (equal to it), a text or any callable.
        kind: ``deterministic``, ``shared_std``, ``agent_std`` or ``agent_std_paper`` (:mod:`dico.kinds`).
        tau: soft update in [0, 1], a number or one per member; 1 makes thm:scaling exact on the batch.
        low, high: the action box, one number per action component.
        squash_shared: bring the shared mean into the box by a tanh.
        gradient: how it flows through the estimate. ``soft``: through the new batch's share tau, as in the original;
            ``detached``: not at all; ``straight_through``: in full, the value being the soft one.
        initial: the first training pass takes its estimate from its ``batch``, or the ``desired`` value (alg:cbd): the
            lower bound, else the upper one, else 1, as for ``free`` and for a callable g. The soft update begins with
            the second.
        metric: a name in ``dico.METRICS``, or a ``Metric``; its degree p is taken into account.
        members: leading dimensions of the networks' parameters; a population of policies in one module. A state dict
            holds the constraint and the estimate too, and loading one replaces them.
        n_agents: only for a ``deviations`` module that does not say.

    >>> policy = DiCo.mlp(n_agents=3, obs_dim=4, act_dim=2, constraint=0.5, tau=1.0)
    >>> obs = torch.randn(32, 3, 4)
    >>> actions, snd_hat = policy.forward_and_estimate(obs)
    >>> policy.commit_(snd_hat)
    >>> from dico import snd
    >>> round(snd(policy.everyone(obs)).item(), 4)
    0.5
    """

    snd_hat: Tensor
    has_estimate: Tensor
    tau: Tensor
    low: Tensor | None
    high: Tensor | None

    def __init__(
        self,
        shared: nn.Module,
        deviations: nn.Module | Sequence[nn.Module],
        constraint: Goal | str | float,
        *,
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
        super().__init__()
        self.shared = shared
        self.deviations = _as_deviations(deviations, n_agents)
        self.n_agents: int = self.deviations.n_agents
        self.members = tuple(members)
        self.constraint = as_goal(constraint)
        self.kind = KINDS[check_choice("kind", kind, KINDS)]
        self.gradient = check_choice("gradient", gradient, GRADIENTS)
        self.metric = metric if isinstance(metric, Metric) else METRICS[check_choice("metric", metric, METRICS)]
        self.squash_shared = squash_shared
        if isinstance(self.constraint, Constraint):
            check_members("constraint", self.constraint.lo, self.members)
        if squash_shared and (low is None or high is None):
            raise ValueError(f"squash_shared=True needs low and high, the action box, got low={low} and high={high}")
        if (low is None) != (high is None):
            raise ValueError(f"low and high must be given together, got low={low} and high={high}")
        corners = (None, None) if low is None or high is None else map(torch.tensor, check_box(low, high))
        for name, corner in zip(("low", "high"), corners, strict=True):
            self.register_buffer(name, corner)
        check_tau(tau)
        self.register_buffer("tau", float64(tau).clone())
        check_members("tau", self.tau, self.members)
        # Our constraints leave their start as it is: the policies are unscaled until the first estimate.
        start = self.constraint.start() if isinstance(self.constraint, Constraint) else torch.ones(())
        self.register_buffer("snd_hat", start.expand(self.members).to(torch.get_default_dtype()).clone())
        self.register_buffer("has_estimate", torch.zeros(self.members, dtype=torch.bool))
        self.first_tau = 1.0 if check_choice("initial", initial, INITIALS) == "batch" else 0.0
        """How much of the first estimate is measured."""
        self._warn_if_out_of_reach(low, high)

    @classmethod
    def mlp(
        cls,
        n_agents: int,
        obs_dim: int,
        act_dim: int,
        constraint: Goal | str | float,
        *,
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
    ) -> "DiCo":
        """The paper's networks: tanh MLPs for the shared policy and for each agent's deviation.

        >>> DiCo.mlp(2, 4, 2, ">=0.3", kind="shared_std")(torch.zeros(10, 2, 4)).shape  # means and deviations
        torch.Size([10, 2, 4])
        """
        for name, size in (("n_agents", n_agents), ("obs_dim", obs_dim), ("act_dim", act_dim)):
            check_positive(name, size)
        for name, sizes in (("hidden", hidden), ("members", members)):
            if not isinstance(sizes, Sequence):
                raise ValueError(f"{name} must be a sequence of positive integers, got {sizes!r}")
            for size in sizes:
                check_positive(f"each of {name}", size)
        if low is not None and high is not None and len(check_box(low, high)[0]) != act_dim:
            raise ValueError(f"low and high must hold act_dim={act_dim} numbers each, got low={low} and high={high}")
        n_agents, obs_dim, act_dim = int(n_agents), int(obs_dim), int(act_dim)
        widths = KINDS[check_choice("kind", kind, KINDS)]
        return cls(
            SharedMLP(obs_dim, widths.shared_width * act_dim, hidden, members),
            AgentMLP(n_agents, obs_dim, widths.deviation_width * act_dim, hidden, members),
            constraint,
            kind=kind,
            tau=tau,
            low=low,
            high=high,
            squash_shared=squash_shared,
            gradient=gradient,
            initial=initial,
            metric=metric,
            members=members,
        )

    def forward(
        self, obs: Float[Tensor, "*batch n o"], snd_hat: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d"]:
        """Each agent's output at its own row; ``snd_hat`` in place of the kept estimate."""
        self._check_obs(obs, per_agent=True)
        return self._scaled(self._homogeneous(obs), self.kind.deviation(self.deviations(obs)), snd_hat)

    def estimate(
        self,
        obs: Float[Tensor, "*batch o"],
        offsets: Int[Tensor, "..."] | None = None,
        *,
        weight: Shaped[Tensor, "..."] | None = None,
        kept: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*members"]:
        r"""Soft-updated diversity of the unscaled deviations over all rows of ``obs``; differentiable, writes nothing.

        .. math:: \widehat{\mathrm{SND}} \leftarrow \tau\,\mathrm{SND}(\{\pi_{h,i}\}) + (1-\tau)\,\widehat{\mathrm{SND}}

        ``offsets``, ``(*members, ..., k)`` for observations ``(*members, ..., n, o)``, compares agents ``i + offsets``
        (modulo n) at row i, instead of all. With k different numbers below n, drawn at random for each team, every pair
        of agents is as likely at every row: SND stays unbiased, though no longer exact, and each network sees k
        rows of a team instead of n (see :func:`~dico.nets.at_offsets`).

        ``weight`` says how much each row of ``obs`` counts, all alike by default; ``True`` and ``False`` will do. Rows
        that pad a batch, or are of agents that no longer act, weigh 0 (they must be finite all the same); none weighs
        less, and some must weigh more. Its shape is that of ``obs`` without the last axis, or broadcasts to it: for
        teams ``(..., n, o)``, a weight of each team is ``(..., 1)``.

        ``kept`` is an estimate of just now, which is updated in place of the one that was committed.

        >>> policy, obs = DiCo.mlp(n_agents=20, obs_dim=4, act_dim=2, constraint=0.5), torch.randn(100, 20, 4)
        >>> offsets = torch.rand(100, 20).argsort(-1)[:, :2]  # a random pair of agents at each observation
        >>> bool((policy.estimate(obs, offsets) / policy.estimate(obs) - 1).abs() < 0.1)
        True
        >>> first = torch.arange(100)[:, None] < 60  # of the teams: (100, 1)
        >>> torch.allclose(policy.estimate(obs, weight=first), policy.estimate(obs[:60]))
        True
        """
        self._check_obs(obs, per_agent=offsets is not None)
        self._check_weight(weight, obs)
        if offsets is None:
            return self._soft_update(self._deviations_of_everyone(obs), weight, kept)
        self._check_offsets(offsets, obs)
        return self._soft_update(self.kind.deviation(at_offsets(self.deviations, obs, offsets)), weight, kept)

    def forward_and_estimate(
        self,
        obs: Float[Tensor, "*batch n o"],
        *,
        weight: Shaped[Tensor, "..."] | None = None,
        kept: Float[Tensor, "..."] | None = None,
    ) -> Estimated:
        """A training forward: ``estimate(obs)`` and ``forward(obs, that estimate)`` from one pass of the deviations.

        An agent's output at its own row is one of those that the estimate is made of; it is not computed again.
        ``weight`` and ``kept`` are those of :meth:`estimate`.
        """
        self._check_obs(obs, per_agent=True)
        self._check_weight(weight, obs)
        everyone = self._deviations_of_everyone(obs)
        snd_hat = self._soft_update(everyone, weight, kept)
        own = everyone.diagonal(dim1=-3, dim2=-2).movedim(-1, -2)
        return Estimated(self._scaled(self._homogeneous(obs), own, snd_hat), snd_hat)

    def everyone(
        self, obs: Float[Tensor, "*batch o"], snd_hat: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*members obs n d"]:
        """Every agent's output at every row of ``obs``, scaled: what SND and the maps are computed from."""
        self._check_obs(obs)
        params = self._scaled(self._homogeneous(obs).unsqueeze(-2), self._deviations_of_everyone(obs), snd_hat)
        return self._flat(params)

    def commit_(self, snd_hat: Float[Tensor, "..."]) -> None:
        """Keep ``snd_hat`` as the estimate from now on: the only method that writes."""
        with torch.no_grad():
            check_members("snd_hat", snd_hat, self.members)
            measured = snd_hat.isfinite()  # an observation that is not finite leaves the estimate as it was
            self.snd_hat.copy_(torch.where(measured, snd_hat, self.snd_hat))
            self.has_estimate.logical_or_(measured)

    def scale(self, snd_hat: Float[Tensor, "..."] | None = None) -> Float[Tensor, "..."]:
        r"""The factor on the deviations, :math:`(g(\widehat{\mathrm{SND}})/\widehat{\mathrm{SND}})^{1/p}`.

        A lone agent has no diversity to scale: it is 1, or 0 for a desired 0, where the shared network acts alone (if
        that is a policy by itself, as in all kinds but ``agent_std_paper``).
        """
        x = self.snd_hat if snd_hat is None else snd_hat
        check_members("snd_hat", x, self.members)
        x = x.clamp_min(SMALLEST)
        desired = self.constraint(x)
        if self.n_agents == 1:
            whole = self.kind.shared_width == self.kind.width
            return torch.ones_like(x) * (desired != 0) if whole else torch.ones_like(x)
        scale = desired / x if self.metric.degree == 1 else (desired / x) ** (1 / self.metric.degree)
        return self.constraint.let_inside(scale, x) if isinstance(self.constraint, Constraint) else scale

    def _homogeneous(self, obs: Tensor) -> Tensor:
        params = self.kind.homogeneous(self.shared(obs))
        if not self.squash_shared:
            return params
        low, high = cast(Tensor, self.low).to(params.dtype), cast(Tensor, self.high).to(params.dtype)
        mean, rest = params.tensor_split([low.shape[-1]], -1)
        return torch.cat((low + (high - low) * (mean.tanh() + 1) / 2, rest), -1)

    def _deviations_of_everyone(self, obs: Tensor) -> Tensor:
        return self.kind.deviation(self.deviations.everyone(obs))

    def _scaled(self, homogeneous: Tensor, deviation: Tensor, snd_hat: Tensor | None) -> Tensor:
        if homogeneous.shape[-1] != deviation.shape[-1]:
            raise ValueError(
                f"shared and deviations must output {self.kind.shared_width} and {self.kind.deviation_width} numbers "
                f"per action component, got outputs that make {homogeneous.shape[-1]} and {deviation.shape[-1]} in all"
            )
        scale = self.scale(snd_hat)
        scale = scale.reshape(scale.shape + (1,) * (deviation.ndim - scale.ndim)).to(deviation.dtype)
        return homogeneous + scale * deviation

    def _soft_update(self, everyone: Tensor, weight: Tensor | None, kept: Tensor | None) -> Tensor:
        before = self.snd_hat if kept is None else kept
        everyone = everyone.to(before.dtype)
        if weight is not None:
            # deviations that are multiplied are as much farther apart
            everyone = self._shares(weight, everyone)[..., None, None] * everyone
        measured = self.metric.fn(self._flat(everyone))
        tau = self.tau.to(before.dtype)
        tau = torch.where(self.has_estimate, tau, self.first_tau) if kept is None else tau
        soft = torch.lerp(before, measured, tau)
        if self.gradient == "soft":
            return soft
        soft = soft.detach()
        if self.gradient == "detached":
            return soft
        measured_now = measured.detach().clamp_min(SMALLEST)
        return soft + soft / measured_now * (measured - measured.detach())

    def _shares(self, weight: Tensor, everyone: Float[Tensor, "*rows n d"]) -> Float[Tensor, "*rows"]:
        """Each row's weight, of mean 1 over a member's rows."""
        rows = everyone.shape[:-2]
        weight = weight.to(everyone.dtype).expand(rows)
        return weight / weight.mean(tuple(range(len(self.members), len(rows))), keepdim=True)

    def _flat(self, params: Tensor) -> Tensor:
        return params.reshape(*self.members, -1, *params.shape[-2:])

    def _check_obs(self, obs: Tensor, *, per_agent: bool = False) -> None:
        rows = (self.n_agents,) if per_agent else ()
        features = getattr(self.deviations, "inputs", obs.shape[-1] if obs.ndim else "features")
        k = len(self.members)
        fits = obs.ndim > k + len(rows) and obs.shape[:k] == self.members and obs.shape[-1] == features
        if not fits or (per_agent and obs.shape[-2:-1] != rows):
            form = ", ".join(map(str, (*self.members, "...", *rows, features)))
            raise ValueError(f"obs must have shape ({form}), got {tuple(obs.shape)}")
        if hasattr(self.deviations, "inputs") and not obs.is_floating_point():
            raise ValueError(f"obs must be a floating-point tensor, got {obs.dtype}")

    def _check_offsets(self, offsets: Tensor, obs: Tensor) -> None:
        if self.metric is not METRICS["snd"]:
            raise ValueError("offsets must be left out for this metric: only snd is a mean over pairs")
        fits = isinstance(offsets, Tensor) and offsets.ndim and offsets.shape[:-1] == obs.shape[:-2]
        if not fits or offsets.dtype not in INTEGERS or offsets.shape[-1] < 2:
            form = ", ".join(map(str, (*obs.shape[:-2], "k")))
            got = f"{tuple(offsets.shape)} {offsets.dtype}" if isinstance(offsets, Tensor) else repr(offsets)
            raise ValueError(f"offsets must be integers ({form}), k at least 2, got {got}")

    def _check_weight(self, weight: Tensor | None, obs: Tensor) -> None:
        if weight is None:
            return
        if not self.metric.of_means:
            raise ValueError("weight must be left out for this metric: it is not made of mean distances (of_means)")
        if not isinstance(weight, Tensor) or not _broadcasts(weight.shape, obs.shape[:-1]):
            got = tuple(weight.shape) if isinstance(weight, Tensor) else repr(weight)
            raise ValueError(f"weight must be a tensor that broadcasts to {tuple(obs.shape[:-1])}, got {got}")

    def _warn_if_out_of_reach(self, low: Vector | None, high: Vector | None) -> None:
        desired = getattr(self.constraint, "least", 0.0)
        if self.n_agents == 1:
            if desired > 0:
                warnings.warn(
                    f"a lone agent has no diversity: the desired {desired:g} changes nothing; it takes two agents, or "
                    "constraint='free'",
                    stacklevel=3,
                )
            return
        if low is None or high is None or self.kind.width > 1 or self.metric is not METRICS["snd"]:
            return
        bound = snd_upper_bound(self.n_agents, low, high)
        if desired > bound:
            warnings.warn(
                f"a desired diversity of {desired:g} is out of reach: {self.n_agents} agents in this action box have "
                f"an SND of at most {bound:.4g}; means will lie outside the box (see action_space_loss)",
                stacklevel=3,
            )


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    fits = [a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False)]
    return len(shape) <= len(to) and all(fits)


def _as_deviations(deviations: nn.Module | Sequence[nn.Module], n_agents: int | None) -> Deviations:
    if isinstance(deviations, nn.ModuleList) or not isinstance(deviations, nn.Module):
        deviations = PerAgent(deviations)
    n = getattr(deviations, "n_agents", n_agents)
    if not isinstance(n, int) or n < 1 or n_agents not in (None, n):
        raise ValueError(
            f"n_agents must be the number of deviation networks, at least 1, got n_agents={n_agents} for {n} networks"
        )
    return deviations if isinstance(deviations, Deviations) else Broadcast(deviations, n)
