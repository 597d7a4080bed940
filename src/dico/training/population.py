"""A population in training: every member's policies, environments and random numbers, one iteration at a time."""

import time
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from dico._checks import check_choice, pairs
from dico.boxes import Box, obs_quantile_box
from dico.constraints import Constraint, parse_constraint, stack_constraints, uncontrolled
from dico.members import Member, controlled_groups
from dico.schedules import Named, is_scheduled, parse_schedule
from dico.tasks import Group, from_settings
from dico.training.config import Config
from dico.training.experience import Team
from dico.training.first_rollout import random_observations
from dico.training.learner import Learner
from dico.training.measure import measure
from dico.training.rollout import Rollout
from dico.training.staging import Stage


class Counted:
    """What follows from how many batches there have been."""

    config: Config
    iteration: int = 0

    @property
    def frames(self) -> int:
        """Environment steps so far, of each member."""
        return self.iteration * self.config.frames_per_batch

    @property
    def finished(self) -> bool:
        """Whether the frames asked for are reached."""
        return self.iteration >= self.config.iterations


class Population(Counted):
    """All members of a configuration; :meth:`iterate` collects a batch and learns from it.

    >>> config = Config(frames=80, envs=4, frames_per_batch=40, epochs=1, minibatch=40, hidden=(8,), seeds=1)
    >>> rows = Population(config).iterate()
    >>> [row["constraint"] for row in rows]
    ['0', '0.3', '1', 'free']
    """

    def __init__(self, config: Config, stage: Stage | None = None, indices: Sequence[int] | None = None):
        self.config = config
        self.stage = stage or Stage("eager")
        everyone = config.members
        self.members: list[Member] = everyone if indices is None else [everyone[k] for k in indices]
        """All of the configuration's, or those of the indices given."""
        self.task = from_settings(config.task, config.task_options)
        self._check_groups()
        self._check_schedules()
        self.learners = [self._learner(group, index + 1) for index, group in enumerate(self.task.groups)]
        seeds = [member.seed for member in self.members]
        self.rollout = Rollout(self.task, config.envs, seeds, stream=0, stage=self.stage)
        self.at_once = len(self.members)
        """Members that are on the device at a time."""

    def iterate(self) -> list[dict[str, Any]]:
        """Collect, learn, measure: one row for each member and group."""
        start = time.perf_counter()
        self._follow_schedules()
        with self.stage.entered():
            batches = self.rollout.collect(self.learners, self.config.steps, self.frames)
            for learner, batch in zip(self.learners, batches, strict=True):
                if self.frames < self.config.frozen_after(learner.team.name):
                    learner.learn(batch)
            measured = [
                measure(learner, batch, self.iteration) for learner, batch in zip(self.learners, batches, strict=True)
            ]
        self.iteration += 1
        rows = [
            row for learner, values in zip(self.learners, measured, strict=True) for row in self._rows(learner, values)
        ]
        seconds = time.perf_counter() - start  # only now that its numbers are here is a device done
        return [row | {"seconds": seconds} for row in rows]

    def tensors(self) -> dict[str, Tensor]:
        """Everything that carries over to the next iteration, but for the replay buffers; by name."""
        named = {f"rollout.{name}": value for name, value in self.rollout.tensors().items()}
        for learner in self.learners:
            named |= {f"{learner.team.name}.{name}": value for name, value in learner.tensors().items()}
        return named

    def constants(self) -> dict[str, Tensor]:
        """What sets members apart and never changes, by name."""
        named = {"rollout.rng.keys": self.rollout.rng.keys}
        for learner in self.learners:
            named |= {f"{learner.team.name}.{name}": value for name, value in learner.constants().items()}
        return named

    def _is_controlled(self, group: str) -> bool:
        sizes = {each.name: len(each.agents) for each in self.task.groups}
        return group in controlled_groups(sizes, self.config.controlled)

    def _goals(self) -> Constraint:
        """What the members desire of a controlled group."""
        return stack_constraints([parse_constraint(member.constraint) for member in self.members])

    def _check_schedules(self) -> None:
        """A function of frames must give a diversity for each batch that is to come."""
        for schedule in {schedule for schedule in self._goals().schedules if isinstance(schedule, Named)}:
            schedule.check(k * self.config.frames_per_batch for k in range(self.config.iterations))

    def _follow_schedules(self) -> None:
        """Desire what the members' schedules say now, of groups that no longer learn too."""
        texts = [member.constraint for member in self.members]  # a block seats others than learners were made for
        if any(map(is_scheduled, texts)):
            schedules = tuple(parse_schedule(text) if is_scheduled(text) else None for text in texts)
            for learner in self.learners:
                if self._is_controlled(learner.team.name):
                    learner.constraint.schedules = schedules
                    learner.constraint.at_(self.frames)

    def _learner(self, group: Group, stream: int) -> Learner:
        n_agents, is_controlled = len(group.agents), self._is_controlled(group.name)
        goals = self._goals() if is_controlled else stack_constraints([uncontrolled(n_agents)] * len(self.members))
        analytical = self.config.control == "analytical" and is_controlled and n_agents > 1
        box = self._obs_box(group) if analytical else None
        team = Team(group.name, n_agents, group.obs_dim, self.task.action_low, self.task.action_high, box)
        make, critic = self.config.spec.learner, self.config.spec.critic
        return make(self.config, self.members, team, goals, critic, stream, self.stage)

    def _obs_box(self, group: Group) -> Box:
        """The box given, that of a first rollout, or else the task's own."""
        size, config = group.obs_dim, self.config
        if config.obs_low:
            if len(config.obs_low) != size:
                raise ValueError(
                    f"obs_low and obs_high must hold {size} numbers each, as {group.name} of {config.task} see, "
                    f"got {len(config.obs_low)}"
                )
            return config.obs_low, config.obs_high
        if config.obs_quantile is not None:
            return obs_quantile_box(random_observations(self.task, group), config.obs_quantile)
        known = getattr(self.task, "obs_box", None)  # your own tasks need not have it
        box = None if known is None else known(group)
        if box is None:
            raise ValueError(
                f"obs_low and obs_high must be given for {config.task}, whose observations have no known bounds: "
                f"{size} numbers each; or obs_quantile=0.01 takes them from a first rollout"
            )
        return box

    def _rows(self, learner: Learner, values: dict[str, Tensor]) -> list[dict[str, Any]]:
        columns = {name: value.tolist() for name, value in values.items()}
        outcomes = self.rollout.outcomes.columns(learner.team.name)
        several = {"group": learner.team.name} if len(self.learners) > 1 else {}
        varied = tuple(self.config.varied)
        follows = self._is_controlled(learner.team.name)
        scheduled = [follows and is_scheduled(member.constraint) for member in self.members]
        return [
            {"member": member.index, "constraint": member.constraint, "seed": member.seed,
             **{name: getattr(member, name) for name in varied}, **several, "iteration": self.iteration,
             "frames": self.frames,
             **{name: column[k] for name, column in columns.items() if name != "desired" or scheduled[k]},
             **{name: column[k] for name, column in outcomes.items() if column[k] is not None}}
            for k, member in enumerate(self.members)
        ]  # fmt: skip

    def _check_groups(self) -> None:
        groups = [group.name for group in self.task.groups]
        for argument, names in (
            ("freeze", pairs("freeze", self.config.freeze)),
            ("controlled", self.config.controlled),
        ):
            for name in names:
                check_choice(f"group in {argument}", name, groups)
