"""Metrics that a diversity is chosen by: of episodes whose end is known, and of teams that something happens to."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from folders import trained

from dico.analysis import controlled_group
from dico.random import Random
from dico.runs import evaluate
from dico.tasks import make
from dico.tasks.dispersion import DispersionState
from dico.tasks.navigation import NavigationState
from dico.tasks.reverse_transport import ReverseTransportState
from dico.tuning import METRICS, Metric, find_metric, metrics
from dico.tuning.faults import NOISE, WEAK, Failed, Faulty, Noisy, Weak
from dico.viz.tuning import draw_history


def test_success_and_coverage_of_navigation():
    goal = torch.tensor([[[0.0, 0.0], [1.0, 1.0]]]).expand(3, -1, -1)
    position = goal + torch.tensor([[[0.05, 0.0], [0.0, 0.05]], [[0.05, 0.0], [0.5, 0.0]], [[0.3, 0.0], [0.5, 0.0]]])
    state = NavigationState(position, torch.zeros_like(position), goal)
    assert make("navigation").success(state).tolist() == [True, False, False]
    assert make("navigation").coverage(state).tolist() == [1.0, 0.5, 0.0]


def test_success_and_coverage_of_dispersion():
    place = torch.zeros(2, 4, 2)
    eaten = torch.tensor([[True] * 4, [True, False, False, False]])
    state = DispersionState(place, place, place, eaten)
    assert make("dispersion").success(state).tolist() == [True, False]
    assert make("dispersion").coverage(state).tolist() == [1.0, 0.25]


def test_success_is_how_reverse_transport_ends():
    task = make("reverse-transport")
    state = task.reset(200, Random([0]))
    following, _, done = task.step(state, torch.zeros(1, 200, task.n_agents, 2))
    assert 0 < done.sum() < 200
    assert torch.equal(task.success(following), done)
    assert isinstance(following, ReverseTransportState)


def test_coverage_of_sampling_counts_cells():
    task = make("sampling")
    state = task.reset(2, Random([0]))
    assert task.coverage(state).max() == 0
    for _ in range(20):
        state, _, _ = task.step(state, torch.ones(1, 2, 3, 2))
    cells = sum(bin(column).count("1") for column in state.visited[0, 0].tolist())
    assert cells > 1
    assert task.coverage(state)[0, 0].item() == pytest.approx(cells / 1600)


def test_faults_are_what_they_say():
    task, draw = make("navigation"), Random([0])
    state = task.reset(5, draw)
    actions = draw.uniform(5, 2, 2, low=-1.0, high=1.0)
    still, _, _ = Failed(task, 1).step(state, actions)
    assert torch.equal(still.position[:, :, 1], state.position[:, :, 1])
    assert not torch.equal(still.position[:, :, 0], state.position[:, :, 0])
    weak, _, _ = Weak(task, 1).step(state, actions)
    halved = actions * torch.tensor([[1.0], [WEAK]])
    torch.testing.assert_close(weak.velocity, task.step(state, halved)[0].velocity)
    many = task.reset(2000, draw)
    noise = Noisy(task, 1, seed=0).observe(many)[0] - task.observe(many)[0]
    assert noise[:, :, 1].std().item() == pytest.approx(NOISE, rel=0.05)
    assert not noise[:, :, 0].any()


def test_a_fault_is_of_an_agent_of_whatever_group():
    """In tag the agents of the groups stand in any order."""
    task = make("tag")
    state = task.reset(3, Random([0]))
    for agent in range(task.n_agents):
        seen = zip(Noisy(task, agent, seed=0).observe(state), task.observe(state), task.groups, strict=True)
        changed = {group.agents[k] for noisy, own, group in seen for k in range(len(group.agents))
                   if not torch.equal(noisy[:, :, k], own[:, :, k])}  # fmt: skip
        assert changed == {agent}


@pytest.mark.parametrize("name", ["resilience", "resilience-noise", "resilience-weak"])
def test_what_is_kept_is_the_mean_over_the_agents_of_the_controlled_group(name, monkeypatch):
    """Each of which has the fault once, alone; an opponent never."""
    run = trained("tag", "horizon=20", snd=("0.5",), seeds=1, frames=800)
    team = next(group for group in run.groups if group["name"] == controlled_group(run))
    worth, asked = {}, []

    def earned(_, task, __):
        if not isinstance(task, Faulty):
            return torch.tensor(10.0)
        asked.append(task.agent)
        return torch.tensor(worth.setdefault(task.agent, float(len(worth))))

    monkeypatch.setattr(metrics, "_earned", earned)
    (found,) = METRICS[name].measure(run)
    agents = next(group.agents for group in run.task().groups if group.name == team["name"])
    assert asked == list(agents)
    assert len(agents) < run.task().n_agents
    assert found == pytest.approx(sum(range(len(agents))) / len(agents) / 10)


def short_run():
    """Two members, episodes of few steps."""
    return trained("navigation", "horizon=20", snd=("0.5", "free"), seeds=1, frames=800)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_number_for_each_member(name):
    run = short_run()
    metric = find_metric(name, run.task())
    found = metric.measure(run)
    assert found.shape == (2,)
    if name == "reward":
        assert found == pytest.approx(run.metric("reward")[:, -1].numpy())
    if name == "return":
        assert found == pytest.approx([row["return"] for row in evaluate(run, episodes=200)], rel=1e-4)
    if name in ("success", "coverage"):
        assert ((found >= 0) & (found <= 1)).all()
        assert METRICS["coverage"].measure(run).sum() >= METRICS["success"].measure(run).sum()


def test_a_team_that_earns_nothing_keeps_no_share_of_it():
    run = short_run()
    earned = METRICS["return"].measure(run)
    assert np.array_equal(np.isnan(METRICS["resilience"].measure(run)), earned <= 0)


@pytest.mark.parametrize("name", [*METRICS, "my_module:a_function_with_a_name_of_40_letters"])
def test_what_an_axis_calls_a_metric_fits_the_figure(name):
    metric = METRICS.get(name) or Metric(name, name.partition(":")[2], METRICS["reward"].measure)
    trials = [{"population": 1, "level": level, "values": [0.1 + level], "measured": level} for level in (0.0, 1.0)]
    figure = draw_history(trials, metric.short, "navigation, IPPO", target=(0.5, 0.1))
    figure.canvas.draw()
    (axes,) = figure.axes
    extent = axes.yaxis.label.get_window_extent()
    assert 0 <= extent.y0 < extent.y1 <= figure.bbox.height
    assert "target 0.5 ± 0.1" in [text.get_text() for text in figure.legends[0].get_texts()]
    plt.close(figure)


def test_your_own_metric(tmp_path, monkeypatch):
    (tmp_path / "my_metric.py").write_text(
        "def seed(run, member):\n    return 10 * member.seed + len(run.members)\n"
        "def broken(run, member):\n    return 1 / 0\n"
        "def leaving(run, member):\n    raise SystemExit(0)\n"
        "def alone(run):\n    return 1\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    run = trained("navigation", "horizon=20", snd=("0.5",), seeds=2, frames=400)
    assert find_metric("my_metric:seed", run.task()).measure(run).tolist() == [2, 12]
    with pytest.raises(ValueError, match=r"'my_metric:broken' failed for snd=0\.5,seed=0: ZeroDivisionError"):
        find_metric("my_metric:broken", run.task()).measure(run)
    with pytest.raises(ValueError, match=r"'my_metric:leaving' failed for snd=0\.5,seed=0: SystemExit\(0\)"):
        find_metric("my_metric:leaving", run.task()).measure(run)
    for name, said in (
        ("my_metric:alone", "must be a function of a run and a member"),
        ("my_metric:number", "must be a function of a run and a member, got 3"),
        ("my_metric:nothing", "cannot be imported"),
        ("sucess", "did you mean 'success'?"),
    ):
        with pytest.raises(ValueError, match=said):
            find_metric(name, run.task())
    with pytest.raises(ValueError, match="Sampling has no success: write a function"):
        find_metric("success", make("sampling"))
