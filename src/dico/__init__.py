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
    from dico import train as train
    from dico.runs import load as load

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`dico.train` and `dico.load` need more than torch, so they are imported when first used."""
    if name not in ("train", "load"):
        raise AttributeError(f"module 'dico' has no attribute {name!r}")
    try:
        return import_module("dico.train") if name == "train" else import_module("dico.runs").load
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
