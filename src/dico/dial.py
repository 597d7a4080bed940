"""A dial: one set of networks for a range of desired diversities, turned when the policies act."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico._building import corners, mlp_networks
from dico._checks import check_diversity, check_number, numbers
from dico.constraints import Constraint, equal
from dico.kinds import KINDS
from dico.nets import AgentMLP, SharedMLP
from dico.policy import DiCo


class Dialled(nn.Module):
    """A network that is told the desired diversity beside each observation, as one more number.

    >>> nets = Dialled(AgentMLP(3, inputs=5, outputs=2), torch.tensor(0.3))
    >>> nets(torch.zeros(10, 3, 4)).shape
    torch.Size([10, 3, 2])
    """

    desired: Float[Tensor, "*members"]

    def __init__(self, network: SharedMLP | AgentMLP, desired: Float[Tensor, "*members"]):
        super().__init__()
        self.network, self.inputs = network, network.inputs - 1
        self.n_agents = getattr(network, "n_agents", 1)
        self.register_buffer("desired", desired.to(torch.get_default_dtype()).clone())

    def forward(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch d"]:
        """As the network has it: of each agent at its own row, or of the shared network at every row."""
        return self.network(self._told(obs))

    def everyone(self, obs: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch n d"]:
        """Every agent's network at every row."""
        return cast(AgentMLP, self.network).everyone(self._told(obs))

    def _told(self, obs: Tensor) -> Tensor:
        desired = self.desired.to(obs.dtype)
        desired = desired.reshape(desired.shape + (1,) * (obs.ndim - desired.ndim))
        return torch.cat((obs, desired.expand(*obs.shape[:-1], 1)), -1)


class DialDiCo(DiCo):
    r"""A team's policies for every desired diversity :math:`s` of a range, by the same networks.

    .. math:: \pi_i(o, s) = \pi_h(o, s)
        + \big(s/\widehat{\mathrm{SND}}(s)\big)^{1/p}\,\pi_{h,i}(o, s)

    The levels :math:`s_k` are trained side by side: it is a :class:`~dico.policy.DiCo` whose leading dimension is the
    levels, and whose networks are one and the same for all. Each level has an estimate of its own, so thm:scaling holds
    at every one. Observations are ``(levels, ..., n, o)``, some for each level. Make one with :meth:`mlp`.

    >>> dial = DialDiCo.mlp(n_agents=3, obs_dim=4, act_dim=2, levels=[0, 0.5, 1], tau=1.0)
    >>> obs = torch.randn(3, 32, 3, 4)
    >>> dial.commit_(dial.estimate(obs))
    >>> from dico import snd
    >>> [round(value, 4) for value in snd(dial.everyone(obs)).tolist()]
    [0.0, 0.5, 1.0]
    >>> round(snd(dial.at(0.5).everyone(obs[1])).item(), 4)  # to act with
    0.5
    """

    @classmethod
    def mlp(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        n_agents: int,
        obs_dim: int,
        act_dim: int,
        levels: Sequence[float],
        *,
        kind: str = "deterministic",
        hidden: Sequence[int] = (256, 256),
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
        squash_shared: bool = False,
        **options: Any,
    ) -> "DialDiCo":
        """The paper's networks with the desired diversity as one more input.

        Args:
            n_agents, obs_dim, act_dim, kind, hidden, low, high, squash_shared: as in :meth:`DiCo.mlp`.
            levels: the desired diversities that it is trained at, rising.
            **options: the other options of :class:`~dico.policy.DiCo`.

        Returns:
            The dial.
        """
        desired = _rising(levels)
        shared, deviations = mlp_networks(n_agents, obs_dim + 1, act_dim, kind, hidden, ())
        corners(low, high, squash_shared, act_dim)
        told = torch.tensor(desired)
        return cls(
            Dialled(shared, told), Dialled(deviations, told), equal(desired),
            kind=kind, low=low, high=high, squash_shared=squash_shared, members=(len(desired),), **options,
        )  # fmt: skip

    @property
    def levels(self) -> list[float]:
        """The desired diversities that it is trained at."""
        return cast(Constraint, self.constraint).lo.tolist()

    def at(self, snd: float) -> DiCo:
        r"""The policies at a desired diversity within the range, ready to act; networks are shared, not copied.

        Between two levels the estimate is interpolated: the diversity is then near the desired one, as far as that of
        the deviations is even between them; it is exact, as measured, at the levels themselves.

        Args:
            snd: the desired diversity.

        Returns:
            The policies; they go on sharing the dial's networks.
        """
        levels = self.levels
        check_number("snd", snd, levels[0], levels[-1])
        if not self.has_estimate.all():
            raise ValueError("at(snd) must come after an estimate of every level: dial.commit_(dial.estimate(obs))")
        k = min(bisect_right(levels, snd), len(levels) - 1)
        share = (snd - levels[k - 1]) / (levels[k] - levels[k - 1])
        shared, deviations = cast(Dialled, self.shared).network, cast(Dialled, self.deviations).network
        low, high = (None if corner is None else corner.tolist() for corner in (self.low, self.high))
        told = torch.tensor(float(snd))
        policy = DiCo(
            Dialled(shared, told), Dialled(deviations, told), snd,
            kind=next(name for name, kind in KINDS.items() if kind == self.kind), low=low, high=high,
            squash_shared=self.squash_shared, gradient=cast(Any, self.gradient), metric=self.metric,
        ).to(self.snd_hat.device)  # fmt: skip
        policy.snd_hat = policy.snd_hat.to(self.snd_hat.dtype)
        policy.commit_(torch.lerp(self.snd_hat[k - 1], self.snd_hat[k], share))
        return policy.eval()


def dialled_mlp(
    n_agents: int,
    obs_dim: int,
    act_dim: int,
    constraint: Constraint,
    *,
    kind: str,
    hidden: Sequence[int],
    members: Sequence[int],
    **options: Any,
) -> DiCo:
    """``DiCo.mlp`` with the desired diversity of each member as one more input; a trainer ties their networks.

    >>> policy = dialled_mlp(2, 4, 2, equal([0.0, 1.0]), kind="shared_std", hidden=(8,), members=(2,))
    >>> policy(torch.zeros(2, 9, 2, 4)).shape
    torch.Size([2, 9, 2, 4])
    """
    shared, deviations = mlp_networks(n_agents, obs_dim + 1, act_dim, kind, hidden, members)
    told = Dialled(shared, constraint.lo), Dialled(deviations, constraint.lo)
    return DiCo(*told, constraint, kind=kind, members=members, **options)


def _rising(levels: Sequence[float]) -> list[float]:
    check_diversity("levels", levels)
    found = numbers("levels", levels)
    if len(found) < 2 or any(a >= b for a, b in pairwise(found)):
        raise ValueError(f"levels must be two diversities or more, each greater than the one before, got {levels!r}")
    return found
