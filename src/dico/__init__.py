"""Diversity control for multi-agent reinforcement learning."""

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

__version__ = "0.1.0"

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
