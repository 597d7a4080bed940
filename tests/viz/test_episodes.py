"""Recorded episodes: what was played, from the same start for all."""

import pytest
import torch
from folders import fixture_of

from dico import DiCo, equal
from dico.acting import into_box
from dico.runs.episodes import play, record
from dico.tasks import make, map_state

navigation = fixture_of("navigation")


def policies_of(task, members=3, kind="shared_std"):
    torch.manual_seed(0)
    return [
        DiCo.mlp(len(group.agents), group.obs_dim, task.act_dim, equal([0.5 * (len(group.agents) > 1)] * members),
                 kind=kind, hidden=(8,), members=(members,))
        for group in task.groups
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["navigation", "dispersion", "sampling", "tag", "reverse-transport"])
def test_a_recording_is_what_the_task_does(name):
    task = make(name, horizon=12)
    recording = record(task, policies_of(task), episodes=4, seed=5, deterministic=False)
    played = play(task, policies_of(task), episodes=4, seed=5, deterministic=False)
    torch.testing.assert_close(recording.reward, played.reward, rtol=0, atol=0)
    for step in range(12):
        state, following = (map_state(lambda tensor, at=at: tensor[:, at], recording.states) for at in (step, step + 1))
        after, reward, _ = task.step(state, recording.actions[:, step])
        for mine, theirs in zip(vars(after).values(), vars(following).values(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=0)
        torch.testing.assert_close(reward, recording.reward[:, step], rtol=0, atol=0)
        for group, obs in enumerate(task.observe(state)):
            torch.testing.assert_close(obs, recording.obs[group][:, step], rtol=0, atol=0)


def test_all_members_start_alike_and_another_seed_elsewhere():
    task = make("navigation", horizon=3)
    one, other = (record(task, policies_of(task), 2, seed, deterministic=True).states for seed in (0, 1))
    assert torch.equal(one.position[0, 0], one.position[2, 0])
    assert torch.equal(one.goal[0], one.goal[1])
    assert not torch.equal(one.goal, other.goal)


def test_after_its_end_an_episode_stands_still():
    task = make("reverse-transport", horizon=20)
    recording = record(task, policies_of(task, members=1), episodes=32, seed=0, deterministic=True)
    lengths = recording.running[0].sum(0)
    early = int(lengths.argmin())
    assert 1 <= lengths[early] < 20
    assert recording.length(0, early) == lengths[early]
    last = recording.states.package[0, lengths[early], early]
    assert torch.equal(recording.state_at(0, 19, early).package, last)
    assert torch.equal(recording.state_at(0, 0, early).package, recording.states.package[0, 0, early])


def test_stochastic_policies_are_squashed_and_deterministic_ones_clamped():
    low, high, raw = torch.tensor([-1.0]), torch.tensor([3.0]), torch.tensor([0.5])
    task = make("navigation")
    torch.testing.assert_close(into_box(policies_of(task)[0].kind, raw, low, high), 1 + 2 * raw.tanh())
    torch.testing.assert_close(into_box(policies_of(task, kind="deterministic")[0].kind, raw, low, high), raw)


def test_a_map_and_an_episode_of_one_seed_start_alike(navigation):
    from dico.viz.selection import choose

    selection = choose(navigation)
    start = map_state(lambda tensor: tensor[0, 0, 0], selection.record(7).states)
    assert torch.equal(selection.start(7).goal, start.goal)
    assert not torch.equal(selection.start(8).goal, start.goal)


def test_members_chosen_are_those_of_the_run(navigation):
    chosen = navigation.policies(indices=[3, 0])
    obs = torch.randn(2, 5, 2, 4, generator=torch.Generator().manual_seed(0))
    alone = [navigation.policy(snd=level, seed=seed) for level, seed in (("0.5", 1), ("0", 0))]
    for k, policy in enumerate(alone):
        torch.testing.assert_close(chosen(obs)[k], policy(obs[k]))
