"""Keeping diversity inside the action box."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico._checks import numbers


def action_space_loss(
    mean: Float[Tensor, "*batch n m"], low: Float[Tensor, "#m"], high: Float[Tensor, "#m"]
) -> Float[Tensor, "*batch"]:
    r"""The farthest any agent's mean lies outside the box, at each observation (app:method).

    :math:`\mathcal L_{act}(o)=\max_i\|\mu_i(o)-\mathrm{clip}(\mu_i(o),a_{min},a_{max})\|_2`.
    Diversity placed outside the box is lost when actions are clamped, so agents could evade the constraint there.
    The paper's experiments minimise ``action_space_loss(mean, low, high).square().mean()``.

    Args:
        mean: ``(..., n, m)``, each agent's mean action.
        low: the box, the least of each action component.
        high: the greatest of each.

    Returns:
        ``(...)``, 0 where all are inside.

    References:
        Bettini et al., ICML 2024: app:method.

    >>> mean = torch.tensor([[[0.0, 0.0], [0.5, -0.5]], [[4.0, 5.0], [0.0, 0.0]]])
    >>> action_space_loss(mean, torch.tensor([-1.0, -1.0]), torch.tensor([1.0, 1.0]))
    tensor([0., 5.])
    """
    if not isinstance(mean, Tensor):
        raise ValueError(f"mean must be a tensor (..., n, m), got {mean!r}")
    if not mean.is_floating_point():
        raise ValueError(f"mean must hold floating-point numbers, got {mean.dtype}")
    for name, bound in (("low", low), ("high", high)):
        if not isinstance(bound, Tensor):
            numbers(name, bound)
    low, high = (torch.as_tensor(bound, dtype=mean.dtype, device=mean.device) for bound in (low, high))
    for name, bound in (("low", low), ("high", high)):
        if mean.ndim < 2 or bound.shape not in ((), (1,), mean.shape[-1:]):
            raise ValueError(
                f"{name} must hold one bound for each of mean's action components: mean (..., n, m) is "
                f"{tuple(mean.shape)}, {name} is {tuple(bound.shape)}"
            )
    return torch.linalg.vector_norm(mean - mean.clamp(low, high), dim=-1).amax(-1)
