"""What a diversity is chosen by: a number for each trained member, of fresh episodes or of its training."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import check_choice
from dico.analysis import controlled_group, diverged, final
from dico.analysis.behaviour.playing import Policies, of_members
from dico.runs import Run
from dico.runs.episodes import play
from dico.tasks import OUTCOMES, Group, Task, imported, of_group
from dico.tuning.faults import Failed, Noisy, Weak

EPISODES = 200
"""Fresh episodes of each member, the same for all, played as they were trained: by chance where policies are."""
SEED = 0

Measure = Callable[[Run], Float[np.ndarray, " members"]]


@dataclass(frozen=True)
class Metric:
    """A metric of a team."""

    name: str
    about: str
    """What it is, as words under a figure."""
    measure: Measure
    """Of each member of a run; NaN if it diverged, or has no value."""
    episodes: int | None = None
    """Of how many it is a share, between 0 and 1, if it is one."""
    undefined: str = ""
    """Why a member that did not diverge may have no value."""

    @property
    def short(self) -> str:
        """As an axis and a sentence have it.

        >>> [METRICS[name].short for name in ("reward", "resilience-noise")]
        ['reward per step', 'resilience-noise']
        """
        return self.about if self.about.startswith(self.name) else self.name.rpartition(":")[2]


def find_metric(name: str, task: Task) -> Metric:
    """A metric by its name, or your own as ``module:function``; an error if the task has no such thing.

    Your own is called with the run and one of its members, and gives a number::

        def least_return(run: dico.Run, member: dico.runs.Member) -> float: ...

    >>> from dico.tasks import make
    >>> find_metric("success", make("navigation")).about
    'share of episodes in which all agents reach their goals'
    >>> find_metric("success", make("sampling"))
    Traceback (most recent call last):
    ValueError: metric 'success' must be one that the task has, and Sampling has no success...
    """
    if ":" in name:
        return _own(name)
    found = METRICS[check_choice("metric", name, (*METRICS, "module:function"))]
    if name not in OUTCOMES:
        return found
    if getattr(type(task), name, None) in (None, getattr(Task, name)):
        raise ValueError(
            f"metric {name!r} must be one that the task has, and {type(task).__name__} has no {name}: {WRITE}"
        )
    return replace(found, about=getattr(task, f"{name}_words", found.about))


def _own(name: str) -> Metric:
    function: Any = imported("metric", name)
    if not callable(function):
        raise ValueError(f"metric {name!r} must be a function of a run and a member, got {function!r}")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise ValueError(f"metric {name!r} must be a function of a run and a member ({error})") from None

    def measure(run: Run) -> Float[np.ndarray, " members"]:
        found = np.full(len(run.members), np.nan)
        for member in np.flatnonzero(~diverged(run)).tolist():
            try:
                found[member] = function(run, run.members[member])
            except (Exception, SystemExit) as error:
                raise ValueError(f"metric {name!r} failed for {run.members[member].name}: {error!r}") from error
        return found

    return Metric(name, name.partition(":")[2], measure, undefined="the function gave no finite number")


def _reward(run: Run) -> Float[np.ndarray, " members"]:
    return final(run, "reward")


def _return(run: Run) -> Float[np.ndarray, " members"]:
    return _alone(run, lambda policies: _earned(run, run.task(), policies))


def _outcome(run: Run, name: str) -> Float[np.ndarray, " members"]:
    """What the task says of episodes."""
    task = run.task()

    def measure(policies: Policies) -> Float[Tensor, ""]:
        return play(task, policies, EPISODES, SEED, deterministic=False).outcome(task, name).mean()

    return _alone(run, measure)


def _resilience(run: Run, fault: Callable[[Task, int], Task]) -> Float[np.ndarray, " members"]:
    """The return with a fault of one agent, on average over agents, as a share of that without; NaN if that is not
    above 0. The agents are those of the controlled group, one at a time.
    """
    task, team = run.task(), _team(run)

    def measure(policies: Policies) -> Float[Tensor, ""]:
        whole = _earned(run, task, policies)
        kept = torch.stack([_earned(run, fault(task, agent), policies) for agent in team.agents]).mean()
        return torch.where(whole > 0, kept / whole, torch.nan)

    return _alone(run, measure)


def _earned(run: Run, task: Task, policies: Policies) -> Float[Tensor, ""]:
    """The controlled group's return, of an agent and an episode on average."""
    played = play(task, policies, EPISODES, SEED, deterministic=False)
    reward = of_group(_team(run), played.reward).mean(-1) * played.running
    return _total(reward, played.running)


def _team(run: Run) -> Group:
    """The controlled group."""
    return next(each for each in run.task().groups if each.name == controlled_group(run))


def _total(reward: Float[Tensor, "1 steps episodes"], running: Bool[Tensor, "1 steps episodes"]) -> Float[Tensor, ""]:
    return torch.where(running, reward, 0.0).sum(1).mean()


def _alone(run: Run, measure: Callable[[Policies], Float[Tensor, ""]]) -> Float[np.ndarray, " members"]:
    return of_members(run, ["value"], lambda policies: {"value": measure(policies)})["value"]


NOTHING_TO_KEEP = "without a fault the return is 0 or less, and no share of that can be kept"
WRITE = "write a function of a run and a member, and name it as module:function"
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("reward", "reward per step", _reward),
        Metric("return", "return of an agent and an episode", _return),
        Metric("success", Task.success_words, partial(_outcome, name="success"), EPISODES),
        Metric("coverage", Task.coverage_words, partial(_outcome, name="coverage"), EPISODES),
        Metric(
            "resilience",
            "share of the return that is kept when one agent fails",
            partial(_resilience, fault=Failed),
            undefined=NOTHING_TO_KEEP,
        ),
        Metric(
            "resilience-noise",
            "share of the return that is kept when the observations of one agent are noisy",
            partial(_resilience, fault=partial(Noisy, seed=SEED)),
            undefined=NOTHING_TO_KEEP,
        ),
        Metric(
            "resilience-weak",
            "share of the return that is kept when the actions of one agent have half their strength",
            partial(_resilience, fault=Weak),
            undefined=NOTHING_TO_KEEP,
        ),
    )
}
"""Built in, by name."""
