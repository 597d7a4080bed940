"""Analytical control in the population trainer: diversity over a box, whatever is learned."""

import json
import shutil

import pytest
import torch
from command_line import dico as command
from populations import ALGORITHMS, config, parameters, population, same
from safetensors.torch import load_file, save_file

import dico
from dico.analytical import DENSITIES, AnalyticalDiCo, box_snd
from dico.commands._progress import level_table
from dico.density import ZeroLinear
from dico.policy import DiCo
from dico.random import Random
from dico.runs import RunError
from dico.tasks import make
from dico.training.blocks import Blocks
from dico.training.config import Config
from dico.training.first_rollout import random_observations
from dico.training.memory import Plan
from dico.training.population import Population
from dico.training.session import Interrupted, resume
from dico.training.staging import Stage
from dico.training.watch import Watch
from dico.viz.page.networks import parts_of

GOALS = {"snd": ("0", "0.5", "free"), "control": "analytical", "frames": 80, "lr": 3e-3}
algorithms = pytest.mark.parametrize("algorithm", ["ippo", "maddpg", "isac"])
OVER = {
    "ippo": {"density": "autoregressive", "coordinates": (3, 1)},
    "maddpg": {"density": "finn-signed"},
    "isac": {"density": "finn", "coordinates": (0, 2)},
}
"""Where diversity goes, by algorithm: what `runs` are trained with."""
densities = pytest.mark.parametrize("density", DENSITIES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One of each algorithm and density, trained for two iterations."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: dico.train(config(algorithm=name, **over, **GOALS), folder / name, checkpoint_every=1)
        for name, over in OVER.items()
    }


class Stop:
    """An observer that stops a training in its second iteration, before the checkpoint."""

    def begin(self, population, folder): ...

    def say(self, message): ...

    def end(self): ...

    def iteration(self, rows, seconds):
        if rows[0]["iteration"] == 2:
            raise KeyboardInterrupt


def check_same(rows, expected):
    for row, other in zip(rows, expected, strict=True):
        assert row.keys() == other.keys()
        for name in row.keys() - {"seconds"}:
            value = other[name]
            alike = pytest.approx(value, rel=1e-3, abs=1e-5) if isinstance(value, float | list) else value
            assert row[name] == alike, name


@algorithms
def test_the_diversity_over_the_box_is_the_desired_one_after_learning(runs, algorithm):
    run = runs[algorithm]
    for row in run.rows():
        assert 0 <= row["outside"] <= 1
        if row["constraint"] != "free":
            assert row["snd_box"] == pytest.approx(float(row["constraint"]), rel=1e-2, abs=1e-6)
    policies = run.policies()
    assert isinstance(policies, AnalyticalDiCo)
    zero, half, free = box_snd(policies).tolist()
    assert zero == pytest.approx(0, abs=1e-6)
    assert half == pytest.approx(0.5, rel=1e-3)
    assert free > 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_density_learns(algorithm):
    ours = population(algorithm=algorithm, **GOALS)
    (learner,) = ours.learners
    before = parameters(learner)
    ours.iterate()
    after = parameters(learner)
    learned = [name for name in before if ".density." in name]
    moved = torch.stack([(before[name] - after[name]).abs().flatten(1).amax(1) for name in learned]).amax(0)
    assert (moved > 0).tolist() == [False, True, False]  # nothing depends on it at 0, nor where diversity is free


@algorithms
@densities
def test_a_member_alone_is_the_same_as_among_others(algorithm, density):
    options = {"algorithm": algorithm, "density": density, **GOALS}
    ours = population(**options)
    alone = population(indices=[1], **options)
    for name, value in parameters(alone.learners[0]).items():
        assert torch.equal(value[0], parameters(ours.learners[0])[name][1]), name
    for _ in range(2):
        rows, expected = ours.iterate(), alone.iterate()
        check_same([row for row in rows if row["member"] == 1], expected)
    for name, value in parameters(alone.learners[0]).items():
        torch.testing.assert_close(value[0], parameters(ours.learners[0])[name][1], rtol=1e-3, atol=1e-4, msg=name)


def test_members_of_other_seeds_start_from_other_densities():
    first, *others = (
        parameters(population(density=density, seeds=2, **(GOALS | {"snd": ("0.5",)})).learners[0])
        for density in DENSITIES
    )
    for found in (first, *others):
        drawn = [value for name, value in found.items() if ".density." in name and value.ndim > 2 and value.any()]
        assert drawn
        assert not any(torch.equal(value[0], value[1]) for value in drawn)
    assert same(first, parameters(population(seeds=2, **(GOALS | {"snd": ("0.5",)})).learners[0]))
    layers = population(**GOALS).learners[0].policy.modules()
    assert all(not layer.weight.any() for layer in layers if isinstance(layer, ZeroLinear))


@algorithms
def test_blocks_equal_the_undivided_population(algorithm):
    settings = config(algorithm=algorithm, **GOALS)
    whole, parts = population(algorithm=algorithm, **GOALS), Blocks(settings, Stage("eager"), 2)
    for _ in range(2):
        check_same(parts.iterate(), whole.iterate())
    for name, value in parts.tensors().items():
        torch.testing.assert_close(value, whole.tensors()[name], rtol=1e-3, atol=1e-5, msg=name)


@algorithms
def test_a_resumed_run_is_the_same_to_the_bit(runs, tmp_path, algorithm):
    whole = runs[algorithm]
    settings = config(algorithm=algorithm, **OVER[algorithm], **GOALS)

    with pytest.raises(Interrupted):
        dico.train(settings, tmp_path / "run", observers=[Stop()], checkpoint_every=1)
    again = resume(tmp_path / "run")
    assert [row | {"seconds": 0} for row in again.rows()] == [row | {"seconds": 0} for row in whole.rows()]
    expected = whole.checkpoints()[0].tensors()
    for name, value in again.checkpoints()[0].tensors().items():
        assert torch.equal(value, expected[name]), name


@algorithms
def test_a_run_opens_with_the_policies_that_it_was_trained_with(runs, algorithm):
    run = runs[algorithm]
    again = population(algorithm=algorithm, **OVER[algorithm], **GOALS)
    for _ in range(2):
        again.iterate()
    (learner,) = again.learners
    obs = 3 * torch.rand(7, 2, 4) - 1.5
    expected = learner.policy(obs.expand(3, *obs.shape))
    for k, snd in enumerate(GOALS["snd"]):
        policy = run.policy(snd)
        assert isinstance(policy, AnalyticalDiCo)
        torch.testing.assert_close(policy(obs), expected[k], rtol=1e-5, atol=1e-6)
        expected_share = learner.policy.allocated(obs.expand(3, *obs.shape))[k]
        torch.testing.assert_close(policy.allocated(obs), expected_share, rtol=1e-5, atol=1e-6)
    assert run.groups[0]["obs_low"] == [-2] * 4


def copy_with(run, folder, change):
    """The run, its configuration changed."""
    shutil.copytree(run.folder, folder)
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    change(saved["config"])
    del saved["seal"]  # or the change would be taken for damage
    path.write_text(json.dumps(saved))
    return dico.load(folder)


def test_a_run_of_a_version_without_coordinates_opens_and_goes_on(runs, tmp_path):
    whole = runs["maddpg"]
    run = copy_with(whole, tmp_path / "run", lambda config: config.pop("coordinates"))
    for name, value in run.policies().state_dict().items():
        assert torch.equal(value, whole.policies().state_dict()[name]), name
    assert resume(run.folder, frames=120).newest.frames == 120


def test_a_checkpoint_of_other_coordinates_is_told(runs, tmp_path):
    """As many of them, so that all networks would fit."""
    changed = copy_with(runs["isac"], tmp_path / "run", lambda config: config.update(coordinates=[0, 1]))
    with pytest.raises(RunError, match=r"density of coordinates \[0, 2\], and this one is of \[0, 1\]"):
        changed.policies()
    with pytest.raises(RunError, match=r"coordinates \[0, 2\], but config\.json tells \[0, 1\]"):
        resume(changed.folder, frames=120)


@pytest.mark.parametrize("name", ["ippo", "maddpg"])
def test_a_checkpoint_that_does_not_tell_coordinates_opens_and_goes_on(runs, tmp_path, name):
    """As earlier versions wrote them."""
    run = copy_with(runs[name], tmp_path / "run", lambda config: None)
    checkpoint = run.newest.folder
    saved = load_file(checkpoint / "state.safetensors")
    tensors = {key: value for key, value in saved.items() if not key.endswith(".coordinates")}
    assert len(tensors) == len(saved) - 1
    save_file(tensors, checkpoint / "state.safetensors")
    meta = json.loads((checkpoint / "meta.json").read_text())
    (checkpoint / "meta.json").write_text(json.dumps({k: v for k, v in meta.items() if k not in ("seal", "checksums")}))
    for key, value in dico.load(run.folder).policies().state_dict().items():
        assert torch.equal(value, runs[name].policies().state_dict()[key]), key
    assert resume(run.folder, frames=120).newest.frames == 120


def test_coordinates_that_are_null_are_all(runs, tmp_path):
    """So a run folder of BenchMARL has it, and Python."""
    run = copy_with(runs["maddpg"], tmp_path / "run", lambda config: config.update(coordinates=None))
    assert resume(run.folder, frames=120).newest.frames == 120
    assert Config.from_json(dict(dico.load(run.folder).config)).coordinates == ()


@pytest.mark.parametrize(
    "changed", [*({"coordinates": value} for value in ("x", [-1], [0.5], 3, [0, 9], [1])), {"density": "flow"}], ids=str
)
def test_a_folder_with_another_density_than_its_networks_is_told(runs, tmp_path, changed):
    with pytest.raises(ValueError, match=r"coordinates must be|density must be|other networks") as error:
        copy_with(runs["isac"], tmp_path / "run", lambda config: config.update(changed)).policies()
    assert str(tmp_path / "run") in str(error.value)
    assert "\n" not in str(error.value)


def test_the_last_table_tells_what_is_guaranteed(runs):
    headers = [column.header for column in level_table(runs["ippo"].rows()[-3:]).columns]
    assert headers[2:5] == ["measured SND", "SND over the box", "share outside"]


def test_fresh_episodes_tell_of_the_box_too(runs, tmp_path, capsys):
    status, out, _ = command(capsys, "eval", runs["ippo"].folder, "--episodes", "8", "--json", tmp_path / "found.json")
    assert status == 0
    assert {"over", "outside"} <= set(out.split())
    free, zero, half = (
        next(each for each in json.loads((tmp_path / "found.json").read_text())["levels"] if each["level"] == level)
        for level in ("free", "0", "0.5")
    )
    assert zero["snd_box"]["mean"] == 0
    assert half["snd_box"]["mean"] == pytest.approx(0.5, rel=1e-2)
    assert free["snd_box"]["mean"] > 0
    assert 0 <= half["outside"]["mean"] <= 1


def test_the_last_table_has_no_box_for_a_group_without_one():
    first = {"member": 0, "constraint": "0.5", "seed": 0, "group": "adversary", "snd": 0.4, "reward": 1.0}
    rows = [first | {"snd_box": 0.5, "outside": 0.1}, first | {"group": "agent"}]
    shown = {column.header: list(column.cells) for column in level_table(rows).columns}
    assert [name for name in shown if "box" in name or "outside" in name] == [
        "adversary SND over the box",
        "adversary share outside",
    ]
    assert all(cell for (cell,) in shown.values())


def test_the_page_does_not_take_it_for_empirical_control(runs):
    assert parts_of(runs["ippo"].policy("0.5")) is None


def test_a_scale_that_only_tells_is_not_warned_of():
    said = []
    watch = Watch(iterations=10, gradient="soft", say=said.append)
    for _ in range(20):
        watch.look([{"member": 0, "constraint": "1", "seed": 0, "reward": 0.1, "scale": 99.0, "snd_box": 1.0}])
    assert not said


def test_only_the_controlled_group_is_controlled_over_a_box():
    ours = population(**(GOALS | {"task": "tag"} | box_of("tag")))
    kinds = {learner.team.name: type(learner.policy) for learner in ours.learners}
    assert list(kinds.values()).count(AnalyticalDiCo) == 1
    assert list(kinds.values()).count(DiCo) == len(kinds) - 1
    assert ["snd_box" in row for row in ours.iterate()].count(True) == 3


def box_of(task, side=1.0):
    """A box for the first group of several agents."""
    size = next(group.obs_dim for group in make(task).groups if len(group.agents) > 1)
    return {"obs_low": (-side,) * size, "obs_high": (side,) * size}


@pytest.mark.parametrize("name", ["navigation", "same-goal", "sampling", "dispersion"])
def test_what_agents_see_at_the_start_lies_in_the_task_s_box(name):
    task = make(name)
    (group,) = task.groups
    low, high = (torch.tensor(corner) for corner in task.obs_box(group))
    (obs,) = task.observe(task.reset(500, Random([0])))
    assert len(low) == len(high) == group.obs_dim
    assert ((obs >= low) & (obs <= high)).all()


def test_a_box_of_one_s_own():
    box = {"obs_low": (-1.0,) * 4, "obs_high": (1.0,) * 4}
    ours = population(**GOALS, **box)
    assert ours.learners[0].policy.obs_low.tolist() == [-1] * 4
    assert any(row["outside"] > 0 for row in ours.iterate())


QUANTILES = GOALS | {"obs_quantile": 0.01}


def test_a_box_of_quantiles_holds_nearly_all_that_untrained_agents_see():
    task = make("tag")
    learner = next(each for each in population(task="tag", **QUANTILES).learners if each.team.obs_box)
    obs = random_observations(task, task.groups[0])
    assert 0 < learner.policy.outside(obs.expand(3, *obs.shape))[0] < 2 * 0.01 * 14
    state, noise = task.reset(50, Random([7])), Random([8])
    for _ in range(task.horizon):
        state, _, _ = task.step(state, noise.uniform(50, 3, 2, low=-1, high=1))
    later = task.observe(state)[0]
    assert learner.policy.outside(later.expand(3, *later.shape[1:]))[0] < 0.2


def test_a_box_of_quantiles_is_the_same_alone_and_among_others():
    ours, alone = population(**QUANTILES), population(indices=[1], **QUANTILES | {"seeds": 1})
    other = population(**QUANTILES | {"first_seed": 5, "snd": ("1",)})
    boxes = [those.learners[0].team.obs_box for those in (ours, alone, other)]
    assert boxes[0] == boxes[1] == boxes[2] != make("navigation").obs_box(make("navigation").groups[0])
    for _ in range(2):
        rows, expected = ours.iterate(), alone.iterate()
        check_same([row for row in rows if row["member"] == 1], expected)


def test_a_run_goes_on_in_the_box_that_it_began_in(monkeypatch, tmp_path):
    settings = config(**QUANTILES)
    whole = dico.train(settings, tmp_path / "whole", checkpoint_every=1)
    with pytest.raises(Interrupted):
        dico.train(settings, tmp_path / "run", observers=[Stop()], checkpoint_every=1)
    monkeypatch.setattr("dico.training.first_rollout.FIRST_FRAMES", 1000)  # where another box would come out
    again = resume(tmp_path / "run")
    assert [row | {"seconds": 0} for row in again.rows()] == [row | {"seconds": 0} for row in whole.rows()]
    assert again.groups == whole.groups
    assert again.policies().obs_low.tolist() == list(again.groups[0]["obs_low"])


def test_the_plan_of_a_box_of_quantiles_needs_no_memory():
    assert Plan.of(config(**QUANTILES)).working > 0


def test_the_plan_knows_of_the_density():
    few = Plan.of(config(**GOALS, coordinates=(0,))).working
    assert Plan.of(config(**GOALS)).working > few > Plan.of(config(**(GOALS | {"control": "empirical"}))).working


BAD = {
    "control": (["--control", "exact"], "exact"),
    "metric": (["--metric", "hse"], "metric must be snd for control='analytical', got 'hse'"),
    "kind": (["--kind", "agent_std_paper"], "kind must be auto, shared_std, agent_std for control='analytical'"),
    "frames": (["--estimate-frames", "9"], "estimate_frames must be None for control='analytical', got 9"),
    "agents": (["--estimate-agents", "2"], "estimate_agents must be None for control='analytical', got 2"),
    "size": (["--obs-low", "-1", "--obs-high", "1"], "obs_low and obs_high must hold 4 numbers each, as agents of"),
    "order": (["--obs-low", "1", "--obs-high", "1"], "obs_low must be below obs_high, both finite, got obs_low=(1.0,)"),
    "lengths": (["--obs-low", "-1", "-1", "--obs-high", "1"], "obs_low and obs_high must hold as many numbers as each"),
    "half": (["--obs-low", "-1"], "obs_high must be a number, or a sequence or tensor of numbers, got ()"),
    "nothing reads it": (
        ["--control", "empirical", "--density", "finn"],
        "density must be autoregressive for control='empirical', got 'finn'",
    ),
    "no box either": (
        ["--control", "empirical", "--obs-low", "-1", "--obs-high", "1"],
        "obs_low must be () for control='empirical'",
    ),
    "no coordinates either": (
        ["--control", "empirical", "--coordinates", "0", "1"],
        "coordinates must be () for control='empirical', got (0, 1)",
    ),
    "coordinates outside": (
        ["--coordinates", "0", "4"],
        "coordinates must be different numbers from 0 to 3, got (0, 4",
    ),
    "unknown density": (["--density", "fin"], "'finn-signed', got 'fin'; did you mean 'finn'?"),
    "no quantiles either": (
        ["--control", "empirical", "--obs-quantile", "0.01"],
        "obs_quantile must be None for control='empirical', got 0.01",
    ),
    "share": (["--obs-quantile", "0.6"], "obs_quantile must be a number in [0, 0.49], got 0.6"),
    "two boxes": (
        ["--obs-quantile", "0.01", "--obs-low", *"0000", "--obs-high", *"1111"],
        "obs_quantile must be None where obs_low is given, got 0.01",
    ),
    "many inputs": (
        ["--density", "finn", "--task-options", "n_agents=4"],
        "density='finn' takes at most 6 observed numbers, got 8: name some of them by coordinates, such as 0 1",
    ),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input(words, message, tmp_path, capsys):
    control = [] if "--control" in words else ["--control", "analytical"]
    status, _, error = command(capsys, "train", "navigation", *control, *words, "--run", tmp_path / "run")
    assert status == 2
    assert message in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", ["tag", "reverse-transport"])
def test_a_task_without_bounds_asks_for_a_box(task, tmp_path, capsys):
    status, _, error = command(capsys, "train", task, "--control", "analytical", "--run", tmp_path / "run")
    assert status == 2
    assert f"obs_low and obs_high must be given for {task}" in error
    assert "or obs_quantile=0.01 takes them from a first rollout" in error


@pytest.mark.slow
@pytest.mark.unchecked
def test_stages_agree():
    torch.compiler.reset()
    eager, fast = (Population(config(**GOALS), Stage(name, "cpu", "float32")) for name in ("eager", "compiled"))
    for _ in range(2):
        check_same(fast.iterate(), eager.iterate())
    for name, value in fast.tensors().items():
        torch.testing.assert_close(value, eager.tensors()[name], rtol=1e-3, atol=1e-4, msg=name)
