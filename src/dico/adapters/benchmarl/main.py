"""The experiment of a configuration that Hydra has composed of BenchMARL's own and ours."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
from benchmarl.experiment import Experiment
from hydra.core.hydra_config import HydraConfig

from dico.adapters.benchmarl.callback import DicoCallback
from dico.adapters.benchmarl.configuration import check_configuration
from dico.adapters.benchmarl.explain import explain_errors


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: Any) -> float:
    """Run an experiment; gives the final reward, so that Hydra's sweepers can optimise it."""
    choices = HydraConfig.get().runtime.choices
    with explain_errors(), nothing_left():
        experiment = make_experiment(cfg, choices["task"])
    print(f"{choices['algorithm']} on {choices['task']}, seed {cfg.seed}, in {experiment.folder_name}")  # noqa: T201
    experiment.run()
    (callback,) = (each for each in experiment.callbacks if isinstance(each, DicoCallback))
    if callback.models:
        print(f"look at it: dico report {experiment.folder_name}")  # noqa: T201
    return callback.final_reward()


@contextmanager
def nothing_left() -> Iterator[None]:
    """If all fails, remove the folder that Hydra has made for the job below this one, unless more is in it."""
    try:
        yield
    except Exception:
        here, folder = Path.cwd().resolve(), Path(HydraConfig.get().runtime.output_dir).resolve()
        notes = all(path.name == ".hydra" or path.stat().st_size == 0 for path in folder.iterdir())
        if notes and here in folder.parents:
            shutil.rmtree(folder)
            with suppress(OSError):  # which tells of one that is not empty
                for parent in folder.parents[: folder.parents.index(here)]:
                    parent.rmdir()
        raise


def make_experiment(cfg: Any, task: str) -> Experiment:
    """BenchMARL's experiment from a composed configuration and the task's name, such as ``dico/navigation``.

    One that cannot be made leaves no folder behind.
    """
    settings, freeze = check_configuration(cfg, task)
    callback = DicoCallback(freeze=freeze)
    try:
        return Experiment(
            settings.task, settings.algorithm, settings.model, settings.seed, settings.experiment,
            critic_model_config=settings.critic_model, callbacks=[callback],
        )  # fmt: skip
    except Exception:
        made = getattr(callback.experiment, "folder_name", None)  # of this process, whoever else writes beside it
        if made is not None and settings.experiment.restore_file is None:
            shutil.rmtree(made, ignore_errors=True)
        raise
