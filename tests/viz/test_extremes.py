"""The figure of the largest SND in an action box."""

import pytest
import torch
from command_line import dico
from drawn import said
from matplotlib.figure import Figure

from dico import max_snd, snd
from dico.viz import draw_bound, plot_extremal_actions


@pytest.mark.parametrize("n_agents", [2, 4, 5, 30])
def test_every_agent_stands_where_the_maximum_is_attained(n_agents):
    low, high = [-1.0, 0.0], [1.0, 3.0]
    best = max_snd(n_agents, low, high)
    axes = plot_extremal_actions(Figure().subplots(), best, low, high)
    drawn = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines() if line.get_gid() == "vertex"}
    assert drawn == {tuple(action) for action in best.actions.tolist()}
    assert snd(best.actions[None]).item() == pytest.approx(best.value)
    names = " ".join(text.get_text() for text in axes.texts)
    if n_agents <= 5:
        assert all(str(agent) in names for agent in range(n_agents))
    else:
        assert sum(int(text.get_text().split()[0]) for text in axes.texts) == n_agents


def test_groups_have_a_panel_each():
    figure = draw_bound({"red": max_snd(2, [-1, -1], [1, 1]), "blue": max_snd(4, [-1, -1], [1, 1])}, [-1, -1], [1, 1])
    assert "red: maximum SND = 2.828" in said(figure)
    assert "blue: maximum SND = 2.276" in said(figure)


def test_boxes_of_other_dimensions_are_refused():
    with pytest.raises(ValueError, match="the figure is of actions with 2 components, got 3"):
        draw_bound({"agents": max_snd(2, [0.0] * 3, [1.0] * 3)}, [0.0] * 3, [1.0] * 3)
    with pytest.raises(ValueError, match="the figure is of two agents or more"):
        draw_bound({}, [0.0, 0.0], [1.0, 1.0])


def test_the_command_draws_teams_and_leaves_lone_agents_out(capsys, tmp_path):
    status, out, _ = dico(capsys, "bound", "--task", "tag", "--snd", "0.3", "--figure", tmp_path / "bound.svg")
    assert status == 0
    assert "adversary: 2 agents, maximum SND: 2.82843 (exact)" in out
    assert "agent: a lone agent has no diversity" in out
    assert out.count("is within") == 1
    assert (tmp_path / "bound.svg").read_text().startswith("<?xml")
    assert torch.is_tensor(max_snd(2, [0], [1]).actions)
