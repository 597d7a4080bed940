"""Whole experiments: every algorithm, and what is logged."""

import csv
import json

import pytest
import torch
from benchmarl.experiment import Callback
from small_experiments import ALGORITHMS, FRAMES, make, run
from tensordict import TensorDict

import dico
from dico._measuring import measured_frames
from dico.adapters.benchmarl import DicoConfig, DicoTask
from dico.adapters.benchmarl.callback import find_models
from dico.adapters.benchmarl.measures import diversity, observations_of

TASKS = {
    "ippo": DicoTask.NAVIGATION,
    "mappo": DicoTask.SAME_GOAL,
    "iddpg": DicoTask.SAMPLING,
    "maddpg": DicoTask.DISPERSION,
    "isac": DicoTask.REVERSE_TRANSPORT,
    "masac": DicoTask.TAG,
}
COLUMNS = {
    "member", "constraint", "seed", "iteration", "frames", "reward", "snd", "snd_hat", "scale",
    "action_bound_violation", "distances", "seconds",
}  # fmt: skip


class Rewards(Callback):
    """What an observer of the collected batches computes for itself."""

    def __init__(self):
        super().__init__()
        self.means = []

    def on_batch_collected(self, batch):
        self.means.append(batch["next", "agents", "reward"].mean().item())


def scalars(experiment, name):
    (file,) = experiment.folder_name.glob(f"*/scalars/{name}.csv")
    return [float(row[1]) for row in csv.reader(file.read_text().splitlines())]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_three_iterations_of_every_algorithm(tmp_path, algorithm):
    task = TASKS[algorithm].get_task({"max_steps": 10})
    experiment = run(tmp_path, algorithm, task=task, checkpoint_at_end=True)
    opened = dico.load(experiment.folder_name)
    rows = [row for row in opened.rows() if row.get("group", "adversary") == "adversary"]
    assert [(row["iteration"], row["frames"]) for row in rows] == [(k, k * FRAMES) for k in (1, 2, 3)]
    assert rows[0].keys() >= COLUMNS
    assert not any(row.get("diverged") for row in rows)
    assert opened.config["algorithm"] == algorithm
    assert opened.task().name == TASKS[algorithm].name.lower().replace("_", "-")
    group = opened.groups[0]["name"]
    trained = experiment.callbacks[0].models[group].policy
    obs = torch.randn(5, *(opened.groups[0][size] for size in ("n_agents", "obs_dim")))
    torch.testing.assert_close(opened.policy(0.3, seed=0)(obs), trained(obs))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_measured_diversity_ends_within_five_per_cent_of_desired(tmp_path, algorithm):
    experiment = run(
        tmp_path, algorithm, model=DicoConfig(desired_snd=0.5, num_cells=[16], tau=0.3, gradient="straight_through"),
        max_n_iters=6, lr=1e-4, evaluation=False,
        on_policy_collected_frames_per_batch=2000, on_policy_n_envs_per_worker=200,
        on_policy_minibatch_size=500, on_policy_n_minibatch_iters=3,
        off_policy_collected_frames_per_batch=2000, off_policy_n_envs_per_worker=200,
        off_policy_train_batch_size=512, off_policy_n_optimizer_steps=10, off_policy_memory_size=20_000,
    )  # fmt: skip
    opened = dico.load(experiment.folder_name)
    assert opened.metric("snd")[0, -1].item() == pytest.approx(0.5, rel=0.05)
    assert opened.metric("scale")[0, -1].item() != pytest.approx(1, abs=0.01)  # which took a scaling


def test_diversity_is_logged_beside_the_returns(tmp_path):
    rewards = Rewards()
    experiment = make(tmp_path, loggers=["csv"])
    experiment.callbacks.append(rewards)
    experiment.run()
    opened = dico.load(experiment.folder_name)
    assert opened.metric("reward")[0].tolist() == rewards.means
    assert experiment.callbacks[0].final_reward() == rewards.means[-1]
    assert scalars(experiment, "train_agents_snd") == pytest.approx(opened.metric("snd")[0].tolist())
    for name in ("snd_hat", "scale", "action_bound_violation", "desired_snd", "snd_error", "loss_action_space"):
        assert len(scalars(experiment, f"train_agents_{name}")) == 3
    assert scalars(experiment, "train_agents_desired_snd") == pytest.approx([0.3] * 3)

    (file,) = experiment.folder_name.glob("ippo*.json")
    steps = json.loads(file.read_text())["dico"]["navigation"]["ippo"]["seed_0"]
    assert steps.keys() == {"absolute_metrics", "step_1", "step_2", "step_3"}
    for step in (steps[f"step_{k}"] for k in (1, 2, 3)):
        assert len(step["agents_return"]) == len(step["agents_snd"]) == 2  # one for each episode
        for measured, desired, error in zip(
            step["agents_snd"], step["agents_desired_snd"], step["agents_snd_error"], strict=True
        ):
            assert desired == pytest.approx(0.3)
            assert error == pytest.approx(abs(measured - 0.3) / 0.3, rel=1e-4)
    assert scalars(experiment, "eval_agents_snd")[-1] == pytest.approx(sum(steps["step_3"]["agents_snd"]) / 2)


@pytest.mark.parametrize(
    ("desired", "factor", "nearest", "error"),
    [("0.2", 1, 0.2, 0), ("0.2", 0.5, 0.2, 1), ("0.2", 2, 0.2, 0.5), ("0", 0.5, 0, 0), ("free", 2, None, 0)],
)
def test_the_error_is_the_relative_distance_from_what_is_desired(tmp_path, desired, factor, nearest, error):
    """An estimate that is off by a factor leaves diversity off by its inverse."""
    model = find_models(make(tmp_path, model=DicoConfig(desired_snd=desired, num_cells=[8])))["agents"]
    obs = torch.randn(64, 2, 4)
    model.policy.commit_(model.policy.estimate(obs) * factor)
    measured = diversity(model, model.policy.everyone(obs))
    assert measured["desired_snd"] == pytest.approx(measured["snd"] if nearest is None else nearest)
    assert measured["snd_error"] == pytest.approx(error, abs=1e-5)


def test_as_many_frames_are_measured_as_by_the_population_trainer(tmp_path):
    model = find_models(make(tmp_path, task=DicoTask.DISPERSION.get_task({"n_agents": 20})))["agents"]
    batch = TensorDict({"agents": {"observation": torch.zeros(60, 100, 20, 60)}}, [60, 100])
    assert len(observations_of(model, batch)) == measured_frames(20) == 819


def test_the_action_loss_brings_means_into_the_box(tmp_path):
    model = DicoConfig(desired_snd=2.7, num_cells=[8], initial="desired", action_loss_lr=0.01, squash_shared=False)
    beyond = {}
    for weight in (0.0, 1.0):
        model.action_loss_weight = weight
        (tmp_path / str(weight)).mkdir()
        experiment = run(tmp_path / str(weight), model=model, lr=1e-9, on_policy_n_minibatch_iters=8, evaluation=False)
        beyond[weight] = dico.load(experiment.folder_name).metric("action_bound_violation")[0, -1].item()
    assert beyond[1.0] < 0.7 * beyond[0.0]
