"""A composed configuration, checked before anything is made of it."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from benchmarl.environments import _get_task_config_class, task_config_registry
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import ExperimentConfig
from benchmarl.hydra_config import (
    load_algorithm_config_from_hydra,
    load_experiment_config_from_hydra,
    load_model_config_from_hydra,
    load_task_config_from_hydra,
)
from benchmarl.models import model_config_registry
from benchmarl.models.common import ModelConfig
from omegaconf import DictConfig, OmegaConf

from dico._checks import check_choice, check_number, check_positive
from dico.adapters.benchmarl.analytical import DicoAnalyticalConfig
from dico.adapters.benchmarl.checks import check_freeze
from dico.adapters.benchmarl.restore import check_saved, read_checkpoint
from dico.adapters.benchmarl.tasks import TASKS, DicoTask
from dico.adapters.benchmarl.terms import Settings

MODELS = ("model", "critic_model")
SECTIONS = ("experiment", "algorithm", "task", *MODELS)
LOGGERS = ("csv", "tensorboard", "wandb", "mlflow")
COUNTS = {
    "on_policy": ("collected_frames_per_batch", "n_envs_per_worker", "n_minibatch_iters", "minibatch_size"),
    "off_policy": (
        "collected_frames_per_batch", "n_envs_per_worker", "n_optimizer_steps", "train_batch_size", "memory_size",
    ),
}  # fmt: skip
"""Settings of ``experiment`` that must be positive, by the kind of algorithm that reads them."""


def check_configuration(cfg: Any, task: str) -> tuple[Settings, dict[str, int]]:
    """What an experiment is made of and its freeze, if nothing is wrong; ``task`` is such as ``dico/navigation``."""
    check_keys(cfg, task)
    check_number("seed", cfg.seed, 0, whole=True)
    freeze = check_freeze(OmegaConf.to_container(cfg.freeze) if OmegaConf.is_config(cfg.freeze) else cfg.freeze)
    settings = Settings(
        _task(cfg.task, task),
        load_algorithm_config_from_hydra(cfg.algorithm),
        load_model_config_from_hydra(cfg.model),
        load_model_config_from_hydra(cfg.critic_model),
        cfg.seed,
        load_experiment_config_from_hydra(cfg.experiment),
    )
    _check_experiment(settings.experiment, on_policy=settings.algorithm.on_policy())
    restored = settings.experiment.restore_file
    saved = read_checkpoint(restored).get("dico") if restored is not None else None
    settings = replace(settings, model=_with_box(settings.model, settings.task, saved or {}))
    if saved is not None:
        check_saved(saved, settings.terms(), freeze)
    return settings, freeze


def check_keys(cfg: Any, task: str) -> None:
    """Refuse a setting that nothing reads; Hydra lets ``+name=value`` through, and BenchMARL may not notice."""
    for section in SECTIONS:
        if not isinstance(cfg[section], DictConfig):
            choice = f"model@{section}" if section == "critic_model" else section
            raise ValueError(f"{section} is chosen by {choice}=NAME, got {section}={cfg[section]}")
    environment, _, name = task.partition("/")
    schemas: dict[str, Any] = {
        "experiment": ExperimentConfig,
        "algorithm": OmegaConf.get_type(cfg.algorithm),
        "task": TASKS[name][1] if environment == "dico" else _get_task_config_class(environment, name),
    }
    for section in MODELS:
        if "layers" not in cfg[section]:
            schemas[section] = model_config_registry[check_choice("model", cfg[section].name, model_config_registry)]
    for section, schema in schemas.items():
        if schema is not None:
            known = [*(["name"] if section in MODELS else []), *(field.name for field in fields(schema))]
            for key in cfg[section]:
                check_choice(f"setting of {section}", str(key), known)
    for key in cfg:
        check_choice("setting", str(key), (*SECTIONS, "seed", "freeze"))


def _task(cfg: Any, name: str) -> TaskClass:
    task = task_config_registry[name]
    if isinstance(task, DicoTask):
        return task.get_task({str(key): value for key, value in cfg.items()})
    return load_task_config_from_hydra(cfg, name)


def _with_box(model: ModelConfig, task: TaskClass, saved: Mapping[str, Any]) -> ModelConfig:
    """Analytical control with its box; a restored experiment keeps its own, whatever a rollout would give here."""
    if not isinstance(model, DicoAnalyticalConfig):
        return model
    if model.obs_low is not None and model.obs_quantile is not None:
        raise ValueError(f"model.obs_quantile must be null where model.obs_low is given, got {model.obs_quantile}")
    low, high = (saved.get("terms", {}).get(f"model.{name}") for name in ("obs_low", "obs_high"))
    return model.over(task) if low is None or model.obs_low is not None else replace(model, obs_low=low, obs_high=high)


def _check_experiment(config: ExperimentConfig, *, on_policy: bool) -> None:
    """What BenchMARL would stumble over once its folder is there."""
    kind = "on_policy" if on_policy else "off_policy"
    for name in COUNTS[kind]:
        check_positive(f"experiment.{kind}_{name}", getattr(config, f"{kind}_{name}"))
    for name in ("max_n_frames", "max_n_iters"):
        if getattr(config, name) is not None:
            check_positive(f"experiment.{name}", getattr(config, name))
    config.validate(on_policy)
    for name in config.loggers:
        check_choice("experiment.loggers", name, LOGGERS)
    if config.save_folder is not None and not Path(config.save_folder).is_dir():
        raise ValueError(f"experiment.save_folder {config.save_folder} does not exist: make it first")
    for name in ("sampling_device", "train_device", "buffer_device"):
        device = getattr(config, name)
        if (name, device) != ("buffer_device", "disk"):
            _check_device(f"experiment.{name}", device)


def _check_device(name: str, device: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"{name}={device} cannot be used here: {str(error).splitlines()[0]}") from None
