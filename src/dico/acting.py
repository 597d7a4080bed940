"""How a policy's outputs become actions: drawn from a Gaussian where there is one, and brought into the action box."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico.kinds import Kind
from dico.squashed import squash


def actions_of(
    params: Float[Tensor, "*batch d"],
    kind: Kind,
    low: Float[Tensor, " a"],
    high: Float[Tensor, " a"],
    noise: Float[Tensor, "*batch a"] | None = None,
) -> Float[Tensor, "*batch a"]:
    r"""Actions in the box ``[low, high]`` from what a policy gives; without ``noise``, those of its means.

    For stochastic kinds :math:`\mathrm{squash}(\mu+\sigma\epsilon)` with standard normal noise :math:`\epsilon`; for
    deterministic ones :math:`\mathrm{clamp}(\mu)`, and noise means nothing. Trainer, evaluation, videos and exported
    files all act so.

    >>> from dico.kinds import KINDS
    >>> low, high = torch.tensor([-1.0]), torch.tensor([1.0])
    >>> actions_of(torch.tensor([3.0]), KINDS["deterministic"], low, high)
    tensor([1.])
    >>> actions_of(torch.tensor([0.5, 2.0]), KINDS["shared_std"], low, high, noise=torch.tensor([0.25]))
    tensor([0.7616])
    """
    mean, std = params.tensor_split([low.shape[-1]], -1)
    if noise is None or kind.width == 1:
        return into_box(kind, mean, low, high)
    return into_box(kind, mean + std * noise, low, high)


def into_box(
    kind: Kind, raw: Float[Tensor, "*batch a"], low: Float[Tensor, " a"], high: Float[Tensor, " a"]
) -> Float[Tensor, "*batch a"]:
    """The action that becomes of a policy's mean, or of a sample: squashed if it is stochastic, else clamped.

    >>> from dico.kinds import KINDS
    >>> into_box(KINDS["deterministic"], torch.tensor([2.0]), torch.tensor([-1.0]), torch.tensor([1.0]))
    tensor([1.])
    """
    return squash(raw, low, high) if kind.width > 1 else raw.clamp(low, high)


def standard_normal(
    params: Float[Tensor, "*batch d"], actions: int, generator: torch.Generator | None = None
) -> Float[Tensor, "*batch _"]:
    """Noise for as many action components, drawn where the generator is and brought to the outputs.

    >>> standard_normal(torch.zeros(10, 3, 4), 2).shape
    torch.Size([10, 3, 2])
    """
    drawn_on = params.device if generator is None else generator.device
    shape = (*params.shape[:-1], actions)
    return torch.randn(shape, generator=generator, device=drawn_on, dtype=params.dtype).to(params.device)
