"""The paper's experiments, and presets for them, as data; and the run folders that they are trained into."""

from dico.experiments.paper import EXPERIMENTS, Experiment, scaled
from dico.experiments.presets import CONDITIONING, PAPER, PRESETS, QUICK, SQUASHED, preset, presets_of
from dico.experiments.trainings import Training, plan, state_of, train_or_go_on

__all__ = [
    "CONDITIONING", "EXPERIMENTS", "PAPER", "PRESETS", "QUICK", "SQUASHED", "Experiment", "Training", "plan", "preset",
    "presets_of",
    "scaled", "state_of", "train_or_go_on",
]  # fmt: skip
