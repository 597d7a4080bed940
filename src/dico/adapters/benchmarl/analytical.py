"""Analytical control as a BenchMARL model: diversity guaranteed over a box of observations (app:finn)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from benchmarl.environments.common import TaskClass
from jaxtyping import Float
from torch import Tensor

from dico._checks import check_box, check_choice, check_number
from dico.adapters.benchmarl.model import Dico, DicoConfig
from dico.adapters.benchmarl.tasks import DicoClass
from dico.analytical import DENSITIES, AnalyticalDiCo
from dico.boxes import FIRST_FRAMES, MOST_SHARE, obs_quantile_box
from dico.kinds import KINDS
from dico.policy import DiCo


@dataclass(kw_only=True)
class DicoAnalyticalConfig(DicoConfig):
    """Settings of ``model=dico_analytical``: those of :class:`~dico.adapters.benchmarl.model.DicoConfig`, and the box.

    >>> DicoAnalyticalConfig(desired_snd=0.3, obs_low=[-1.0] * 4, obs_high=[1.0] * 4).density
    'autoregressive'
    """

    density: str = "autoregressive"
    """What decides where in the box diversity goes: autoregressive, or finn or finn-signed for up to 6 coordinates."""
    obs_low: Sequence[float] | None = None
    """The box's least observation, one number for each that an agent sees; by default the task's (:meth:`over`)."""
    obs_high: Sequence[float] | None = None
    """The box's greatest observation."""
    obs_quantile: float | None = None
    """Take the box from a first rollout of random actions instead, less this share of each observed number at either
    end; such as 0.01."""
    coordinates: Sequence[int] | None = None
    """Components of an observation that the density depends on, by default all; it is uniform in the others."""

    def __post_init__(self):
        super().__post_init__()
        check_choice("density", self.density, DENSITIES)
        check_choice("metric", self.metric, ("snd",))
        check_choice("kind", self.kind, ("auto", *(name for name in KINDS if name != "agent_std_paper")))
        if self.obs_quantile is not None:
            check_number("obs_quantile", self.obs_quantile, 0, MOST_SHARE)
        if self.obs_low is None and self.obs_high is None:
            return
        check_box(self.obs_low or (), self.obs_high or (), "obs_")

    def over(self, task: TaskClass) -> "DicoAnalyticalConfig":
        """The same settings with a box, for a task.

        It is the one given. Otherwise, with an ``obs_quantile``, it is that of
        :func:`~dico.boxes.obs_quantile_box` over the observations of random actions, the same ones for every seed. Else
        it is the task's own; the paper's tasks with bounded observations have one.

        >>> from dico.adapters.benchmarl import DicoTask
        >>> DicoAnalyticalConfig().over(DicoTask.NAVIGATION.get_from_yaml()).obs_high
        [2.0, 2.0, 2.0, 2.0]
        """
        if self.obs_low is not None:
            return self
        known = task.obs_box() if isinstance(task, DicoClass) else None
        if self.obs_quantile is not None:
            known = obs_quantile_box(self._first_observations(task), self.obs_quantile)
        if known is None:
            name = f"{task.env_name()}/{task.name}".lower()
            raise ValueError(
                f"model.obs_low and model.obs_high must be given for {name}, whose observations have no known bounds; "
                "or model.obs_quantile=0.01 takes them from a first rollout"
            )
        low, high = known
        return replace(self, obs_low=list(low), obs_high=list(high))

    def controlled_policy(self, n_agents: int, obs_dim: int, act_dim: int, **options: Any) -> DiCo:
        """Policies whose diversity over the box is the desired one; a lone agent has none."""
        if n_agents == 1:
            return super().controlled_policy(n_agents, obs_dim, act_dim, **options)
        if self.obs_low is None or self.obs_high is None:
            raise ValueError("model.obs_low and model.obs_high must be given: DicoAnalyticalConfig(...).over(task)")
        over: dict[str, Any] = {"obs_low": self.obs_low, "obs_high": self.obs_high, "coordinates": self.coordinates}
        return AnalyticalDiCo.mlp(n_agents, obs_dim, act_dim, self.constraint, density=self.density, **over, **options)

    @staticmethod
    def associated_class() -> "type[Dico]":
        """The model, after whose class BenchMARL names it."""
        return DicoAnalytical

    @torch.no_grad()
    def _first_observations(self, task: TaskClass) -> Float[Tensor, "rows o"]:
        """What the controlled groups see under random actions, by random numbers of their own."""
        env = task.get_env_fun(-(-FIRST_FRAMES // 100), continuous_actions=True, seed=0, device="cpu")()
        groups = [name for name, agents in task.group_map(env).items() if self.controls(name, len(agents))]
        keys = [key for key in task.observation_spec(env).keys(True, True) if key[0] in groups]
        seen: dict[str, list[Tensor]] = {group: [] for group in groups}
        frames = 0
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            while frames < FIRST_FRAMES:
                played = env.rollout(task.max_steps(env), break_when_any_done=False)
                frames += played.numel()
                for group, rows in seen.items():
                    own = torch.cat([played.get(key) for key in keys if key[0] == group], -1)
                    rows.append(own.reshape(-1, own.shape[-1]))
        env.close()
        widths = {group: rows[0].shape[-1] for group, rows in seen.items()}
        if len(set(widths.values())) != 1:
            raise ValueError(f"model.groups must see as much as each other for one box, got {widths or 'none'}")
        return torch.cat([each for rows in seen.values() for each in rows])


class DicoAnalytical(Dico):
    """An :class:`~dico.analytical.AnalyticalDiCo` policy for one group of agents."""
