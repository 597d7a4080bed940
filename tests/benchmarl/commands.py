"""The command in this process, and words that make it small."""

import sys

from hydra import compose, initialize_config_module

from dico.adapters.benchmarl.command import command as run_command

SMALL = (
    "experiment.on_policy_collected_frames_per_batch=40", "experiment.on_policy_n_envs_per_worker=4",
    "experiment.on_policy_minibatch_size=20", "experiment.on_policy_n_minibatch_iters=1", "experiment.max_n_frames=80",
    "experiment.evaluation=False", "experiment.loggers=[]", "model.num_cells=[8]", "critic_model.num_cells=[8]",
    "task.max_steps=10",
)  # fmt: skip


def configuration(*overrides, name="config"):
    with initialize_config_module("dico.adapters.benchmarl.conf", version_base=None):
        return compose(name, overrides=list(overrides), return_hydra_config=True)


def command(monkeypatch, folder, *words):
    """The command in this process: its exit status."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["dico.adapters.benchmarl", *words])
    try:
        run_command()
    except SystemExit as stop:
        return stop.code
    return 0
