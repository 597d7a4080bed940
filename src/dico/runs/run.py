"""A run, opened: its settings, its numbers and its policies."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from safetensors import SafetensorError
from torch import Tensor

from dico._checks import check_choice, check_positive
from dico.analytical import mlp_policy
from dico.constraints import canonical, equal
from dico.dial import DialDiCo, dialled_mlp
from dico.members import FIELDS, Member
from dico.policy import DiCo
from dico.runs.arrays import as_array
from dico.runs.choosing import one_member, select_members
from dico.runs.episodes import Recording, record
from dico.runs.exporting import export_groups
from dico.runs.reading import warn
from dico.runs.schema import COMMON, Checkpoint, Row, RunError, Say
from dico.runs.shown import as_html, as_text, in_words, with_desired
from dico.tasks import Task, from_folder


@runtime_checkable
class Source(Protocol):
    """Where a run's numbers and networks are, and how they are read: ours in one folder, BenchMARL's in one each."""

    def rows(self, say: Say) -> list[Row]:
        """All members' lines, iteration by iteration."""
        ...

    def checkpoints(self, say: Say) -> list[Checkpoint]:
        """Whole checkpoints, newest first."""
        ...

    def check_playable(self, run: "Run") -> None:
        """An error if episodes cannot be played as they were in training."""
        ...

    def no_checkpoint(self) -> str:
        """What to do where there is none."""
        ...

    def no_metrics(self) -> str:
        """Why there are none, and what to do."""
        ...


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder, opened with :func:`load`: a view of it when it was first looked into.

    What was read is kept: all numbers are of the same iterations and all policies of one checkpoint, however long it
    trains on, and whatever checkpoints come and go. To see more of a run that is still training, open it again.
    """

    folder: Path
    config: Mapping[str, Any]
    """The settings, as in ``config.json``."""
    groups: tuple[Mapping[str, Any], ...]
    """Name, agents, observation size, action box and policy kind of each group, and settings of its own if any; under
    analytical control the box of observations too."""
    members: tuple[Member, ...]
    session: Mapping[str, Any]
    """How it was trained: stage, precision, checkpoints."""
    source: Source = field(repr=False)
    """Reads its numbers and networks."""
    by: tuple[str, ...] = ()
    """What its members are grouped by, if by something else than all that they differ in (:meth:`group_by`)."""
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What analysis has worked out of the members, which never change: by what, and by what they are grouped by."""
    remarks: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """What was amiss in what has been read, such as a torn line; each was a warning too."""

    def __repr__(self) -> str:
        return as_text(in_words(self.folder, self.config, self.members))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return as_html(in_words(self.folder, self.config, self.members))

    def read(self) -> "Run":
        """Read numbers and policies now, not when they are first asked for; the run itself.

        >>> run.read().newest.frames
        80
        """
        _ = self._rows, self.newest
        return self

    def group_by(self, *fields: str) -> "Run":
        """The same run, its members grouped by these fields in analysis and figures; without any, as by default.

        By default they are grouped by what they differ in, besides the seed. What has been read is kept.

        >>> run.group_by("seed").by
        ('seed',)
        """
        fields = tuple("constraint" if name == "snd" else name for name in fields)
        for name in fields:
            check_choice("field to group by", name, FIELDS)
            if any(getattr(member, name) is None for member in self.members):
                raise RunError(f"{self.folder} does not tell {name} of its members: group by another field")
        view = copy(self)
        object.__setattr__(view, "by", tuple(name for name in FIELDS if name in fields))
        return view

    def task(self) -> Task:
        """The task that it was trained on, with its settings, if its episodes can be played as they were."""
        self.source.check_playable(self)
        try:
            task = from_folder(self.config["task"], self.config["task_options"])
        except ValueError as error:
            raise RunError(f"the task of {self.folder} cannot be made: {error}") from None
        own = [group["name"] for group in self.groups]
        lacking = [group.name for group in task.groups if group.name not in own]
        if lacking:
            raise RunError(
                f"group {', '.join(lacking)} of {self.folder} has no DiCo policy, so its episodes cannot be played; "
                f"its curves can be drawn, and the policies of {', '.join(own)} be loaded"
            )
        return task

    def rows(self) -> list[Row]:
        """All lines of ``metrics.jsonl``; a torn last line is left out with a warning."""
        return list(self._rows)

    def metric(self, name: str, group: str | None = None) -> Tensor:
        """One metric as ``(members, iterations)``; what a member or a line lacks, and numbers that are none, are NaN.

        Args:
            name: a column of ``metrics.jsonl``; one of several numbers, such as ``distances``, has them in a last
                dimension.
            group: needed only where there are several, and otherwise the first.

        Returns:
            In double precision, a row for each member.
        """
        wanted = self._group(group)["name"]
        rows = [row for row in self._rows if row.get("group", wanted) == wanted]
        return as_array(rows, name, len(self.members), self.folder)

    def frame(self) -> Any:
        """All lines as a pandas frame, with what each member desired as numbers too.

        ``desired`` is the value, of a schedule that of the time, and missing where there is none; ``desired_low`` and
        ``desired_high`` are the bounds, those of a schedule at its end.

        >>> run.frame()[["constraint", "desired", "snd"]].dtypes["desired"]
        dtype('float64')
        """
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "a data frame needs pandas: pip install pandas; or use .rows() or .metric(name)"
            ) from None
        frame = pandas.DataFrame([with_desired(row) for row in self.rows()])
        return frame.astype({"desired": float}) if len(frame) else frame

    def checkpoints(self) -> list[Checkpoint]:
        """Whole checkpoints that there are now, newest first; half-written ones are left out with a warning."""
        return self.source.checkpoints(self._note)

    @cached_property
    def newest(self) -> Checkpoint | None:
        """The newest checkpoint; its policies are kept, for a training may remove its folder at any time."""
        for checkpoint in self.checkpoints():
            try:
                kept = checkpoint.tensors(".policy.")
            except (OSError, SafetensorError):
                self._note(f"{checkpoint.folder} cannot be read and is left out")
            else:
                return replace(checkpoint, read=partial(_having, kept))
        return None

    def policy(self, snd: str | float | None = None, seed: int = 0, group: str | None = None, **numbers: float) -> DiCo:
        """A member's policies from the newest checkpoint: a DiCo module, which acts by ``policy.act(obs)``.

        Args:
            snd: the member's desired diversity, needed where members differ in it.
            seed: its seed.
            group: needed only where there are several, and otherwise the first.
            **numbers: any other number in which members differ: ``run.policy(snd=1, tau=0.01)``.

        Returns:
            The member's policies, in evaluation mode.

        >>> policy, obs = run.policy(snd=0.3, seed=0), torch.zeros(10, 2, 4)  # 10 teams of 2 agents
        >>> policy.act(obs).shape, policy.act(obs, deterministic=True).abs().max() <= 1  # actions, in the box
        (torch.Size([10, 2, 2]), tensor(True))
        >>> policy(obs).shape  # what they are drawn from: means and standard deviations
        torch.Size([10, 2, 4])
        """
        return self.policy_of(self.member(snd, seed, **numbers), group)

    def policy_of(self, member: Member, group: str | None = None) -> DiCo:
        """The same of a member of ``run.members``."""
        stacked = self.policies(group, [member.index]).state_dict()
        policy = self._build(group, members=())
        policy.load_state_dict({name: v if name in COMMON else v[0] for name, v in stacked.items()})
        return policy.eval()

    def play(
        self,
        snd: str | float | None = None,
        seed: int | None = None,
        *,
        episodes: int = 1,
        start: int = 0,
        deterministic: bool = False,
        **numbers: float,
    ) -> Recording:
        """Fresh episodes of the members that are selected, from the same starts and with the same noise for all.

        Args:
            snd, seed: select members as in :meth:`select`, all by default.
            **numbers: select them too.
            episodes: how many of each member.
            start: the seed of the episodes' starts and noise.
            deterministic: stochastic policies act by their means.

        Returns:
            What was seen, done and earned, step by step.

        >>> played = run.play(snd=0.3, seed=0, episodes=5)
        >>> played.actions.shape, played.returns.shape  # members, steps, episodes, agents; the sums over steps
        (torch.Size([1, 10, 5, 2, 2]), torch.Size([1, 5, 2]))
        """
        check_positive("episodes", episodes)
        task, indices = self.task(), [member.index for member in self.select(snd, seed, **numbers)]
        policies = [self.policies(group.name, indices) for group in task.groups]
        return record(task, policies, episodes, start, deterministic=deterministic)

    def export(
        self,
        to: str | Path,
        snd: str | float | None = None,
        seed: int = 0,
        group: str | None = None,
        **numbers: float,
    ) -> list[Path]:
        """Write a member's policies as files that act without dico: ``.pt2`` for torch, ``.onnx`` for any runtime.

        :mod:`dico.exporting` says what the files take and give.

        Args:
            to: the file, or a folder, which gets those of all groups in both formats.
            snd: the member's desired diversity; of a run with ``dial`` it may lie between two levels.
            seed, group: as in :meth:`policy`.
            **numbers: likewise.

        Returns:
            The files.

        >>> [file.name for file in run.export("policy.pt2", snd=0.3, seed=0)]  # doctest: +SKIP
        ['policy.pt2']
        """
        self.source.check_playable(self)
        groups = [self._group(group)["name"]] if group else [spec["name"] for spec in self.groups]
        about = {"run": self.folder.name, "task": self.config["task"], "seed": seed, **numbers}
        if self.config.get("dial"):
            if snd is None:
                raise RunError(f"{self.folder} has a dial: choose a desired diversity")
            desired = float(canonical(str(snd)))
            policy_of = lambda name: self.dial(seed, name, **numbers).at(desired)  # noqa: E731
            return export_groups(Path(to), groups, policy_of, {**about, "constraint": str(snd)})
        member = self.member(snd, seed, **numbers)
        policy_of = partial(self.policy_of, member)
        return export_groups(Path(to), groups, policy_of, {**about, "constraint": member.constraint})

    def dial(self, seed: int = 0, group: str | None = None, **numbers: float) -> DialDiCo:
        """The policies of a run with ``dial``, of all desired diversities: ``run.dial().at(0.4)`` acts with 0.4."""
        if not self.config.get("dial"):
            raise RunError(f"{self.folder} has networks of its own for each desired diversity: train with --dial")
        members = sorted(self.select(seed=seed, **numbers), key=lambda member: float(member.constraint))
        levels = [float(member.constraint) for member in members]
        if len(set(levels)) < len(levels):
            raise RunError(f"{self.folder} has several dials of seed {seed}: choose one by a number that varies")
        saved = self.policies(group, [member.index for member in members]).state_dict()
        policy = DialDiCo.mlp(**self._sizes(group), levels=levels, **self._options(group, (len(levels),)))
        policy.load_state_dict({name: v[0] if ".network." in name else v for name, v in saved.items()})
        return policy.eval()

    def policies(self, group: str | None = None, indices: Sequence[int] | None = None) -> DiCo:
        """All members' policies, or those of the indices given, as one module with a leading dimension.

        They come from the newest checkpoint.
        """
        newest = self.newest
        if newest is None:
            raise RunError(self.source.no_checkpoint())
        prefix = f"{self._group(group)['name']}.policy."
        chosen = list(range(len(self.members)) if indices is None else indices)
        saved = {k.removeprefix(prefix): v for k, v in newest.tensors().items() if k.startswith(prefix)}
        try:
            if saved["tau"].ndim == 0:  # of a folder of format 1
                saved["tau"] = saved["tau"].expand(len(self.members))
            self._check_size(group, saved)
            policy = self._build(group, members=(len(chosen),))
            policy.load_state_dict({name: v if name in COMMON else v[chosen] for name, v in saved.items()})
        except ValueError as error:
            raise RunError(f"{self.folder} cannot be used: {error}") from None
        except (RuntimeError, LookupError) as error:
            reason = str(error).splitlines()[-1].strip()
            raise RunError(f"{newest.folder} holds other networks than {self.folder} tells of: {reason}") from None
        return policy.eval()

    def member(self, snd: str | float | None = None, seed: int = 0, **numbers: float) -> Member:
        """The one member with a desired diversity, a seed and numbers; an error if several have them, or none.

        >>> run.member(snd=0.3, seed=1).name
        'snd=0.3,seed=1'
        """
        return one_member(self.members, snd, seed, numbers)

    def select(self, snd: str | float | None = None, seed: int | None = None, **numbers: float) -> list[Member]:
        """All members with a desired diversity, a seed and numbers, of those that are given; an error if none has them.

        >>> [member.seed for member in run.select(snd=0.3)]
        [0, 1]
        """
        return select_members(self.members, snd, seed, numbers)

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(self.source.rows(self._note))

    def _note(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)
            warn(text)

    def _build(self, group: str | None, members: tuple[int, ...]) -> DiCo:
        spec = self._group(group)
        sizes, options = self._sizes(group), {**self._options(group, members), "members": members}
        if self.config.get("dial"):
            return dialled_mlp(**sizes, constraint=equal(torch.zeros(members)), **options)
        box = (spec["obs_low"], spec["obs_high"]) if "obs_low" in spec else None
        own = {**self.config, **spec}
        return mlp_policy(
            **sizes, constraint=equal(torch.zeros(members)), obs_box=box,
            density=own.get("density", "autoregressive"), coordinates=own.get("coordinates"), **options,
        )  # fmt: skip

    def _sizes(self, group: str | None) -> dict[str, int]:
        spec = self._group(group)
        return {"n_agents": spec["n_agents"], "obs_dim": spec["obs_dim"], "act_dim": len(spec["low"])}

    def _options(self, group: str | None, members: tuple[int, ...]) -> dict[str, Any]:
        """Of a group's policies; it may have settings of its own."""
        own = {**self.config, **self._group(group)}
        names = ("kind", "hidden", "low", "high", "squash_shared", "gradient", "metric")
        return {**{name: own[name] for name in names}, "tau": torch.zeros(members)}

    def _check_size(self, group: str | None, saved: Mapping[str, Tensor]) -> None:
        """Before networks are made as large as a file says, see whether there are as many numbers for them."""
        spec = self._group(group)
        widths = [spec["obs_dim"], *spec.get("hidden", self.config["hidden"]), len(spec["low"])]
        numbers = len(self.members) * spec["n_agents"] * sum(a * b for a, b in pairwise(widths))
        if numbers > sum(value.numel() for value in saved.values()):
            raise RuntimeError(f"they are too small for {spec['n_agents']} agents with layers of {widths}")

    def _group(self, name: str | None) -> Mapping[str, Any]:
        named = {group["name"]: group for group in self.groups}
        if name is not None and name not in named:
            raise RunError(f"group must be one of {', '.join(named)}, got {name!r}")
        return self.groups[0] if name is None else named[name]


def _having(tensors: Mapping[str, Tensor], text: str) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if text in name}
