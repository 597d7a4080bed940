"""The population trainer and BenchMARL, with the same settings, reach the same rewards; minutes."""

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_trainers_reach_the_same_reward_and_diversity(tmp_path):
    from against_benchmarl import compared, settings, trained

    config = settings(["1"], seeds=4, frames=300_000)
    (result,) = compared(trained(config, tmp_path), config)["levels"].values()
    assert result["overlap"]
    for side in ("population", "BenchMARL"):
        assert result[side]["reward"]["mean"] > 0.015  # both have learned
        assert result[side]["snd"]["mean"] == pytest.approx(1, rel=0.05)
