"""Runs in a notebook: a short text, a table, a frame with numbers, plots that need no axes."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import dico
from dico import viz
from dico.training.config import Config
from dico.training.session import train

TINY = {"hidden": (8,), "envs": 4, "frames_per_batch": 40, "frames": 80, "epochs": 1, "minibatch": 40, "seeds": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown") / "run"
    return train(Config(**TINY, snd=("0.3", ">=0.2", "0->1@80", "free")), folder, device="cpu")


def test_a_run_is_told_in_a_line(run):
    assert repr(run) == (
        f"Run('{run.folder}': task navigation, algorithm ippo, members 8, "
        "desired diversity 0.3, >=0.2, 0->1@80, free, seeds 0, 1, frames 80 each)"
    )


def test_a_table_for_notebooks_is_escaped(run):
    strange = replace(run, folder=Path("<script>alert(1)</script>"))
    assert "&gt;=0.2" in run._repr_html_()
    assert "<script>" not in strange._repr_html_()


def test_episodes_are_told_in_a_line(run):
    played = run.play(snd=0.3, seed=0, episodes=5)
    assert repr(played).startswith(f"{type(played).__name__}(members 1, episodes 5 each, steps ")
    assert len(repr(played)) < 200
    assert "tensor" not in repr(played) + played._repr_html_()
    assert "<td" in played._repr_html_()


def test_desired_diversities_are_numbers_in_a_frame(run):
    frame = run.frame()
    last = frame[(frame.iteration == 2) & (frame.seed == 0)].set_index("constraint")
    assert last.desired["0.3"] == 0.3
    assert last.desired["0->1@80"] == pytest.approx(run.rows()[-4]["desired"])
    assert math.isnan(last.desired[">=0.2"])
    assert math.isnan(last.desired["free"])
    assert (last.desired_low[">=0.2"], last.desired_high[">=0.2"]) == (0.2, math.inf)
    assert frame[["snd", "desired"]].corr().shape == (2, 2)


PLOTS = ["plot_reward", "plot_diversity", "plot_tracking", "plot_action_bound_violation"]


@pytest.mark.parametrize("name", [*PLOTS, "plot_decision"])
def test_plots_make_their_own_axes(run, name):
    plot = getattr(viz, name)
    try:
        axes = plot(run)
        assert isinstance(axes, Axes)
        assert pyplot.get_fignums()  # which a notebook shows
        if name in PLOTS:
            assert [text.get_text() for text in axes.get_legend().get_texts()]
        given = pyplot.figure().subplots()
        assert plot(given, run) is given
        assert plot(axes=given, **{"runs" if name == "plot_decision" else "run": run}) is given
        assert given.get_legend() is None or name == "plot_decision"
    finally:
        pyplot.close("all")


@pytest.mark.unchecked
def test_what_is_no_run_is_told():
    with pytest.raises(ValueError, match=r"plot_reward takes a run, as dico.load gives it, or axes and a run, got 5"):
        viz.plot_reward(5)
    with pytest.raises(ValueError, match="plot_decision takes a run"):
        dico.viz.plot_decision("runs/navigation")
    assert not pyplot.get_fignums()
