"""A population that takes over from another: who stays notices nothing, who changes meets the new level."""

from dataclasses import replace

import pytest
import torch
from populations import config

from dico.metrics import snd
from dico.runs import load
from dico.training import session
from dico.training.options import SessionOptions
from dico.training.succession import succeed

ON_CPU = SessionOptions(device="cpu")


@pytest.mark.parametrize("algorithm", ["ippo", "maddpg", "isac"])
def test_who_stays_at_its_level_goes_on_as_if_nothing_had_happened(tmp_path, algorithm):
    whole = config(algorithm=algorithm, snd=("0", "0.3", "free"), seeds=2, frames=160)
    alone = session.train(whole, tmp_path / "whole", device="cpu")
    first = session.train(replace(whole, frames=80), tmp_path / "first", device="cpu")
    fewer = replace(whole, snd=("free", "0.3"))
    sources = [4, 5, 2, 3]
    succeed(first, fewer, tmp_path / "second", sources, ON_CPU)
    second = session.resume(tmp_path / "second", config=fewer, device="cpu")
    for member in second.members:
        theirs = [row for row in alone.rows() if row["member"] == sources[member.index] and row["frames"] > 80]
        ours = [row for row in second.rows() if row["member"] == member.index]
        assert [row["frames"] for row in ours] == [120, 160]
        for old, new in zip(theirs, ours, strict=True):
            for name in ("reward", "snd", "snd_hat", "scale"):
                assert new[name] == pytest.approx(old[name], rel=1e-4, abs=1e-6), name


def test_who_changes_level_has_the_same_networks_and_meets_the_new_one_at_once(tmp_path):
    settings = config(snd=("0.3", "free"), seeds=2, frames=80, tau=1.0)
    first = session.train(settings, tmp_path / "first", device="cpu")
    other = replace(settings, snd=("0.3", "1.2"), frames=120)
    succeed(first, other, tmp_path / "second", [0, 1, 0, 1], ON_CPU)
    before, after = first.policies(), load(tmp_path / "second").policies()
    for name, value in after.state_dict().items():
        if "constraint" not in name and value.shape[:1] == (4,):
            assert torch.equal(value[2:], before.state_dict()[name][:2]), name
    assert after.constraint.lo.tolist() == [0.3, 0.3, 1.2, 1.2]
    found = snd(after.everyone(torch.randn(64, 2, 4).expand(4, -1, -1, -1)))
    torch.testing.assert_close(found[2:], 4 * found[:2])


def test_what_a_successor_may_not_differ_in(tmp_path):
    settings = config(snd=("0.3", "free"), seeds=2)
    run = session.train(settings, tmp_path / "run", device="cpu")
    for changed, sources, said in (
        (replace(settings, lr=0.5), [0, 1, 2, 3], "got another lr"),
        (settings, [0, 1], "sources must name a member for each of 4, got 2"),
        (settings, [1, 0, 2, 3], "sources must be of the same seed, got snd=0.3,seed=1 for snd=0.3,seed=0"),
        (settings, [0, 1, 2, 7], r"each of sources must be a whole number in \[0, 3\], got 7"),
    ):
        with pytest.raises(ValueError, match=said):
            succeed(run, changed, tmp_path / "next", sources, ON_CPU)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
