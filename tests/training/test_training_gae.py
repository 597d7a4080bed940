"""Advantages against the definition, and against TorchRL's."""

import pytest
import torch
from torchrl.objectives.value.functional import generalized_advantage_estimate

from dico.training.ppo import gae

MEMBERS, STEPS, ENVS, AGENTS = 2, 12, 5, 3


def experience(seed):
    generator = torch.Generator().manual_seed(seed)
    size = (MEMBERS, STEPS, ENVS, AGENTS)
    reward, value, next_value = torch.randn(3, *size, generator=generator, dtype=torch.float64)
    done = torch.rand(MEMBERS, STEPS, ENVS, 1, generator=generator) < 0.2
    assert done[:, 1:-1].any()
    assert not done.all(1).any()
    return reward, value, next_value, done


@pytest.mark.parametrize(("gamma", "lam"), [(0.9, 0.9), (0.99, 0.5), (0.9, 0.0), (1.0, 1.0)])
def test_gae_is_the_discounted_sum_of_errors_to_the_end_of_the_episode(gamma, lam):
    reward, value, next_value, done = experience(0)
    found = gae(reward, value, next_value, done, gamma, lam)
    for m in range(MEMBERS):
        for e in range(ENVS):
            for t in range(STEPS):
                expected = torch.zeros(AGENTS, dtype=torch.float64)
                for later in range(t, STEPS):
                    beyond = 0.0 if done[m, later, e] else next_value[m, later, e]
                    delta = reward[m, later, e] + gamma * beyond - value[m, later, e]
                    expected += (gamma * lam) ** (later - t) * delta
                    if done[m, later, e]:
                        break
                torch.testing.assert_close(found[m, t, e], expected)


def test_gae_equals_torchrls():
    reward, value, next_value, done = experience(1)
    ended = done.expand_as(reward)
    time_first = [x.movedim(1, -1).unsqueeze(-1) for x in (value, next_value, reward, ended, ended)]
    # TorchRL's discounts are float32
    advantage, value_target = generalized_advantage_estimate(0.9, 0.8, *time_first)
    found = gae(reward, value, next_value, done, 0.9, 0.8)
    torch.testing.assert_close(found, advantage.squeeze(-1).movedim(-1, 1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found + value, value_target.squeeze(-1).movedim(-1, 1), rtol=1e-5, atol=1e-5)
