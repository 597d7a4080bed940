"""A configuration of the population trainer as experiments of BenchMARL, for comparisons with the same settings."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from benchmarl.algorithms import IddpgConfig, IppoConfig, MaddpgConfig, MappoConfig
from benchmarl.experiment import Callback, Experiment, ExperimentConfig

from dico._checks import pairs
from dico.adapters.benchmarl import DicoCallback, DicoConfig, DicoTask
from dico.training.config import Config

ALGORITHMS = {"ippo": IppoConfig, "mappo": MappoConfig, "iddpg": IddpgConfig, "maddpg": MaddpgConfig}


def experiment(
    config: Config, constraint: str, seed: int, folder: Path, device: str = "cpu", callbacks: Sequence[Callback] = ()
) -> Experiment:
    """One member of a configuration; nothing but ``metrics.jsonl`` and ``dico.json`` is written while it trains."""
    model = DicoConfig(
        desired_snd=constraint, num_cells=list(config.hidden), tau=config.tau, gradient=config.gradient,
        initial=config.initial, squash_shared=config.squash_shared, action_loss=config.action_loss,
        action_loss_lr=config.action_loss_lr, action_loss_eps=config.action_loss_eps,
        action_loss_rows=config.action_loss_rows, action_loss_weight=config.action_loss_weight,
        estimate_on=config.estimate_on,
    )  # fmt: skip
    task = DicoTask[config.task.upper().replace("-", "_")].get_from_yaml()
    task.config |= pairs("task_options", config.task_options)
    freeze = {group: int(config.frozen_after(group)) for group in pairs("freeze", config.freeze)}
    return Experiment(
        task=task, algorithm_config=_algorithm(config), model_config=model, seed=seed,
        config=_experiment(config, folder, device), callbacks=[DicoCallback(freeze), *callbacks],
    )  # fmt: skip


class Clock(Callback):
    """Seconds to collect and to learn, iteration by iteration."""

    def __init__(self, device: str):
        super().__init__()
        self.device = device
        self.seconds: list[tuple[float, float]] = []
        self.last = 0.0

    def on_setup(self) -> None:
        self.last = self._now()

    def on_batch_collected(self, batch: Any) -> None:  # noqa: ARG002
        self.collected = self._now()

    def on_train_end(self, training_td: Any, group: str) -> None:  # noqa: ARG002
        now = self._now()
        self.seconds.append((self.collected - self.last, now - self.collected))
        self.last = now

    def _now(self) -> float:
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def iteration_seconds(config: Config, device: str = "cpu", iterations: int = 1) -> list[tuple[float, float]]:
    """Seconds to collect and to learn from each batch of the first member."""
    clock, shorter = Clock(device), replace(config, frames=iterations * config.frames_per_batch)
    with tempfile.TemporaryDirectory() as folder:
        experiment(shorter, config.members[0].constraint, config.members[0].seed, Path(folder), device, [clock]).run()
    return clock.seconds


def _algorithm(config: Config) -> Any:
    algorithm = ALGORITHMS[config.algorithm].get_from_yaml()
    algorithm.share_param_critic = config.spec.central
    if isinstance(algorithm, IppoConfig | MappoConfig):
        algorithm.lmbda, algorithm.clip_epsilon, algorithm.entropy_coef = config.gae_lambda, config.clip, config.entropy
    else:
        algorithm.use_tanh_mapping = False
    return algorithm


def _experiment(config: Config, folder: Path, device: str) -> ExperimentConfig:
    settings = ExperimentConfig.get_from_yaml()
    settings.sampling_device = settings.train_device = settings.buffer_device = device
    settings.gamma, settings.lr, settings.adam_eps = config.gamma, config.lr, config.adam_eps
    settings.clip_grad_norm, settings.clip_grad_val = True, config.max_grad_norm
    settings.max_n_frames = config.frames
    settings.on_policy_collected_frames_per_batch = settings.off_policy_collected_frames_per_batch = (
        config.frames_per_batch
    )
    settings.on_policy_n_envs_per_worker = settings.off_policy_n_envs_per_worker = config.envs
    settings.on_policy_n_minibatch_iters, settings.on_policy_minibatch_size = config.epochs, config.minibatch
    settings.off_policy_n_optimizer_steps, settings.off_policy_train_batch_size = config.updates, config.batch
    settings.off_policy_memory_size, settings.polyak_tau = config.replay, config.polyak
    settings.exploration_eps_init, settings.exploration_eps_end = config.noise
    settings.exploration_anneal_frames = config.noise_frames
    settings.evaluation, settings.loggers, settings.create_json, settings.render = False, [], False, False
    settings.save_folder = str(folder)
    return settings
