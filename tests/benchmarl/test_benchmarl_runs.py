"""BenchMARL's result folders, opened as run folders: without BenchMARL, and with what can be wrong with them."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from benchmarl.experiment import Experiment
from small_experiments import ALGORITHMS, FRAMES, make, run, settings

import dico
from dico.adapters.benchmarl import DicoCallback, DicoConfig, DicoTask
from dico.runs import RunError, evaluate
from dico.runs.schema import FORMAT
from dico.training.session import resume


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two levels, two seeds, a folder each."""
    folder = tmp_path_factory.mktemp("results")
    for desired, seed in (("free", 0), ("0.3", 1), ("0.3", 0), ("free", 1)):
        model = DicoConfig(desired_snd=desired, num_cells=[8])
        run(folder, model=model, seed=seed, max_n_iters=2, evaluation=False, checkpoint_interval=FRAMES)
    return folder


@pytest.fixture
def copied(results, tmp_path):
    return shutil.copytree(results, tmp_path / "copied")


def test_a_folder_of_experiments_is_a_population(results):
    opened = dico.load(results)
    assert [(m.index, m.constraint, m.seed) for m in opened.members] == [
        (0, "0.3", 0), (1, "0.3", 1), (2, "free", 0), (3, "free", 1),
    ]  # fmt: skip
    rows = opened.rows()
    assert [(row["iteration"], row["member"]) for row in rows] == [(i, k) for i in (1, 2) for k in range(4)]
    assert all((row["constraint"], row["seed"]) == ("0.3", row["member"]) for row in rows if row["member"] < 2)
    assert opened.metric("reward").isfinite().all()
    assert opened.checkpoints()[0].frames == 2 * FRAMES
    assert opened.session["machine"]["torch"] == torch.__version__


def test_policies_are_those_that_were_trained(results):
    opened = dico.load(results)
    obs = torch.randn(4, 5, 2, 4)
    together = opened.policies()(obs)
    for member, folder in zip(opened.members, opened.source.folders, strict=True):
        alone = dico.load(folder)
        assert len(alone.members) == 1
        own = alone.policy(member.constraint, member.seed)
        torch.testing.assert_close(opened.policy(member.constraint, member.seed)(obs[0]), own(obs[0]))
        torch.testing.assert_close(together[member.index], alone.policies()(obs[member.index : member.index + 1])[0])


def test_members_play_episodes(results):
    rows = evaluate(dico.load(results), episodes=4)
    assert [(row["constraint"], row["seed"]) for row in rows] == [("0.3", 0), ("0.3", 1), ("free", 0), ("free", 1)]


def test_reading_needs_no_benchmarl(results):
    code = f"""
import sys
sys.modules.update(dict.fromkeys(["benchmarl", "torchrl", "tensordict", "hydra", "vmas"]))
import dico
run = dico.load({str(results)!r})
print(run.policies().n_agents, len(run.rows()))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["2", "8"]


def test_nothing_is_unpickled(copied):
    for file in copied.glob("*/config.pkl"):
        file.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    for file in copied.glob("*/checkpoints/*.pt"):
        torch.save({"dico": {"policies": {"agents": Evil()}}}, file)
    with pytest.raises(RunError, match="holds more than tensors and plain values, and is not opened"):
        dico.load(copied).policies()
    for file in copied.glob("*/checkpoints/*.pt"):
        torch.save({"state": {}}, file)
    with pytest.raises(RunError, match="holds no DiCo policies: it was written without DicoCallback"):
        dico.load(copied).policies()


class Evil:
    """Anything but tensors and plain values."""


def test_episodes_are_not_played_otherwise_than_in_training(tmp_path):
    opened = dico.load(run(tmp_path, "iddpg", tanh=True, max_n_iters=1, evaluation=False).folder_name)
    with pytest.raises(RunError, match=r"by tanh, and dico plays by clamp.*algorithm\.use_tanh_mapping=False"):
        opened.task()


def test_experiments_that_do_not_belong_together(copied):
    other = run(copied, model=DicoConfig(desired_snd=0.5, num_cells=[8], tau=0.5), max_n_iters=1, lr=1e-4)
    with pytest.raises(RunError, match=r"holds experiments with different frames, lr, .*tau: open one of them"):
        dico.load(copied)
    shutil.rmtree(other.folder_name)
    (first, *_) = sorted(copied.glob("*"))
    shutil.copytree(first, copied / "twin")
    with pytest.raises(RunError, match="twice: open one of"):
        dico.load(copied)


def test_critics_and_algorithms_must_be_alike_too(copied):
    """Settings that ``dico train`` has no name for."""
    algorithm, critic = ALGORITHMS["ippo"].get_from_yaml(), DicoConfig(num_cells=[9])
    model = DicoConfig(desired_snd=0.5, num_cells=[8])
    for changed, name in (
        ({"critic_model_config": critic}, r"critic_model\.num_cells"),
        ({"algorithm_config": replace(algorithm, use_tanh_normal=False)}, r"algorithm\.use_tanh_normal"),
        ({"algorithm_config": replace(algorithm, share_param_critic=False)}, r"algorithm\.share_param_critic"),
    ):
        config = settings(copied, max_n_iters=2, evaluation=False, checkpoint_interval=FRAMES)
        task = DicoTask.NAVIGATION.get_task({"max_steps": 10})
        parts = {"algorithm_config": algorithm, "seed": 0, "config": config, "callbacks": [DicoCallback()]}
        other = Experiment(task, model_config=model, **(parts | changed)).folder_name
        with pytest.raises(RunError, match=f"holds experiments with different {name}: open one"):
            dico.load(copied)
        shutil.rmtree(other)


def test_experiments_further_below_are_told_of(copied):
    shutil.copytree(dico.load(copied).source.folders[0], copied / "a" / "b")
    with pytest.warns(UserWarning, match="holds 1 more further below, left out"):
        assert len(dico.load(copied).members) == 4


def test_a_torn_checkpoint_and_a_torn_line_are_left_out(copied):
    folder = dico.load(copied).source.folders[0]
    newest = folder / "checkpoints" / f"checkpoint_{2 * FRAMES}.pt"
    shutil.copy(newest, newest.with_name("checkpoint_best.pt"))  # a user's, which is none of BenchMARL's
    newest.write_bytes(newest.read_bytes()[:-100])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"member": 0, "iter')
    opened = dico.load(folder)
    with pytest.warns(UserWarning, match="is torn and left out"):
        assert len(opened.rows()) == 2
    with pytest.warns(UserWarning, match="is not whole and left out"):
        assert opened.checkpoints()[0].frames == FRAMES


def test_what_cannot_be_opened_says_why(copied, tmp_path):
    with pytest.raises(RunError, match=r"is no run folder: it does not exist"):
        dico.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match=r"is no run folder: it has no config\.json"):
        dico.load(tmp_path / "empty")
    folder = dico.load(copied).source.folders[0]
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(RunError, match=r"no checkpoint in .*: train with experiment\.checkpoint_at_end=True"):
        dico.load(copied).policies()
    with pytest.raises(RunError, match=r"was trained by BenchMARL: go on with experiment\.restore_file"):
        resume(copied)
    described = folder / "dico.json"
    saved = json.loads(described.read_text())
    described.write_text(json.dumps(saved | {"format": FORMAT + 1}))
    with pytest.raises(RunError, match=r"written by a newer dico .*: upgrade dico"):
        dico.load(folder)
    described.write_text(json.dumps(saved | {"config": {"task": "navigation"}}))
    with pytest.raises(RunError, match=r"does not tell config.task_options, config.algorithm, .*metric"):
        dico.load(folder)
    described.write_text("{")
    with pytest.raises(RunError, match="cannot be used: it is no JSON"):
        dico.load(folder)
    described.unlink()
    with pytest.raises(
        RunError, match=r"is of BenchMARL and has no dico\.json: train with model=dico and DicoCallback"
    ):
        dico.load(folder)


def test_a_run_that_has_not_begun_has_no_rows(tmp_path):
    opened = dico.load(make(tmp_path).folder_name)
    assert opened.rows() == []
    assert opened.checkpoints() == []
