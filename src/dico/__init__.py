"""Diversity control for multi-agent reinforcement learning."""

from importlib import import_module
from typing import TYPE_CHECKING

from dico.bounds import MaxSND, max_snd
from dico.constraints import (
    Constraint,
    at_least,
    at_most,
    between,
    equal,
    free,
    parse_constraint,
    stack_constraints,
)
from dico.losses import action_space_loss
from dico.metrics import METRICS, Metric, pairwise_w2, snd, snd_at
from dico.nets import PerAgent
from dico.policy import DiCo

if TYPE_CHECKING:
    from dico.runs import load as load
    from dico.training.session import resume as resume
    from dico.training.session import train as train

__version__ = "0.1.0"

_LATER = {"load": "dico.runs", "resume": "dico.training.session", "train": "dico.training.session"}
"""Functions that need more than torch, imported when first used."""


def __getattr__(name: str) -> object:
    """See :data:`_LATER`; ``dico.analysis`` and ``dico.viz`` likewise."""
    if name not in (*_LATER, "analysis", "viz"):
        raise AttributeError(f"module 'dico' has no attribute {name!r}")
    try:
        return getattr(import_module(_LATER[name]), name) if name in _LATER else import_module(f"dico.{name}")
    except ModuleNotFoundError as missing:
        raise ImportError(f'dico.{name} needs {missing.name}: pip install "dico-marl[train]"') from missing


__all__ = [
    "METRICS",
    "Constraint",
    "DiCo",
    "MaxSND",
    "Metric",
    "PerAgent",
    "action_space_loss",
    "at_least",
    "at_most",
    "between",
    "equal",
    "free",
    "max_snd",
    "pairwise_w2",
    "parse_constraint",
    "snd",
    "snd_at",
    "stack_constraints",
]
