"""Analytical control in BenchMARL: trained, recorded, opened and restored; and what is refused."""

import pytest
import torch
from benchmarl.environments import VmasTask
from commands import SMALL, command
from small_experiments import FRAMES, make, run

import dico
from dico import tasks
from dico.adapters.benchmarl import DicoAnalyticalConfig, DicoTask
from dico.adapters.benchmarl.tasks import TASKS
from dico.analytical import AnalyticalDiCo, box_snd
from dico.policy import DiCo

NAVIGATION = DicoTask.NAVIGATION.get_task({"max_steps": 10})


def analytical(task=NAVIGATION, **settings):
    return DicoAnalyticalConfig(**({"desired_snd": 0.5, "num_cells": [8]} | settings)).over(task)


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("maddpg", {}),
        ("ippo", {"coordinates": [2, 0], "action_loss_rows": "all"}),
        ("masac", {"density": "finn", "coordinates": [1], "obs_quantile": 0.01}),
        ("isac", {"density": "finn-signed", "coordinates": [0, 3]}),
    ],
)
def test_a_run_is_trained_recorded_opened_and_restored(tmp_path, algorithm, settings):
    model = analytical(**settings)
    changes = {"lr": 3e-3, "checkpoint_interval": FRAMES}
    experiment = run(tmp_path, algorithm, model=model, max_n_iters=2, **changes)
    trained = experiment.callbacks[0].models["agents"].policy
    assert isinstance(trained, AnalyticalDiCo)
    files = [experiment.folder_name / "checkpoints" / f"checkpoint_{k * FRAMES}.pt" for k in (1, 2)]
    before, after = (torch.load(file, weights_only=True)["dico"]["policies"]["agents"] for file in files)
    assert any(not torch.equal(before[name], after[name]) for name in before if name.startswith("density."))
    opened = dico.load(tmp_path)
    for row in opened.rows():
        assert row["snd_box"] == pytest.approx(0.5, rel=1e-2)
        assert 0 <= row["outside"] <= 1
    assert opened.config["control"] == "analytical"
    policy, obs = opened.policy(0.5), 2 * torch.rand(20, 2, 4) - 1
    assert isinstance(policy, AnalyticalDiCo)
    torch.testing.assert_close(policy(obs), trained(obs))
    torch.testing.assert_close(policy.allocated(obs), trained.allocated(obs))
    assert policy.obs_low.tolist() == opened.groups[0]["obs_low"] == list(model.obs_low)
    assert box_snd(policy).item() == pytest.approx(0.5, rel=1e-3)

    again = make(tmp_path, algorithm, model=model, max_n_iters=3, restore_file=str(files[1]), **changes)
    torch.testing.assert_close(again.callbacks[0].models["agents"].policy(obs), trained(obs))
    again.run()
    assert [row["iteration"] for row in dico.load(tmp_path).rows()] == [1, 2, 3]


def test_only_teams_under_control_have_a_box(tmp_path):
    task = DicoTask.TAG.get_task({"max_steps": 10})
    experiment = make(tmp_path, task=task, model=analytical(task, obs_quantile=0.01))
    kinds = {name: type(model.policy) for name, model in experiment.callbacks[0].models.items()}
    assert kinds == {"adversary": AnalyticalDiCo, "agent": DiCo}


@pytest.mark.parametrize("name", TASKS)
def test_the_tasks_have_the_boxes_that_our_trainer_has(name):
    ours = tasks.make(name.replace("_", "-"))
    group = next(group for group in ours.groups if len(group.agents) > 1)
    assert DicoTask[name.upper()].get_from_yaml().obs_box() == ours.obs_box(group)


def test_a_box_of_quantiles_holds_nearly_all_that_random_actions_see_and_is_always_the_same():
    task = VmasTask.DISPERSION.get_from_yaml()
    model, again = (analytical(task, obs_quantile=share) for share in (0.01, 0.01))
    wide = analytical(task, obs_quantile=0.0)
    assert (model.obs_low, model.obs_high) == (again.obs_low, again.obs_high)
    assert all(outer <= inner for outer, inner in zip(wide.obs_low, model.obs_low, strict=True))
    torch.manual_seed(3)
    env = task.get_env_fun(50, continuous_actions=True, seed=7, device="cpu")()
    obs = env.rollout(100, break_when_any_done=False)["agents", "observation"].flatten(0, -2)
    low, high = torch.tensor(model.obs_low), torch.tensor(model.obs_high)
    assert ((obs >= low) & (obs <= high)).float().mean() > 0.97


def test_a_box_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    analytical(obs_quantile=0.1)
    assert torch.equal(torch.rand(3), expected)


COMMAND = ("algorithm=ippo", "task=dico/navigation", "model=dico_analytical")
BAD = {
    "model.density=fin": "must be one of 'autoregressive', 'finn', 'finn-signed', got 'fin'; did you mean 'finn'?",
    "model.metric=hse": "metric must be one of 'snd', got 'hse'",
    "model.kind=agent_std_paper": "kind must be one of 'auto', 'deterministic', 'shared_std', 'agent_std', got",
    "model.obs_low=[-1,-1]": "obs_high must be a number, or a sequence",
    "model.obs_quantile=0.7": "obs_quantile must be a number in [0, 0.49], got 0.7",
    "model.obs_quantile=some": "obs_quantile must be a number in [0, 0.49], got 'some'",
    "model.coordinates=[4]": "coordinates must be different numbers from 0 to 3, got [4]",
    "model.densty=finn": "got 'densty'; did you mean 'density'?",
    "task=dico/tag": "model.obs_low and model.obs_high must be given for dico/tag, whose observations have no known",
    "task=vmas/balance": "or model.obs_quantile=0.01 takes them from a first rollout",
    "model.density=finn task.n_agents=4": "density='finn' takes at most 6 observed numbers, got 8: name",
    f"model.obs_low={[-1] * 4} model.obs_high={[1] * 4} model.obs_quantile=0.01".replace(", ", ","): (
        "model.obs_quantile must be null where model.obs_low is given, got 0.01"
    ),
    "model.obs_low=[-1,-1] model.obs_high=[1,1]": "obs_low and obs_high must hold obs_dim=4 numbers each, got 2",
}


@pytest.mark.unchecked
@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_refused_in_one_line(monkeypatch, tmp_path, capsys, words):
    assert command(monkeypatch, tmp_path, *COMMAND, *SMALL, *words.split()) == 2
    error = capsys.readouterr().err
    assert BAD[words] in error
    assert len(error.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_configuration_without_a_box_says_how_to_get_one(tmp_path):
    with pytest.raises(ValueError, match=r"must be given: DicoAnalyticalConfig\(\.\.\.\)\.over\(task\)"):
        make(tmp_path, model=DicoAnalyticalConfig(desired_snd=0.5, num_cells=[8]))


@pytest.mark.unchecked
def test_the_command_trains_and_goes_on_in_the_box_that_it_began_in(monkeypatch, tmp_path):
    words = (*COMMAND, *SMALL, "model.obs_quantile=0.01", "model.desired_snd=0.4")
    assert command(monkeypatch, tmp_path, *words) == 0
    (folder,) = dico.load(tmp_path / "outputs").source.folders
    begun = dico.load(folder)
    assert begun.config["obs_quantile"] == 0.01
    monkeypatch.setattr("dico.adapters.benchmarl.analytical.FIRST_FRAMES", 100)  # where another box would come out
    file = folder / "checkpoints" / f"checkpoint_{2 * FRAMES}.pt"
    more = ("experiment.max_n_frames=120", f"experiment.restore_file={file}")
    assert command(monkeypatch, tmp_path, *words, *more) == 0
    again = dico.load(folder)
    assert [row["iteration"] for row in again.rows()] == [1, 2, 3]
    assert again.groups == begun.groups
    assert again.policy(0.4).obs_low.tolist() == begun.policy(0.4).obs_low.tolist() == again.groups[0]["obs_low"]
