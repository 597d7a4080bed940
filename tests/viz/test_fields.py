"""Diversity over positions and over observed numbers, against loops that ask for one point at a time."""

import pytest
import torch

from dico import DiCo, equal, pairwise_w2
from dico.analysis.fields import as_mapped, diversity_field, slice_field
from dico.random import Random
from dico.tasks import from_settings, make, map_state


def policy_for(task, kind="shared_std", members=()):
    torch.manual_seed(0)
    goals = equal(torch.linspace(0.2, 1.0, members[0])) if members else 0.5
    return DiCo.mlp(task.n_agents, task.obs_dim, 2, goals, kind=kind, hidden=(8,), members=members)


@pytest.mark.parametrize("name", ["navigation", "same-goal", "sampling"])
@pytest.mark.parametrize("kind", ["deterministic", "agent_std"])
def test_a_map_is_snd_at_what_an_agent_would_see_there(name, kind):
    task = make(name)
    policy, state = policy_for(task, kind), task.reset(1, Random([4]))
    field = diversity_field(policy, task, state, extent=(-1, 1, -0.5, 0.5), resolution=4)
    for row, y in enumerate([-0.375, -0.125, 0.125, 0.375]):
        for column, x in enumerate([-0.75, -0.25, 0.25, 0.75]):
            there = task.observation_at(state, torch.tensor([[[[x, y]]]]))[0, 0]
            everyone = policy.everyone(there)[0]
            torch.testing.assert_close(field.snd[row, column], pairwise_w2(everyone).mean())
            torch.testing.assert_close(field.mean[row, column], everyone[:, :2])


def test_a_map_of_a_population_is_that_of_each_member():
    task = make("navigation")
    population, states = policy_for(task, members=(3,)), task.reset(1, Random([1, 2, 3]))
    own = map_state(lambda tensor: tensor[:, 0], states)
    together = diversity_field(population, task, own, resolution=6).snd
    shared = diversity_field(population, task, map_state(lambda tensor: tensor[1], own), resolution=6).snd
    torch.testing.assert_close(together[1], shared[1])
    assert not torch.allclose(together[0], shared[0])


def test_a_map_in_parts_is_the_same(monkeypatch):
    task = make("navigation")
    policy, state = policy_for(task, members=(2,)), task.reset(1, Random([0]))
    whole = diversity_field(policy, task, state, resolution=7)
    monkeypatch.setattr("dico.analysis.fields.ROWS_AT_ONCE", 10)
    parts = diversity_field(policy, task, state, resolution=7)
    torch.testing.assert_close(whole.snd, parts.snd)
    torch.testing.assert_close(whole.mean, parts.mean)


def test_a_slice_varies_two_numbers_and_holds_the_others():
    task = make("dispersion")
    policy, row = policy_for(task), torch.arange(12.0) / 12
    field = slice_field(policy, row, (7, 2), (0.0, 4.0, -2.0, 0.0), resolution=2)
    for (i, y), (j, x) in ((a, b) for a in enumerate([-1.5, -0.5]) for b in enumerate([1.0, 3.0])):
        there = row.clone()
        there[7], there[2] = x, y
        torch.testing.assert_close(field.snd[i, j], pairwise_w2(policy.everyone(there[None])[0]).mean())


def test_a_task_without_positions_says_which_have_them():
    task = make("dispersion")
    with pytest.raises(ValueError, match=r"no map over positions \(navigation, same-goal, sampling have"):
        diversity_field(policy_for(task), task, task.reset(1, Random([0])))
    pytest.importorskip("vmas")
    with pytest.raises(ValueError, match="vmas:balance has no map over positions"):
        as_mapped(from_settings("vmas:balance"))


@pytest.mark.parametrize("coordinates", [(0, 0), (0, 12), (-1, 2)])
def test_coordinates_are_two_of_the_observed_numbers(coordinates):
    with pytest.raises(ValueError, match="two different whole numbers from 0 to 11"):
        slice_field(policy_for(make("dispersion")), torch.zeros(12), coordinates, (-1, 1, -1, 1))


def test_states_of_other_members_are_refused():
    task = make("navigation")
    with pytest.raises(ValueError, match=r"one for each of members=\(3,\), got a batch of \(2, 1\)"):
        diversity_field(policy_for(task, members=(3,)), task, task.reset(1, Random([0, 1])))
