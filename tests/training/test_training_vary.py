"""Members that differ in more than desired diversity and seed: numbers vary, and touch nobody else."""

import json

import pytest
import torch
from populations import config, learner, population

import dico
from dico.members import NUMBERS, Member, expand, varying
from dico.runs import RunError
from dico.training.blocks import Blocks
from dico.training.config import Config
from dico.training.experience import across
from dico.training.staging import Stage

VALUES = {
    "tau": (0.3, 0.02), "lr": (1e-2, 1e-3), "action_loss_lr": (1e-2, 1e-3), "action_loss_weight": (5.0, 0.5),
    "gamma": (0.9, 0.5), "gae_lambda": (0.9, 0.3), "clip": (0.2, 0.01), "entropy": (0.0, 0.1),
    "max_grad_norm": (5.0, 1e-3),
}  # fmt: skip
PPO_ALONE = ("gae_lambda", "clip", "entropy")
WIDE = {"snd": ("2",), "action_loss_weight": 5.0, "action_loss_lr": 1e-2, "tau": 0.3}


def test_every_number_that_may_vary_is_tried_here():
    assert set(VALUES) == set(NUMBERS)


@pytest.mark.filterwarnings("ignore:a desired diversity:UserWarning")
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [(name, each) for name in NUMBERS for each in ("ippo", "maddpg", "isac", "itd3") if name not in PPO_ALONE]
    + [(name, "mappo") for name in PPO_ALONE],
)
def test_a_member_learns_as_in_a_population_where_all_have_its_number(name, algorithm):
    """And the number matters: the two members, of one seed, end apart."""
    values = VALUES[name]
    both = population(algorithm=algorithm, **WIDE, vary=(f"{name}={values[0]:g},{values[1]:g}",))
    rows = [both.iterate() for _ in range(2)][-1]
    assert [row[name] for row in rows] == list(values)
    for k, value in enumerate(values):
        alone = population(algorithm=algorithm, **(WIDE | {name: value}))
        (expected,) = [alone.iterate() for _ in range(2)][-1]
        for column in ("reward", "snd", "snd_hat", "scale", "action_bound_violation"):
            assert rows[k][column] == pytest.approx(expected[column], rel=1e-4, abs=1e-6), column
    mine, other = (dict(both.learners[0].policy.named_parameters())["deviations.mlp.0.weight"][k] for k in range(2))
    assert not torch.allclose(mine, other, rtol=1e-5, atol=1e-7)


def test_blocks_take_each_members_numbers_along():
    settings = config(vary=("tau=0.3,0.02", "lr=1e-2,1e-3"), snd=("0.3", "free"))
    whole, parts = population(vary=settings.vary, snd=settings.snd), Blocks(settings, Stage("eager"), 3)
    for _ in range(2):
        expected, found = whole.iterate(), parts.iterate()
    for mine, its in zip(found, expected, strict=True):
        assert [mine[name] for name in ("member", "tau", "lr")] == [its[name] for name in ("member", "tau", "lr")]
        assert mine["snd"] == pytest.approx(its["snd"], rel=1e-5)


def test_members_are_all_combinations_in_order():
    members = config(snd=("0.3", "free"), seeds=2, vary=("tau=0.1,0.01", "lr=1e-3")).members
    assert [m.index for m in members] == list(range(8))
    assert [(m.constraint, m.tau, m.seed) for m in members[:5]] == [
        ("0.3", 0.1, 0), ("0.3", 0.1, 1), ("0.3", 0.01, 0), ("0.3", 0.01, 1), ("free", 0.1, 0),
    ]  # fmt: skip
    assert {m.lr for m in members} == {1e-3}
    assert members[3].name == "snd=0.3,tau=0.01,lr=0.001,seed=1"
    assert len({m.name for m in members}) == 8
    assert varying(members) == ["constraint", "tau"]
    assert {m.gamma for m in members} == {0.9}


def test_the_same_seed_starts_alike_whatever_varies():
    ours = population(vary=("lr=1e-2,1e-3",), snd=("0.3",))
    weights = ours.learners[0].policy.shared.mlp[0].weight
    assert torch.equal(weights[0], weights[1])


def test_a_run_folder_has_the_members_as_records(tmp_path):
    run = dico.train(config(vary=("tau=0.1,0.01",), snd=("1",), frames=40), tmp_path / "run", device="cpu")
    records = json.loads((tmp_path / "run" / "members.json").read_text())
    assert [record["tau"] for record in records] == [0.1, 0.01]
    assert tuple(Member(**record) for record in records) == run.members
    assert run.metric("tau")[:, 0].tolist() == [0.1, 0.01]
    assert [run.policies(indices=[k]).tau.item() for k in (0, 1)] == [0.1, 0.01]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (("taw=0.1",), "name in vary must be one of 'tau', .* got 'taw'; did you mean 'tau'"),
        (("tau",), "vary must be name=value,value"),
        (("tau=0.1,x",), "vary must be name=value,value"),
        (("tau=2",), r"tau must be a number in \[0, 1\], got 2.0"),
        (("lr=0",), "lr must be a finite number above 0"),
        (("tau=0.1", "tau=0.2"), "vary must name each number once"),
        (("tau=0.1,0.1",), "vary must hold each value once"),
    ],
)
def test_what_cannot_vary_is_told(vary, message):
    with pytest.raises(ValueError, match=message):
        Config(vary=vary)


def test_nothing_varies_by_default():
    assert varying(expand(["1"], {}, [0, 1], {})) == ["constraint"]
    assert config().varied == {}


def test_a_vector_meets_what_it_multiplies():
    assert across(learner("ippo").numbers["gamma"], torch.zeros(2, 5, 3)).shape == (2, 1, 1)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"algorithm": "isac", "vary": ("clip=0.1,0.2",)},
            "vary must name numbers that isac reads, .* got 'clip'",
        ),
        ({"algorithm": "itd3", "vary": ("entropy=0,1",)}, "vary must name numbers that itd3 reads"),
        ({"action_loss": "off", "vary": ("action_loss_weight=1,2",)}, "where action_loss is off"),
        ({"action_loss": "merged", "vary": ("action_loss_lr=1e-3,1e-4",)}, "where action_loss is merged"),
    ],
)
def test_what_nothing_reads_does_not_vary(settings, message):
    with pytest.raises(ValueError, match=message):
        config(**settings)


def test_what_a_learner_reads_matters():
    """And nothing else does: the numbers are those that the first test of this file tries."""
    assert set(config(algorithm="mappo").spec.learner.READS) == set(NUMBERS)
    assert set(NUMBERS) - set(config(algorithm="isac").spec.learner.READS) == set(PPO_ALONE)


def test_members_are_those_of_their_file(tmp_path):
    """Not what the configuration would expand to today."""
    run = dico.train(config(snd=("1",), frames=40), tmp_path / "run", device="cpu")
    path = tmp_path / "run" / "members.json"
    records = json.loads(path.read_text())
    path.write_text(json.dumps([record | {"tau": 0.5, "seed": 7} for record in records]))
    (member,) = dico.load(run.folder).members
    assert (member.tau, member.seed) == (0.5, 7)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    "wrong",
    [
        "[]", "{}", "3", "null", '[{"index": 1, "constraint": "1", "seed": 0}]',
        '[{"index": 0, "constraint": "no", "seed": 0}]', '[{"index": 0, "constraint": 1, "seed": 0}]',
        '[{"index": 0, "constraint": "1", "seed": 0, "tau": "x"}]', '[{"index": 0, "constraint": "1"}]',
        '[{"index": 0, "constraint": "1", "seed": 0, "colour": 1}]', "[1]", "{",
    ],
)  # fmt: skip
def test_members_that_are_none_are_told(wrong, tmp_path):
    run = dico.train(config(snd=("1",), frames=40), tmp_path / "run", device="cpu")
    (run.folder / "members.json").write_text(wrong)
    with pytest.raises(RunError, match=r"members.json cannot be used"):
        dico.load(run.folder)
