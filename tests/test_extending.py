"""What the contributing page says of additions: each worked example runs, and does what it says."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command_line import dico as command

import dico
from dico.experiments import preset
from dico.metrics import METRICS
from dico.training.algorithms import ALGORITHMS
from dico.training.population import Population
from dico.training.staging import Stage

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "extending"
TINY = {"hidden": (8,), "seeds": 1, "envs": 4, "frames_per_batch": 40, "frames": 40, "epochs": 1, "minibatch": 40}
pytestmark = pytest.mark.unchecked  # shapes are checked in dico's own signatures, not in a user's


@pytest.fixture(autouse=True)
def _example_modules(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)


def example(name):
    return importlib.import_module(name)


def test_an_own_task_needs_diversity_and_is_reopened_by_its_name(tmp_path, monkeypatch):
    run = example("own_task").main(tmp_path / "run", frames=60_000)
    none, one, free = (float(level.reward.centre) for level in dico.analysis.summary(run))
    assert none < 0.8 * max(one, free)
    assert run.config["task"] == "own_task:Posts"
    again = dico.load(run.folder)
    assert again.task() == example("own_task").Posts()
    rows = dico.runs.evaluate(again, episodes=20)
    assert len(rows) == 6
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(EXAMPLES)])
    monkeypatch.delitem(sys.modules, "own_task")
    with pytest.raises(ValueError, match="task 'own_task:Posts' cannot be imported"):
        dico.load(run.folder).task()


def test_an_own_tasks_settings_are_kept(tmp_path):
    posts = example("own_task").Posts(n_agents=3, horizon=20)
    config = preset("quick", posts, snd=("0.3",), **(TINY | {"envs": 2}))
    assert (config.task, config.task_options) == ("own_task:Posts", ("n_agents=3", "horizon=20"))
    run = dico.train(config, tmp_path / "run", device="cpu")
    assert run.task() == posts
    assert run.policy(snd=0.3).n_agents == 3


def test_an_own_task_compiles_and_runs_at_every_stage():
    posts = example("own_task").Posts()
    rows = []
    for stage in ("eager", "compiled"):
        population = Population(preset("quick", posts, snd=("0.3",), **TINY), Stage(stage, "cpu", "float32"))
        rows.append(population.iterate()[0])
    assert rows[0]["reward"] == pytest.approx(rows[1]["reward"], rel=1e-4, abs=1e-7)


def test_an_own_task_from_the_command_line(tmp_path):
    """In the folder of the module, as a user would."""
    words = [
        "train",
        "own_task:Posts",
        "--task-options",
        "n_agents=3",
        "--snd",
        "0.3",
        "--seeds",
        "1",
        "--frames",
        "60",
        "--frames-per-batch",
        "60",
        "--envs",
        "2",
        "--run",
        str(tmp_path / "run"),
        "--device",
        "cpu",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "dico", *words], cwd=EXAMPLES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "config.json").read_text())["config"]["task_options"] == ["n_agents=3"]
    assert "own_task:Posts" in done.stdout


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("own_task:Post", "has no attribute 'Post'"),
        ("no_such_module:Posts", "No module named 'no_such_module'"),
        ("own_task:SPEED", "must be a function or a class that makes a task"),
        ("own_task:PostsState", "cannot be made of no options"),
        ("asyncio:get_running_loop", "cannot be made of no options (no running event loop)"),
        ("collections:OrderedDict", "it lacks groups"),
        ("own_task:", "cannot be imported"),
        (":Posts", "cannot be imported"),
        ("own_task:Posts --task-options agents=3", "cannot be made of {'agents': 3}"),
    ],
)
def test_a_task_that_is_none_is_told_in_a_line(capsys, task, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = command(capsys, "train", *task.split(), "--frames", "6000")
    assert status == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_task_that_has_no_text_is_told():
    class Odd:
        pass

    with pytest.raises(ValueError, match="task must be a name or a dataclass"):
        preset("quick", Odd())


def test_an_own_algorithm_learns(tmp_path):
    module = example("own_algorithm")
    run = module.main(tmp_path / "run", frames=36_000)
    none, one = (float(level.reward.centre) for level in dico.analysis.summary(run))
    assert 0.003 < none < one
    assert ALGORITHMS["ippo-normalised"].learner is module.NormalisedPPO
    assert run.config["algorithm"] == "ippo-normalised"


def test_an_own_metric_is_controlled(tmp_path):
    run = example("own_metric").main(tmp_path / "run", frames=18_000)
    measured = run.metric("spread")[:, -3:].mean(1)
    torch.testing.assert_close(measured, torch.tensor([0.2, 0.2, 0.5, 0.5]).double(), rtol=0.1, atol=0)
    assert METRICS.pop("spread").degree == 1


def test_an_own_figure_is_drawn(tmp_path):
    dico.train(preset("quick", snd=("0", "1"), **TINY), tmp_path / "run", device="cpu")
    words = [sys.executable, EXAMPLES / "own_figure.py"]
    subprocess.run([*words, "run"], cwd=tmp_path, check=True)
    assert (tmp_path / "executed.png").stat().st_size > 5_000
    alone = subprocess.run(words, capture_output=True, text=True, check=False)
    assert alone.stderr == "usage: python own_figure.py RUN [FILE]\n"


def test_an_own_constraint_holds():
    rows = example("own_constraint").main()
    assert rows[0][0] < 0.4
    assert rows[-1][0] > 10
    for unscaled, controlled in rows:
        assert controlled == pytest.approx(torch.tensor(unscaled).tanh().item(), rel=1e-4)


def test_own_networks_of_every_sort_meet_the_desired_diversity():
    results = example("own_networks").main(desired=0.5, steps=120)
    assert set(results) == {"MLP", "GNN", "recurrent"}
    for measured, loss in results.values():
        assert measured == pytest.approx(0.5, rel=0.05)
        assert loss < 0.6  # standing still has 1


WRONG = {
    "observe": ("return (super().observe(state)[0][..., :-1],)", "observe must have shape"),
    "observe of nobody": ("return ()", "observe must have shape"),
    "reward": (
        "state, reward, done = super().step(state, actions); return state, reward[..., :1], done",
        "step's rewards",
    ),
    "two": ("return super().step(state, actions)[:2]", "not enough values to unpack"),
    "done": ("state, reward, done = super().step(state, actions); return state, reward, done.float()", "step's done"),
    "scene": ("return None", "scene must give a dico.tasks.Scene"),
    "reset": ("raise RuntimeError('no room')", "RuntimeError: no room"),
}
ARGUMENTS = {"reset": "n, rng", "done": "state, actions", "two": "state, actions", "reward": "state, actions"}


@pytest.mark.parametrize("fault", WRONG)
def test_an_own_task_that_does_not_work_is_told_before_a_folder_is_made(fault, tmp_path, monkeypatch, capsys):
    code, message = WRONG[fault]
    function = {"two": "step", "reward": "step", "done": "step"}.get(fault, fault.split()[0])
    source = f"""
from own_task import Posts
class Wrong(Posts):
    def {function}(self, {ARGUMENTS.get(fault, "state")}):
        {code}
"""
    module = f"wrong_{fault.replace(' ', '_')}"
    (tmp_path / f"{module}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    status, _, err = command(capsys, "train", f"{module}:Wrong", "--frames", "6000", "--run", "run")
    assert status == 2
    assert f"task '{module}:Wrong' does not work: " in err
    assert message in err
    assert not (tmp_path / "run").exists()


def test_a_script_without_a_guard_trains_once(tmp_path):
    """Its task is the one of the running script: importing the script again would train again."""
    source = f"""
import sys
sys.path.insert(0, {str(EXAMPLES)!r})
from dataclasses import dataclass
import dico
from dico.experiments import preset
from own_task import Posts
print("runs")
@dataclass(frozen=True, kw_only=True)
class Mine(Posts):
    horizon: int = 20
dico.train(preset("quick", Mine(), snd=("0.3",), **{TINY | {"envs": 2}}), "run", device="cpu")
"""
    (tmp_path / "mine.py").write_text(source)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("runs") == 1
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 1
    assert json.loads((tmp_path / "run" / "config.json").read_text())["config"]["task"] == "mine:Mine"


def test_a_class_is_no_task():
    with pytest.raises(ValueError, match="task must be a name or a dataclass, got Posts"):
        preset("quick", example("own_task").Posts)


def test_an_own_tasks_state_may_have_any_names_in_blocks(tmp_path, monkeypatch):
    """As `count`, which a learner has in common for all members."""
    (tmp_path / "counting.py").write_text("""
from dataclasses import dataclass
import torch
from dico.tasks import Scene
from own_task import Posts

@dataclass(frozen=True)
class Counted:
    position: torch.Tensor
    posts: torch.Tensor
    count: torch.Tensor

class Counting(Posts):
    def reset(self, n, rng):
        state = super().reset(n, rng)
        return Counted(state.position, state.posts, torch.zeros(state.position.shape[:-2]))

    def step(self, state, actions):
        after, reward, done = super().step(state, actions)
        return Counted(after.position, after.posts, state.count + 1), reward, done
""")
    monkeypatch.syspath_prepend(tmp_path)
    settings = preset("quick", "counting:Counting", snd=("0.3", "1", "free"), **TINY)
    rows = [dico.train(settings, tmp_path / name, device="cpu", block=block).rows() for name, block in
            (("whole", None), ("parts", 2))]  # fmt: skip
    for one, other in zip(*rows, strict=True):
        assert one["reward"] == pytest.approx(other["reward"], rel=1e-4)


def test_an_own_algorithm_may_remember_more(tmp_path, monkeypatch):
    from dataclasses import dataclass

    from torch import Tensor

    from dico.training.algorithms import Algorithm
    from dico.training.critics import LocalCritic
    from dico.training.ppo import PPO, PPOBatch

    @dataclass(frozen=True)
    class Remembering(PPOBatch):
        value: Tensor

    class Valued(PPO):
        BATCH = Remembering

        def shapes(self):
            return super().shapes() | {"value": (self.team.n_agents,)}

        def act(self, obs):
            decision = super().act(obs)
            return decision._replace(remembered=decision.remembered | {"value": self.critic(obs)})

    monkeypatch.setitem(ALGORITHMS, "valued", Algorithm(Valued, LocalCritic))
    population = Population(preset("quick", algorithm="valued", snd=("1",), **TINY))
    (batch,) = population.rollout.collect(population.learners, 10, 0)
    torch.testing.assert_close(batch.value, population.learners[0].critic(batch.obs))
    run = dico.train(preset("quick", algorithm="valued", snd=("1",), **TINY), tmp_path / "run", device="cpu")
    monkeypatch.delitem(ALGORITHMS, "valued")
    with pytest.raises(ValueError, match="trained by 'valued', which is not known here: register it"):
        dico.resume(run.folder)
