"""PettingZoo both ways: its environments as tasks, in worker processes, and our tasks as its environments."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pettingzoo_envs
import pytest
import torch
from command_line import dico as command

from dico.adapters.pettingzoo import parallel_env
from dico.experiments import preset
from dico.random import Random
from dico.runs import evaluate, load
from dico.tasks import TASKS, from_settings, map_state, pettingzoo
from dico.training.config import Config
from dico.training.session import resume, train

WALK = "pettingzoo_envs"
TINY = {"hidden": (8,), "envs": 4, "frames_per_batch": 40, "frames": 120, "epochs": 1, "minibatch": 40, "seeds": 1}


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def actions(task, *batch, seed=0):
    return Random([seed]).uniform(*batch, task.n_agents, task.act_dim, low=-1.0)[0]


def episode(task, state, steps=5, seed=0):
    """What some actions lead to."""
    found = []
    for k in range(steps):
        state, rewards, done = task.step(state, actions(task, *state.time.shape, seed=seed + k))
        found += [rewards, done, *task.observe(state)]
    return state, found


def assert_same(one, two):
    for a, b in zip(one, two, strict=True):
        assert torch.equal(a, b)


# environments as tasks


def test_a_task_does_what_the_environment_does():
    task, env = pettingzoo(WALK, workers=2), pettingzoo_envs.parallel_env()
    state = task.reset(3, Random([0, 1]))
    assert (task.horizon, task.n_agents, task.act_dim, task.groups[0].name) == (6, 2, 1, "agents")
    seed = int(state.seed[1, 2])
    seen, _ = env.reset(seed=seed)
    for k in range(6):
        expected = [seen.get(agent, [0.0] * 3) for agent in env.possible_agents]
        torch.testing.assert_close(task.observe(state)[0][1, 2], torch.tensor(expected))
        chosen = actions(task, 2, 3, seed=k)
        now = {agent: chosen[1, 2, i].numpy() for i, agent in enumerate(env.possible_agents) if agent in env.agents}
        state, rewards, done = task.step(state, chosen)
        seen, earned, *_ = env.step(now)
        torch.testing.assert_close(rewards[1, 2], torch.tensor([earned.get(a, 0.0) for a in env.possible_agents]))
        assert bool(done[1, 2]) == (not env.agents)
    with pytest.raises(ValueError, match="has 6 steps, got one more"):
        task.step(state, chosen)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_step_follows_from_the_state_whatever_came_between(workers):
    """Functions of a task are pure: on any number of workers, in any order, in a batch of any size."""
    task = pettingzoo(WALK, workers=workers)
    state = task.reset(4, Random([0]))
    middle, first = episode(task, state, 2)
    _, then = episode(task, middle, 2, seed=9)
    assert_same(episode(task, state, 2)[1], first)
    task.observe(task.reset(7, Random([5])))
    assert_same(episode(task, middle, 2, seed=9)[1], then)
    some = map_state(lambda tensor: tensor[:, [3, 0]], middle)
    torch.testing.assert_close(task.observe(some)[0], task.observe(middle)[0][:, [3, 0]])
    fresh = pettingzoo(WALK, workers=1)
    assert_same(episode(fresh, middle, 2, seed=9)[1], then)


def test_a_member_alone_sees_what_it_sees_among_others():
    task = pettingzoo(WALK, workers=2)
    both, alone = task.reset(3, Random([0, 1])), task.reset(3, Random([1]))
    assert torch.equal(task.observe(both)[0][1], task.observe(alone)[0][0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fault": "discrete"}, "the actions of walker_0 must be a finite Box of one dimension, got Discrete"),
        ({"fault": "unequal"}, "all agents must have the same actions"),
        ({"fault": "forgets"}, "does not repeat itself when it is given the same seed and actions"),
        ({"flaut": "x"}, "TypeError"),
        ({"horizon": -1}, "horizon must be"),
    ],
)
def test_an_environment_that_is_no_task_is_told_in_a_line(options, message):
    with pytest.raises(ValueError, match=message) as told:
        pettingzoo(WALK, workers=1, **options)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(("name", "message"), [("no_such", "No module named 'no_such'"), (f"{WALK}:run", "'run'")])
def test_a_missing_module_or_function_is_told(name, message):
    with pytest.raises(ValueError, match=message):
        from_settings(f"pettingzoo:{name}")


def test_what_is_installed_is_not_advised():
    with pytest.raises(ValueError, match=r"No module named 'dico\.nothing'\)?$"):
        from_settings("pettingzoo:dico.nothing")
    with pytest.raises(ValueError, match=r'No module named .no_such.*: pip install "dico-marl\[pettingzoo\]"'):
        from_settings("pettingzoo:no_such")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("breaks", r"failed in a worker process \(ZeroDivisionError: a wheel came off\)"),
        ("dies", r"ended of itself \(exit status 7\)"),
    ],
)
def test_a_workers_end_is_told_and_no_process_is_left(fault, message):
    """After the few steps that are tried beforehand."""
    task = pettingzoo(WALK, workers=2, fault=fault, steps=8)
    state, _ = episode(task, task.reset(4, Random([0])))
    with pytest.raises(ValueError, match=message) as told:
        task.step(state, actions(task, 1, 4))
    assert "\n" not in str(told.value)
    assert all(process.poll() is not None for process in task.pool.processes)
    with pytest.raises(ValueError, match="ended of itself"):
        task.step(state, actions(task, 1, 4))


def test_workers_end_with_their_task_and_with_their_training():
    task = pettingzoo(WALK, workers=2)
    task.observe(task.reset(4, Random([0])))
    processes = list(task.pool.processes)
    assert [process.poll() for process in processes] == [None, None]
    del task
    assert [process.poll() for process in processes] == [0, 0]
    code = (
        "import os\nfrom dico.tasks import pettingzoo\nfrom dico.random import Random\n"
        f"task = pettingzoo({WALK!r}, workers=2)\ntask.observe(task.reset(4, Random([0])))\n"
        "print(*(process.pid for process in task.pool.processes), flush=True)\nos.kill(os.getpid(), 9)"
    )
    path = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=path)
    workers, deadline = killed.stdout.split(), time.monotonic() + 20
    assert len(workers) == 2, killed.stderr
    while time.monotonic() < deadline and any(_runs(pid) for pid in workers):
        time.sleep(0.05)
    assert not any(_runs(pid) for pid in workers)


def _runs(pid):
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "zombie" not in status.read_text()


@pytest.mark.unchecked
def test_a_training_repeats_and_resumes_exactly(tmp_path):
    config = Config(**TINY, task=f"pettingzoo:{WALK}", task_options=("workers=1",), snd=("0.3",))
    rows = train(config, tmp_path / "whole", device="cpu", checkpoint_every=1).rows()
    half = train(config, tmp_path / "half", device="cpu", checkpoint_every=2)
    for name in ("checkpoint-120",):
        for file in (half.folder / name).iterdir():
            file.unlink()
        (half.folder / name).rmdir()
    again = resume(half.folder, device="cpu").rows()
    for one, two in zip(rows, again, strict=True):
        assert {k: v for k, v in one.items() if k != "seconds"} == {k: v for k, v in two.items() if k != "seconds"}
    assert evaluate(load(tmp_path / "whole"), episodes=3) == evaluate(load(tmp_path / "half"), episodes=3)


@pytest.mark.unchecked
def test_members_in_turns_see_what_they_see_together(tmp_path):
    """Blocks put states aside and back: environments follow."""
    config = Config(**TINY, task=f"pettingzoo:{WALK}", task_options=("workers=1",), snd=("0.3", "free"))
    together = train(config, tmp_path / "together", device="cpu").rows()
    in_turns = train(config, tmp_path / "turns", device="cpu", block=1).rows()
    for one, two in zip(together, in_turns, strict=True):
        assert two["reward"] == pytest.approx(one["reward"], rel=1e-4)
        assert two["snd"] == pytest.approx(one["snd"], rel=1e-4)


@pytest.mark.unchecked
def test_ctrl_c_writes_a_checkpoint_and_leaves_no_process(tmp_path):
    words = ["train", f"pettingzoo:{WALK}", "--snd", "0.3", "--seeds", "1", "--frames", "4000000", "--envs", "4",
             "--frames-per-batch", "40", "--hidden", "8", "--device", "cpu",
             "--run", str(tmp_path / "run")]  # fmt: skip
    path = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    process = subprocess.Popen([sys.executable, "-m", "dico", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, env=path, start_new_session=True)  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (tmp_path / "run" / "metrics.jsonl").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert workers
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of its group
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "Traceback" not in out
    assert "go on with: dico resume" in out
    assert not any(_runs(pid) for pid in workers)
    assert load(tmp_path / "run").checkpoints()


@pytest.mark.slow
@pytest.mark.unchecked
def test_a_team_learns_to_spread_at_a_desired_diversity(tmp_path):
    """Two minutes on two cores: MPE's simple_spread, two agents, desired SND 0.5, two seeds."""
    config = preset("quick", "pettingzoo:mpe2.simple_spread_v3", task_options=("N=2",), snd=("0.5",), frames=120_000)
    run = train(config, tmp_path / "run", device="cpu")
    reward = run.metric("reward").mean(0)
    assert reward[-3:].mean() > reward[:2].mean() + 0.08
    assert run.metric("snd")[:, -3:].mean().item() == pytest.approx(0.5, rel=0.05)


@pytest.mark.unchecked
@pytest.mark.parametrize("name", ["simple_spread_v3", "simple_tag_v3"])
def test_environments_of_mpe_train_by_their_names(tmp_path, capsys, name):
    words = ("--snd", "0.3", "--seeds", "1", "--frames", "80", "--envs", "4", "--frames-per-batch", "40",
             "--hidden", "8", "--epochs", "1", "--minibatch", "40", "--device", "cpu")  # fmt: skip
    status, _, err = command(capsys, "train", f"pettingzoo:mpe2.{name}", *words, "--run", tmp_path / "run")
    assert status == 0, err
    run = load(tmp_path / "run")
    assert [group["name"] for group in run.groups] == (["adversary", "agent"] if "tag" in name else ["agents"])
    assert run.play(episodes=2).reward.isfinite().all()


# our tasks as environments


@pytest.mark.unchecked
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_tests_pass(name, capsys):
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    parallel_api_test(parallel_env(name), num_cycles=120)
    parallel_seed_test(lambda: parallel_env(name), num_cycles=5)


@pytest.mark.unchecked
def test_an_environment_is_the_task_and_comes_back_as_one():
    env, task = parallel_env("navigation", n_agents=3, horizon=7), TASKS["navigation"](n_agents=3, horizon=7)
    state = task.reset(1, Random([5]))
    seen, _ = env.reset(seed=5)
    for k in range(7):
        chosen = actions(task, 1, 1, seed=k)
        state, rewards, _ = task.step(state, chosen)
        seen, earned, ended, over, _ = env.step({f"agents_{i}": chosen[0, 0, i].numpy() for i in range(3)})
        np.testing.assert_allclose(list(earned.values()), rewards[0, 0])
        np.testing.assert_allclose(np.stack(list(seen.values())), task.observe(state)[0][0, 0])
        assert set(over.values()) == {k == 6}
        assert set(ended.values()) == {False}
    assert env.agents == []
    with pytest.raises(ValueError, match="did you mean 'n_agents'"):
        parallel_env("navigation", n_agnts=3)
    again = pettingzoo("dico.adapters.pettingzoo", workers=1, task="navigation")
    assert (again.n_agents, again.act_dim, again.obs_dim) == (2, 2, 4)
