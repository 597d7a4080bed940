"""Runs whose members differ in more than desired diversity: with known numbers, or trained for a moment."""

import pytest
from folders import write_run
from report_runs import small_run

from dico.members import parse_level

TAUS = "tau=0.3,0.01"


def by_level(level, seed, iteration):
    """Reward and SND tell all that a member is; a smaller tau is worse and overshoots."""
    fields = parse_level(level)
    constraint, tau = fields.get("constraint", "1"), float(fields.get("tau", 0.3))
    desired = 1.0 if constraint == "free" else float(constraint)
    return {
        "reward": desired + tau + 0.1 * seed,
        "snd": desired * (1.2 if tau < 0.1 else 1.0),
        "action_bound_violation": 0.0,
    }


def two_taus(folder, **settings):
    """One desired diversity, two taus, two seeds."""
    return write_run(folder, by_level, **{"snd": ("1",), "vary": (TAUS,), "frames": 12_000} | settings)


def two_by_two(folder, **settings):
    """Two desired diversities, each with two taus, two seeds."""
    return two_taus(folder, snd=("free", "0.5"), **settings)


def trained_fixture():
    """A test module's fixture: a trained run of two taus."""

    @pytest.fixture(scope="module", name="trained")
    def run(tmp_path_factory):
        return small_run(tmp_path_factory.mktemp("varied") / "taus", snd=("1",), vary=(TAUS,))

    return run
