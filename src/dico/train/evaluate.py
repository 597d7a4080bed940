"""How trained members do: fresh episodes with their newest policies."""

from typing import Any

import torch

from dico.metrics import snd
from dico.random import Random
from dico.runs import Run
from dico.train.config import Config
from dico.train.population import make_task
from dico.train.squashed import squash

STREAM = 1000
"""Keeps the evaluation's random numbers apart from those of any training."""


@torch.no_grad()
def evaluate(run: Run, *, episodes: int = 200, seed: int = 0, deterministic: bool = False) -> list[dict[str, Any]]:
    """Every member on the same fresh episodes, with stochastic actions unless ``deterministic``.

    One row for each member and group: mean reward per step, mean return of an episode, SND over all that was seen.
    """
    config = Config.from_json(dict(run.config))
    task = make_task(config)
    policies = [run.policies(group.name) for group in task.groups]
    seeds = [seed] * len(run.members)
    rng, noise = Random(seeds, STREAM), Random(seeds, STREAM + 1)
    state = task.reset(episodes, rng)
    running = torch.ones(len(seeds), episodes, dtype=torch.bool)
    low, high = torch.tensor(task.action_low), torch.tensor(task.action_high)
    rewards, alive, seen = [], [], [[] for _ in policies]
    for _ in range(task.horizon):
        actions = []
        for policy, obs, past in zip(policies, task.observe(state), seen, strict=True):
            past.append(obs)
            mean, std = policy(obs).tensor_split([len(task.action_low)], -1)
            raw = mean if deterministic or not std.numel() else mean + std * noise.normal(*mean.shape[1:])
            actions.append(squash(raw, low, high) if std.numel() else raw.clamp(low, high))
        state, reward, done = task.step(state, torch.cat(actions, -2))
        rewards.append(reward)
        alive.append(running)
        running = running & ~done
    reward, live = torch.stack(rewards, 1), torch.stack(alive, 1)[..., None]
    rows, first = [], 0
    for group, policy, past in zip(task.groups, policies, seen, strict=True):
        last = first + len(group.agents)
        total = (reward[..., first:last] * live).mean(-1).sum(1)  # (members, episodes)
        steps = live[..., 0].sum(1)
        measured = snd(
            policy.everyone(torch.stack(past, 1).flatten(1, 2)[:, :: max(1, episodes * task.horizon // 4096)])
        )
        for member in run.members:
            k = member.index
            rows.append({
                "member": k, "constraint": member.constraint, "seed": member.seed,
                **({"group": group.name} if len(task.groups) > 1 else {}),
                "reward": (total[k].sum() / steps[k].sum()).item(), "return": total[k].mean().item(),
                "steps": steps[k].float().mean().item(), "snd": measured[k].item(),
            })  # fmt: skip
        first = last
    return rows
