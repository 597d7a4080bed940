"""What DiCo adds to a BenchMARL experiment beside its model."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from dico._checks import check_choice
from dico.adapters.benchmarl.measures import diversity, spaced, state
from dico.adapters.benchmarl.model import Dico, DicoConfig
from dico.adapters.benchmarl.record import Record
from dico.losses import action_space_loss


class DicoCallback(Callback):
    """Diversity beside the returns, the action-space loss, and groups that stop learning.

    At each evaluation SND, desired SND and tracking error go into BenchMARL's JSON and its loggers. In each iteration
    they go to the loggers with the estimate, the scale and the overflow, all measured on the newest batch after
    training, and into ``metrics.jsonl`` in the experiment's folder, which :func:`dico.load` opens. After each training
    step the action-space loss is stepped by an Adam of its own on the same minibatch. BenchMARL's checkpoints
    gain all optimisers, which they lack, and the frames at which groups freeze.

    Args:
        freeze: frames after which a group stops learning, by the group's name.

    >>> callback = DicoCallback(freeze={"agent": 3_000_000})
    """

    experiment: Experiment

    def __init__(self, freeze: Mapping[str, int] | None = None):
        super().__init__()
        self.freeze = dict(freeze or {})

    def on_setup(self) -> None:
        """Find the policies, check what BenchMARL does not, and describe the run in its folder."""
        experiment = self.experiment
        self.models = find_models(experiment)
        self._check()
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
        self.batch = {group: self._seen(group, batch) for group in self.models}
        for group in self.models:
            if group not in experiment.train_group_map:
                self._measure(group)

    def on_train_step(self, batch: TensorDictBase, group: str) -> TensorDictBase | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Step the action-space loss on the same minibatch."""
        if group not in self.action_steps:
            return None
        obs = self.models[group].observations(batch)
        return TensorDict({"loss_action_space": self.action_steps[group](obs)})

    def on_train_end(self, training_td: TensorDictBase, group: str) -> None:  # noqa: ARG002
        """Measure the newest batch with the policies as they are now."""
        if group in self.models:
            self._measure(group)

    def on_evaluation_end(self, rollouts: list[TensorDictBase]) -> None:
        """Diversity of each episode, beside its return."""
        experiment, logger = self.experiment, self.experiment.logger
        to_json: dict[str, Tensor] = {}
        for group, model in self.models.items():
            episodes = [diversity(model, self._seen(group, rollout)) for rollout in rollouts]
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
            "settings": {group: _plain(model.settings) for group, model in self.models.items()},
        }

    def on_load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take it up again."""
        saved = state_dict.get("dico")
        if saved is None:
            warnings.warn("this checkpoint was written without DicoCallback: all optimisers start anew", stacklevel=2)
            return
        for group, settings in saved["settings"].items():
            self._check_same(group, settings)
        for group, adam in saved["action_steps"].items():
            if group in self.action_steps:
                self.action_steps[group].adam.load_state_dict(adam)
        for group, named in saved["optimizers"].items():
            for name, optimizer in named.items():
                self.experiment.optimizers[group][name].load_state_dict(optimizer)
        self.freeze = saved["freeze"] | self.freeze
        self.record.describe(self.freeze)

    def final_reward(self) -> float:
        """Mean reward per step over the last tenth of the iterations; of the controlled group."""
        return self.record.final_reward()

    def _seen(self, group: str, batch: TensorDictBase) -> Tensor:
        model = self.models[group]
        return spaced(model.observations(batch)).to(model.policy.snd_hat.device)

    def _measure(self, group: str) -> None:
        model, obs = self.models[group], self.batch.pop(group)
        measured, controls = diversity(model, obs), state(model, obs)
        row = self.record.write(group, {name: measured[name] for name in ("snd", model.settings.metric)} | controls)
        logged = {"reward": row["reward"], **measured, **controls}
        self.experiment.logger.log(
            {f"train/{group}/{name}": value for name, value in logged.items() if isinstance(value, float)},
            step=self.experiment.n_iters_performed,
        )

    def _check(self) -> None:
        experiment = self.experiment
        for group in self.freeze:
            check_choice("group in freeze", group, experiment.group_map)
        for group, model in self.models.items():
            for name in model.settings.groups or ():
                check_choice("group in model.groups", name, experiment.group_map)
            used = getattr(_algorithm(experiment, group), "scale_mapping", model.settings.scale_mapping)
            if used != model.settings.scale_mapping:
                raise ValueError(
                    f"model.scale_mapping must be the algorithm's, {used!r}, got {model.settings.scale_mapping!r}"
                )
        if self.models and experiment.config.collect_with_grad:
            raise ValueError(
                "experiment.collect_with_grad must be False with model=dico: collecting would renew the estimate"
            )

    def _check_same(self, group: str, saved: Mapping[str, Any]) -> None:
        """A checkpoint brings its constraint along, so that another one would go unheard."""
        if group not in self.models:
            return
        for name, value in _plain(self.models[group].settings).items():
            if value != saved[name]:
                raise ValueError(
                    f"the checkpoint was trained with model.{name}={saved[name]}, got {value}: restore it with the "
                    "same settings, or start a new experiment"
                )


class ActionSpaceStep:
    """The original's way: after each training step, one of its own on the same frames, which leaves the estimate."""

    def __init__(self, model: Dico, config: ExperimentConfig):
        self.model, self.config = model, config
        self.adam = torch.optim.Adam(model.policy.parameters(), lr=model.settings.action_loss_lr, eps=config.adam_eps)

    def __call__(self, obs: Tensor) -> Tensor:
        """Step once, and give the loss before."""
        loss = action_space_loss(self.model.means(obs), *self.model.box).square().mean()
        (self.model.settings.action_loss_weight * loss).backward()
        parameters = self.adam.param_groups[0]["params"]
        if self.config.clip_grad_val is not None:
            clip = torch.nn.utils.clip_grad_norm_ if self.config.clip_grad_norm else torch.nn.utils.clip_grad_value_
            clip(parameters, self.config.clip_grad_val)
        self.adam.step()
        self.adam.zero_grad()
        return loss.detach()


def find_models(experiment: Experiment) -> dict[str, Dico]:
    """The DiCo policies of an experiment by group, controlled ones first."""
    found = {
        group: module
        for group in experiment.group_map
        for module in experiment.algorithm.get_policy_for_loss(group).modules()
        if isinstance(module, Dico)
    }
    return dict(sorted(found.items(), key=lambda item: not item[1].controlled))


def _plain(settings: DicoConfig) -> dict[str, Any]:
    """Settings as a checkpoint holds them, equal where they mean the same."""
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}
    return listed | {"desired_snd": settings.constraint.texts()[0]}


def _algorithm(experiment: Experiment, group: str) -> Any:
    """The configuration of a group's algorithm, which BenchMARL may mix."""
    each = getattr(experiment.algorithm_config, "algorithm_configs_map", {})
    return each.get(group, experiment.algorithm_config)
