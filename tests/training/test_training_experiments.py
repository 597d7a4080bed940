"""The paper's experiments as data, against what the paper says of them; and where each of them is trained."""

import re
from pathlib import Path

import pytest

from dico.experiments import EXPERIMENTS, PRESETS, plan, preset
from dico.runs import RunError
from dico.tasks import TASKS, from_settings

NAVIGATION = ("0", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "free")
SAME_GOAL = ("0", "0.1", "0.3", "0.4", "0.5", "1", "free")
PAPER = {
    #                    task, levels, frames, seeds, members, figure
    "navigation": ("navigation", NAVIGATION, 10_000_000, 4, 32, "fig:nav_case_study"),
    "same-goal": ("same-goal", SAME_GOAL, 10_000_000, 4, 28, "fig:nav_case_study_same_goal"),
    "dispersion": ("dispersion", ("0", "free", "6"), 10_000_000, 4, 12, "fig:dispersion_plots"),
    "dispersion-shared": ("dispersion", ("0", "free", "6"), 10_000_000, 4, 12, "fig:dispersion_plots"),
    "sampling": ("sampling", ("0", "free", "5"), 5_000_000, 3, 9, "fig:sampling_plots"),
    "tag": ("tag", ("0", "0.3", "0.6", "free"), 12_000_000, 5, 20, "fig:tag_plots"),
    "reverse-transport": (
        "reverse-transport",
        ("0", "0.1", "1.2", "free"),
        8_000_000,
        3,
        12,
        "fig:rev_transport_plots",
    ),
    "tau": ("navigation", ("1",), 10_000_000, 4, 16, "fig:tau_comparison"),
    "analytical": ("navigation", ("0", "0.1", "0.3", "0.5", "1"), 10_000_000, 3, 15, "fig:nav_finn"),
    "analytical-finn": ("navigation", ("0", "0.1", "0.3", "0.5", "1"), 10_000_000, 3, 15, "fig:nav_finn"),
}


@pytest.mark.parametrize("name", PAPER)
def test_an_experiment_is_the_papers(name):
    task, levels, frames, seeds, members, figure = PAPER[name]
    experiment = EXPERIMENTS[name]
    assert (experiment.name, experiment.task, experiment.figure) == (name, task, figure)
    assert experiment.purpose.endswith(".")
    for settings in ("paper", "tuned"):
        config = experiment.config(settings)
        assert (config.task, config.snd, config.frames, config.seeds) == (task, levels, frames, seeds)
        assert len(config.members) == members
        assert config == preset(settings, task, snd=levels, **experiment.changes)  # and nothing else


def test_all_experiments_are_looked_at():
    assert list(EXPERIMENTS) == list(PAPER)


def test_what_sets_experiments_of_one_task_apart():
    options = {name: EXPERIMENTS[name].config().task_options for name in ("dispersion", "dispersion-shared")}
    assert not from_settings("dispersion", options["dispersion"]).share_reward
    assert from_settings("dispersion", options["dispersion-shared"]).share_reward
    assert EXPERIMENTS["tau"].config().varied == {"tau": [0.1, 0.01, 0.001, 0.0001]}
    analytical = [EXPERIMENTS[name].config() for name in ("analytical", "analytical-finn")]
    assert [(each.algorithm, each.control, each.density) for each in analytical] == [
        ("maddpg", "analytical", "autoregressive"), ("maddpg", "analytical", "finn-signed"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("settings", PRESETS)
def test_an_experiment_scales(name, settings):
    whole, tenth = EXPERIMENTS[name].config(settings), EXPERIMENTS[name].config(settings, scale=0.1)
    assert set(tenth.differs_from(whole)) <= {"frames", "noise_frames", "freeze"}
    assert tenth.frames % tenth.frames_per_batch == 0
    assert abs(tenth.frames - whole.frames / 10) <= tenth.frames_per_batch / 2
    assert tenth.noise_frames == whole.noise_frames // 10
    least = EXPERIMENTS[name].config(settings, scale=1e-9)
    assert (least.frames, least.iterations) == (least.frames_per_batch, 1)
    assert EXPERIMENTS[name].config(settings, scale=2).iterations == pytest.approx(2 * whole.iterations, abs=1)


def test_the_green_agent_learns_for_a_quarter_at_every_scale():
    for scale in (0.02, 0.1, 1.0, 2.0):
        config = EXPERIMENTS["tag"].config(scale=scale)
        assert config.frozen_after("agent") == pytest.approx(config.frames / 4)
    quick = EXPERIMENTS["tag"].config("quick", scale=0.5)
    assert quick.freeze == ("agent=25%",)
    assert quick.frozen_after("agent") == quick.frames / 4


def test_seeds_may_be_others():
    config = EXPERIMENTS["navigation"].config(seeds=2, first_seed=3)
    assert {member.seed for member in config.members} == {3, 4}


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_none(scale):
    with pytest.raises(ValueError, match=r"scale must be a finite number above 0, got"):
        EXPERIMENTS["navigation"].config(scale=scale)


def test_the_plan_of_all(tmp_path):
    trainings = plan(["tau", "all", "tag"], ["paper", "tuned"], tmp_path)
    assert [(t.experiment.name, t.preset) for t in trainings] == [
        (name, settings) for name in EXPERIMENTS for settings in ("paper", "tuned")
    ]
    assert {t.state for t in trainings} == {"new"}
    assert trainings[1].folder == tmp_path / "tuned" / "navigation"
    assert trainings[0].frames == 32 * 167 * 60_000
    assert not list(tmp_path.iterdir())


def test_later_seeds_are_a_piece_of_their_own():
    assert plan(["tag"], first_seed=2)[0].folder == Path("runs/reproduce/paper/tag-seed2")


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "paper" / "tau").mkdir(parents=True)
    assert plan(["tau"], folder=tmp_path)[0].state == "new"  # as empty as none
    (tmp_path / "paper" / "tau" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=rf"{re.escape(str(tmp_path))}.*move it away, or choose another --folder"):
        plan(["all"], folder=tmp_path)


def test_tasks_that_have_one_experiment_list_its_levels():
    """Navigation's list has other levels than its experiment."""
    for name, experiment in EXPERIMENTS.items():
        if experiment.task != "navigation":
            assert experiment.snd == TASKS[experiment.task].snd_levels, name
