"""How trained members do: fresh episodes with their newest policies."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dico.metrics import METRICS
from dico.policy import DiCo
from dico.random import Random
from dico.runs import Run, has_diverged
from dico.tasks import Group, Task
from dico.train.config import Config
from dico.train.learner import take
from dico.train.population import make_task
from dico.train.squashed import squash

STREAM = 1000
"""Keeps the evaluation's random numbers apart from those of any training."""
MEASURED = 4096
"""Diversity is measured at up to so many steps, evenly spaced."""


@dataclass(frozen=True)
class Episodes:
    """What all members experienced: ``(members, steps, episodes, ...)``."""

    obs: tuple[Float[Tensor, "members steps episodes n o"], ...]
    """Of each group."""
    reward: Float[Tensor, "members steps episodes agents"]
    running: Bool[Tensor, "members steps episodes"]


@torch.no_grad()
def evaluate(run: Run, *, episodes: int = 200, seed: int = 0, deterministic: bool = False) -> list[dict[str, Any]]:
    """Every member on the same fresh episodes, with stochastic actions unless ``deterministic``.

    One row for each member and group: mean reward per step, mean return and length of an episode, and diversity at up
    to 4096 steps of episodes that were running. A member whose numbers are not finite is marked as diverged.
    """
    config = Config.from_json(dict(run.config))
    task = make_task(config)
    policies = [run.policies(group.name) for group in task.groups]
    played = play(task, policies, episodes, seed, deterministic=deterministic)
    rows, first = [], 0
    for group, policy, obs in zip(task.groups, policies, played.obs, strict=True):
        last = first + len(group.agents)
        earned = (played.reward[..., first:last].mean(-1) * played.running).sum(1)
        length = played.running.sum(1)
        everyone = policy.everyone(take(obs.flatten(1, 2), _spaced(played.running)))
        diversity = {name: METRICS[name].fn(everyone) for name in ("snd", config.metric)}
        for member in run.members:
            k = member.index
            row = {
                "member": k, "constraint": member.constraint, "seed": member.seed, **_named(group, task),
                "reward": (earned[k].sum() / length[k].sum()).item(), "return": earned[k].mean().item(),
                "steps": length[k].float().mean().item(),
                **{name: value[k].item() for name, value in diversity.items()},
            }  # fmt: skip
            rows.append(row | {"diverged": True} if has_diverged(row) else row)
        first = last
    return rows


def play(task: Task, policies: list[DiCo], episodes: int, seed: int, *, deterministic: bool) -> Episodes:
    """Let all members play as many episodes, from the same starts and with the same noise."""
    seeds = [seed] * policies[0].members[0]
    rng, noise = Random(seeds, STREAM), Random(seeds, STREAM + 1)
    state = task.reset(episodes, rng)
    low, high = torch.tensor(task.action_low), torch.tensor(task.action_high)
    running = torch.ones(len(seeds), episodes, dtype=torch.bool)
    steps = []
    for _ in range(task.horizon):
        observed, actions = task.observe(state), []
        for policy, obs in zip(policies, observed, strict=True):
            mean, std = policy(obs).tensor_split([len(task.action_low)], -1)
            if not std.numel():
                actions.append(mean.clamp(low, high))
                continue
            raw = mean if deterministic else mean + std * noise.normal(*mean.shape[1:])
            actions.append(squash(raw, low, high))
        state, reward, done = task.step(state, torch.cat(actions, -2))
        steps.append((*observed, reward, running))
        running = running & ~done
    *obs, reward, running = (torch.stack(column, 1) for column in zip(*steps, strict=True))
    return Episodes(tuple(obs), reward, running)


def _spaced(running: Bool[Tensor, "members steps episodes"]) -> Int[Tensor, "members picked"]:
    """For each member as many indices of running steps, evenly spaced among them."""
    flat = running.flatten(1)
    counts = flat.sum(1, keepdim=True)
    picked = min(MEASURED, int(counts.min()))
    order = flat.to(torch.int8).argsort(dim=1, descending=True, stable=True)  # the running ones first, in order
    return order.gather(1, torch.arange(picked) * counts // picked)


def _named(group: Group, task: Task) -> dict[str, str]:
    return {"group": group.name} if len(task.groups) > 1 else {}
