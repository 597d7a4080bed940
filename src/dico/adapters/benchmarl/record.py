"""The experiment's folder as ``dico.load`` opens it: ``dico.json`` and ``metrics.jsonl`` beside BenchMARL's files."""

import json
import platform
import shlex
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import benchmarl
import torch
from benchmarl.environments.vmas.common import VmasClass
from benchmarl.experiment import Experiment
from hydra.core.hydra_config import HydraConfig
from tensordict import TensorDictBase

import dico
from dico._files import FORMAT, has_diverged, plain, whole, write_json
from dico._measuring import last
from dico.adapters.benchmarl.analytical import DicoAnalyticalConfig
from dico.adapters.benchmarl.checks import algorithm_of
from dico.adapters.benchmarl.model import Dico
from dico.adapters.benchmarl.restore import forget_after
from dico.adapters.benchmarl.tasks import DicoClass
from dico.adapters.benchmarl.terms import Settings
from dico.analytical import AnalyticalDiCo


class Record:
    """Writes a row for each group and iteration, with the columns of a run folder."""

    def __init__(self, experiment: Experiment, models: Mapping[str, Dico]):
        self.experiment, self.models = experiment, models
        self.folder = Path(experiment.folder_name)
        self.first = next(iter(models), next(iter(experiment.group_map)))
        controlled = [model.settings.constraint for model in models.values() if model.controlled]
        self.constraint = controlled[0].texts()[0] if controlled else "free"
        self.rewards: dict[str, float] = {}
        self.history: list[float] = []
        self.started = False
        self.resume_clock()

    def describe(self, freeze: Mapping[str, int]) -> None:
        """Write ``dico.json``."""
        if self.models:
            described = description(self.experiment, self.models, freeze, self.constraint)
            write_json(self.folder / "dico.json", described)

    def begin(self, batch: TensorDictBase) -> None:
        """Take note of a batch's rewards."""
        if not self.started:  # and not before: an experiment may be restored to be evaluated only
            self.started = True
            self._back_to(self.experiment.total_frames - batch.numel())
        self.rewards = {group: _reward(group, batch) for group in {self.first, *self.models}}
        self.history.append(self.rewards[self.first])

    def write(self, group: str, measured: Mapping[str, Any]) -> dict[str, Any]:
        """Append one row, and give it."""
        experiment = self.experiment
        row = {
            "member": 0, "constraint": self.constraint, "seed": experiment.seed,
            **({"group": group} if len(self.models) > 1 else {}),
            "iteration": experiment.n_iters_performed + 1, "frames": experiment.total_frames,
            "reward": self.rewards[group], **measured,
        }  # fmt: skip
        if has_diverged(row):
            row["diverged"] = True
        with self._metrics.open("a") as file:
            file.write(json.dumps({name: plain(value) for name, value in row.items()}) + "\n")
        return row

    def seconds(self) -> float:
        """How long the iteration has taken."""
        return time.perf_counter() - self.clock

    def resume_clock(self) -> None:
        """From now on, time counts for the next row."""
        self.clock = time.perf_counter()

    def final_reward(self) -> float:
        """Mean reward per step over the last tenth of the iterations, of the first group."""
        rewards = self.history[-last(len(self.history)) :]
        return sum(rewards) / len(rewards) if rewards else float("nan")

    @property
    def _metrics(self) -> Path:
        return self.folder / "metrics.jsonl"

    def _back_to(self, frames: int) -> None:
        """Leave out what a restored experiment is about to write again."""
        if self.experiment.config.restore_file is not None:
            forget_after(self.experiment, frames)
        if not self._metrics.is_file():
            return
        kept = [line for line in self._metrics.read_text().splitlines(keepends=True) if _frames(line) <= frames]
        with whole(self._metrics) as scratch:
            scratch.write_text("".join(kept))
        rows = [json.loads(line) for line in kept]
        own = [row["reward"] for row in rows if row.get("group", self.first) == self.first]
        self.history = [float("nan") if reward is None else reward for reward in own]


def description(
    experiment: Experiment, models: Mapping[str, Dico], freeze: Mapping[str, int], constraint: str
) -> dict[str, Any]:
    """Everything that a reader needs to know of an experiment, and the settings under the names of ``dico train``."""
    own = {
        name: {"constraint": model.settings.constraint.texts()[0], **_own(model),
               "actions": _squashing(algorithm_of(experiment, name))}
        for name, model in models.items()
    }  # fmt: skip
    first = next(iter(own.values()))
    groups = [
        {"name": name, "n_agents": model.n_agents, "obs_dim": model.obs_dim,
         "low": model.box[0].tolist(), "high": model.box[1].tolist(), "kind": model.kind, **_obs_box(model),
         **{key: value for key, value in own[name].items() if value != first.get(key)}}
        for name, model in models.items()
    ]  # fmt: skip
    return {
        "format": FORMAT,
        "constraint": constraint,
        "seed": experiment.seed,
        "config": settings(experiment, models, freeze),
        "terms": Settings.of(experiment).terms(),
        "groups": groups,
        "session": {
            "trainer": "benchmarl",
            "actions": first["actions"],
            "command": _command(),
            "machine": {
                "dico": dico.__version__, "benchmarl": benchmarl.__version__, "torchrl": version("torchrl"),
                "vmas": version("vmas"), "python": platform.python_version(), "torch": torch.__version__,
                "device": experiment.config.train_device, "threads": torch.get_num_threads(),
                "system": platform.system(),
            },
        },
    }  # fmt: skip


def _own(model: Dico) -> dict[str, Any]:
    """Settings of a group's policies that another group may have otherwise."""
    own = model.settings
    return {
        "hidden": list(own.num_cells), "squash_shared": own.squash_shared, "gradient": own.gradient,
        "metric": own.metric, "tau": own.tau,
        **({"control": "analytical", "density": own.density, "coordinates": own.coordinates,
            "obs_quantile": own.obs_quantile} if isinstance(own, DicoAnalyticalConfig) else {}),
    }  # fmt: skip


def _obs_box(model: Dico) -> dict[str, list[float]]:
    """The box that a group's diversity is controlled over, if it is."""
    policy = model.policy
    if not isinstance(policy, AnalyticalDiCo):
        return {}
    return {"obs_low": policy.obs_low.tolist(), "obs_high": policy.obs_high.tolist()}


def settings(experiment: Experiment, models: Mapping[str, Dico], freeze: Mapping[str, int]) -> dict[str, Any]:
    """The experiment's settings under the names that the population trainer has for them."""
    group, model = next(iter(models.items()))
    config, algorithm = experiment.config, algorithm_of(experiment, group)
    dico, on_policy = model.settings, experiment.on_policy
    task, options = _task(experiment)
    return {
        "task": task,
        "task_options": [f"{name}={json.dumps(value)}" for name, value in options.items()],
        "algorithm": algorithm.associated_class().__name__.lower(),
        "frames": config.get_max_n_frames(on_policy),
        "envs": config.n_envs_per_worker(on_policy),
        "frames_per_batch": config.collected_frames_per_batch(on_policy),
        **_own(model),
        "gamma": config.gamma,
        "lr": config.lr,
        "adam_eps": config.adam_eps,
        "max_grad_norm": config.clip_grad_val,
        "epochs": config.on_policy_n_minibatch_iters,
        "minibatch": config.on_policy_minibatch_size,
        "clip": getattr(algorithm, "clip_epsilon", 0.2),
        "gae_lambda": getattr(algorithm, "lmbda", 0.9),
        "entropy": getattr(algorithm, "entropy_coef", 0.0),
        "updates": config.off_policy_n_optimizer_steps,
        "batch": config.off_policy_train_batch_size,
        "replay": config.off_policy_memory_size,
        "polyak": config.polyak_tau,
        "noise": [config.exploration_eps_init, config.exploration_eps_end],
        "noise_frames": config.get_exploration_anneal_frames(on_policy),
        "alpha": getattr(algorithm, "alpha_init", 1.0),
        "kind": model.kind,
        "initial": dico.initial,
        "action_loss": dico.action_loss,
        "action_loss_rows": dico.action_loss_rows,
        "action_loss_weight": dico.action_loss_weight,
        "action_loss_lr": dico.action_loss_lr,
        "action_loss_eps": dico.action_loss_eps,
        "estimate_on": dico.estimate_on,
        "freeze": [f"{group}={frames}" for group, frames in freeze.items()],
        "controlled": [name for name, each in models.items() if each.controlled],
    }


def _task(experiment: Experiment) -> tuple[str, dict[str, Any]]:
    """The task's name and settings as ``dico train`` has them, where it has them."""
    task = experiment.task
    name, options = task.name.lower(), dict(task.config)
    if isinstance(task, DicoClass):
        return name.replace("_", "-"), {"horizon": options.pop("max_steps"), **options}
    if isinstance(task, VmasClass):
        # as `dico.tasks` calls it, which adapters do not import
        return f"vmas:{name}", {"horizon": options.pop("max_steps"), **options}
    return f"{experiment.environment_name}:{name}", options


def _squashing(algorithm: Any) -> str:
    """What brings actions into their box: a tanh, or a clamp."""
    by_tanh = getattr(algorithm, "use_tanh_normal", getattr(algorithm, "use_tanh_mapping", True))
    return "tanh" if by_tanh else "clamp"


def _command() -> str | None:
    """How the experiment was started, if from the command line."""
    if not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    name = [] if hydra.job.config_name == "config" else ["--config-name", hydra.job.config_name]
    words = [word for word in hydra.overrides.task if not word.startswith("experiment.restore_file=")]
    return shlex.join(["python", "-m", "dico.adapters.benchmarl", *name, *words])


def _reward(group: str, batch: TensorDictBase) -> float:
    """Mean reward per step; of the team where agents have none of their own."""
    reward = batch.get(("next", group, "reward"), None)
    return (batch.get(("next", "reward")) if reward is None else reward).mean().item()


def _frames(line: str) -> float:
    """A row's frames; infinite for a line that a sudden end tore."""
    try:
        return json.loads(line)["frames"]
    except (json.JSONDecodeError, KeyError):
        return float("inf")
