"""What a task says of itself to whoever draws it: its legend, and whether a map of its start lasts."""

from typing import ClassVar

import pytest
import torch

from dico.random import Random
from dico.tasks import TASKS, Legend, MappedTask, make
from dico.tasks.dispersion import Dispersion
from dico.viz.views import legend


def scene_of(task):
    return task.scene(task.reset(1, Random([0])))


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if issubclass(task, MappedTask)])
def test_what_is_seen_from_a_place_lasts_where_the_task_says_so(name):
    task, rng = make(name), Random([0])
    state = task.reset(1, rng)
    places = torch.rand(1, 1, 500, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    before = task.observation_at(state, places)
    for _ in range(30):
        state, _, _ = task.step(state, rng.uniform(1, task.n_agents, task.act_dim, low=-1, high=1))
    assert torch.equal(task.observation_at(state, places), before) == task.position_alone


def test_only_navigation_is_seen_from_the_position_alone():
    assert [name for name, task in TASKS.items() if task.position_alone] == ["navigation", "same-goal"]


def test_signs_are_explained_in_the_words_of_the_task():
    assert "dotted: eaten" in legend(make("dispersion"), scene_of(make("dispersion")))
    sampling = make("sampling")
    assert "blue: value not yet taken" in legend(sampling, scene_of(sampling))
    assert "pale: visited cells" in legend(sampling, scene_of(sampling), over_map=True)


def test_a_task_of_ones_own_has_words_of_its_own():
    class Rescue(Dispersion):
        legend: ClassVar[Legend] = Legend(hidden="rescued")

    class Plain(Dispersion):
        legend: ClassVar[Legend] = Legend()

    assert "dotted: rescued" in legend(Rescue(), scene_of(Rescue()))
    assert "dotted: gone" in legend(Plain(), scene_of(Plain()))
