"""BenchMARL experiments so small that they take a second."""

from benchmarl.algorithms import IddpgConfig, IppoConfig, IsacConfig, MaddpgConfig, MappoConfig, MasacConfig
from benchmarl.experiment import Experiment, ExperimentConfig

from dico.adapters.benchmarl import DicoCallback, DicoConfig, DicoTask

ALGORITHMS = {
    "ippo": IppoConfig,
    "mappo": MappoConfig,
    "iddpg": IddpgConfig,
    "maddpg": MaddpgConfig,
    "isac": IsacConfig,
    "masac": MasacConfig,
}
FRAMES = 40
"""Of one iteration: 4 environments for 10 steps."""


def settings(folder, **changes):
    config = ExperimentConfig.get_from_yaml()
    config.save_folder = str(folder)
    config.loggers, config.render, config.max_n_frames, config.max_n_iters = [], False, None, 3
    for policy in ("on", "off"):
        setattr(config, f"{policy}_policy_collected_frames_per_batch", FRAMES)
        setattr(config, f"{policy}_policy_n_envs_per_worker", 4)
    config.on_policy_minibatch_size, config.on_policy_n_minibatch_iters = 20, 2
    config.off_policy_n_optimizer_steps, config.off_policy_train_batch_size = 3, 16
    config.off_policy_memory_size = 1000
    config.evaluation_interval, config.evaluation_episodes = FRAMES, 2
    for name, value in changes.items():
        assert hasattr(config, name)
        setattr(config, name, value)
    return config


def make(folder, algorithm="ippo", task=None, model=None, callback=None, seed=0, tanh=False, **changes):
    chosen = ALGORITHMS[algorithm].get_from_yaml() if isinstance(algorithm, str) else algorithm
    if isinstance(algorithm, str) and not tanh and hasattr(chosen, "use_tanh_mapping"):
        chosen.use_tanh_mapping = False
    return Experiment(
        task=task or DicoTask.NAVIGATION.get_task({"max_steps": 10}),
        algorithm_config=chosen,
        model_config=model or DicoConfig(desired_snd=0.3, num_cells=[8]),
        seed=seed,
        config=settings(folder, **changes),
        callbacks=[callback or DicoCallback()],
    )


def run(folder, *arguments, **options):
    experiment = make(folder, *arguments, **options)
    experiment.run()
    return experiment


def minibatch(experiment, group, rows=16):
    """One of the group's training batches, fresh from the collector."""
    batch = next(iter(experiment.collector))
    batch = experiment.algorithm.process_batch(group, batch.exclude(*experiment._get_excluded_keys(group)))
    return batch.reshape(-1)[:rows]
