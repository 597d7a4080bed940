"""The comparisons under benchmarks/ train what they say."""

from argparse import Namespace

import pytest
from conditioning import LEVELS, SIZES, VARIANTS, config_of

from dico.experiments import preset
from dico.training.config import ALGORITHMS

ASKED = {"frames", "snd", "seeds", "first_seed", "task_options"}


@pytest.mark.parametrize("size", ["paper", "quick"])
@pytest.mark.parametrize("algorithm", [None, *ALGORITHMS])
@pytest.mark.parametrize("task", LEVELS)
def test_the_variants_paper_and_tuned_are_these_presets(task, algorithm, size):
    options = Namespace(task=task, algorithm=algorithm, size=size, levels=None, frames=None, seeds=1, first_seed=0)
    chosen = {"algorithm": algorithm} if algorithm else {}
    for variant in ("paper", "tuned"):
        changed = config_of(options, variant).differs_from(preset(variant, task, **chosen))
        assert set(changed) <= ASKED | {"freeze"} | (set(SIZES) if size == "quick" else set())


def test_every_variant_is_one_of_its_own():
    options = {"levels": None, "frames": 6_000_000, "seeds": 1, "first_seed": 0, "size": "paper"}
    for task, algorithm, but in (("navigation", "ippo", {"tuned"}), ("dispersion", "maddpg", {"tuned"})):
        asked = Namespace(task=task, algorithm=algorithm, **options)
        made = [repr(config_of(asked, variant)) for variant in VARIANTS if variant not in but]
        assert len(set(made)) == len(made)
