"""Small learners and populations for the tests, and what they are made of."""

import torch

from dico.constraints import parse_constraint, stack_constraints
from dico.training.config import ALGORITHMS, Config
from dico.training.learner import Batch, Learner, Team
from dico.training.population import LEARNERS, Population
from dico.training.staging import Stage

TEAM = Team("agents", n_agents=3, obs_dim=4, low=(-1.0, -0.5), high=(1.0, 2.0))
SMALL = {"frames": 120, "envs": 4, "frames_per_batch": 40, "hidden": (8,), "seeds": 1, "snd": ("0.3", "free")}
SHORT = {"epochs": 2, "minibatch": 24, "updates": 4, "batch": 16, "replay": 100, "lr": 1e-2, "noise_frames": 100}

PAIRS = {"task_options": ("n_agents=4",), "estimate_agents": 2}

__all__ = ["ALGORITHMS", "PAIRS", "SHORT", "SMALL", "TEAM"]


def config(**options) -> Config:
    return Config(**(SMALL | SHORT | options))


def population(members=None, **options) -> Population:
    return Population(config(**options), members=members)


def learner(algorithm, members=2, team=TEAM, goals=("0.3", "free"), make=None, **options) -> Learner:
    goal = stack_constraints([parse_constraint(goals[k % len(goals)]) for k in range(members)])
    settings = config(algorithm=algorithm, **options)
    return (make or LEARNERS[algorithm])(settings, team, goal, range(members), 1, Stage("eager"))


def batch_of(learner, steps=5, envs=8, seed=0) -> Batch:
    """Anything that such a group might have experienced."""
    torch.manual_seed(seed)
    size = (learner.n_members, steps, envs, learner.team.n_agents)
    obs, next_obs = torch.randn(2, *size, learner.team.obs_dim)
    low, high = learner.low, learner.high
    raw = low + (high - low) * torch.rand(*size, len(low))
    done = torch.rand(size[:3]) < 0.2
    return Batch(obs, next_obs, raw, torch.randn(size) - 2, torch.randn(size), done)


def parameters(learner) -> dict[str, torch.Tensor]:
    """A copy of all that is learned."""
    modules = {f"{kind}.{name}": p for kind, m in learner.modules().items() for name, p in m.named_parameters()}
    return {name: p.detach().clone() for name, p in modules.items()}


def same(before, after) -> bool:
    return all(torch.equal(before[name], after[name]) for name in before)
