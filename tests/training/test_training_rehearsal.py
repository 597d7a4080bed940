"""Procedures stand the warm-up that a CUDA graph begins with: they name all that they change."""

import pytest
import torch
from populations import PAIRS, config
from rehearsal import Rehearsal
from shuffled import Interleaved

from dico.tasks import TASKS
from dico.training.population import Population
from dico.training.staging import Stage

ITERATIONS = 3
CASES = {
    "ippo": {"algorithm": "ippo"},
    "ippo, episodes that end while warming up": {"algorithm": "ippo", "task_options": ("horizon=2",)},
    "mappo, groups": {"algorithm": "mappo", "task": "tag", "freeze": ("agent=40",)},
    "ippo, groups that interleave": {"algorithm": "ippo", "task": "interleaved"},
    "ippo, a last minibatch filled up": {"algorithm": "ippo", "minibatch": 14},
    "ippo, a last minibatch apart": {"algorithm": "ippo", "minibatch": 24},
    "ippo, some agents": {"algorithm": "ippo", **PAIRS},
    "maddpg": {"algorithm": "maddpg", "estimate_on": "both"},
    "maddpg, newest": {"algorithm": "maddpg", "estimate_on": "newest"},
    "iddpg, groups": {"algorithm": "iddpg", "task": "tag"},
    "matd3, whose critics learn alone now and then": {"algorithm": "matd3", "updates": 5, "policy_delay": 3},
    "isac": {"algorithm": "isac"},
    "isac, newest": {"algorithm": "isac", "estimate_on": "newest"},
    "masac, some agents": {"algorithm": "masac", **PAIRS},
}


def train(stage, options, forgotten="", iterations=ITERATIONS):
    """All rows but for the time they took, and all that the population ends with."""
    population = Population(config(**options), stage)
    if forgotten:
        tensors = [tensor for name, tensor in population.tensors().items() if name.endswith(forgotten)]
        assert tensors, forgotten
        stage.forget(tensors)
    rows = [row | {"seconds": 0} for _ in range(iterations) for row in population.iterate()]
    return rows, {name: value.detach().clone() for name, value in population.tensors().items()}


@pytest.mark.parametrize("case", CASES)
def test_a_rehearsed_population_is_bit_for_bit_the_eager_one(case, monkeypatch):
    monkeypatch.setitem(TASKS, "interleaved", Interleaved)
    stage = Rehearsal()
    rows, tensors = train(stage, CASES[case])
    expected_rows, expected = train(Stage("eager", "cpu", "float32"), CASES[case])
    assert rows == expected_rows
    assert tensors.keys() == expected.keys()
    for name, value in tensors.items():
        assert torch.equal(value, expected[name]), name
    assert stage.rehearsed >= 2  # a step of the environments, and an update


@pytest.mark.parametrize(
    ("case", "forgotten"),
    [
        *(("ippo", name) for name in ("snd_hat", "agents.rng.counter", "adam.actor.count", "rollout.clock")),
        *(("maddpg, newest", name) for name in ("snd_hat", "agents.rng.counter", "adam.critic.count")),
        *(("isac", name) for name in ("snd_hat", "has_estimate", "agents.rng.counter", "log_alpha")),
    ],
)
def test_a_rehearsal_shows_a_tensor_that_is_not_named(case, forgotten):
    rows, tensors = train(Rehearsal(), CASES[case], forgotten, iterations=1)
    expected_rows, expected = train(Stage("eager", "cpu", "float32"), CASES[case], iterations=1)
    assert rows != expected_rows or any(not torch.equal(value, expected[name]) for name, value in tensors.items())


def test_a_rehearsal_shows_a_tensor_that_is_replaced():
    class Counter:
        count = torch.zeros(())

        def advance(self):
            self.count = self.count + 1

    counter = Counter()
    with pytest.raises(AssertionError, match="replaced, not written"):
        Rehearsal().procedure(counter.advance, lambda: [counter.count])()
