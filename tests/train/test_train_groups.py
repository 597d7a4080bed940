"""Tag's two groups: own policies, critics and constraints; a frozen group stops learning."""

import pytest
import torch
from populations import parameters, population, same

TAG = {"task": "tag", "snd": ("0.3", "0.6"), "frames": 160}
algorithms = pytest.mark.parametrize("algorithm", ["ippo", "mappo", "iddpg", "masac"])


@algorithms
def test_groups_have_policies_critics_and_constraints_of_their_own(algorithm):
    ours = population(algorithm=algorithm, **TAG)
    red, green = ours.learners
    assert [(x.team.name, x.team.n_agents, x.team.obs_dim) for x in (red, green)] == [
        ("adversary", 2, 14),
        ("agent", 1, 12),
    ]
    assert red.policy.constraint.texts() == ["0.3", "0.6"]
    assert green.policy.constraint.texts() == ["0", "0"]
    addresses = [{p.data_ptr() for m in x.modules().values() for p in m.parameters()} for x in (red, green)]
    assert not addresses[0] & addresses[1]
    before = parameters(red), parameters(green)
    rows = ours.iterate()
    assert [(row["group"], row["member"], row["constraint"]) for row in rows] == [
        ("adversary", 0, "0.3"),
        ("adversary", 1, "0.6"),
        ("agent", 0, "0.3"),
        ("agent", 1, "0.6"),
    ]
    after = parameters(red)
    assert all(not torch.equal(before[0][name], after[name]) for name in after)
    assert not same(before[1], parameters(green))
    assert [row["snd"] for row in rows[2:]] == [0, 0]


@algorithms
def test_of_a_lone_agent_the_shared_network_acts_alone(algorithm):
    """As in the original: its squashed mean never leaves the box, so the action-space loss never moves it."""
    ours = population(algorithm=algorithm, **TAG)
    green = ours.learners[1]
    assert torch.equal(green.policy.scale(), torch.zeros(2))
    obs = 3 * torch.randn(2, 50, 1, green.team.obs_dim)
    raw = green.policy.shared(obs)[..., :2]
    torch.testing.assert_close(green.mean(green.policy(obs)), raw.tanh())
    assert torch.equal(green.own_action_loss(obs, None), torch.zeros(2))
    before = parameters(green)
    ours.iterate()
    for name, value in parameters(green).items():
        assert torch.equal(value, before[name]) == name.startswith("policy.deviations"), name


def test_each_group_gets_its_own_rewards_and_observations():
    ours = population(algorithm="ippo", **TAG, task_options=("n_agents=4",), envs=40)
    red, green = ours.rollout.collect(ours.learners, 100, 0)
    assert red.obs.shape[-2:] == (3, 16)
    assert green.obs.shape[-2:] == (1, 14)
    assert green.reward.min() < 0  # caught at times
    torch.testing.assert_close(red.reward, -green.reward.expand_as(red.reward))
    assert torch.equal(red.done, green.done)


@pytest.mark.filterwarnings("ignore:a lone agent has no diversity:UserWarning")
def test_controlled_groups_are_a_choice():
    ours = population(algorithm="ippo", **TAG, controlled=("agent",))
    assert [x.policy.constraint.texts() for x in ours.learners] == [["free", "free"], ["0.3", "0.6"]]


def test_a_lone_agent_with_a_desired_diversity_is_told_that_it_has_none():
    with pytest.warns(UserWarning, match=r"a lone agent has no diversity: the desired 0\.6 changes nothing"):
        population(algorithm="ippo", **TAG, controlled=("agent",))


@algorithms
def test_a_frozen_group_stops_learning_and_the_other_goes_on(algorithm):
    ours = population(algorithm=algorithm, **TAG, freeze=("agent=80",))  # two batches of 40
    red, green = ours.learners
    for changes in (True, True, False, False):
        before = parameters(red), parameters(green), green.policy.snd_hat.clone()
        ours.iterate()
        assert not same(before[0], parameters(red))
        assert same(before[1], parameters(green)) != changes
        assert changes or torch.equal(before[2], green.policy.snd_hat)


def test_an_unfrozen_group_goes_on_however_long():
    ours = population(algorithm="ippo", frames=40)
    ours.iterate()
    assert ours.finished
    before = parameters(ours.learners[0])
    ours.iterate()
    assert not same(before, parameters(ours.learners[0]))
