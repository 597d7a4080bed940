"""BenchMARL's registries and Hydra's store of configurations."""

from dataclasses import asdict
from typing import Any

from benchmarl.environments import task_config_registry
from benchmarl.models import model_config_registry
from hydra.core.config_store import ConfigStore

from dico.adapters.benchmarl.model import DicoConfig
from dico.adapters.benchmarl.tasks import TASKS, DicoTask


def register() -> None:
    """Make ``model=dico`` and ``task=dico/...`` known; to do so again changes nothing."""
    model_config_registry["dico"] = DicoConfig
    store = ConfigStore.instance()
    store.store(group="model", name="dico", node=_model())
    for task in DicoTask:
        name = task.name.lower()
        task_config_registry[f"dico/{name}"] = task
        store.store(group="task/dico", name=name, node=TASKS[name][1], package="task")


def _model() -> dict[str, Any]:
    """The model's defaults; its scale mapping is the algorithm's, where that has one."""
    default = DicoConfig()
    mapping = f"${{oc.select:algorithm.scale_mapping,{default.scale_mapping}}}"
    return {"name": "dico", **asdict(default), "num_cells": list(default.num_cells), "scale_mapping": mapping}
