"""What figures say, and a run whose every number is known."""

import pytest
from folders import write_run
from matplotlib.text import Text


def texts(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def said(figure):
    return " ".join(texts(figure)).replace("\n", " ")


def legend_of(figure):
    return [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]


def steady(level, seed, iteration):
    """Reward peaks at 0.5; SND a tenth above what is desired, 1.6 for free."""
    desired = 1.6 if level == "free" else float(level)
    return {
        "reward": 1 - (desired - 0.5) ** 2 + 0.01 * seed,
        "snd": 1.1 * desired,
        "action_bound_violation": 0.02 * desired,
    }


def known_run(folder):
    return write_run(folder, steady, snd=("0", "0.5", "1.5", "free"), seeds=3)


def known_fixture():
    """A test module's fixture: such a run."""

    @pytest.fixture(name="known")
    def run(tmp_path):
        return known_run(tmp_path / "known")

    return run


def lost(*_):
    """A member that diverged."""
    return {"reward": None, "snd": None, "action_bound_violation": None, "distances": [None], "diverged": True}
