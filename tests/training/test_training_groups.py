"""Tag's two groups: own policies, critics and constraints; a frozen group stops learning."""

import pytest
import torch
from populations import config, parameters, population, same
from shuffled import SHUFFLED, Interleaved

import dico
from dico import tasks
from dico.runs.episodes import play, record
from dico.runs.evaluation import evaluate
from dico.tasks import Group, check_groups, make, map_state
from dico.training.experience import Comparison
from dico.training.rollout import Rollout
from dico.training.staging import Stage

TAG = {"task": "tag", "snd": ("0.3", "0.6"), "frames": 160}
algorithms = pytest.mark.parametrize("algorithm", ["ippo", "mappo", "iddpg", "masac"])


@pytest.fixture(autouse=True)
def _shuffled(monkeypatch):
    for name, task in SHUFFLED.items():
        monkeypatch.setitem(tasks.TASKS, name, task)


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
    assert torch.equal(green.separate_action_loss(obs, Comparison()), torch.zeros(2))
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


def test_each_group_gets_its_own_rewards_whichever_comes_first():
    ours = population(algorithm="ippo", **(TAG | {"task": "green-first"}), task_options=("n_agents=4",), envs=40)
    green, red = ours.rollout.collect(ours.learners, 100, 0)
    assert (green.obs.shape[-2:], red.obs.shape[-2:]) == ((1, 14), (3, 16))
    assert green.reward.min() < 0
    assert green.reward.max() == 0
    torch.testing.assert_close(red.reward, -green.reward.expand_as(red.reward))


@pytest.mark.parametrize("algorithm", ["ippo", "iddpg"])
def test_groups_that_interleave_move_and_are_paid_as_themselves(algorithm):
    ours = population(algorithm=algorithm, task="interleaved")
    batches = ours.rollout.collect(ours.learners, 10, 0)
    for learner, batch, agents in zip(ours.learners, batches, ([3.0, 1.0], [4.0, 0.0, 2.0]), strict=True):
        number = torch.tensor(agents).expand_as(batch.reward)
        assert torch.equal(batch.obs[..., 0], number)
        action = batch.sample.tanh() if algorithm == "ippo" else batch.action
        torch.testing.assert_close(batch.next_obs[..., 1:], batch.obs[..., 1:] + 0.1 * action)
        torch.testing.assert_close(batch.reward, number + batch.next_obs[..., 1:].sum(-1))
        assert learner.team.n_agents == len(agents)


@pytest.mark.parametrize(("name", "other"), [("tag", "green-first"), ("green-first", "tag")])
def test_the_order_of_the_groups_changes_no_episode(name, other):
    """The same policies, handed over in the other order, play the same game."""
    ours = population(algorithm="iddpg", **(TAG | {"task": name}))
    policies = [learner.policy for learner in ours.learners]
    one = record(make(name), policies, episodes=20, seed=3, deterministic=True)
    two = record(make(other), policies[::-1], episodes=20, seed=3, deterministic=True)
    assert one.reward.any()
    assert torch.equal(one.reward, two.reward)
    assert torch.equal(one.actions, two.actions)
    assert torch.equal(one.states.position, two.states.position)
    for mine, theirs in zip(one.obs, two.obs[::-1], strict=True):
        assert torch.equal(mine, theirs)


def test_episodes_of_groups_that_interleave_are_what_each_agent_did():
    ours = population(algorithm="iddpg", task="interleaved")
    task, policies = Interleaved(), [learner.policy for learner in ours.learners]
    recording = record(task, policies, episodes=4, seed=0, deterministic=True)
    assert torch.equal(recording.reward, play(task, policies, episodes=4, seed=0, deterministic=True).reward)
    for k, group in enumerate(task.groups):
        state = map_state(lambda tensor: tensor[:, :-1], recording.states)
        with torch.no_grad():
            wanted = policies[k](task.observe(state)[k].flatten(1, 2)).clamp(-1, 1)
        done = torch.stack([recording.actions[..., agent, :] for agent in group.agents], -2)
        torch.testing.assert_close(done.flatten(1, 2), wanted)


def test_an_evaluation_pays_each_group_its_own(tmp_path):
    for name in SHUFFLED:
        run = dico.train(config(algorithm="iddpg", task=name, frames=40), tmp_path / name, device="cpu")
        task = run.task()
        policies = [run.policies(group.name) for group in task.groups]
        played = play(task, policies, episodes=30, seed=0, deterministic=True)
        for row in evaluate(run, episodes=30, deterministic=True):
            (group,) = (each for each in task.groups if each.name == row["group"])
            paid = played.reward[row["member"]][..., list(group.agents)].mean(-1)
            assert row["return"] == pytest.approx(paid.sum(0).mean().item())
            assert row["reward"] == pytest.approx(paid.mean().item())
            if name == "green-first":
                assert paid.any()
                assert (row["return"] < 0) == (row["group"] == "agent")


@pytest.mark.parametrize(
    "groups", [((0, 1), (1, 2)), ((0,), (2,)), ((0, 1), (2, 3)), ((-1, 0), (1,)), ((0, 1, 2), (2,))]
)
def test_groups_that_do_not_share_out_the_agents_are_refused(groups):
    class Odd(Interleaved):
        @property
        def groups(self):
            return tuple(Group(f"team{k}", agents, 3) for k, agents in enumerate(groups))

    with pytest.raises(ValueError, match=r"groups must share out the agents 0 to 2, each to one group, got team0: \("):
        check_groups(Odd(n_agents=3))
    with pytest.raises(ValueError, match="groups must share out"):
        Rollout(Odd(n_agents=3), 4, [0], 0, Stage("eager"))


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
