"""Diversity control for multi-agent reinforcement learning."""

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
    from dico import train
    from dico.runs import load

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`dico.train` and `dico.load` need more than torch, so they are imported when first used."""
    if name == "train":
        from importlib import import_module

        return import_module("dico.train")
    if name == "load":
        from dico.runs import load

        return load
    raise AttributeError(f"module 'dico' has no attribute {name!r}")


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
    "load",
    "max_snd",
    "pairwise_w2",
    "parse_constraint",
    "snd",
    "snd_at",
    "stack_constraints",
    "train",
]
