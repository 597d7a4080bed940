"""TD3: when the actor learns, what smooths the targets, and that it is DDPG without its three changes."""

import pytest
import torch
from populations import TEAM, batch_of, learner, minibatch_of, parameters, population, same

UPDATES = {"updates": 5, "policy_delay": 3, "batch": 8}


def steps(ours):
    """How many steps actor and critics have taken."""
    (one,) = ours.learners
    return int(one.actor_adam.count), int(one.critic_adam.count)


@pytest.mark.parametrize("algorithm", ["itd3", "matd3"])
def test_the_actor_learns_in_every_third_update_whatever_batch_it_falls_in(algorithm):
    ours = population(algorithm=algorithm, **UPDATES)
    counted = []
    for _ in range(3):
        ours.iterate()
        counted.append(steps(ours))
    assert counted == [(1, 5), (3, 10), (5, 15)]


def test_after_a_resume_the_actor_is_as_late():
    whole, first, second = (population(algorithm="itd3", **UPDATES) for _ in range(3))
    for _ in range(3):
        expected = whole.iterate()
    for _ in range(2):
        first.iterate()
    with torch.no_grad():
        for name, value in second.tensors().items():
            value.copy_(first.tensors()[name])
        for name, value in second.learners[0].replay_buffer.items():
            value.copy_(first.learners[0].replay_buffer[name])
    second.iteration = first.iteration
    found = second.iterate()
    assert [row["snd_hat"] for row in found] == [row["snd_hat"] for row in expected]
    assert same(parameters(whole.learners[0]), parameters(second.learners[0]))


def test_between_the_actors_turns_critics_alone_learn():
    ours = learner("matd3", **UPDATES, replay=40)
    ours.store(batch_of(ours))
    before, estimate = parameters(ours), ours.policy.snd_hat.clone()
    ours.update_critic(ours.sample())
    after = parameters(ours)
    assert all(torch.equal(before[name], after[name]) != name.startswith("critic.") for name in before)
    assert torch.equal(ours.policy.snd_hat, estimate)
    assert int(ours.action_adam.count) == 0


def test_targets_are_smoothed_by_clipped_noise():
    ours = learner("itd3", batch=2000, replay=40, target_noise=0.2, target_noise_clip=0.3)
    ours.store(batch_of(ours))
    noise = ours.sample().noise
    assert noise.abs().max() == pytest.approx(0.3)
    clipped = (noise.abs() >= 0.3).double().mean().item()
    assert clipped == pytest.approx(0.1336, abs=0.01)  # beyond one and a half deviations
    assert noise[noise.abs() < 0.3].std() == pytest.approx(0.1485, abs=0.005)
    assert not torch.equal(noise[0], noise[1])


@pytest.mark.parametrize("central", [False, True], ids=["local", "central"])
def test_with_equal_critics_no_delay_and_no_noise_it_is_ddpg(central):
    """Gradients must not be clipped for it, as two critics are clipped together."""
    names = ("maddpg", "matd3") if central else ("iddpg", "itd3")
    ddpg, td3 = (learner(name, max_grad_norm=1e6, tau=0.3, goals=("1", "free")) for name in names)
    td3.policy.load_state_dict(ddpg.policy.state_dict())
    for both, one in ((td3.critic, ddpg.critic), (td3.target_critic, ddpg.target_critic)):
        with torch.no_grad():
            for p, q in zip(both.parameters(), one.parameters(), strict=True):
                p.copy_(q[:, None].expand_as(p))
    torch.manual_seed(0)
    for _ in range(5):
        obs, next_obs = torch.randn(2, 2, 12, TEAM.n_agents, TEAM.obs_dim)
        action = td3.low + (td3.high - td3.low) * torch.rand(2, 12, TEAM.n_agents, 2)
        given = (obs, next_obs, action, torch.randn(2, 12, TEAM.n_agents), (torch.rand(2, 12) < 0.3).float())
        ddpg.update(minibatch_of(names[0], *given))
        td3.update(minibatch_of(names[1], *given, noise=torch.zeros_like(action)))
    torch.testing.assert_close(dict(td3.policy.named_parameters()), dict(ddpg.policy.named_parameters()))
    for p, q in zip(td3.critic.parameters(), ddpg.critic.parameters(), strict=True):
        torch.testing.assert_close(p[:, 0], q)
        torch.testing.assert_close(p[:, 1], q)
    torch.testing.assert_close(td3.policy.snd_hat, ddpg.policy.snd_hat)
