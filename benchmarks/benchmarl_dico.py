"""The DiCo model in BenchMARL, as a yardstick: the same networks and losses, and the original's passes over them."""

import math
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import torch
from benchmarl.algorithms import IppoConfig
from benchmarl.environments import VmasTask
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models import Model, ModelConfig
from benchmarl.models.mlp import MlpConfig

from dico.losses import action_space_loss
from dico.policy import DiCo
from dico.train.config import Config


class DiCoModel(Model):
    def __init__(self, desired: float, hidden: tuple[int, ...], tau: float, **kwargs: Any):
        super().__init__(**kwargs)
        inputs = sum(spec.shape[-1] for spec in self.input_spec.values(True, True))
        outputs = self.output_leaf_spec.shape[-1] // 2
        self.dico = DiCo.mlp(
            self.n_agents, inputs, outputs, desired, kind="shared_std", hidden=hidden, tau=tau,
            low=[-1.0] * outputs, high=[1.0] * outputs, squash_shared=True,
        )  # fmt: skip

    def _forward(self, tensordict: Any) -> Any:
        obs = torch.cat([tensordict.get(key) for key in self.in_keys], -1)
        if torch.is_grad_enabled():
            snd_hat = self.dico.estimate(obs)
            params = self.dico(obs, snd_hat)  # a second pass over each agent's own rows, as in the original
            self.dico.commit_(snd_hat)
        else:
            params = self.dico(obs)
        mean, std = params.chunk(2, -1)
        raw = torch.log(torch.expm1(std)) - math.log(math.e - 1)  # BenchMARL makes it positive itself
        return tensordict.set(self.out_key, torch.cat((mean, raw), -1))


@dataclass
class DiCoModelConfig(ModelConfig):
    desired: float = 0.5
    hidden: tuple[int, ...] = (256, 256)
    tau: float = 0.01

    @staticmethod
    def associated_class() -> type[Model]:
        return DiCoModel


class ActionLossAndClock(Callback):
    """The original's separate step on the action-space loss, and when training ended."""

    def on_setup(self) -> None:
        self.policies = [m for m in self.experiment.losses["agents"].actor_network.modules() if isinstance(m, DiCo)]
        parameters = list(self.experiment.losses["agents"].actor_network_params.flatten_keys().values())
        self.adam = torch.optim.Adam([p for p in parameters if p.requires_grad], lr=3e-5)

    def on_train_step(self, batch: Any, group: str) -> None:
        loss_module = self.experiment.losses[group]
        with loss_module.actor_network_params.to_module(loss_module.actor_network):
            obs = batch.get((group, "observation"))
            params = self.policies[0](obs, self.policies[0].estimate(obs))
        box = torch.full((2,), -1.0), torch.full((2,), 1.0)
        self.adam.zero_grad()
        action_space_loss(params[..., :2], *box).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(self.adam.param_groups[0]["params"], 5.0)
        self.adam.step()

    def on_batch_collected(self, batch: Any) -> None:  # noqa: ARG002
        self.collected = time.perf_counter()

    def on_train_end(self, training_td: Any, group: str) -> None:  # noqa: ARG002
        self.trained = time.perf_counter()


def iteration_seconds(config: Config) -> tuple[float, float]:
    """Seconds to collect and to learn from one batch of navigation by IPPO, one member."""
    experiment = ExperimentConfig.get_from_yaml()
    experiment.sampling_device = experiment.train_device = experiment.buffer_device = "cpu"
    experiment.gamma, experiment.lr, experiment.adam_eps = config.gamma, config.lr, config.adam_eps
    experiment.clip_grad_norm, experiment.clip_grad_val = True, config.max_grad_norm
    experiment.max_n_iters, experiment.max_n_frames = 1, None
    experiment.on_policy_collected_frames_per_batch = config.frames_per_batch
    experiment.on_policy_n_envs_per_worker = config.envs
    experiment.on_policy_n_minibatch_iters = config.epochs
    experiment.on_policy_minibatch_size = config.minibatch
    experiment.evaluation, experiment.loggers, experiment.create_json = False, [], False
    experiment.checkpoint_interval, experiment.checkpoint_at_end, experiment.render = 0, False, False
    algorithm = IppoConfig.get_from_yaml()
    algorithm.share_param_critic = False
    algorithm.lmbda, algorithm.clip_epsilon = config.gae_lambda, config.clip
    critic = MlpConfig(num_cells=list(config.hidden), activation_class=torch.nn.Tanh, layer_class=torch.nn.Linear)
    task = VmasTask.NAVIGATION.get_from_yaml()
    task.config |= {"max_steps": 100, "n_agents": 2, "collisions": False, "observe_all_goals": True,
                    "agents_with_same_goal": 1, "split_goals": False, "shared_rew": False}  # fmt: skip
    experiment.save_folder = tempfile.mkdtemp()
    clock = ActionLossAndClock()
    run = Experiment(
        task=task, algorithm_config=algorithm, model_config=DiCoModelConfig(0.5, config.hidden, config.tau),
        critic_model_config=critic, seed=0, config=experiment, callbacks=[clock],
    )  # fmt: skip
    start = time.perf_counter()
    run.run()
    return clock.collected - start, clock.trained - clock.collected
