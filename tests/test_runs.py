"""An opened run: a view of its folder, read once, whoever wrote it."""

from dataclasses import dataclass, replace

import pytest
import torch

from dico._measuring import measured_frames
from dico.runs import Checkpoint, Member, Run, RunError
from dico.runs.evaluation import _running

LINES = [{"member": k, "iteration": i, "frames": 40 * i, "reward": i + k} for i in (1, 2) for k in (0, 1)]


@dataclass
class Source:
    """Reads from memory, and counts how often."""

    saved: tuple[Checkpoint, ...] = ()
    amiss: tuple[str, ...] = ()
    readings: int = 0

    def rows(self, say):
        self.readings += 1
        for text in self.amiss:
            say(text)
        return [dict(line) for line in LINES]

    def checkpoints(self, say):
        return list(self.saved)

    def check_playable(self, run):
        raise RunError("not to be played")

    def no_checkpoint(self):
        return "nothing was saved"

    def no_metrics(self):
        return "nothing was told"


def opened(tmp_path, **parts) -> Run:
    groups = ({"name": "agents", "n_agents": 2, "obs_dim": 4, "low": [-1.0], "high": [1.0], "kind": "deterministic"},)
    members = (Member(0, "0.3", 0), Member(1, "free", 0))
    return Run(tmp_path, {"task": "navigation", "task_options": ()}, groups, members, {}, Source(**parts))


def checkpoint(folder, frames, read) -> Checkpoint:
    return Checkpoint(folder, {"frames": frames}, read)


def test_lines_are_read_once_and_when_they_are_needed(tmp_path):
    run = opened(tmp_path)
    assert run.source.readings == 0
    assert run.metric("reward").tolist() == [[1, 2], [2, 3]]
    assert run.metric("frames").shape == (2, 2)
    assert [row["reward"] for row in run.rows()] == [1, 2, 2, 3]
    assert run.source.readings == 1
    assert replace(run, session={}).metric("reward").shape == (2, 2)
    assert run.source.readings == 2  # another run


def test_what_is_amiss_is_said_once_and_kept(tmp_path):
    run = opened(tmp_path, amiss=("line 3 is torn", "line 3 is torn"))
    with pytest.warns(UserWarning, match="line 3 is torn") as caught:
        run.read().rows()
    assert len(caught) == 1
    assert run.remarks == ["line 3 is torn"]


def test_the_newest_checkpoint_that_can_be_read_is_kept(tmp_path):
    readings = []

    def gone(_):
        raise FileNotFoundError

    def whole(having):
        readings.append(having)
        return {"agents.policy.tau": torch.tensor(0.5)}

    run = opened(tmp_path, saved=(checkpoint(tmp_path / "new", 80, gone), checkpoint(tmp_path / "old", 40, whole)))
    with pytest.warns(UserWarning, match="new cannot be read and is left out"):
        assert run.newest.frames == 40
    assert run.newest.tensors() == run.newest.tensors(".policy.") == {"agents.policy.tau": 0.5}
    assert run.newest.tensors("critic") == {}
    assert readings == [".policy."]  # once, and no more than policies
    assert [each.frames for each in run.checkpoints()] == [80, 40]


def test_the_source_says_what_to_do_where_nothing_can_be_shown(tmp_path):
    with pytest.raises(RunError, match="nothing was saved"):
        opened(tmp_path).policies()
    with pytest.raises(RunError, match="not to be played"):
        opened(tmp_path).task()


@pytest.mark.parametrize("n_agents", [2, 40])
def test_evaluation_measures_as_much_as_a_training_does(n_agents):
    running = torch.ones(3, 100, 200, dtype=torch.bool)
    running[1, 30:] = False
    running[2, 60:, ::2] = False
    picked = _running(running, n_agents)
    assert picked.shape == (3, measured_frames(n_agents))
    assert running.flatten(1).gather(1, picked).all()
    for own in picked:
        assert len(own.unique()) == len(own)
        assert len((own % 200).unique()) > 150  # of all episodes, not the same few


def test_evaluation_measures_each_member_on_as_many_steps():
    running = torch.ones(2, 10, 3, dtype=torch.bool)
    running[1, 4:] = False
    picked = _running(running, n_agents=2)
    assert picked.shape == (2, 12)
    assert sorted(picked[1].tolist()) == list(range(12))
