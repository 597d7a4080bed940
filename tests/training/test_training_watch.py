"""What a run says of members that stall or diverge, and that the others go on."""

import math

import pytest
import torch
from populations import config

from dico.training.population import Population
from dico.training.session import train
from dico.training.watch import Watch


def rows(*scales, reward=0.1, group=None):
    own = {} if group is None else {"group": group}
    return [
        {"member": k, "constraint": "1", "seed": k, "reward": reward, "scale": s, **own} for k, s in enumerate(scales)
    ]


def told(batches, iterations=100, gradient="soft"):
    said = []
    watch = Watch(iterations, gradient, said.append)
    for batch in batches:
        watch.look(batch)
    return said


def test_a_scale_that_stays_large_is_told_of_once():
    (message,) = told([rows(20.0, 1.0, 300.0)] * 50)
    assert message.startswith("members 0 (snd 1, seed 0), 2 (snd 1, seed 2): the scale of their deviations has been ")
    assert "above 10 for 10 batches" in message
    assert "--preset tuned" in message
    again = [rows(20.0)] * 10 + [rows(1.0)] + [rows(20.0)] * 10
    assert len(told(again)) == 1


def test_what_to_do_is_not_what_the_run_does_already():
    (message,) = told([rows(20.0)] * 10, gradient="straight_through")
    assert "straight_through" not in message
    assert "--preset tuned" not in message
    assert "--lr" in message


def test_a_long_run_is_given_longer():
    assert not told([rows(20.0)] * 49, iterations=1000)
    assert told([rows(20.0)] * 50, iterations=1000)


def test_a_scale_that_comes_down_in_between_is_not():
    assert not told(9 * [rows(20.0)] + [rows(10.0)] + 9 * [rows(20.0)])


def test_groups_are_counted_apart():
    red, green = rows(20.0, group="adversary"), rows(1.0, group="agent")
    assert len(told([red + green] * 10)) == 1


def test_a_member_that_is_no_longer_finite_is_marked_and_told_of_once_with_what_to_do():
    batches = [rows(1.0, 1.0) for _ in range(3)]
    for batch in batches[1:]:
        batch[1]["reward"] = math.nan
    (message,) = told(batches)
    assert message.startswith("member 1 (snd 1, seed 1) diverged: its numbers are no longer finite; the others go on; ")
    assert "--first-seed" in message
    assert [[row.get("diverged", False) for row in batch] for batch in batches] == [[False, False]] + 2 * [
        [False, True]
    ]


class Listener:
    def __init__(self):
        self.said = []

    def begin(self, population, folder):
        pass

    def say(self, message):
        self.said.append(message)

    def iteration(self, rows, seconds):
        pass

    def end(self):
        pass


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg"])
def test_a_run_says_so_and_the_other_members_are_as_without_it(tmp_path, algorithm, monkeypatch):
    settings = config(algorithm=algorithm, snd=("0.3", "free"), frames=400)
    untouched = train(settings, tmp_path / "untouched", device="cpu")
    iterate = Population.iterate

    def broken(self):
        if self.iteration == 2:
            with torch.no_grad():
                next(self.learners[0].policy.deviations.parameters())[0] = math.inf
        measured = iterate(self)
        measured[1]["scale"] = 20.0
        return measured

    monkeypatch.setattr(Population, "iterate", broken)
    listener = Listener()
    run = train(settings, tmp_path / "run", device="cpu", observers=[listener])
    said = [message for message in listener.said if message.startswith("member")]
    assert [message.split(":")[0] for message in said] == [
        "member 0 (snd 0.3, seed 0) diverged",
        "member 1 (snd free, seed 0)",
    ]
    torch.testing.assert_close(run.metric("reward")[1], untouched.metric("reward")[1], rtol=0, atol=0)
