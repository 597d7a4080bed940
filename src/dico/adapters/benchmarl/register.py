"""BenchMARL's registries and Hydra's store of configurations."""

from dataclasses import asdict
from typing import Any

from benchmarl.environments import task_config_registry
from benchmarl.models import model_config_registry
from hydra.core.config_store import ConfigStore

from dico.adapters.benchmarl.analytical import DicoAnalyticalConfig
from dico.adapters.benchmarl.model import DicoConfig
from dico.adapters.benchmarl.tasks import TASKS, DicoTask

MODELS: dict[str, type[DicoConfig]] = {"dico": DicoConfig, "dico_analytical": DicoAnalyticalConfig}
"""Our models, by the names that BenchMARL knows them by."""


def register() -> None:
    """Make ``model=dico`` and ``task=dico/...`` known; to do so again changes nothing."""
    store = ConfigStore.instance()
    for name, config in MODELS.items():
        model_config_registry[name] = config
        store.store(group="model", name=name, node=_model(name, config()))
    for task in DicoTask:
        name = task.name.lower()
        task_config_registry[f"dico/{name}"] = task
        store.store(group="task/dico", name=name, node=TASKS[name][1], package="task")


def _model(name: str, default: DicoConfig) -> dict[str, Any]:
    """A model's defaults; its scale mapping is the algorithm's, where that has one."""
    mapping = f"${{oc.select:algorithm.scale_mapping,{default.scale_mapping}}}"
    return {"name": name, **asdict(default), "num_cells": list(default.num_cells), "scale_mapping": mapping}
