"""The behavioural distance of every two agents, as run folders keep it."""

import json
import math

import pytest
import torch
from populations import batch_of, config, learner, population

import dico
from dico._measuring import MAX_DISTANCES
from dico.metrics import pairwise_w2
from dico.runs import load
from dico.training.experience import Team
from dico.training.measure import measure


def test_distances_are_the_mean_over_observations_of_every_pair():
    team = Team("agents", n_agents=4, obs_dim=4, low=(-1.0, -0.5), high=(1.0, 2.0))
    trained = learner("ippo", team=team)
    batch = batch_of(trained)
    measured = measure(trained, batch)
    everyone = trained.policy.everyone(batch.obs.flatten(1, 2))
    torch.testing.assert_close(measured["distances"], pairwise_w2(everyone).mean(1))
    torch.testing.assert_close(measured["distances"].mean(1), measured["snd"])


@pytest.mark.parametrize("agents", [1, MAX_DISTANCES + 1])
def test_a_lone_agent_and_a_crowd_have_none(agents):
    team = Team("agents", agents, obs_dim=4, low=(-1.0, -0.5), high=(1.0, 2.0))
    trained = learner("ippo", team=team, goals=("0", "free"))
    assert "distances" not in measure(trained, batch_of(trained))


def test_only_groups_that_have_distances_write_them():
    rows = population(task="tag").iterate()
    assert {row["group"]: "distances" in row for row in rows} == {"adversary": True, "agent": False}


def test_a_run_gives_them_back_with_a_last_dimension(tmp_path):
    run = dico.train(config(task="dispersion", algorithm="iddpg"), tmp_path / "run", device="cpu")
    kept = run.metric("distances")
    assert kept.shape == (2, 3, 6)
    torch.testing.assert_close(kept.mean(-1), run.metric("snd"), rtol=1e-5, atol=1e-7)
    assert run.metric("reward").shape == (2, 3)
    assert len(run.frame()["distances"][0]) == 6


def test_distances_that_are_none_are_nan(tmp_path):
    run = dico.train(config(task="dispersion", algorithm="iddpg"), tmp_path / "run", device="cpu")
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["distances"][2] = None
    (run.folder / "metrics.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    with pytest.warns(UserWarning, match="was changed since it was written"):
        again = load(run.folder).metric("distances")
    assert math.isnan(again[0, 0, 2])
    assert again.isnan().sum() == 1
