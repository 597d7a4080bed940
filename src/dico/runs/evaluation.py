"""How trained members do: fresh episodes with their newest policies."""

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dico._files import has_diverged
from dico._measuring import spaced, take
from dico.acting import into_box
from dico.boxes import over_the_box
from dico.members import varying
from dico.metrics import METRICS, snd
from dico.runs.episodes import play
from dico.runs.run import Run
from dico.tasks import Group, Task, of_group


@torch.no_grad()
def evaluate(run: Run, *, episodes: int = 200, seed: int = 0, deterministic: bool = False) -> list[dict[str, Any]]:
    """Every member on the same fresh episodes.

    Args:
        run: with a checkpoint.
        episodes: of each member.
        seed: of their starts and noise.
        deterministic: stochastic policies act by their means.

    Returns:
        One row for each member and group: what sets the member apart, mean reward per step, mean return of an episode
        and its standard deviation over episodes, mean length, what the task says of it (success, coverage), and
        diversity, that of mean actions as they are executed (``snd_acted``) too, at steps of episodes that were
        running, at most as many as a training measures it at; under analytical control that over the box too
        (``snd_box``), and the share of observations ``outside``. A member whose numbers are not finite is marked as
        diverged.
    """
    task = run.task()
    policies = [run.policies(group.name) for group in task.groups]
    played = play(task, policies, episodes, seed, deterministic=deterministic)
    low, high = torch.tensor(task.action_low), torch.tensor(task.action_high)
    rows, varied = [], [name for name in varying(run.members) if name != "constraint"]
    for group, policy, obs in zip(task.groups, policies, played.obs, strict=True):
        earned = (of_group(group, played.reward).mean(-1) * played.running).sum(1)
        length = played.running.sum(1)
        seen = take(obs.flatten(1, 2), _running(played.running, len(group.agents)))
        everyone = policy.everyone(seen)
        diversity = {name: METRICS[name].fn(everyone) for name in ("snd", run.config["metric"])}
        diversity["snd_acted"] = snd(into_box(policy.kind, everyone[..., : len(low)], low, high))
        diversity |= over_the_box(policy, seen, seed)
        outcomes = {name: played.outcome(task, name).mean(1) for name in played.outcomes}
        for member in run.members:
            k = member.index
            row = {
                "member": k, "constraint": member.constraint, "seed": member.seed,
                **{name: getattr(member, name) for name in varied}, **_group_column(group, task),
                "reward": (earned[k].sum() / length[k].sum()).item(), "return": earned[k].mean().item(),
                "return_std": earned[k].std(correction=0).item(),
                "steps": length[k].float().mean().item(),
                **{name: value[k].item() for name, value in (outcomes | diversity).items()},
            }  # fmt: skip
            rows.append(row | {"diverged": True} if has_diverged(row) else row)
    return rows


def _running(running: Bool[Tensor, "members steps episodes"], n_agents: int) -> Int[Tensor, "members picked"]:
    """For each member as many indices of running steps, evenly spaced among them."""
    flat = running.flatten(1)
    counts = flat.sum(1).tolist()
    order = flat.to(torch.int8).argsort(dim=1, descending=True, stable=True)  # the running ones first, in order
    return order.gather(1, torch.stack([spaced(count, n_agents, at_most=min(counts)) for count in counts]))


def _group_column(group: Group, task: Task) -> dict[str, str]:
    return {"group": group.name} if len(task.groups) > 1 else {}
