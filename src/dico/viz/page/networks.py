r"""DiCo's networks as text for the page: fixed-point weights, as few bits as keep what the networks say.

A column of a weight matrix has a step of its own: :math:`w \approx \text{step} \cdot q`, q a whole number of b bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dico._files import plain
from dico.analytical import AnalyticalDiCo
from dico.constraints import Constraint
from dico.dial import DialDiCo, Dialled
from dico.kinds import KINDS
from dico.nets import AgentMLP, SharedMLP, StackedLinear, StackedMLP
from dico.policy import SMALLEST, DiCo
from dico.viz.page.encode import floats, pack

BITS = tuple(range(12, 25))
TOLERANCE, ROUGHLY = 1e-5, 5e-4
"""How far an output may be from the original's, at the greatest scale that the page offers, relative to the largest
output there if that is beyond 1; and where there would be no room for one member of each level."""


@dataclass(frozen=True)
class Layer:
    """A linear layer in double precision."""

    weight: Float[np.ndarray, "inputs outputs"]
    bias: Float[np.ndarray, " outputs"]

    def steps(self, bits: int) -> Float[np.ndarray, " outputs"]:
        """What one unit of the whole numbers is worth in each column, in single precision as the page has it."""
        largest = np.abs(self.weight).max(0)
        return np.float32(np.where(largest > 0, largest, 1.0) / (2 ** (bits - 1) - 1)).astype(float)

    def whole(self, bits: int) -> Int[np.ndarray, "inputs outputs"]:
        """The weights in steps."""
        limit = 2 ** (bits - 1) - 1
        return np.rint(self.weight / self.steps(bits)).astype(np.int64).clip(-limit, limit)

    def round_to(self, bits: int) -> "Layer":
        """As the page will have it."""
        return Layer(self.whole(bits) * self.steps(bits), np.float32(self.bias).astype(float))

    def encode(self, bits: int) -> dict[str, Any]:
        """As text."""
        inputs, outputs = self.weight.shape
        return {
            "inputs": inputs, "outputs": outputs, "bits": bits, "weight": pack(self.whole(bits).ravel(), bits),
            "step": floats(self.steps(bits)), "bias": floats(self.bias),
        }  # fmt: skip


@dataclass(frozen=True)
class Parts:
    """What the page needs of a policy."""

    shared: StackedMLP
    deviations: StackedMLP
    constraint: Constraint
    low: Tensor
    high: Tensor
    told: Tensor | None
    """The desired diversity beside each observation, if the networks are told one."""


def parts_of(policy: DiCo) -> Parts | None:
    """A policy's parts, if the page can evaluate it: tanh MLPs in an action box, under a pair of bounds."""
    shared, deviations, constraint = policy.shared, policy.deviations, policy.constraint
    low, high, told = policy.low, policy.high, None
    if isinstance(shared, Dialled) and isinstance(deviations, Dialled):
        shared, deviations, told = shared.network, deviations.network, shared.desired
    if isinstance(policy, AnalyticalDiCo):  # whose density and scale at each observation the page does not know
        return None
    if not (isinstance(shared, SharedMLP) and isinstance(deviations, AgentMLP) and isinstance(constraint, Constraint)):
        return None
    known = all(isinstance(part, StackedLinear | nn.Tanh) for net in (shared, deviations) for part in net.mlp)
    if not known or low is None or high is None:
        return None
    return Parts(shared.mlp, deviations.mlp, constraint, low, high, told)


@torch.no_grad()
def encode_policy(
    policy: DiCo,
    obs: Float[Tensor, "rows o"],
    most: float,
    dial: DialDiCo | None = None,
    tolerance: float = TOLERANCE,
) -> dict[str, Any]:
    """One member's policy, to be the same at observations like ``obs`` and for a desired diversity of up to ``most``.

    ``dial`` is what the member is a level of, if its networks are told the desired diversity.

    >>> policy = DiCo.mlp(2, 4, 2, 0.3, hidden=(8,), low=[-1, -1], high=[1, 1])
    >>> encoded = encode_policy(policy, torch.randn(64, 4), most=2.8)
    >>> encoded["agents"], encoded["kind"], [layer["inputs"] for layer in encoded["shared"]]
    (2, 'deterministic', [4, 8])
    """
    parts = parts_of(policy)
    if parts is None or policy.members:
        raise ValueError(f"policy must be one member's, of tanh MLPs in an action box, got {policy}")
    networks = [_layers(parts.shared), *(_layers(parts.deviations, agent) for agent in range(policy.n_agents))]
    greatest = (most / max(policy.snd_hat.item(), SMALLEST)) ** (1 / policy.metric.degree)
    scales = [1.0] + [max(policy.scale().item(), greatest)] * policy.n_agents
    inputs = _inputs(obs, parts.told, dial)
    bits = _fewest_bits(networks, inputs.double().numpy(), scales, tolerance)
    shared, *deviations = [[layer.encode(bits) for layer in layers] for layers in networks]
    return {
        "kind": next(name for name, kind in KINDS.items() if kind == policy.kind),
        "agents": policy.n_agents, "actions": len(parts.low), "low": parts.low.tolist(), "high": parts.high.tolist(),
        "squash": policy.squash_shared, "degree": policy.metric.degree, "estimate": policy.snd_hat.item(),
        "lone": policy.scale().item() if policy.n_agents == 1 else None,
        "least": parts.constraint.lo.item(), "most": plain(parts.constraint.hi.item()),
        "told": None if parts.told is None else parts.told.item(),
        "dial": None if dial is None else {"levels": dial.levels, "estimates": dial.snd_hat.tolist()},
        "shared": shared, "deviations": deviations,
    }  # fmt: skip


def _inputs(obs: Tensor, told: Tensor | None, dial: DialDiCo | None) -> Tensor:
    """What the networks see: observations, and beside them what they are told, of a dial all that it may be."""
    if told is None:
        return obs
    levels = [told.item()] if dial is None else dial.levels
    column = torch.linspace(levels[0], levels[-1], len(obs))[:, None]
    return torch.cat([obs, column], -1)


def _layers(mlp: StackedMLP, agent: int | None = None) -> list[Layer]:
    """The linear layers of the one network, or of an agent's."""
    linear = [part for part in mlp if isinstance(part, StackedLinear)]
    pairs = [(part.weight, part.bias) for part in linear]
    if agent is not None:
        pairs = [(weight[agent], bias[agent]) for weight, bias in pairs]
    return [Layer(weight.double().numpy(), bias.double().numpy()[0]) for weight, bias in pairs]


def _fewest_bits(networks: Sequence[list[Layer]], obs: np.ndarray, scales: Sequence[float], tolerance: float) -> int:
    exact = [_evaluate(layers, obs) for layers in networks]
    largest = max(scale * np.abs(outputs).max() for outputs, scale in zip(exact, scales, strict=True))
    for bits in BITS:
        errors = (
            scale * np.abs(outputs - _evaluate([layer.round_to(bits) for layer in layers], obs)).max()
            for layers, outputs, scale in zip(networks, exact, scales, strict=True)
        )
        if max(errors) <= tolerance * max(1.0, largest):
            return bits
    return BITS[-1]


def _evaluate(layers: Sequence[Layer], values: np.ndarray) -> np.ndarray:
    for layer in layers[:-1]:
        values = np.tanh(values @ layer.weight + layer.bias)
    return values @ layers[-1].weight + layers[-1].bias
