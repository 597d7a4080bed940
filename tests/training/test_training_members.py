"""Members never touch each other, whatever becomes of them."""

import math
import time

import pytest
import torch
from populations import ALGORITHMS, PAIRS, SHORT, SMALL, config, parameters, population, same

from dico.experiments import preset
from dico.tasks import TASKS
from dico.training.population import Population

GOALS = {"snd": ("0.3", "free"), "seeds": 2}
ITERATIONS = 3
algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)


def rows_of(ours):
    return [ours.iterate() for _ in range(ITERATIONS)]


def check_same(rows, k, alone_rows, ours, alone):
    """Member k of a population is what it is alone."""
    for together, single in zip(rows, alone_rows, strict=True):
        (expected,) = single
        found = next(row for row in together if row["member"] == k)
        assert found.keys() == expected.keys()
        for name in ("member", "constraint", "seed", "iteration", "frames"):
            assert found[name] == expected[name]
        for name in ("reward", "snd", "snd_hat", "scale", "action_bound_violation"):
            assert found[name] == pytest.approx(expected[name], rel=1e-4, abs=1e-5), name
    for mine, its in zip(ours.learners, alone.learners, strict=True):
        expected = parameters(its)
        for name, value in parameters(mine).items():
            torch.testing.assert_close(value[k], expected[name][0], rtol=1e-4, atol=1e-4, msg=name)


@algorithms
@pytest.mark.parametrize("options", [{}, PAIRS], ids=["all", "pairs"])
def test_a_member_alone_is_the_same_as_among_others(algorithm, options):
    ours = population(algorithm=algorithm, **GOALS, **options)
    before = parameters(ours.learners[0])
    rows = rows_of(ours)
    assert not same(before, parameters(ours.learners[0]))
    for k in (0, 3):
        alone = population(algorithm=algorithm, indices=[k], **GOALS, **options)
        check_same(rows, k, rows_of(alone), ours, alone)


@algorithms
def test_a_broken_member_harms_nobody(algorithm):
    ours = population(algorithm=algorithm, **GOALS)
    for module in ours.learners[0].modules().values():
        for p in module.parameters():
            p.data[1] = float("nan")
    rows = rows_of(ours)
    assert all(v.isnan()[1].all() for v in parameters(ours.learners[0]).values())
    for k in (0, 2):
        alone = population(algorithm=algorithm, indices=[k], **GOALS)
        check_same(rows, k, rows_of(alone), ours, alone)


@algorithms
def test_random_numbers_are_keyed_by_seed(algorithm):
    """The same seed starts alike and sees alike under any goal; other seeds do not."""
    ours = population(algorithm=algorithm, **GOALS)
    start = parameters(ours.learners[0])
    assert [member.seed for member in ours.members] == [0, 1, 0, 1]
    for value in start.values():
        assert torch.equal(value[0], value[2])
        assert not torch.equal(value[0], value[1])
    state = vars(ours.rollout.state)
    assert all(torch.equal(x[0], x[2]) for x in state.values())
    assert not torch.equal(state["position"][0], state["position"][1])
    # the first estimate is not made yet, so both goals' policies are the same, and so is their noise
    (batch,) = ours.rollout.collect(ours.learners, 3, 0)
    if ours.config.on_policy:
        mean, std = ours.learners[0].policy(batch.obs).chunk(2, -1)
        noise = (batch.sample - mean) / std
        torch.testing.assert_close(noise[0], noise[2], rtol=1e-3, atol=1e-4)
        assert (noise[0] - noise[1]).abs().mean() > 0.3


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains(task):
    """With the paper's algorithm: finite numbers, and all networks move."""
    ours = Population(preset("quick", task, **SMALL | SHORT | {"snd": ("0", "0.5"), "frames": 80}))
    before = [parameters(each) for each in ours.learners]
    rows = ours.iterate() + ours.iterate()
    assert all(
        math.isfinite(row[name])
        for row in rows
        for name in ("reward", "snd", "snd_hat", "scale", "action_bound_violation")
    )
    assert not any(same(b, parameters(each)) for b, each in zip(before, ours.learners, strict=True))


def test_other_first_seed_other_numbers():
    first, second = (population(first_seed=seed, seeds=1) for seed in (0, 7))
    assert [(m.constraint, m.seed) for m in second.members] == [("0.3", 7), ("free", 7)]
    assert not same(parameters(first.learners[0]), parameters(second.learners[0]))


def test_training_again_gives_the_same():
    one, two = (population(algorithm="ippo") for _ in range(2))
    rows, again = rows_of(one), rows_of(two)
    for a, b in zip(rows, again, strict=True):
        assert [r["reward"] for r in a] == [r["reward"] for r in b]
    assert same(parameters(one.learners[0]), parameters(two.learners[0]))


def test_rows_tell_who_and_when():
    ours = Population(config(**GOALS), indices=[1, 2])
    ours.iterate()
    rows = ours.iterate()
    told = [tuple(row[name] for name in ("member", "constraint", "seed", "iteration", "frames")) for row in rows]
    assert told == [(1, "0.3", 1, 2, 80), (2, "free", 0, 2, 80)]
    assert {"reward", "snd", "snd_hat", "scale", "action_bound_violation", "seconds"} <= rows[0].keys()


def test_an_iteration_takes_until_its_numbers_are_there(monkeypatch):
    """On a GPU, everything before that is only asked for."""

    class Awaited(torch.Tensor):
        def tolist(self):
            time.sleep(0.1)
            return super().tolist()

    late = torch.zeros(2).as_subclass(Awaited)
    monkeypatch.setattr("dico.training.population.measure", lambda *_: {"reward": late})
    ours = population()
    monkeypatch.setattr(ours.rollout, "collect", lambda *_: [None])
    monkeypatch.setattr(ours.learners[0], "learn", lambda _: None)
    assert all(row["seconds"] >= 0.1 for row in ours.iterate())
