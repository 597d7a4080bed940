"""Returns and successes of episodes, held against episodes counted one by one."""

import json
import shutil

import pytest
import torch
from populations import population
from safetensors.torch import load_file, save_file

import dico
from dico._files import checksum, sealed
from dico.runs import evaluate, load
from dico.runs.episodes import record
from dico.tasks import TASKS, from_settings

SMALL = {"envs": 3, "frames_per_batch": 21, "seeds": 1, "frames": 63}


def counted(batches, earned):
    """An agent's return in each episode that ended, for each group and member."""
    returns = {name: [[] for _ in earned[name]] for name in batches}
    for name, batch in batches.items():
        for m, steps, envs in torch.cartesian_prod(*(torch.arange(k) for k in batch.done.shape)).tolist():
            earned[name][m, envs] += batch.reward[m, steps, envs].mean()
            if batch.done[m, steps, envs]:
                returns[name][m].append(earned[name][m, envs].item())
                earned[name][m, envs] = 0
    return returns


@pytest.mark.parametrize("task", TASKS)
def test_returns_are_those_of_episodes_counted_one_by_one(task):
    """Over three batches of seven steps, with episodes of five: some begin in one batch and end in the next."""
    ours = population(task=task, task_options=("horizon=5",), **SMALL)
    names = [learner.team.name for learner in ours.learners]
    earned = {name: torch.zeros(len(ours.members), 3) for name in names}
    for _ in range(3):
        rows = ours.iterate()
        batches = dict(zip(names, ours.rollout.batches, strict=True))
        returns = counted(batches, earned)
        for row in rows:
            own = returns[row.get("group", names[0])][row["member"]]
            assert own
            assert row["return"] == pytest.approx(sum(own) / len(own), abs=1e-5)


def test_success_is_of_ends_and_of_steps_where_the_task_says_so():
    """Navigation from a start where some are there already; tag with contacts in every step."""
    ours = population(task="navigation", task_options=("horizon=5",), **SMALL)
    with torch.no_grad():
        for member in range(len(ours.members)):  # environment 0 is at its goals
            ours.rollout.state.position[member, 0] = ours.rollout.state.goal[member, 0]
    row = ours.iterate()[0]
    (batch,) = ours.rollout.batches
    assert batch.done[0, 0, 0]
    ends = batch.done[0].sum().item()
    reached = batch.done[0].sum().item() - sum(
        bool(batch.done[0, t, e]) for t in range(7) for e in range(3) if not _near(batch.next_obs[0, t, e])
    )
    assert row["success"] == pytest.approx(reached / ends)
    assert 0 < row["success"] < 1

    ours = population(task="tag", **SMALL)
    rows = [row for row in ours.iterate() if row["group"] == "adversary"]
    batch = ours.rollout.batches[0]
    touching = (batch.reward[..., 0] > 0).float().mean((1, 2))
    assert [row["success"] for row in rows] == pytest.approx(touching.tolist())


def _near(obs):
    """Whether both agents are within 0.1 of their goals, by what they see."""
    return all(obs[k, 2 * k : 2 * k + 2].norm() < 0.1 for k in range(2))


def test_a_batch_without_an_end_says_nothing_of_episodes():
    ours = population(task="navigation", task_options=("horizon=50",), **SMALL)
    assert not any({"return", "success", "coverage"} & row.keys() for row in ours.iterate())


def test_evaluation_says_what_the_states_of_its_episodes_say(tmp_path):
    run = dico.train(population(task="dispersion", task_options=("horizon=30",), **SMALL).config, tmp_path / "run")
    rows = evaluate(run, episodes=20)
    recording = record(run.task(), [run.policies("agents")], 20, 0, deterministic=False)
    for row in rows:
        m = row["member"]
        ends = [recording.state_at(m, 30, episode).eaten for episode in range(20)]
        assert row["success"] == pytest.approx(sum(bool(end.all()) for end in ends) / 20)
        assert row["coverage"] == pytest.approx(sum(end.float().mean().item() for end in ends) / 20)
    assert any(row["coverage"] for row in rows)


def test_checkpoints_without_running_returns_are_gone_on_from(tmp_path):
    """Those of earlier versions."""
    settings = population(task="navigation", task_options=("horizon=5",), **SMALL).config
    run = dico.train(settings, tmp_path / "run").folder
    whole = load(run).rows()
    for path in sorted(run.glob("checkpoint-*"))[1:]:
        shutil.rmtree(path)
    (checkpoint,) = run.glob("checkpoint-*")
    tensors = load_file(checkpoint / "state.safetensors")
    del tensors["rollout.earned"]
    save_file(tensors, checkpoint / "state.safetensors")
    meta = json.loads((checkpoint / "meta.json").read_text())
    meta["checksums"] = {"state.safetensors": checksum(checkpoint / "state.safetensors")}
    (checkpoint / "meta.json").write_text(json.dumps(sealed({k: v for k, v in meta.items() if k != "seal"})))
    again = dico.resume(run).rows()
    assert [row["reward"] for row in again] == [row["reward"] for row in whole]


@pytest.mark.parametrize("task", TASKS)
def test_every_number_observed_has_a_name_of_its_own(task):
    made = from_settings(task, ())
    for group in made.groups:
        names = made.observation_names(group)
        assert len(names) == group.obs_dim == len(set(names))


@pytest.mark.parametrize("task", TASKS)
def test_names_say_what_is_observed(task):
    """Moving everything by one along x changes no number but those named 'x position'."""
    made = from_settings(task, ())
    state = made.reset(2, dico.random.Random([0]))
    places = {"position", "goal", "food", "obstacle", "package", "centre"}
    moved = type(state)(
        **{name: value + torch.tensor([0.25, 0.0]) if name in places else value for name, value in vars(state).items()}
    )
    for group, before, after in zip(made.groups, made.observe(state), made.observe(moved), strict=True):
        for name, change in zip(made.observation_names(group), (after - before).abs().amax((0, 1, 2)), strict=True):
            if not name.startswith("value"):
                assert change == pytest.approx(0.25 if name == "x position" else 0, abs=1e-6), name
