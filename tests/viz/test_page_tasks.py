"""The tasks in the page are those of Python: starts, observations, steps and rewards, judged in a browser."""

from dataclasses import asdict, fields

import numpy as np
import pytest
import torch
from browsers import CHROMIUM, NONE_HERE, fixtures
from report_runs import small_run

from dico.random import Random
from dico.runs.episodes import STREAM
from dico.tasks import make, map_state
from dico.tasks.sampling import CELLS
from dico.viz.page.live import KNOWN
from dico.viz.report import write_report

pytestmark = [pytest.mark.unchecked, pytest.mark.skipif(CHROMIUM is None, reason=NONE_HERE)]
browser, opened = fixtures()

TASKS = [task.name for task in KNOWN]
CONTACTS = ("tag", "reverse-transport")
"""Where bodies touch, the least rounding grows: there each step is judged from the state that Python has."""
OPTIONS = {
    "navigation": {"n_agents": 3},
    "same-goal": {"n_agents": 3},
    "dispersion": {"share_reward": False},
    "sampling": {"covariance": 0.4},
    "tag": {"n_agents": 5},
    "reverse-transport": {"package_mass": 2.0},
}


@pytest.fixture(scope="module")
def calculator(browser, tmp_path_factory):
    """A page kept open for its functions."""
    run = small_run(tmp_path_factory.mktemp("tasks") / "run", frames=40, snd=("0.5",), seeds=1)
    page = browser.new_page()
    page.goto(write_report(run).resolve().as_uri())
    yield page
    page.close()


def settings_of(task):
    goals = {"distinct_goals": task.distinct_goals} if task.name in ("navigation", "same-goal") else {}
    return {**asdict(task), **goals}


def plain(state):
    """A state as the page has it: one world, its visited cells row by row."""
    found = {field.name: getattr(state, field.name)[0] for field in fields(state)}
    if "visited" in found:
        rows = torch.arange(CELLS)
        found["visited"] = ((found["visited"][None] >> rows[:, None]) & 1).flatten()
    return {name: value.tolist() for name, value in found.items() if name != "nearest"}


def assert_same(shown, expected):
    for name, value in plain(expected).items():
        np.testing.assert_allclose(np.array(shown[name], float), np.array(value, float), atol=1e-4, err_msg=name)


@pytest.mark.parametrize("name", TASKS)
def test_starts_are_those_of_python(calculator, name):
    task = make(name, **OPTIONS[name])
    for seed in (0, 1, 12345):
        start = map_state(lambda tensor: tensor[0], task.reset(1, Random([seed], STREAM)))
        shown = calculator.evaluate(
            """([name, settings, seed]) => {
                const state = dico.TASKS[name].reset(new dico.Random(seed), settings);
                return { ...state, visited: state.visited && [...state.visited] };
            }""",
            [name, settings_of(task), seed],
        )
        assert_same(shown, start)


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_is_that_of_python(calculator, name):
    task = make(name, **OPTIONS[name])
    state = map_state(lambda tensor: tensor[0], task.reset(1, Random([3], STREAM)))
    angle = 6.3 * torch.rand(task.n_agents, generator=torch.Generator().manual_seed(0))
    expected, actions = [], []
    for step in range(task.horizon):
        turning = angle + 0.08 * step * (1 + torch.arange(task.n_agents))
        action = 1.2 * torch.stack([turning.cos(), turning.sin()], -1)[None]  # beyond the box: it is clamped
        if name == "tag":
            action = 0.3 * action - 3 * state.position  # to the middle, where they meet
        after, rewards, done = task.step(state, action)
        expected.append((state, after, rewards[0], done[0], [seen[0] for seen in task.observe(after)]))
        actions.append(action[0].tolist())
        state = after
    shown = calculator.evaluate(
        """([name, settings, first, states, actions]) => {
            const task = dico.TASKS[name];
            const ready = (state) => ({ ...state, visited: state.visited && Uint8Array.from(state.visited) });
            let now = ready(first);
            return actions.map((action, k) => {
                const { state, rewards, done } = task.step(states ? ready(states[k]) : now, action, settings);
                now = state;
                const seen = task.observe(state, settings).map((each) => [...each]);
                return { rewards, done, seen, state: { ...state, visited: state.visited && [...state.visited] } };
            });
        }""",
        [
            name, settings_of(task), plain(expected[0][0]),
            [plain(before) for before, *_ in expected] if name in CONTACTS else None, actions,
        ],
    )  # fmt: skip
    moved = 0.0
    for found, (before, after, rewards, done, seen) in zip(shown, expected, strict=True):
        assert_same(found["state"], after)
        np.testing.assert_allclose(found["rewards"], rewards, atol=2e-3 if name == "reverse-transport" else 1e-4)
        assert found["done"] == bool(done)
        for mine, theirs in zip(found["seen"], seen, strict=True):
            np.testing.assert_allclose(mine, theirs.flatten(), atol=1e-4)
        moved = max(moved, float((after.position - before.position).abs().max()))
    assert moved > 0.01
    if name == "tag":
        assert any(rewards.abs().max() > 0 for _, _, rewards, *_ in expected)  # someone was caught
    if name == "reverse-transport":
        assert float((expected[-1][1].package - expected[0][0].package).abs().max()) > 0.01  # it was pushed


@pytest.mark.parametrize("name", TASKS)
def test_what_an_agent_sees_where_it_stands(calculator, name):
    task = make(name, **OPTIONS[name])
    state = map_state(lambda tensor: tensor[0], task.reset(1, Random([5], STREAM)))
    shown = calculator.evaluate(
        """([name, settings, state]) => {
            const task = dico.TASKS[name];
            const ready = { ...state, visited: state.visited && Uint8Array.from(state.visited) };
            return state.position.map((place, agent) => [...task.seenAt(ready, agent, [place], settings)]);
        }""",
        [name, settings_of(task), plain(state)],
    )
    for group, seen in zip(task.groups, task.observe(state), strict=True):
        for row, agent in enumerate(group.agents):
            np.testing.assert_allclose(shown[agent], seen[0, row], atol=1e-5)
