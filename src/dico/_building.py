"""What a policy is built of: its networks, its action box, and whether what it should do is within reach."""

import warnings
from collections.abc import Iterable, Sequence

from torch import nn

from dico._checks import Vector, check_box, check_choice, check_positive, check_switch
from dico.bounds import snd_upper_bound
from dico.kinds import KINDS, Kind
from dico.metrics import Metric, snd
from dico.nets import AgentMLP, Broadcast, Deviations, PerAgent, SharedMLP


def as_deviations(deviations: nn.Module | Sequence[nn.Module], n_agents: int | None) -> Deviations:
    """The per-agent networks as the policy calls them."""
    if isinstance(deviations, nn.ModuleList) or not isinstance(deviations, nn.Module):
        deviations = PerAgent(deviations)
    if n_agents is not None:
        check_positive("n_agents", n_agents)
    n = getattr(deviations, "n_agents", n_agents)
    if not isinstance(n, int) or n < 1 or n_agents not in (None, n):
        raise ValueError(
            f"n_agents must be the number of deviation networks, at least 1, got n_agents={n_agents} for {n} networks"
        )
    return deviations if isinstance(deviations, Deviations) else Broadcast(deviations, n)


def mlp_networks(
    n_agents: int, obs_dim: int, act_dim: int, kind: str, hidden: Sequence[int], members: Sequence[int]
) -> tuple[SharedMLP, AgentMLP]:
    """The paper's networks for a kind of policies: the shared one, and the deviations.

    >>> shared, deviations = mlp_networks(3, 4, 2, "shared_std", (8,), ())
    >>> shared.mlp[-1], deviations.mlp[-1]
    (StackedLinear(stack=(), inputs=8, outputs=4), StackedLinear(stack=(3,), inputs=8, outputs=2))
    """
    for name, size in (("n_agents", n_agents), ("obs_dim", obs_dim), ("act_dim", act_dim)):
        check_positive(name, size)
    for name, sizes in (("hidden", hidden), ("members", members)):
        check_sizes(name, sizes)
    widths = KINDS[check_choice("kind", kind, KINDS)]
    n_agents, obs_dim, act_dim = int(n_agents), int(obs_dim), int(act_dim)
    return (
        SharedMLP(obs_dim, widths.shared_width * act_dim, hidden, members),
        AgentMLP(n_agents, obs_dim, widths.deviation_width * act_dim, hidden, members),
    )


def check_sizes(name: str, sizes: Iterable[int]) -> None:
    """``sizes`` must be positive integers."""
    if not isinstance(sizes, Sequence):
        raise ValueError(f"{name} must be a sequence of positive integers, got {sizes!r}")
    for size in sizes:
        check_positive(f"each of {name}", size)


def check_coordinates(coordinates: Sequence[int], obs_dim: int) -> list[int]:
    """``coordinates`` must be different components of an observation, at least one."""
    chosen = list(coordinates) if isinstance(coordinates, Sequence) else []
    fits = all(isinstance(c, int) and 0 <= c < obs_dim for c in chosen) and len(set(chosen)) == len(chosen)
    if not chosen or not fits:
        raise ValueError(f"coordinates must be different numbers from 0 to {obs_dim - 1}, got {coordinates!r}")
    return chosen


def corners(
    low: Vector | None, high: Vector | None, squash_shared: bool, act_dim: int | None = None
) -> tuple[list[float], list[float]] | None:
    """The action box, if there is one; squashing needs it, and it has ``act_dim`` sides where these are known."""
    check_switch("squash_shared", squash_shared)
    if squash_shared and (low is None or high is None):
        raise ValueError(f"squash_shared=True needs low and high, the action box, got low={low} and high={high}")
    if (low is None) != (high is None):
        raise ValueError(f"low and high must be given together, got low={low} and high={high}")
    if low is None or high is None:
        return None
    box = check_box(low, high)
    if act_dim is not None and len(box[0]) != act_dim:
        raise ValueError(f"low and high must hold act_dim={act_dim} numbers each, got low={low} and high={high}")
    return box


def warn_if_out_of_reach(
    desired: float, n_agents: int, box: tuple[list[float], list[float]] | None, kind: Kind, metric: Metric
) -> None:
    """A lone agent has no diversity, and deterministic actions in a box have only so much SND."""
    if n_agents == 1:
        if desired > 0:
            warnings.warn(
                f"a lone agent has no diversity: the desired {desired:g} changes nothing; it takes two agents, or "
                "constraint='free'",
                stacklevel=3,
            )
        return
    if box is None or kind.width > 1 or metric.fn is not snd:
        return
    bound = snd_upper_bound(n_agents, *box)
    if desired > bound:
        warnings.warn(
            f"a desired diversity of {desired:g} is out of reach: {n_agents} agents in this action box have "
            f"an SND of at most {bound:.4g}; means will lie outside the box (see action_space_loss)",
            stacklevel=3,
        )
