"""The command line, as BenchMARL users know it: Hydra over BenchMARL's own configurations and ours."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import hydra
from benchmarl.environments import _get_task_config_class, task_config_registry
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.hydra_config import (
    load_algorithm_config_from_hydra,
    load_experiment_config_from_hydra,
    load_model_config_from_hydra,
    load_task_config_from_hydra,
)
from benchmarl.models import model_config_registry
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from dico._checks import check_choice
from dico.adapters.benchmarl.callback import DicoCallback
from dico.adapters.benchmarl.tasks import TASKS, DicoTask

MODELS = ("model", "critic_model")


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: Any) -> float:
    """Run an experiment; gives the final reward, so that Hydra's sweepers can optimise it."""
    choices = HydraConfig.get().runtime.choices
    with _explained(Path(cfg.experiment.save_folder or HydraConfig.get().runtime.output_dir)):
        experiment = make_experiment(cfg, choices["task"])
    print(f"{choices['algorithm']} on {choices['task']}, seed {cfg.seed}, in {experiment.folder_name}")  # noqa: T201
    experiment.run()
    (callback,) = (each for each in experiment.callbacks if isinstance(each, DicoCallback))
    if callback.models:
        print(f"look at it: dico report {experiment.folder_name}")  # noqa: T201
    return callback.final_reward()


def make_experiment(cfg: Any, task: str) -> Experiment:
    """BenchMARL's experiment from a composed configuration and the task's name, such as ``dico/navigation``."""
    check_keys(cfg, task)
    return Experiment(
        task=_task(cfg.task, task),
        algorithm_config=load_algorithm_config_from_hydra(cfg.algorithm),
        model_config=load_model_config_from_hydra(cfg.model),
        critic_model_config=load_model_config_from_hydra(cfg.critic_model),
        seed=cfg.seed,
        config=load_experiment_config_from_hydra(cfg.experiment),
        callbacks=[DicoCallback(freeze=dict(cfg.freeze))],
    )


def check_keys(cfg: Any, task: str) -> None:
    """Refuse a setting that nothing reads; Hydra lets ``+name=value`` through, and BenchMARL may not notice."""
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
        check_choice("setting", str(key), ("experiment", "algorithm", "task", *MODELS, "seed", "freeze"))


def _task(cfg: Any, name: str) -> TaskClass:
    task = task_config_registry[name]
    if isinstance(task, DicoTask):
        return task.get_task({str(key): value for key, value in cfg.items()})
    return load_task_config_from_hydra(cfg, name)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say in one line what is wrong with a configuration, and leave no half-made experiment behind."""
    before = set(folder.glob("*"))
    try:
        yield
    except ValueError as error:
        for made in set(folder.glob("*")) - before:
            if (made / "config.pkl").is_file():
                shutil.rmtree(made)
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        raise SystemExit(2) from None
