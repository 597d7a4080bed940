"""Run folders of earlier versions open."""

from pathlib import Path

import torch

import dico
from dico.members import NUMBERS

HERE = Path(__file__).parent


def test_a_folder_of_format_1_opens():
    """It was trained at commit d713341, before members were records: its members have all else in common."""
    run = dico.load(HERE / "format-1")
    assert [(member.constraint, member.seed) for member in run.members] == [
        ("0.3", 0), ("0.3", 1), ("free", 0), ("free", 1),
    ]  # fmt: skip
    assert {getattr(member, name) for member in run.members for name in ("tau", "lr")} == {0.01, 5e-5}
    assert all(getattr(member, name) is not None for member in run.members for name in NUMBERS)
    assert run.members[1].name == "snd=0.3,seed=1"
    assert run.metric("reward").shape == (4, 2)
    policy = run.policy(snd=0.3, seed=1)
    assert policy.tau.item() == 0.01
    obs = torch.randn(50, 2, 4)
    desired = run.metric("snd")[1, -1].item()
    assert dico.snd(policy.everyone(obs)).item() > 0
    assert abs(desired - 0.3) < 0.1
    stacked = run.policies(indices=[1])
    torch.testing.assert_close(stacked(obs[None])[0], policy(obs))
    assert run.task().n_agents == 2


def test_columns_of_earlier_versions_have_their_names_of_today():
    run = dico.load(HERE / "format-1")
    assert '"overflow_all"' in (HERE / "format-1" / "metrics.jsonl").read_text()
    for name in ("action_bound_violation", "action_bound_violation_all"):
        assert run.metric(name).isfinite().all()
    assert not any("overflow" in name for row in run.rows() for name in row)


def test_a_folder_of_format_1_is_drawn(tmp_path):
    run = dico.load(HERE / "format-1")
    figures = dico.viz.draw_figures([run])
    assert "Action-bound violation" in [axes.get_title() for axes in figures["tracking"].axes]
    page = dico.viz.write_report(run, tmp_path / "page.html").read_text("utf-8")
    assert '"action_bound_violation":{' in page
