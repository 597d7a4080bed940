"""DiCo in BenchMARL's own Experiment, on one of the paper's tasks: a look at two iterations, well under a minute.

pip install "dico-marl[benchmarl]"
"""

from benchmarl.algorithms import IppoConfig
from benchmarl.experiment import Experiment, ExperimentConfig

import dico
from dico.adapters.benchmarl import DicoCallback, DicoConfig, DicoTask

config = ExperimentConfig.get_from_yaml()
config.loggers, config.render, config.checkpoint_at_end = ["csv"], False, True
config.max_n_frames, config.on_policy_n_envs_per_worker, config.on_policy_n_minibatch_iters = 12_000, 60, 5
task, algorithm = DicoTask.NAVIGATION.get_from_yaml(), IppoConfig.get_from_yaml()
model = DicoConfig(desired_snd=0.3, tau=0.3, gradient="straight_through")
experiment = Experiment(task, algorithm, model, seed=0, config=config, callbacks=[DicoCallback()])
experiment.run()
print(dico.load(experiment.folder_name).metric("snd"))  # near 0.3
