"""Diversity control for multi-agent reinforcement learning."""

from typing import TYPE_CHECKING

from dico._lazy import lazy

if TYPE_CHECKING:  # the public names; each is imported when it is first used
    from dico import analysis as analysis
    from dico import viz as viz
    from dico.analytical import AnalyticalDiCo as AnalyticalDiCo
    from dico.bounds import MaxSND as MaxSND
    from dico.bounds import max_snd as max_snd
    from dico.commands._progress import progress as progress
    from dico.constraints import Constraint as Constraint
    from dico.constraints import at_least as at_least
    from dico.constraints import at_most as at_most
    from dico.constraints import between as between
    from dico.constraints import equal as equal
    from dico.constraints import free as free
    from dico.constraints import parse_constraint as parse_constraint
    from dico.constraints import scheduled as scheduled
    from dico.constraints import stack_constraints as stack_constraints
    from dico.control import closed_loop as closed_loop
    from dico.dial import DialDiCo as DialDiCo
    from dico.losses import action_space_loss as action_space_loss
    from dico.metrics import METRICS as METRICS
    from dico.metrics import Metric as Metric
    from dico.metrics import pairwise_w2 as pairwise_w2
    from dico.metrics import snd as snd
    from dico.metrics import snd_at as snd_at
    from dico.nets import PerAgent as PerAgent
    from dico.policy import DiCo as DiCo
    from dico.runs import load as load
    from dico.training.session import resume as resume
    from dico.training.session import train as train

__version__ = "0.1.0"

_homes, __getattr__ = lazy(__name__, __file__, extra="train")
BEYOND_TORCH = ("analysis", "load", "progress", "resume", "train", "viz")
"""Names that need more than torch: ``from dico import *`` leaves them out."""
__all__ = sorted(set(_homes) - set(BEYOND_TORCH))  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *_homes})
