"""Small learners and populations for the tests, and what they are made of."""

import torch

from dico.constraints import parse_constraint, stack_constraints
from dico.training.algorithms import ALGORITHMS
from dico.training.config import Config
from dico.training.experience import Batch, Comparison, Team
from dico.training.learner import Learner
from dico.training.offpolicy import ReplayMinibatch
from dico.training.population import Population
from dico.training.ppo import PPOMinibatch
from dico.training.sac import SACMinibatch
from dico.training.staging import Stage
from dico.training.td3 import TD3Minibatch

TEAM = Team("agents", n_agents=3, obs_dim=4, low=(-1.0, -0.5), high=(1.0, 2.0))
SMALL = {"frames": 120, "envs": 4, "frames_per_batch": 40, "hidden": (8,), "seeds": 1, "snd": ("0.3", "free")}
SHORT = {"epochs": 2, "minibatch": 24, "updates": 4, "batch": 16, "replay": 100, "lr": 1e-2, "noise_frames": 100}

PAIRS = {"task_options": ("n_agents=4",), "estimate_agents": 2}

__all__ = ["ALGORITHMS", "PAIRS", "SHORT", "SMALL", "TEAM"]


def config(**options) -> Config:
    return Config(**(SMALL | SHORT | options))


def population(indices=None, **options) -> Population:
    return Population(config(**options), indices=indices)


def learner(algorithm, n_members=2, team=TEAM, goals=("0.3", "free"), make=None, **options) -> Learner:
    """A learner of members with different seeds, and these goals in turn."""
    goal = stack_constraints([parse_constraint(goals[k % len(goals)]) for k in range(n_members)])
    settings = config(algorithm=algorithm, **({"snd": ("0.3",), "seeds": n_members} | options))
    make = make or settings.spec.learner
    return make(settings, settings.members, team, goal, settings.spec.critic, 1, Stage("eager"))


MINIBATCHES = {"ppo": PPOMinibatch, "ddpg": ReplayMinibatch, "td3": TD3Minibatch, "sac": SACMinibatch}


def minibatch_of(algorithm, *values, how=None, **more):
    """What the algorithm's update takes, of values in the order of its fields."""
    kind = MINIBATCHES[algorithm.removeprefix("i").removeprefix("ma")]
    names = [name for name in kind.__dataclass_fields__ if name != "how"]
    return kind(**dict(zip(names, values, strict=False)), how=how or Comparison(), **more)


def batch_of(learner, steps=5, envs=8, seed=0) -> Batch:
    """Anything that such a group might have experienced."""
    torch.manual_seed(seed)
    size = (learner.n_members, steps, envs, learner.team.n_agents)
    obs, next_obs = torch.randn(2, *size, learner.team.obs_dim)
    low, high = learner.low, learner.high
    action = low + (high - low) * torch.rand(*size, len(low))
    done = torch.rand(size[:3]) < 0.2
    values = {"obs": obs, "next_obs": next_obs, "action": action, "sample": action, "log_prob": torch.randn(size) - 2,
              "reward": torch.randn(size), "done": done}  # fmt: skip
    return learner.BATCH(**{name: values[name] for name in learner.BATCH.__dataclass_fields__})


def parameters(learner) -> dict[str, torch.Tensor]:
    """A copy of all that is learned."""
    modules = {f"{kind}.{name}": p for kind, m in learner.modules().items() for name, p in m.named_parameters()}
    return {name: p.detach().clone() for name, p in modules.items()}


def same(before, after) -> bool:
    return all(torch.equal(before[name], after[name]) for name in before)
