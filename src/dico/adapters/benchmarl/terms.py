"""What an experiment was set to: two that differ in it are neither one run nor one population."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from benchmarl.algorithms.common import AlgorithmConfig
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.common import ModelConfig

from dico.adapters.benchmarl.model import DicoConfig

Terms = dict[str, Any]
"""Settings by their name on the command line, such as ``model.tau``, as plain values."""
MAY_CHANGE = (
    "sampling_device", "train_device", "buffer_device", "parallel_collection", "max_n_iters", "max_n_frames",
    "evaluation", "render", "evaluation_interval", "evaluation_episodes", "evaluation_deterministic_actions",
    "evaluation_static", "loggers", "project_name", "wandb_extra_kwargs", "create_json", "save_folder", "restore_file",
    "restore_map_location", "checkpoint_interval", "checkpoint_at_end", "keep_checkpoints_num",
    "exclude_buffer_from_checkpoint",
)  # fmt: skip
"""Settings of ``experiment`` that do not change what is learned: how long, where, and what is kept and told of it."""


@dataclass(frozen=True)
class Settings:
    """All that BenchMARL's ``Experiment`` is made of."""

    task: TaskClass
    algorithm: AlgorithmConfig
    model: ModelConfig
    critic_model: ModelConfig
    seed: int
    experiment: ExperimentConfig

    @classmethod
    def of(cls, experiment: Experiment) -> "Settings":
        """Those of an experiment."""
        return cls(
            experiment.task, experiment.algorithm_config, experiment.model_config, experiment.critic_model_config,
            experiment.seed, experiment.config,
        )  # fmt: skip

    def terms(self) -> Terms:
        """All settings that matter for what is learned."""
        other = "off_policy_" if self.algorithm.on_policy() else "on_policy_"
        named = {
            "seed": self.seed,
            "task": {"": f"{self.task.env_name()}/{self.task.name}".lower(), **(self.task.config or {})},
            "algorithm": self.algorithm,
            "model": self.model,
            "critic_model": self.critic_model,
            "experiment": {
                field.name: getattr(self.experiment, field.name)
                for field in fields(ExperimentConfig)
                if field.name not in MAY_CHANGE and not field.name.startswith(other)
            },
        }
        return dict(_flat(named, ""))


def check_same(saved: Mapping[str, Any], now: Terms) -> None:
    """A checkpoint goes on as it began: its optimisers and constraint would leave other settings unheard.

    One of an earlier version, which lacks a setting of the model, counts as having its default.
    """
    defaults = dict(_flat({"model": DicoConfig()}, "")) if "model.desired_snd" in saved else {}
    saved = {**defaults, **saved}
    differing = [name for name in sorted(saved.keys() | now.keys()) if saved.get(name) != now.get(name)]
    if differing:
        told = ", ".join(f"{name}={saved.get(name)} (got {now.get(name)})" for name in differing[:4])
        more = f" and {len(differing) - 4} more" if len(differing) > 4 else ""
        raise ValueError(
            f"the checkpoint was trained with {told}{more}: restore it with the same settings, or start a new "
            "experiment"
        )


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Plain values by dotted name."""
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, DicoConfig):
            own["desired_snd"] = value.constraint.texts()[0]  # equal where it means the same
        value = {"": type(value).__name__.removesuffix("Config").lower(), **own}
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}".strip("."))
    elif isinstance(value, Sequence) and any(is_dataclass(item) for item in value):
        yield from _flat(dict(enumerate(value)), name)
    else:
        yield name, _plain(value)


def _plain(value: Any) -> Any:
    """A value that is saved and read without pickling."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value.__qualname__ if isinstance(value, type) else str(value)
