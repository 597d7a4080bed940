"""The action-space loss against its formula."""

import pytest
import torch

from dico import action_space_loss

LOW, HIGH = torch.tensor([-1.0, -2.0]), torch.tensor([1.0, 0.5])


def test_it_is_the_largest_violation_over_agents():
    mean = 3 * torch.randn(5, 4, 3, 2)
    beyond = (mean - HIGH).clamp_min(0) + (LOW - mean).clamp_min(0)
    torch.testing.assert_close(action_space_loss(mean, LOW, HIGH), beyond.norm(dim=-1).max(-1).values)


def test_inside_the_box_it_is_zero_with_zero_gradient():
    mean = torch.zeros(5, 3, 2, requires_grad=True)
    loss = action_space_loss(mean, LOW, HIGH)
    loss.square().mean().backward()
    assert loss.eq(0).all()
    assert mean.grad.eq(0).all()


def test_descending_it_brings_means_back():
    mean = torch.full((1, 2, 2), 4.0, requires_grad=True)
    for _ in range(500):
        (gradient,) = torch.autograd.grad(action_space_loss(mean, LOW, HIGH).square().mean(), mean)
        with torch.no_grad():
            mean -= 0.1 * gradient
    assert action_space_loss(mean, LOW, HIGH).item() < 1e-3


@pytest.mark.unchecked
def test_whole_numbers_have_no_norm_and_are_refused():
    with pytest.raises(ValueError, match=r"mean must hold floating-point numbers, got torch.int64"):
        action_space_loss(torch.zeros(3, 2, 2, dtype=torch.int64), -1, 1)
