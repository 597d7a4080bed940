"""What BenchMARL does not notice of an experiment with DiCo policies: told by name, value and what is allowed."""

import warnings
from collections.abc import Mapping
from typing import Any

from benchmarl.environments.vmas.common import VmasClass
from benchmarl.experiment import Experiment

from dico._checks import check_choice, check_number
from dico.adapters.benchmarl.model import Dico
from dico.adapters.benchmarl.tasks import DicoClass
from dico.schedules import Named


def check_freeze(freeze: Any) -> dict[str, int]:
    """Frames by group, as a dictionary of its own.

    >>> check_freeze({"agent": "soon"})
    Traceback (most recent call last):
    ValueError: freeze.agent must be a whole number from 0 up, got 'soon'
    """
    if not isinstance(freeze, Mapping):
        raise ValueError(f"freeze must be frames by group, such as {{'agent': 3000000}}, got {freeze!r}")
    for group, frames in freeze.items():
        check_number(f"freeze.{group}", frames, 0, whole=True)
    return {str(group): frames for group, frames in freeze.items()}


def check_experiment(experiment: Experiment, models: Mapping[str, Dico], freeze: Mapping[str, int]) -> None:
    """Refuse groups that there are not, settings that contradict each other, and a diversity that goes unheard."""
    for group in freeze:
        check_choice("group in freeze", group, experiment.group_map)
    for group, model in models.items():
        for name in model.settings.groups or ():
            check_choice("group in model.groups", name, experiment.group_map)
        used = getattr(algorithm_of(experiment, group), "scale_mapping", model.settings.scale_mapping)
        if used != model.settings.scale_mapping:
            raise ValueError(
                f"model.scale_mapping must be the algorithm's, {used!r}, got {model.settings.scale_mapping!r}"
            )
        _check_heard(model, models)
        _check_schedule(experiment, model)
    if models and experiment.config.collect_with_grad:
        raise ValueError(
            "experiment.collect_with_grad must be False with model=dico: collecting would renew the estimate"
        )
    if models and isinstance(experiment.task, VmasClass) and not isinstance(experiment.task, DicoClass):
        _check_consumed(experiment.task)


def algorithm_of(experiment: Experiment, group: str) -> Any:
    """The configuration of a group's algorithm, which BenchMARL may mix."""
    each = getattr(experiment.algorithm_config, "algorithm_configs_map", {})
    return each.get(group, experiment.algorithm_config)


def _check_heard(model: Dico, models: Mapping[str, Dico]) -> None:
    """A diversity that is desired must be of somebody."""
    alike = {group: each for group, each in models.items() if each.settings is model.settings}
    heard = any(each.controlled and each.n_agents > 1 for each in alike.values())
    desired = model.settings.constraint.texts()[0]
    if desired != "free" and not heard:
        sizes = ", ".join(f"{group} ({each.n_agents})" for group, each in alike.items())
        raise ValueError(
            f"model.desired_snd={desired} controls no group of two or more agents, with model.groups="
            f"{model.settings.groups} and the groups {sizes}: choose other groups, more agents, or free"
        )


def _check_schedule(experiment: Experiment, model: Dico) -> None:
    """A function of frames must give a diversity for each batch of the experiment, and after the last."""
    batch, batches = experiment.config.collected_frames_per_batch, experiment.config.get_max_n_iters
    for schedule in model.goal.schedules:
        if isinstance(schedule, Named):
            schedule.check(batch(experiment.on_policy) * k for k in range(batches(experiment.on_policy) + 1))


def _check_consumed(task: VmasClass) -> None:
    """VMAS only warns of a setting that its scenario does not have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Scenario kwargs")
        try:
            task.get_env_fun(1, continuous_actions=True, seed=0, device="cpu")()
        except UserWarning as unused:
            raise ValueError(f"task vmas/{task.name.lower()} has settings that VMAS does not know: {unused}") from None
