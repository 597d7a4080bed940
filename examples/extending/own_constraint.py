"""A constraint of your own: any function g of the estimated diversity, for policies in your own loop.

Here a soft upper limit: small deviations stay as they are, and the team's diversity never exceeds the limit. For a
constraint that `dico train --snd` reads, see dico/constraints.py: a class for bounds, and parse_constraint for a text.
"""

from collections.abc import Callable

import torch
from torch import Tensor

import dico


def soft_at_most(limit: float) -> Callable[[Tensor], Tensor]:
    """g(x) = limit tanh(x / limit)."""
    return lambda estimate: limit * torch.tanh(estimate / limit)


def main() -> list[tuple[float, float]]:
    """Diversity of the deviations, and of the policies, for deviations of growing size."""
    torch.manual_seed(0)
    policy = dico.DiCo.mlp(n_agents=3, obs_dim=4, act_dim=2, constraint=soft_at_most(1.0), tau=1.0)
    obs, rows = torch.randn(1000, 3, 4), []
    for _ in range(6):
        estimate = policy.estimate(obs)
        policy.commit_(estimate)
        rows.append((estimate.item(), dico.snd(policy.everyone(obs)).item()))
        print(f"unscaled {rows[-1][0]:6.3f}   controlled {rows[-1][1]:.3f}")
        with torch.no_grad():
            for name, parameter in policy.named_parameters():
                if name in ("deviations.mlp.4.weight", "deviations.mlp.4.bias"):  # the last layer
                    parameter.mul_(3.0)
    return rows


if __name__ == "__main__":
    main()
