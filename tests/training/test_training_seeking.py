"""Levels that seek: uphill on a known reward, by seed, killed and resumed, alone and among others."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from populations import config
from test_training_resume import final_tensors, metrics, small_run

import dico
from dico.constraints import parse_constraint, stack_constraints
from dico.training.population import Population
from dico.training.seeking import Seeker, uphill

SEEKING = ("seek:0.2", "seek:0.4", "seek:0.6")


class Hill(Population):
    """A population whose reward is a known function of what is desired, and rises for all with time."""

    def __init__(self, reward, snd=SEEKING, seeds=2, groups=("agents",), **settings):
        self.config = config(snd=snd, seeds=seeds, **settings)
        self.members, self.reward, self.iteration = self.config.members, reward, 0
        goals = [stack_constraints([parse_constraint(member.constraint) for member in self.members]) for _ in groups]
        self.learners = [
            SimpleNamespace(team=SimpleNamespace(name=name), constraint=goal)
            for name, goal in zip(groups, goals, strict=True)
        ]
        self.noise = torch.Generator().manual_seed(0)

    def iterate(self):
        self.iteration += 1
        rows = []
        for learner in self.learners:
            for member in self.members:
                desired = learner.constraint.lo[member.index].item()
                noise = 0.02 * torch.randn((), generator=self.noise).item()
                reward = self.reward(desired, member.seed, learner.team.name) + 0.1 * self.iteration + noise
                several = {"group": learner.team.name} if len(self.learners) > 1 else {}
                moving = {"desired": desired} if member.constraint.startswith("seek") else {}
                rows.append({"member": member.index, "constraint": member.constraint, "seed": member.seed, **several,
                             "iteration": self.iteration, "reward": reward, **moving})  # fmt: skip
        return rows

    def climb(self, iterations):
        seeker, every = Seeker(self), []
        for _ in range(iterations):
            rows = self.iterate()
            seeker.look(rows)
            every += rows
        return every


def test_each_seeds_levels_go_to_its_own_optimum_and_keep_their_distances():
    peaks = [1.1, 0.5]
    hill = Hill(lambda x, seed, _: -((x - peaks[seed]) ** 2), snd=(*SEEKING, "0.3"), seek_step=0.1)
    before = [hill.learners[0].constraint.lo.clone(), hill.learners[0].constraint.hi.clone()]
    hill.climb(300)
    levels = hill.learners[0].constraint.lo.view(4, 2)
    assert levels[:3].mean(0).tolist() == pytest.approx(peaks, abs=0.1)
    torch.testing.assert_close(levels[:3].diff(dim=0), torch.full((2, 2), 0.2, dtype=torch.float64))
    assert torch.equal(levels, hill.learners[0].constraint.hi.view(4, 2))
    assert levels[3].tolist() == [0.3, 0.3]  # which does not seek
    assert before[0].tolist() == before[1].tolist()


def test_levels_stay_at_or_above_zero_and_steps_are_bounded_and_told():
    hill = Hill(lambda x, *_: -x, seek_step=0.07, seek_window=5, seeds=1)
    rows = hill.climb(100)
    assert hill.learners[0].constraint.lo.tolist() == pytest.approx([0, 0.2, 0.4])
    ends = [row for row in rows if "moved" in row]
    assert {row["iteration"] % 5 for row in ends} == {0}
    assert all(-0.07 <= row["moved"] <= 0 for row in ends)
    assert ends[0]["slope"] == pytest.approx(-1, abs=0.2)
    assert 0 < ends[0]["slope_error"] < 0.2
    first = [row for row in rows if row["member"] == 0]
    for now, following in pairwise(first):
        assert following["desired"] == pytest.approx(now["desired"] + now.get("moved", 0), abs=1e-12)


def test_groups_of_agents_climb_by_their_own_rewards():
    up = {"red": 1, "blue": -1}
    hill = Hill(lambda x, _, group: up[group] * x, groups=("red", "blue"), seeds=1)
    hill.climb(10)
    red, blue = (learner.constraint.lo.tolist() for learner in hill.learners)
    assert red == pytest.approx([0.25, 0.45, 0.65])
    assert blue == pytest.approx([0.15, 0.35, 0.55])


def test_a_flat_reward_moves_little():
    hill = Hill(lambda *_: 0.0, seek_step=0.1, seek_window=20, seeds=1)
    rows = hill.climb(20)
    move = rows[-1]
    assert abs(move["moved"]) == pytest.approx(0.1 * min(abs(move["slope"] / move["slope_error"]) / 2, 1))
    assert abs(move["moved"]) < 0.1


def test_members_that_diverged_neither_count_nor_move():
    rows = {k: {t: {"desired": 0.2 * k, "reward": 1.0 * k} for t in range(3)} for k in range(3)}
    rows[2][1] = {"desired": 0.4, "reward": None}
    assert uphill(rows, 0.1).slope == pytest.approx(5)
    rows[1][0] = {"desired": 0.2, "reward": float("nan")}
    assert uphill(rows, 0.1) is None


@pytest.mark.parametrize("name", ["constraint", "seed", "reward", "desired"])
def test_lines_that_lack_a_name_are_not_recalled(name):
    """Of a file that was changed, and whose checksum was taken away."""
    hill = Hill(lambda desired, *_: desired, seek_window=2)
    rows, seeker = hill.iterate(), Seeker(hill)
    del rows[0][name]
    seeker.recall(rows)
    assert seeker.seen == rows[1:]
    seeker.look(hill.iterate())  # and moves by what there is


def test_a_run_that_was_set_back_within_a_window_resumes_exactly(tmp_path):
    seeking = {"snd": ("seek:0.3", "seek:0.5", "1"), "seeds": 2, "seek_window": 3, "frames": 320}
    trained = small_run(tmp_path / "run", **seeking)
    expected = metrics(trained.folder)
    tensors = {name: value.clone() for name, value in final_tensors(trained.folder).items()}
    moved = trained.metric("moved")
    assert moved[:4, [2, 5]].isfinite().all()
    assert moved[:4, [0, 1, 3, 4, 6, 7]].isnan().all()
    assert moved[4:].isnan().all()
    assert trained.metric("desired")[0, -1] != 0.3
    for frames in (320, 240):  # back to four batches, one into the second window
        (trained.folder / f"checkpoint-{frames}" / "state.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="not whole"):
        dico.resume(trained.folder)
    assert metrics(trained.folder) == expected
    for name, value in final_tensors(trained.folder).items():
        assert torch.equal(value, tensors[name]), name


def test_a_seed_climbs_alone_as_among_others_and_in_blocks(tmp_path):
    seeking = {"snd": ("seek:0.3", "seek:0.5"), "seek_window": 2, "frames": 200}
    together = dico.train(config(**seeking, seeds=2), tmp_path / "together").metric("desired")
    alone = dico.train(config(**seeking, first_seed=1), tmp_path / "alone").metric("desired")
    blocks = dico.train(config(**seeking, seeds=2), tmp_path / "blocks", block=3).metric("desired")
    torch.testing.assert_close(alone, together[[1, 3]], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(blocks, together, rtol=1e-3, atol=1e-4)
    assert together[0].unique().numel() == 3  # two moves
    assert together[0, -1] != together[1, -1]


@pytest.mark.unchecked
def test_bad_input_is_told():
    with pytest.raises(ValueError, match="snd must hold two levels or more that seek"):
        config(snd=("seek:0.3", "1"))
    with pytest.raises(ValueError, match=r"a schedule must be such .* got 'seek:>=0\.3'"):
        config(snd=("seek:>=0.3", "seek:1"))
    with pytest.raises(ValueError, match="the start of seek: must be a diversity"):
        config(snd=("seek:-1", "seek:1"))
    with pytest.raises(ValueError, match="seek_window must be at least 2 batches, got 1"):
        config(seek_window=1)
    with pytest.raises(ValueError, match="seek_step must be a finite number above 0, got 0"):
        config(seek_step=0)
