"""A dial in the trainer: the levels of a seed have one set of networks, and estimates of their own."""

import pytest
import torch
from populations import ALGORITHMS, config, parameters, population
from test_training_resume import final_tensors, metrics, small_run

import dico
from dico.runs import RunError
from dico.training.population import Population

LEVELS = ("0", "0.4", "1")
DIAL = {"snd": LEVELS, "seeds": 2, "dial": True}


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg", "isac"])
def test_the_levels_of_a_seed_stay_one_and_seeds_stay_apart(algorithm):
    assert algorithm in ALGORITHMS
    ours = population(algorithm=algorithm, **DIAL)
    policy = ours.learners[0].policy
    start = {name: p.detach().clone() for name, p in policy.named_parameters()}
    for _ in range(3):
        rows = ours.iterate()
    for name, parameter in policy.named_parameters():
        torch.testing.assert_close(parameter[[0, 1]], parameter[[2, 3]], rtol=0, atol=1e-6)
        torch.testing.assert_close(parameter[[0, 1]], parameter[[4, 5]], rtol=0, atol=1e-6)
        assert (parameter[0] - parameter[1]).abs().max() > 1e-3
        assert (parameter - start[name]).abs().max() > 1e-5
    assert len({row["snd_hat"] for row in rows}) == 6
    critics = parameters(ours.learners[0])
    name = next(name for name in critics if name.startswith("critic"))
    assert (critics[name][0] - critics[name][2]).abs().max() > 1e-5  # which are each level's own


def test_their_step_is_the_mean_of_their_gradients():
    """One level's gradient moves all, as a plain network trained on all levels' losses."""
    ours = population(**DIAL)
    learner = ours.learners[0]
    weights = list(learner.policy.parameters())
    loss = sum((float(k) * p[2:4].sum() for k, p in enumerate(weights, 1)), torch.zeros(()))
    before = [p.detach().clone() for p in weights]
    learner.descend(loss.expand(learner.n_members) / learner.n_members, learner.actor_adam)
    moved = [p.detach() - b for p, b in zip(weights, before, strict=True)]
    assert all(torch.equal(move[[0, 1]], move[[2, 3]]) and move.abs().min() > 0 for move in moved)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_dial_alone_is_the_same_as_among_others(seed):
    ours, alone = population(**DIAL), population(indices=[seed, seed + 2, seed + 4], **DIAL)
    for _ in range(3):
        rows, single = ours.iterate(), alone.iterate()
        for row in single:
            other = next(each for each in rows if each["member"] == row["member"])
            for name in ("reward", "snd", "snd_hat", "scale"):
                assert row[name] == pytest.approx(other[name], rel=1e-4, abs=1e-5), name


def test_a_broken_dial_harms_no_other_seed():
    ours, alone = population(**DIAL), population(indices=[0, 2, 4], **DIAL)
    for p in ours.learners[0].policy.parameters():
        p.data[3] = torch.nan
    for _ in range(2):
        ours.iterate(), alone.iterate()
    expected = parameters(alone.learners[0])
    for name, value in parameters(ours.learners[0]).items():
        torch.testing.assert_close(value[[0, 2, 4]], expected[name], rtol=1e-4, atol=1e-4)


def test_a_group_that_is_not_controlled_has_policies_of_each_member():
    ours = Population(config(task="tag", snd=("0", "1"), dial=True))
    ours.iterate()
    reds, green = (dict(learner.policy.named_parameters()) for learner in ours.learners)
    assert all((p[0] - p[1]).abs().max() < 1e-6 for p in reds.values())
    assert any((p[0] - p[1]).abs().max() > 1e-5 for p in green.values())


def test_a_dial_is_loaded_turned_and_resumed_exactly(tmp_path):
    trained = small_run(tmp_path / "run", **DIAL, tau=1.0)
    dial, obs = trained.dial(seed=1), torch.randn(32, 2, 4)
    assert dial.levels == [0, 0.4, 1]
    for level in LEVELS:
        torch.testing.assert_close(dial.at(float(level))(obs), trained.policy(level, seed=1)(obs), rtol=1e-4, atol=1e-4)
    assert dial.at(0.7).snd_hat == pytest.approx(dial.snd_hat[1:].mean().item())
    expected, tensors = metrics(trained.folder), final_tensors(trained.folder)
    tensors = {name: value.clone() for name, value in tensors.items()}
    (trained.folder / "checkpoint-240" / "state.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="not whole"):
        dico.resume(trained.folder)
    assert metrics(trained.folder) == expected
    assert all(torch.equal(value, tensors[name]) for name, value in final_tensors(trained.folder).items())


@pytest.mark.unchecked
def test_bad_input_is_told(tmp_path):
    for snd in (("0.3",), ("0", "free"), ("0", ">=1"), ("0", "0->1@100")):
        with pytest.raises(ValueError, match="snd must hold two values or more for a dial"):
            config(snd=snd, dial=True)
    with pytest.raises(ValueError, match="dial must be False for control='analytical'"):
        config(snd=LEVELS, dial=True, control="analytical")
    with pytest.raises(RunError, match="the levels of a dial cannot take turns"):
        dico.train(config(**DIAL), tmp_path / "blocks", block=2)
    with pytest.raises(RunError, match="has networks of its own for each desired diversity: train with --dial"):
        small_run(tmp_path / "run", frames=40).dial()
