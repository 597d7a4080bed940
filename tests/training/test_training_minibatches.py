"""The last minibatch of a pass, which may have fewer frames than the others, or be filled up."""

import pytest
import torch
from populations import batch_of, config, learner, parameters

from dico.metrics import METRICS, Metric, snd
from dico.training import ppo

OPTIONS = {
    # with the default epsilon, 1e-8, Adam makes whole steps of what differs by rounding
    "separate": {"action_loss_weight": 10.0, "action_loss_lr": 1e-2, "action_loss_eps": 1e-5, "goals": ("3", "free")},
    "merged": {"action_loss": "merged", "action_loss_weight": 10.0, "goals": ("3", "free")},
    "some frames": {"estimate_frames": 5},
    "more frames than are left": {"estimate_frames": 13},
    "shared critic": {"algorithm": "mappo"},
    "another metric": {"metric": "hse"},
    "entropy": {"entropy": 0.1},
    "some agents": {"estimate_agents": 2, "epochs": 1},
}
JUST_FILLED = 14
"""Three such minibatches are two frames, a twentieth, more than the 40 of a batch."""


def updates(one):
    """How many frames counted in each update."""
    counted, update = [], one.update

    def counting(minibatch):
        rows, weight = minibatch.obs.shape[1], minibatch.how.weight
        counted.append(rows if weight is None else (rows, int(weight.sum())))
        update(minibatch)

    one.update = counting
    return counted


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_minibatch_that_is_filled_up_teaches_what_it_would_alone(options, monkeypatch):
    options = {"algorithm": "ippo", "minibatch": JUST_FILLED, "tau": 0.3} | options
    filled, alone = learner(**options), learner(**options)
    counted, counted_alone = updates(filled), updates(alone)
    filled.learn(batch_of(filled))
    monkeypatch.setattr(ppo, "MOST_PADDING", 0.0)
    alone.learn(batch_of(alone))
    passes = filled.settings.epochs
    assert counted == passes * [(14, 14), (14, 14), (14, 12)]
    assert counted_alone == passes * [14, 14, 12]
    torch.testing.assert_close(parameters(filled), parameters(alone), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(filled.policy.snd_hat, alone.policy.snd_hat)


@pytest.mark.parametrize(
    ("minibatch", "expected"),
    [(10, [10, 10, 10, 10]), (24, [24, 16]), (22, [22, 18]), (13, [13, 13, 13, 1]), (100, [40])],
)
def test_none_is_filled_up_with_much_or_without_need(minibatch, expected):
    one = learner("ippo", minibatch=minibatch, epochs=1)
    counted = updates(one)
    one.learn(batch_of(one))
    assert counted == expected


@pytest.mark.parametrize(("minibatch", "missing"), [(35, 5), (53, 0), (25, 0), (1000, 0)])
def test_up_to_a_twentieth_of_a_batch_is_filled_up(minibatch, missing):
    assert ppo.padding(config(minibatch=minibatch), 100) == missing


def test_none_is_filled_up_where_frames_cannot_be_weighed(monkeypatch):
    monkeypatch.setitem(METRICS, "square", Metric(lambda params: snd(params) ** 2, degree=2))
    one = learner("ippo", minibatch=JUST_FILLED, epochs=1, metric="square")
    counted = updates(one)
    one.learn(batch_of(one))
    assert counted == [14, 14, 12]


def test_going_on_after_a_pass_begins_another():
    """As a benchmark does, and warming up for a CUDA graph."""
    one = learner("ippo", minibatch=JUST_FILLED)
    counted = updates(one)
    one.learn(batch_of(one))
    del counted[:]
    for _ in range(4):
        one._updates[0]()
    assert counted == [(14, 14), (14, 14), (14, 12), (14, 14)]
