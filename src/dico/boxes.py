"""Boxes of observations for analytical control (app:finn): from a rollout, and what trainers measure over them."""

import torch
from jaxtyping import Float
from torch import Tensor

from dico._checks import check_number
from dico.analytical import AnalyticalDiCo, box_snd
from dico.policy import DiCo

Box = tuple[tuple[float, ...], tuple[float, ...]]
"""The least and the greatest observation."""
ROOM = 0.1
"""A box reaches so much of its width beyond the observations that it is made of, on either side."""
CONSTANT = 0.5
"""And so far where an observed number does not vary."""
MOST_SHARE = 0.49
"""Less than half must be left out at either end."""
FIRST_FRAMES = 6000
"""Environment steps under random actions that a trainer makes a box of."""
COLUMNS = {"snd_box": "SND over the box", "outside": "share outside"}
"""What a training measures over its box, and how tables call it."""
BOX_POINTS = 2**12
"""At which the diversity over a box is measured."""


def obs_quantile_box(obs: Float[Tensor, "*batch o"], share: float = 0.01) -> Box:
    r"""A box for :class:`~dico.analytical.AnalyticalDiCo`, from observations such as those of a first rollout.

    .. math:: [\,Q_s(o_k) - r_k,\; Q_{1-s}(o_k) + r_k\,],\qquad r_k = 0.1\,\big(Q_{1-s}(o_k) - Q_s(o_k)\big)

    for each component k. A component that does not vary gets half a unit on either side. What is seen later may lie
    outside: ``policy.outside(obs)`` tells.

    Args:
        obs: any rows.
        share: s, what is left out at either end; 0 takes them all.

    Returns:
        The least and the greatest of each component.

    >>> low, high = obs_quantile_box(torch.linspace(-1, 1, 101)[:, None], share=0.0)
    >>> round(low[0], 4), round(high[0], 4)
    (-1.2, 1.2)
    """
    check_number("share", share, 0, MOST_SHARE)
    rows = obs.detach().reshape(-1, obs.shape[-1]).double()
    if not len(rows) or not rows.isfinite().all():
        raise ValueError(f"obs must hold finite observations, at least one, got {tuple(obs.shape)} with others or none")
    ordered = rows.sort(0).values
    left_out = int(share * (len(rows) - 1))
    least, greatest = ordered[left_out], ordered[-1 - left_out]
    room = torch.where(greatest > least, ROOM * (greatest - least), CONSTANT)
    return tuple((least - room).tolist()), tuple((greatest + room).tolist())


def over_the_box(policy: DiCo, obs: Float[Tensor, "*batch o"], seed: int) -> dict[str, Float[Tensor, "*members"]]:
    r"""The columns of analytical control: ``snd_box``, which is :math:`\mathrm{SND}_I`, and ``outside``.

    ``outside`` is the share of ``obs`` outside the box. Where diversity is controlled on the observations met, there
    are none. The points that it is measured at follow from ``seed``: another one in each iteration, so that the error,
    some thousandths (of a FINN with narrow peaks some percent), is not the same in all.

    >>> policy = AnalyticalDiCo.mlp(2, 1, 1, 0.3, obs_low=[-1], obs_high=[1])
    >>> {name: round(value.item(), 3) for name, value in over_the_box(policy, torch.zeros(5, 1), 0).items()}
    {'snd_box': 0.3, 'outside': 0.0}
    """
    if not isinstance(policy, AnalyticalDiCo):
        return {}
    return {"snd_box": box_snd(policy, BOX_POINTS, seed), "outside": policy.outside(obs)}
