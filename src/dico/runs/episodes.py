"""Fresh episodes of trained members, from the same starts for all: what evaluation, figures and videos look at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dico.acting import actions_of
from dico.policy import DiCo
from dico.random import Random
from dico.runs.shown import as_html
from dico.tasks import Task, check_groups, is_over_steps, join_groups, map_state, outcomes_of

STREAM = 1000
"""Keeps the episodes' random numbers apart from those of any training."""


@dataclass(frozen=True, repr=False)
class Episodes:
    """What all members experienced: ``(members, steps, episodes, ...)``."""

    obs: tuple[Float[Tensor, "members steps episodes _ _"], ...]
    """Of each group."""
    reward: Float[Tensor, "members steps episodes agents"]
    running: Bool[Tensor, "members steps episodes"]
    """Whether the episode had not ended before the step."""
    outcomes: dict[str, Float[Tensor, "members steps episodes"]]
    """What the task says of where each step led, see :func:`dico.tasks.outcomes_of`."""

    def __repr__(self) -> str:
        """In a line: how many there are, and what came of them, but none of their tensors."""
        return f"{type(self).__name__}({', '.join(f'{name} {text}' for name, text in self._in_words().items())})"

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        return as_html(self._in_words())

    def _in_words(self) -> dict[str, str]:
        members, _, episodes = self.running.shape
        lengths, returns = self.lengths, self.returns
        sizes = [f"{obs.shape[-1]} numbers for each of {obs.shape[-2]} agents" for obs in self.obs]
        least, most = (f"{value:g}" for value in (lengths.min().item(), lengths.max().item()))
        return {
            "members": str(members),
            "episodes": f"{episodes} each",
            "steps": least if least == most else f"{least} to {most}",
            "observations": "; ".join(sizes),
            "return of an agent": f"{returns.mean().item():.4g} on average",
        }

    def outcome(self, task: Task, name: str) -> Float[Tensor, "members episodes"]:
        """What an episode came to: in its last step, or as a share of its steps, as the task has it."""
        said, length = self.outcomes[name], self.running.sum(1)
        if is_over_steps(task, name):
            return (said * self.running).sum(1) / length
        return said.gather(1, length[:, None] - 1)[:, 0]

    @property
    def returns(self) -> Float[Tensor, "members episodes agents"]:
        """What each agent earned in each episode, until it ended."""
        return (self.reward * self.running.unsqueeze(-1)).sum(1)

    @property
    def lengths(self) -> Int[Tensor, "members episodes"]:
        """How many steps each episode took."""
        return self.running.sum(1)


@dataclass(frozen=True, repr=False)
class Recording(Episodes):
    """Episodes with all that it takes to draw them."""

    actions: Float[Tensor, "members steps episodes agents act"]
    """In the action box."""
    states: Any
    """The task's state, stacked: ``(members, steps + 1, episodes, ...)``; the last is where the last step led."""

    def length(self, member: int, episode: int = 0) -> int:
        """How many steps an episode took; ``states`` beyond it are of no meaning."""
        return int(self.running[member, :, episode].sum())

    def state_at(self, member: int, step: int, episode: int = 0) -> Any:
        """One picture's state; after the end of the episode it stays the last one."""
        step = min(step, self.length(member, episode))
        return map_state(lambda tensor: tensor[member, step, episode], self.states)


@dataclass(frozen=True)
class _Step:
    state: Any
    obs: tuple[Tensor, ...]
    actions: Tensor
    reward: Tensor
    running: Tensor
    outcomes: dict[str, Tensor]
    following: Any


def play(task: Task, policies: Sequence[DiCo], episodes: int, seed: int, *, deterministic: bool) -> Episodes:
    """Let all members play as many episodes, from the same starts and with the same noise.

    Args:
        task: whose groups the policies are of.
        policies: the population of each group, as ``run.policies(group)`` gives them.
        episodes: of each member.
        seed: of their starts and noise.
        deterministic: stochastic policies act by their means.

    Returns:
        States, actions and rewards of every step.

    >>> from dico.tasks import make
    >>> policy = DiCo.mlp(2, 4, 2, 0.3, hidden=(8,), members=(3,))
    >>> play(make("navigation"), [policy], episodes=5, seed=0, deterministic=True).reward.shape
    torch.Size([3, 100, 5, 2])
    """
    steps = [replace(s, state=None, following=None) for s in _steps(task, policies, episodes, seed, deterministic)]
    return Episodes(**_columns(steps))


def record(task: Task, policies: Sequence[DiCo], episodes: int, seed: int, *, deterministic: bool) -> Recording:
    """The episodes that :func:`play` gives, with actions and states.

    >>> from dico.tasks import make
    >>> policy = DiCo.mlp(2, 4, 2, 0.3, hidden=(8,), members=(3,))
    >>> recording = record(make("navigation", horizon=10), [policy], episodes=5, seed=0, deterministic=True)
    >>> recording.actions.shape, recording.states.position.shape
    (torch.Size([3, 10, 5, 2, 2]), torch.Size([3, 11, 5, 2, 2]))
    """
    steps = list(_steps(task, policies, episodes, seed, deterministic))
    states = map_state(lambda *each: torch.stack(each, 1), *(s.state for s in steps), steps[-1].following)
    return Recording(**_columns(steps), actions=torch.stack([s.actions for s in steps], 1), states=states)


def _columns(steps: Sequence[_Step]) -> dict[str, Any]:
    """The fields of :class:`Episodes`."""
    return {
        "obs": tuple(torch.stack(group, 1) for group in zip(*(s.obs for s in steps), strict=True)),
        "reward": torch.stack([s.reward for s in steps], 1),
        "running": torch.stack([s.running for s in steps], 1),
        "outcomes": {name: torch.stack([s.outcomes[name] for s in steps], 1) for name in steps[0].outcomes},
    }


@torch.no_grad()
def _steps(task: Task, policies: Sequence[DiCo], episodes: int, seed: int, deterministic: bool) -> Iterator[_Step]:
    groups, seeds = check_groups(task), [seed] * policies[0].members[0]
    rng, noise = Random(seeds, STREAM), Random(seeds, STREAM + 1)
    state = task.reset(episodes, rng)
    low, high = torch.tensor(task.action_low), torch.tensor(task.action_high)
    running = torch.ones(len(seeds), episodes, dtype=torch.bool)
    for _ in range(task.horizon):
        observed, actions = task.observe(state), []
        for policy, obs in zip(policies, observed, strict=True):
            draws = policy.kind.width > 1 and not deterministic
            drawn = noise.normal(*obs.shape[1:-1], len(low)) if draws else None
            actions.append(actions_of(policy(obs), policy.kind, low, high, drawn))
        together = join_groups(groups, actions)
        following, reward, done = task.step(state, together)
        yield _Step(state, observed, together, reward, running, outcomes_of(task, following), following)
        state, running = following, running & ~done
