"""Curves as other libraries read them; the libraries themselves are asked where they are installed."""

import json

import numpy as np
import pytest
from command_line import dico
from made_up import made_up

from dico.analysis import final, marl_eval, rliable_curves, rliable_scores
from dico.training.config import Config
from dico.training.session import train

TINY = {"hidden": (8,), "envs": 4, "frames_per_batch": 40, "frames": 120, "epochs": 1, "minibatch": 40, "seeds": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exchange")
    return [
        train(Config(**TINY, task=task, snd=("0.3", "free"), vary=("tau=0.1,0.2",)), folder / task, device="cpu")
        for task in ("navigation", "dispersion")
    ]


def test_a_file_for_marl_eval_has_its_documented_form(runs, tmp_path, capsys):
    told = marl_eval(runs)
    assert list(told["dico"]) == ["navigation", "dispersion"]
    algorithms = told["dico"]["navigation"]
    assert list(algorithms)[:2] == ["ippo 0.3 tau=0.1", "ippo 0.3 tau=0.2"]
    seeds = algorithms["ippo 0.3 tau=0.1"]
    assert list(seeds) == ["seed_0", "seed_1"]
    assert list(seeds["seed_0"]) == ["step_0", "step_1", "step_2", "absolute_metrics"]
    assert [seeds["seed_0"][f"step_{k}"]["step_count"] for k in range(3)] == [40, 80, 120]
    assert seeds["seed_1"]["step_2"]["reward"] == [runs[0].metric("reward")[1, 2].item()]
    assert seeds["seed_1"]["absolute_metrics"]["snd"] == [pytest.approx(final(runs[0], "snd")[1])]
    status, out, err = dico(capsys, "export", runs[0].folder, "--to", tmp_path / "deep" / "curves.json")
    assert status == 0, err
    assert "curves.json" in out
    assert json.loads((tmp_path / "deep" / "curves.json").read_text()) == marl_eval(runs[0])
    status, _, err = dico(capsys, "export", runs[0].folder, "--to", tmp_path / "deep" / "curves.json" / "more.json")
    assert (status, f"({tmp_path / 'deep' / 'curves.json'} is a file): choose another place" in err) == (2, True)


def test_arrays_for_rliable_have_seeds_tasks_and_iterations(runs):
    scores, over_time = rliable_scores(runs), rliable_curves(runs, "snd")
    assert {name: array.shape for name, array in scores.items()} == dict.fromkeys(scores, (2, 2))
    assert over_time["ippo free tau=0.2"].shape == (2, 2, 3)
    np.testing.assert_allclose(scores["ippo 0.3 tau=0.1"][:, 0], final(runs[0], "reward")[:2])


def test_runs_of_a_task_add_their_seeds_and_equal_ones_are_refused(tmp_path):
    """And do not take each other's place in silence."""
    one = made_up(tmp_path / "one.json", "navigation", {"0": [1.0, 2.0], "1": [3.0, 4.0]}, points=4)
    two = made_up(tmp_path / "two.json", "navigation", {"0": [5.0], "1": [6.0]}, points=3, first_seed=2)
    assert list(marl_eval([one, two])["dico"]["navigation"]["ippo 0"]) == ["seed_0", "seed_1", "seed_2"]
    assert rliable_scores([one, two])["ippo 1"].shape == (3, 1)
    assert rliable_curves([one, two])["ippo 1"].shape == (3, 1, 3)
    again = made_up(tmp_path / "again.json", "navigation", {"0": [7.0], "1": [8.0]}, points=4, tau=0.5)
    for write in (marl_eval, rliable_scores, rliable_curves):
        with pytest.raises(
            ValueError, match=r"one.json and .*again.json have a member each of ippo 0 with seed 0 in navigation"
        ):
            write([one, again])
        with pytest.raises(ValueError, match=r"one.json has two members of ippo seed=0 with seed 0 in navigation"):
            write(one.group_by("seed"))
    with pytest.raises(ValueError, match=r"as run.group_by\('constraint', 'tau'\), or export them apart"):
        marl_eval([one, again])
    same = made_up(tmp_path / "same.json", "navigation", {"0": [7.0]}, points=3)
    with pytest.raises(ValueError, match="no setting of a member sets them apart, so export them apart, or leave one"):
        marl_eval([one, same])
    assert rliable_scores([one.group_by("constraint", "tau"), again])["ippo 1 tau=0.5"].shape == (1, 1)


@pytest.mark.filterwarnings("default")
def test_the_libraries_read_them(runs):
    library = pytest.importorskip("rliable.library")
    metrics = pytest.importorskip("rliable.metrics")

    def mean(array):
        return np.array([metrics.aggregate_mean(array)])

    points, intervals = library.get_interval_estimates(rliable_scores(runs), mean, reps=50)
    assert points.keys() == intervals.keys() == rliable_scores(runs).keys()
    processing = pytest.importorskip("marl_eval.utils.data_processing_utils")
    processed = processing.data_process_pipeline(json.loads(json.dumps(marl_eval(runs))), ["reward"])
    assert processed["dico"]["navigation"]["ippo free tau=0.1"]["seed_0"]["step_2"]["mean_snd"]
    processing.create_matrices_for_rliable(processed, "dico", ["reward"])
