"""What DiCo adds to a BenchMARL experiment beside its model."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from benchmarl.experiment import Callback, Experiment
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from dico.adapters.benchmarl.action_loss import ActionSpaceStep
from dico.adapters.benchmarl.checks import check_experiment, check_freeze
from dico.adapters.benchmarl.measures import diversity, observations_of, state
from dico.adapters.benchmarl.model import Dico
from dico.adapters.benchmarl.record import Record
from dico.adapters.benchmarl.restore import as_tensor, check_saved, put_back, read_checkpoint, take_up_json
from dico.adapters.benchmarl.terms import Settings

OF_AN_EXPERIMENT = ("experiment", "models", "action_steps", "record", "batch")
"""What a callback has only while it serves an experiment."""


class DicoCallback(Callback):
    """Diversity beside the returns, the action-space loss, and groups that stop learning.

    At each evaluation SND, desired SND and tracking error go into BenchMARL's JSON and its loggers. In each iteration
    they go to the loggers with the estimate, the scale and the action-bound violation, all measured on the newest
    batch after training, and into ``metrics.jsonl`` in the experiment's folder, which :func:`dico.load` opens. After
    each training step the action-space loss is stepped by an Adam of its own on the same minibatch. BenchMARL's
    checkpoints gain all optimisers, which they lack, and the frames at which groups freeze.

    Args:
        freeze: frames after which a group stops learning, by the group's name.

    >>> callback = DicoCallback(freeze={"agent": 3_000_000})
    """

    experiment: Experiment

    def __init__(self, freeze: Mapping[str, int] | None = None):
        super().__init__()
        self.freeze = check_freeze({} if freeze is None else freeze)

    def __getstate__(self) -> dict[str, Any]:
        """What BenchMARL pickles into ``config.pkl``: nothing of an experiment that this callback served before."""
        return {name: value for name, value in vars(self).items() if name not in OF_AN_EXPERIMENT}

    def on_setup(self) -> None:
        """Find the policies, check what BenchMARL does not, and describe the run in its folder."""
        experiment = self.experiment
        self.models = find_models(experiment)
        if experiment.config.restore_file is not None:
            self._check_restorable(experiment.config.restore_file)
        check_experiment(experiment, self.models, self.freeze)
        self.action_steps = {
            group: ActionSpaceStep(model, experiment.config)
            for group, model in self.models.items()
            if model.settings.action_loss == "separate"
        }
        self.record = Record(experiment, self.models)
        self.batch: dict[str, Tensor] = {}
        if experiment.config.restore_file is None:  # or else once it is known to fit
            self.record.describe(self.freeze)

    def on_batch_collected(self, batch: TensorDictBase) -> None:
        """Freeze whom it is time to freeze."""
        experiment = self.experiment
        before = experiment.total_frames - batch.numel()
        for group, frames in self.freeze.items():
            if before >= frames:
                experiment.train_group_map.pop(group, None)
        self.record.begin(batch)
        self.batch = {group: observations_of(model, batch) for group, model in self.models.items()}
        if not experiment.train_group_map:
            self._measure()

    def on_train_step(self, batch: TensorDictBase, group: str) -> TensorDictBase | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Step the action-space loss on the same minibatch."""
        if group not in self.action_steps:
            return None
        obs = self.models[group].observations(batch)
        return TensorDict({"loss_action_space": self.action_steps[group](obs)})

    def on_train_end(self, training_td: TensorDictBase, group: str) -> None:  # noqa: ARG002
        """Once the last group has learned, measure the newest batch with the policies as they are now."""
        if group == list(self.experiment.train_group_map)[-1]:
            self._measure()

    def on_evaluation_end(self, rollouts: list[TensorDictBase]) -> None:
        """Diversity of each episode, beside its return."""
        experiment, logger = self.experiment, self.experiment.logger
        to_json: dict[str, Tensor] = {}
        for group, model in self.models.items():
            episodes = [
                diversity(model, model.policy.everyone(observations_of(model, rollout))) for rollout in rollouts
            ]
            for name in episodes[0]:
                to_json[f"{group}_{name}"] = torch.tensor([episode[name] for episode in episodes])
                mean = to_json[f"{group}_{name}"].mean().item()
                logger.log({f"eval/{group}/{name}": mean}, step=experiment.n_iters_performed)
        if logger.json_writer is not None and to_json:
            step = experiment.total_frames // experiment.config.evaluation_interval
            logger.json_writer.write(total_frames=experiment.total_frames, metrics=to_json, evaluation_step=step)  # pyright: ignore[reportArgumentType]
        self.record.resume_clock()

    def on_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Add to a checkpoint what BenchMARL leaves out."""
        state_dict["dico"] = {
            "policies": {group: dict(model.policy.state_dict()) for group, model in self.models.items()},
            "action_steps": {group: step.adam.state_dict() for group, step in self.action_steps.items()},
            "optimizers": {
                group: {name: optimizer.state_dict() for name, optimizer in named.items()}
                for group, named in self.experiment.optimizers.items()
            },
            "freeze": self.freeze,
            "terms": Settings.of(self.experiment).terms(),
            "config": as_tensor(Path(self.experiment.folder_name) / "config.pkl"),
        }

    def on_load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take it up again."""
        saved = state_dict.get("dico")
        if saved is None:
            warnings.warn("this checkpoint was written without DicoCallback: all optimisers start anew", stacklevel=2)
            return
        check_saved(saved, Settings.of(self.experiment).terms(), self.freeze)
        for group, adam in saved["action_steps"].items():
            if group in self.action_steps:
                self.action_steps[group].adam.load_state_dict(adam)
        for group, named in saved["optimizers"].items():
            for name, optimizer in named.items():
                self.experiment.optimizers[group][name].load_state_dict(optimizer)
        self.freeze = saved["freeze"]
        self.record.describe(self.freeze)
        if self.experiment.logger.json_writer is not None:
            take_up_json(self.experiment.logger.json_writer)

    def final_reward(self) -> float:
        """Mean reward per step over the last tenth of the iterations; of the controlled group."""
        return self.record.final_reward()

    @torch.no_grad()
    def _measure(self) -> None:
        experiment, seconds = self.experiment, self.record.seconds()
        for group, model in self.models.items():
            obs = self.batch.pop(group)
            everyone = model.policy.everyone(obs)
            measured = diversity(model, everyone)
            controls = state(model, obs, everyone, experiment.n_iters_performed)
            kept = {name: measured[name] for name in ("snd", model.settings.metric)} | controls
            if any(model.goal.schedules):
                kept["desired"] = measured[f"desired_{model.settings.metric}"]
            row = self.record.write(group, kept | {"seconds": seconds})
            logged = {"reward": row["reward"], **measured, **controls}
            experiment.logger.log(
                {f"train/{group}/{name}": value for name, value in logged.items() if isinstance(value, float)},
                step=experiment.n_iters_performed,
            )
            model.goal.at_(experiment.total_frames)  # before the next batch is collected
        self.record.resume_clock()

    def _check_restorable(self, file: str) -> None:
        """Refuse what does not fit, and give the old run its ``config.pkl`` back, over which BenchMARL has written."""
        folder, saved = Path(self.experiment.folder_name), read_checkpoint(file).get("dico")
        if saved is None:
            return
        try:
            check_saved(saved, Settings.of(self.experiment).terms(), self.freeze)
        except ValueError:
            if Path(file).resolve().parent.parent == folder.resolve():
                put_back(folder / "config.pkl", saved["config"])
            raise


def find_models(experiment: Experiment) -> dict[str, Dico]:
    """The DiCo policies of an experiment by group, controlled ones first."""
    found = {
        group: module
        for group in experiment.group_map
        for module in experiment.algorithm.get_policy_for_loss(group).modules()
        if isinstance(module, Dico)
    }
    return dict(sorted(found.items(), key=lambda item: not item[1].controlled))
