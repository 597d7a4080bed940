"""DiCo: policies whose diversity equals a chosen value."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from dico._building import as_deviations, check_sizes, corners, mlp_networks, warn_if_out_of_reach
from dico._checks import Precise, Value, Vector, check_choice, check_members, check_switch, check_tau, float64
from dico._inputs import check_obs, check_offsets, check_weight, check_widths, shares
from dico.acting import actions_of, standard_normal
from dico.constraints import Constraint, Goal, as_goal, free
from dico.kinds import KINDS
from dico.metrics import METRICS, Metric
from dico.nets import at_offsets, own_and_everyone
from dico.squashed import squash

GRADIENTS = ("soft", "detached", "straight_through")
INITIALS = ("batch", "desired")
SMALLEST = 1e-8
"""Measured diversity counts as no less than this, so that the scale stays finite where all agents coincide."""


class Estimated(NamedTuple):
    """What one training pass gives."""

    params: Tensor
    """Each agent's output at its own observation: ``(*members, ..., n, d)``."""
    snd_hat: Tensor
    """The estimate the outputs were scaled with: ``(*members)``; hand it to :meth:`DiCo.commit_`."""


class Terms(NamedTuple):
    """What a policy's output is made of: ``shared + scale * deviation``."""

    shared: Tensor
    """What all agents would do: ``(*members, ..., n, d)``."""
    deviation: Tensor
    """What each agent does otherwise, as wide."""
    scale: Tensor
    """The factor on the deviations, ``(*members)``; another one turns the diversity up or down."""


class DiCo(Precise):
    r"""A team's policies, scaled to a desired diversity (eq:scaled_policies).

    .. math:: \pi_i(o) = \pi_h(o) + \big(g(\widehat{\mathrm{SND}})/\widehat{\mathrm{SND}}\big)^{1/p}\,\pi_{h,i}(o)

    ``shared`` maps ``(*members, ..., o)`` to the shared output. ``deviations`` is a sequence of n networks, one per
    agent (see :class:`~dico.nets.PerAgent`); or a module ``(..., n, o) -> (..., n, d)`` that sends row i through agent
    i's network, with a method ``everyone`` that sends every row through every network,
    ``(..., o) -> (..., n, d)``. A module without that method is shown each row n times, as ``(..., n, n, o)``: right
    for networks that treat rows one by one (then pass ``n_agents``); others, such as a GNN, are refused.

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
            the second. A desired 0 is nothing to start from: there it is the batch's.
        metric: a name in ``dico.METRICS``, or a ``Metric``; its degree p is taken into account.
        members: leading dimensions of the networks' parameters; a population of policies in one module. A state dict
            holds the constraint and the estimate too, and loading one replaces them.
        n_agents: only for a ``deviations`` module that does not say.

    References:
        Bettini, Kortvelesy, Prorok, Controlling Behavioral Diversity in Multi-Agent Reinforcement Learning, ICML 2024.

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
    first_tau: Tensor
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
        if not isinstance(shared, nn.Module):
            raise ValueError(f"shared must be a module, got {shared!r}")
        self.shared = shared
        self.deviations = as_deviations(deviations, n_agents)
        self.n_agents: int = self.deviations.n_agents
        check_sizes("members", members)
        self.members = tuple(members)
        self.constraint = as_goal(constraint)
        self.kind = KINDS[check_choice("kind", kind, KINDS)]
        self.gradient = check_choice("gradient", gradient, GRADIENTS)
        self.metric = metric if isinstance(metric, Metric) else METRICS[check_choice("metric", metric, METRICS)]
        self.squash_shared = squash_shared
        if isinstance(self.constraint, Constraint):
            check_members("constraint", self.constraint.lo, self.members)
        box = corners(low, high, squash_shared)
        for name, corner in zip(("low", "high"), box or (None, None), strict=True):
            self.register_buffer(name, None if corner is None else torch.tensor(corner))
        check_tau(tau)
        self.register_buffer("tau", float64(tau).clone())
        check_members("tau", self.tau, self.members)
        # Our constraints leave their start as it is: the policies are unscaled until the first estimate.
        bounds = self.constraint if isinstance(self.constraint, Constraint) else free()
        start = bounds.start()
        self.register_buffer("snd_hat", start.expand(self.members).to(torch.get_default_dtype()).clone())
        self.register_buffer("has_estimate", torch.zeros(self.members, dtype=torch.bool))
        # how much of the first estimate is measured: all of it where no diversity is desired that could be its start
        measured = torch.tensor(check_choice("initial", initial, INITIALS) == "batch")
        first_tau = (measured | (bounds.hi == 0)).expand(self.members)
        self.register_buffer("first_tau", first_tau.double(), persistent=False)
        warn_if_out_of_reach(getattr(self.constraint, "least", 0.0), self.n_agents, box, self.kind, self.metric)

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

        Args:
            n_agents, obs_dim, act_dim: the team, and what each agent sees and does.
            constraint: g.
            hidden: units of each hidden layer.
            kind, tau, low, high, squash_shared, gradient, initial, metric, members: as in :class:`DiCo`.

        Returns:
            The policies, unscaled until the first estimate.

        >>> DiCo.mlp(2, 4, 2, ">=0.3", kind="shared_std")(torch.zeros(10, 2, 4)).shape  # means and deviations
        torch.Size([10, 2, 4])
        """
        shared, deviations = mlp_networks(n_agents, obs_dim, act_dim, kind, hidden, members)
        corners(low, high, squash_shared, act_dim)
        return cls(
            shared, deviations, constraint,
            kind=kind, tau=tau, low=low, high=high, squash_shared=squash_shared,
            gradient=gradient, initial=initial, metric=metric, members=members,
        )  # fmt: skip

    def forward(
        self, obs: Float[Tensor, "*batch n o"], snd_hat: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch n d"]:
        """Each agent's output at its own row.

        Args:
            obs: what each agent of each team sees.
            snd_hat: an estimate to scale with in place of the current one.

        Returns:
            Means, or means and standard deviations joined, as the kind of policies has it.
        """
        check_obs(obs, self.members, self.deviations, per_agent=True)
        return self._scaled(self._homogeneous(obs), self.kind.deviation(self.deviations(obs)), snd_hat)

    def terms(self, obs: Float[Tensor, "*batch n o"]) -> Terms:
        """The terms of which :meth:`forward` is the sum, apart, so that diversity can be turned when acting."""
        check_obs(obs, self.members, self.deviations, per_agent=True)
        return Terms(self._homogeneous(obs), self.kind.deviation(self.deviations(obs)), self.scale())

    def _scaled(self, homogeneous: Tensor, deviation: Tensor, snd_hat: Tensor | None) -> Tensor:
        check_widths(homogeneous, deviation, self.kind)
        scale = self.scale(snd_hat)
        scale = scale.reshape(scale.shape + (1,) * (deviation.ndim - scale.ndim)).to(deviation.dtype)
        return homogeneous + scale * deviation

    def scale(self, snd_hat: Float[Tensor, "..."] | None = None) -> Float[Tensor, "..."]:
        r"""The factor on the deviations, :math:`(g(\widehat{\mathrm{SND}})/\widehat{\mathrm{SND}})^{1/p}`.

        A lone agent has no diversity to scale: it is 1, or 0 for a desired 0, where the shared network acts alone (if
        that is a policy by itself, as in all kinds but ``agent_std_paper``).

        Args:
            snd_hat: an estimate in place of the current one.

        Returns:
            One for each member.
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

    def estimate(
        self,
        obs: Float[Tensor, "*batch o"],
        offsets: Int[Tensor, "..."] | None = None,
        *,
        weight: Shaped[Tensor, "..."] | None = None,
        current: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*members"]:
        r"""Soft-updated diversity of the unscaled deviations over all rows of ``obs``; differentiable, writes nothing.

        .. math:: \widehat{\mathrm{SND}} \leftarrow \tau\,\mathrm{SND}(\{\pi_{h,i}\}) + (1-\tau)\,\widehat{\mathrm{SND}}

        Args:
            obs: any rows; of teams, each row is shown to all n agents.
            offsets: ``(*members, ..., k)`` for observations ``(*members, ..., n, o)``: compare agents ``i + offsets``
                (modulo n) at row i, instead of all. With k different numbers below n, drawn at random for each team,
                every pair of agents is as likely at every row: SND stays unbiased, though no longer exact, and each
                network sees k rows of a team instead of n (see :func:`~dico.nets.at_offsets`).
            weight: how much each row of ``obs`` counts, all alike by default; ``True`` and ``False`` will do. Rows
                that pad a batch, or are of agents that no longer act, weigh 0 (they must be finite all the same);
                none weighs less, and some must weigh more. Its shape is that of ``obs`` without the last axis, or
                broadcasts to it: for teams ``(..., n, o)``, a weight of each team is ``(..., 1)``.
            current: an estimate of just now, which is updated in place of the one that was committed.

        Returns:
            The new estimate of each member, for :meth:`commit_`.

        >>> policy, obs = DiCo.mlp(n_agents=20, obs_dim=4, act_dim=2, constraint=0.5), torch.randn(100, 20, 4)
        >>> offsets = torch.rand(100, 20).argsort(-1)[:, :2]  # a random pair of agents at each observation
        >>> bool((policy.estimate(obs, offsets) / policy.estimate(obs) - 1).abs() < 0.1)
        True
        >>> first = torch.arange(100)[:, None] < 60  # of the teams: (100, 1)
        >>> torch.allclose(policy.estimate(obs, weight=first), policy.estimate(obs[:60]))
        True
        """
        check_obs(obs, self.members, self.deviations, per_agent=offsets is not None)
        check_weight(weight, obs, self.metric)
        if offsets is None:
            return self._soft_update(self._deviations_of_everyone(obs), weight, current)
        check_offsets(offsets, obs, self.metric)
        return self._soft_update(self.kind.deviation(at_offsets(self.deviations, obs, offsets)), weight, current)

    def _soft_update(self, everyone: Tensor, weight: Tensor | None, current: Tensor | None) -> Tensor:
        before = self.snd_hat if current is None else current
        check_members("current", before, self.members)
        everyone = everyone.to(before.dtype)
        if weight is not None:
            # deviations that are multiplied are as much farther apart
            everyone = shares(weight, everyone, self.members)[..., None, None] * everyone
        measured = self.metric.fn(self._flat(everyone))
        tau = self.tau.to(before.dtype)
        tau = torch.where(self.has_estimate, tau, self.first_tau.to(before.dtype)) if current is None else tau
        return self._let_through(torch.lerp(before, measured, tau), measured)

    def _let_through(self, soft: Float[Tensor, "..."], measured: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The soft estimate, with the gradient that ``gradient`` names."""
        if self.gradient == "soft":
            return soft
        soft = soft.detach()
        if self.gradient == "detached":
            return soft
        measured_now = measured.detach().clamp_min(SMALLEST)
        return soft + soft / measured_now * (measured - measured.detach())

    def forward_and_estimate(
        self,
        obs: Float[Tensor, "*batch n o"],
        *,
        on: Float[Tensor, "*rows o"] | None = None,
        weight: Shaped[Tensor, "..."] | None = None,
        current: Float[Tensor, "..."] | None = None,
    ) -> Estimated:
        """A training forward: ``estimate(obs)`` and ``forward(obs, that estimate)`` from one pass of the deviations.

        An agent's output at its own row is one of those that the estimate is made of; it is not computed again.

        Args:
            obs: what each agent of each team sees.
            on: other rows that the estimate is made on, in place of ``obs``.
            weight, current: as in :meth:`estimate`.

        Returns:
            ``params``, as :meth:`forward` has them, and ``snd_hat``, for :meth:`commit_`.
        """
        check_obs(obs, self.members, self.deviations, per_agent=True)
        if on is not None:
            check_obs(on, self.members, self.deviations)
        check_weight(weight, obs if on is None else on, self.metric)
        if on is None:
            everyone = self._deviations_of_everyone(obs)
            own = everyone.diagonal(dim1=-3, dim2=-2).movedim(-1, -2)
        else:
            own, everyone = map(self.kind.deviation, own_and_everyone(self.deviations, obs, on))
        snd_hat = self._soft_update(everyone, weight, current)
        return Estimated(self._scaled(self._homogeneous(obs), own, snd_hat), snd_hat)

    def everyone(
        self, obs: Float[Tensor, "*batch o"], snd_hat: Float[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*members obs n d"]:
        """Every agent's output at every row of ``obs``, scaled: what SND and the maps are computed from.

        Args:
            obs: any rows.
            snd_hat: an estimate to scale with in place of the current one.

        Returns:
            What :func:`~dico.metrics.snd` takes, all rows in one dimension.
        """
        check_obs(obs, self.members, self.deviations)
        params = self._scaled(self._homogeneous(obs).unsqueeze(-2), self._deviations_of_everyone(obs), snd_hat)
        return self._flat(params)

    @torch.no_grad()
    def act(
        self,
        obs: Float[Tensor, "*batch n o"],
        deterministic: bool = False,
        *,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "*batch n a"]:
        """Each agent's action at its own row, in the box: as in training, but without exploration of its own.

        Gaussian kinds sample, or act by the mean; both are squashed into the box. Deterministic kinds are clamped to
        it. It has no gradient.

        Args:
            obs: what each agent of each team sees.
            deterministic: Gaussian kinds act by the mean.
            generator: of the numbers that are sampled with.

        Returns:
            Actions between ``low`` and ``high``.

        >>> policy = DiCo.mlp(2, 4, 2, 0.3, kind="shared_std", low=[-1, -1], high=[1, 1])
        >>> policy.act(torch.zeros(10, 2, 4)).shape
        torch.Size([10, 2, 2])
        """
        if self.low is None or self.high is None:
            raise ValueError("act needs the action box: make the policy with low and high, such as low=[-1], high=[1]")
        check_switch("deterministic", deterministic)
        params = self(obs)
        draws = self.kind.width > 1 and not deterministic
        noise = standard_normal(params, self.low.shape[-1], generator) if draws else None
        return actions_of(params, self.kind, self.low.to(params.dtype), self.high.to(params.dtype), noise)

    def commit_(self, snd_hat: Float[Tensor, "..."]) -> None:
        """Keep an estimate from now on: the only method that writes.

        Args:
            snd_hat: what :meth:`estimate` gave; of members whose estimate is not finite, or of whose agents all do the
                same, the one before is kept: nothing could be scaled by it.
        """
        with torch.no_grad():
            check_members("snd_hat", snd_hat, self.members)
            measured = snd_hat.isfinite()  # an observation that is not finite leaves the estimate as it was
            if self.n_agents > 1:
                measured = measured & (snd_hat > SMALLEST)
            self.snd_hat.copy_(torch.where(measured, snd_hat, self.snd_hat))
            self.has_estimate.logical_or_(measured)

    def _homogeneous(self, obs: Tensor) -> Tensor:
        params = self.kind.homogeneous(self.shared(obs))
        if not self.squash_shared:
            return params
        low, high = cast(Tensor, self.low).to(params.dtype), cast(Tensor, self.high).to(params.dtype)
        mean, rest = params.tensor_split([low.shape[-1]], -1)
        return torch.cat((squash(mean, low, high), rest), -1)

    def _deviations_of_everyone(self, obs: Tensor) -> Tensor:
        return self.kind.deviation(self.deviations.everyone(obs))

    def _flat(self, params: Tensor) -> Tensor:
        return params.reshape(*self.members, -1, *params.shape[-2:])
