"""Analytical control puts diversity where a problem wants it: problems whose best allocation is known in closed form.

Two agents see points of the unit square, and agent i is to act by ±(1/2) SND_des w(o), where w has mean 1. Policies are
±f(o)/2 around the shared one where they fit best, so the error is 0 at q = w and nowhere else.
"""

import math

import pytest
import torch

from dico import AnalyticalDiCo
from dico.analytical import DENSITIES, box_snd

DESIRED, WIDTH = 0.5, 0.1


def ridge(u):
    """They must differ along x1 = x2."""
    mean = WIDTH * math.sqrt(2 * math.pi) - 2 * WIDTH**2
    return torch.exp(-0.5 * ((u[..., 0] - u[..., 1]) / WIDTH).square()) / mean


def half(u):
    """They must differ in one half, by the same everywhere there."""
    return 2.0 * (u[..., 0] > 0.5)


def learned(density, wanted, steps=250):
    torch.manual_seed(0)
    box = {"obs_low": [0, 0], "obs_high": [1, 1]}
    policy = AnalyticalDiCo.mlp(2, 2, 1, DESIRED, hidden=(32,), density=density, **box)
    optimiser = torch.optim.Adam(policy.parameters(), 2e-2)
    side = torch.tensor([[-0.5], [0.5]])
    for _ in range(steps):
        obs = torch.rand(256, 2, 2)
        actions, snd_hat = policy.forward_and_estimate(obs)
        loss = (actions - side * DESIRED * wanted(obs)[..., None]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        policy.commit_(snd_hat)
    return policy


@torch.no_grad()
def explained(policy, wanted):
    """R^2 of q."""
    u = torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(2**12)
    q, w = policy.allocated(u), wanted(u)
    return (1 - (q - w).square().mean() / w.var(correction=0)).item()


@pytest.mark.parametrize("wanted", [ridge, half])
@pytest.mark.parametrize("density", DENSITIES)
def test_diversity_goes_where_agents_must_differ(density, wanted):
    policy = learned(density, wanted)
    if (density, wanted) == ("finn", ridge):
        assert 0.2 < explained(policy, wanted) < 0.5  # it has no ridge along which both inputs rise
    else:
        assert explained(policy, wanted) > (0.98 if wanted is ridge else 0.9)  # nothing smooth is a step
    assert box_snd(policy).item() == pytest.approx(DESIRED, rel=5e-3)  # as far as points can tell
