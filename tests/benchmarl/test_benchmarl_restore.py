"""Going on from BenchMARL's checkpoints: what is kept, what is taken back, and what is refused."""

import json
from pathlib import Path

import pytest
import torch
from benchmarl.experiment import Experiment
from small_experiments import FRAMES, make, run

import dico
from dico.adapters.benchmarl import DicoCallback, DicoConfig, DicoTask


@pytest.mark.parametrize("algorithm", ["ippo", "iddpg"])
def test_a_restored_run_continues(tmp_path, algorithm):
    model = DicoConfig(desired_snd=0.3, num_cells=[8], tau=0.1)
    task = DicoTask.TAG.get_task({"max_steps": 10})
    first = run(
        tmp_path, algorithm, task=task, model=model, callback=DicoCallback(freeze={"agent": FRAMES}), max_n_iters=3,
        checkpoint_interval=FRAMES,
    )  # fmt: skip
    file = first.folder_name / "checkpoints" / f"checkpoint_{2 * FRAMES}.pt"
    saved = torch.load(file, weights_only=True)["dico"]

    again = make(
        None, algorithm, task=task, model=model, max_n_iters=5, restore_file=str(file), save_folder=str(tmp_path)
    )  # and no word of the freeze
    callback = again.callbacks[0]
    assert again.folder_name == first.folder_name
    assert callback.freeze == {"agent": FRAMES}
    for group, each in callback.models.items():
        assert torch.equal(each.policy.snd_hat, saved["policies"][group]["snd_hat"])
        assert each.policy.has_estimate
        loaded, kept = callback.action_steps[group].adam.state_dict(), saved["action_steps"][group]
        assert kept["state"]
        for key, value in kept["state"].items():
            torch.testing.assert_close(loaded["state"][key], value)
        for name, optimizer in again.optimizers[group].items():
            was = saved["optimizers"][group][name]["state"]
            assert was
            torch.testing.assert_close(optimizer.state_dict()["state"], was)
    rows = dico.load(first.folder_name).rows()
    assert rows[-1]["iteration"] == 3  # nothing is taken back before it goes on

    again.run()
    assert again.total_frames == 5 * FRAMES
    green = dict(callback.models["agent"].policy.state_dict())
    torch.testing.assert_close(green, saved["policies"]["agent"])  # still frozen
    rows = dico.load(first.folder_name).rows()
    assert [row["iteration"] for row in rows if row["group"] == "adversary"] == [1, 2, 3, 4, 5]
    rewards = dico.load(first.folder_name).metric("reward", "adversary")[0].tolist()
    assert callback.record.history == rewards  # of which the final reward is the mean of the last tenth
    for name in ("adversary", "agent"):
        assert dico.load(first.folder_name).metric("frames", name)[0].tolist() == [k * FRAMES for k in range(1, 6)]


def test_benchmarls_own_reload_knows_our_classes(tmp_path):
    first = run(tmp_path, callback=DicoCallback(freeze={"agents": 10**6}), max_n_iters=2, checkpoint_interval=FRAMES)
    file = first.folder_name / "checkpoints" / f"checkpoint_{FRAMES}.pt"
    again = Experiment.reload_from_file(str(file), experiment_patch={"max_n_iters": 3})
    assert again.callbacks[0].freeze == {"agents": 10**6}
    again.run()
    assert [row["iteration"] for row in dico.load(first.folder_name).rows()] == [1, 2, 3]


OTHER = {
    r"model\.desired_snd=0\.3 \(got 0\.5\): restore it with the same": {
        "model": DicoConfig(desired_snd=0.5, num_cells=[8])
    },
    r"model\.tau=0\.01 \(got 0\.5\)": {"model": DicoConfig(desired_snd="0.30", num_cells=[8], tau=0.5)},
    r"critic_model\.num_cells=\[8\] \(got \[9\]\)": {"model": DicoConfig(num_cells=[9])},
    r"task=dico/navigation \(got dico/same_goal\)": {"task": DicoTask.SAME_GOAL.get_task({"max_steps": 10})},
    r"task\.max_steps=10 \(got 20\)": {"task": DicoTask.NAVIGATION.get_task({"max_steps": 20})},
    r"seed=0 \(got 1\)": {"seed": 1},
    r"experiment\.gamma=0\.99 \(got 0\.5\)": {"gamma": 0.5},
    r"experiment\.lr=5e-05 \(got 0\.1\)": {"lr": 0.1},
    r"algorithm=ippo \(got mappo\)": {"algorithm": "mappo"},
    r"freeze=\{\}, got \{'agents': 9\}: leave freeze out": {"callback": DicoCallback(freeze={"agents": 9})},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("finished"), max_n_iters=2, checkpoint_interval=FRAMES).folder_name


@pytest.mark.parametrize("message", OTHER)
def test_restoring_with_other_settings_is_refused_and_leaves_the_run_as_it_was(finished, message):
    before = contents(finished)
    file = finished / "checkpoints" / f"checkpoint_{FRAMES}.pt"
    with pytest.raises(ValueError, match=message):
        make(finished.parent, restore_file=str(file), **OTHER[message])
    assert contents(finished) == before


def contents(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_what_does_not_change_learning_may_change(finished):
    file = finished / "checkpoints" / f"checkpoint_{FRAMES}.pt"
    changed = {"max_n_iters": 9, "evaluation_episodes": 3, "checkpoint_at_end": True, "off_policy_memory_size": 7}
    assert make(finished.parent, restore_file=str(file), **changed).total_frames == FRAMES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"torn", "is not whole, or no checkpoint"),
        ({"model": torch.zeros(1)}, "is no checkpoint of BenchMARL"),
        ({"state": Path("x")}, "holds more than tensors and plain values"),
    ],
)
def test_a_file_that_is_no_checkpoint_says_so(tmp_path, content, message):
    file = tmp_path / "run" / "checkpoints" / "checkpoint_40.pt"
    file.parent.mkdir(parents=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        torch.save(content, file)
    with pytest.raises(ValueError, match=message):
        make(tmp_path, restore_file=str(file))


def test_nothing_of_an_abandoned_continuation_remains(tmp_path):
    """Four iterations, then back to the first and one more: what the other three wrote is gone."""
    same = {"loggers": ["csv"], "lr": 0.01}
    folder = run(tmp_path, max_n_iters=4, checkpoint_interval=FRAMES, keep_checkpoints_num=None, **same).folder_name
    file = folder / "checkpoints" / f"checkpoint_{FRAMES}.pt"
    make(tmp_path, max_n_iters=2, restore_file=str(file), **same)._evaluation_loop()
    assert len(evaluations(folder)) == 4  # an evaluation alone takes nothing back
    again = run(tmp_path, max_n_iters=2, restore_file=str(file), checkpoint_at_end=True, **same)
    assert sorted(path.name for path in file.parent.iterdir()) == ["checkpoint_40.pt", "checkpoint_80.pt"]
    obs = torch.randn(5, 2, 4)
    torch.testing.assert_close(dico.load(folder).policy(0.3)(obs), again.callbacks[0].models["agents"].policy(obs))
    for scalars in folder.glob("*/scalars/*.csv"):
        assert [line.split(",")[0] for line in scalars.read_text().splitlines()] == ["0", "1"], scalars.name
    kept = evaluations(folder)
    assert list(kept) == ["step_1", "step_2"]
    (data,) = folder.glob("ippo*.json")
    greatest = json.loads(data.read_text())["dico"]["navigation"]["ippo"]["seed_0"]["absolute_metrics"]
    assert greatest["agents_snd"] == [max(kept["step_1"]["agents_snd"] + kept["step_2"]["agents_snd"])]


def evaluations(folder):
    (file,) = folder.glob("ippo*.json")
    steps = json.loads(file.read_text())["dico"]["navigation"]["ippo"]["seed_0"]
    return {name: step for name, step in steps.items() if name != "absolute_metrics"}


def test_a_checkpoint_without_dico_says_so(tmp_path):
    experiment = make(tmp_path)
    state = experiment.state_dict()
    del state["dico"]
    with pytest.warns(UserWarning, match="without DicoCallback"):
        experiment.load_state_dict(state)
