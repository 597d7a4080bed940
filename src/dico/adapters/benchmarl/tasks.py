"""The paper's tasks as BenchMARL tasks: ``task=dico/navigation`` and so on."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import yaml
from benchmarl.environments.common import Task, TaskClass
from benchmarl.environments.vmas.common import VmasClass
from torchrl.envs import EnvBase
from torchrl.envs.libs.vmas import VmasEnv
from vmas.simulator.scenario import BaseScenario

from dico._checks import check_choice, check_number, check_switch
from dico.adapters.benchmarl import scenarios
from dico.boxes import Box


@dataclass(kw_only=True)
class TaskConfig:
    """What every task has."""

    max_steps: int = 100
    """Steps in an episode."""
    n_agents: int = 2
    """Agents."""

    def __post_init__(self):
        check_number("max_steps", self.max_steps, 1, whole=True)
        check_number("n_agents", self.n_agents, 1, whole=True)

    def obs_box(self) -> Box | None:
        """What an agent usually sees, as ``Task.obs_box`` has it for ``dico train``; None if unknown."""
        return None


@dataclass(kw_only=True)
class NavigationConfig(TaskConfig):
    """Each agent goes to a goal of its own; or, in same_goal, all go to one."""

    final_reward: float = 0.01
    """Paid to each agent in every step that ends with all agents on their goals."""

    def __post_init__(self):
        super().__post_init__()
        check_number("final_reward", self.final_reward, -1e6, 1e6)

    def obs_box(self) -> Box:
        """Every goal, from anywhere in the spawn area."""
        return (-2.0,) * 2 * self.n_agents, (2.0,) * 2 * self.n_agents


@dataclass(kw_only=True)
class DispersionConfig(TaskConfig):
    """As many agents as food."""

    n_agents: int = 4
    """Agents, and food."""
    share_reward: bool = True
    """Each food pays 1 to every agent; if not, 1 in all."""
    food_radius: float = 0.08
    """Food is eaten by an agent whose edge touches its edge."""

    def __post_init__(self):
        super().__post_init__()
        check_switch("share_reward", self.share_reward)
        check_number("food_radius", self.food_radius, 1e-3, 1)

    def obs_box(self) -> Box:
        """Food as far off as the world is wide, eaten or not."""
        return (-2.0, -2.0, 0.0) * self.n_agents, (2.0, 2.0, 1.0) * self.n_agents


@dataclass(kw_only=True)
class SamplingConfig(TaskConfig):
    """Agents collect the values of cells."""

    n_agents: int = 3
    """Agents."""
    covariance: float = 50.0
    """Of the Gaussian, in each coordinate; 50 is nearly uniform."""

    def __post_init__(self):
        super().__post_init__()
        check_number("covariance", self.covariance, 1e-3)

    def obs_box(self) -> Box:
        """The whole world, and the values of the eight cells around."""
        return (-0.975,) * 2 + (0.0,) * 8, (0.975,) * 2 + (1.0,) * 8


@dataclass(kw_only=True)
class TagConfig(TaskConfig):
    """Red agents chase a green one."""

    n_agents: int = 3
    """Agents, all red but the last."""

    def __post_init__(self):
        super().__post_init__()
        check_number("n_agents", self.n_agents, 2, whole=True)


@dataclass(kw_only=True)
class ReverseTransportConfig(TaskConfig):
    """Agents push a package from inside."""

    max_steps: int = 200
    """Steps in an episode."""
    n_agents: int = 4
    """Agents, all inside the package."""
    package_length: float = 0.6
    """Size of the package along x."""
    package_width: float = 0.6
    """Size of the package along y."""
    package_mass: float = 50.0
    """An agent's mass is 1."""

    def __post_init__(self):
        super().__post_init__()
        check_number("package_length", self.package_length, 0.12, 10)  # twice an agent's diameter
        check_number("package_width", self.package_width, 0.12, 10)
        check_number("package_mass", self.package_mass, 1e-3, 1e6)


TASKS: dict[str, tuple[type[BaseScenario], type[TaskConfig]]] = {
    "navigation": (scenarios.Navigation, NavigationConfig),
    "same_goal": (scenarios.SameGoal, NavigationConfig),
    "dispersion": (scenarios.Dispersion, DispersionConfig),
    "sampling": (scenarios.Sampling, SamplingConfig),
    "tag": (scenarios.Tag, TagConfig),
    "reverse_transport": (scenarios.ReverseTransport, ReverseTransportConfig),
}
"""Scenario and settings of each task."""


class DicoClass(VmasClass):
    """A task of the paper; a setting that it does not have is an error, as it is not in BenchMARL and VMAS."""

    def __init__(self, name: str, config: dict[str, Any] | None):
        super().__init__(name=name, config=asdict(self._check(name, config or {})))

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], EnvBase]:
        """A function that makes the environments."""
        config = asdict(self._check(self.name, self.config))  # which users may have changed since
        scenario, _ = TASKS[self.name.lower()]
        return lambda: VmasEnv(
            scenario=scenario(), num_envs=num_envs, continuous_actions=continuous_actions, seed=seed, device=device,
            categorical_actions=True, clamp_actions=True, **config,
        )  # fmt: skip

    def obs_box(self) -> Box | None:
        """What an agent usually sees, for analytical control; None if unknown."""
        return self._check(self.name, self.config).obs_box()

    def has_render(self, env: EnvBase) -> bool:  # noqa: ARG002
        """Not by pyglet, which needs a display: maps and videos are drawn from the finished run."""
        return False

    @staticmethod
    def env_name() -> str:
        """The part of a task's name before the slash."""
        return "dico"

    @staticmethod
    def _check(name: str, config: dict[str, Any]) -> TaskConfig:
        schema = TASKS[check_choice("task", name.lower(), TASKS)][1]
        for key in config:
            check_choice(f"setting of task dico/{name.lower()}", key, [field.name for field in fields(schema)])
        return schema(**config)


class DicoTask(Task):
    """The paper's tasks.

    >>> DicoTask.SAMPLING.get_from_yaml().config
    {'max_steps': 100, 'n_agents': 3, 'covariance': 50.0}
    >>> DicoTask.NAVIGATION.get_task({"n_agnts": 3})
    Traceback (most recent call last):
    ValueError: setting of task dico/navigation must be one of ..., got 'n_agnts'; did you mean 'n_agents'?
    """

    NAVIGATION = None
    SAME_GOAL = None
    DISPERSION = None
    SAMPLING = None
    TAG = None
    REVERSE_TRANSPORT = None

    @staticmethod
    def associated_class() -> type[TaskClass]:
        """What makes the environments."""
        return DicoClass

    def get_from_yaml(self, path: str | None = None) -> TaskClass:
        """The task with the paper's settings, or those of a YAML file."""
        if path is None:
            return self.get_task({})
        with open(path) as file:  # noqa: PTH123
            return self.get_task(yaml.safe_load(file) or {})
