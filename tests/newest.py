"""The newest released torch, TorchRL, tensordict, BenchMARL and VMAS that install together: do they break, or do we?

    python tests/newest.py [--torch "torch==2.15.0"] [--keep build/newest]

Makes an environment of its own, without this project's constraints and upper bounds, and asks twice. First the packages
by themselves, without dico: if that fails, they do not work together, and it is theirs. Then our tests that have them
as judges: what fails now is ours to follow. The exit status is 0 if all is well, 3 if it is theirs, 4 if it is ours.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
JUDGES = ("torch", "torchrl", "tensordict", "benchmarl", "vmas")
OTHERS = (
    "jaxtyping",
    "numpy",
    "rich",
    "safetensors",
    "tyro",
    "hydra-core",
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "beartype",
)
"""What dico and its tests need beside them, as new as they come too."""
TESTS = (
    "tests/tasks/test_tasks_parity.py",
    "tests/training/test_training_torchrl.py",
    "tests/training/test_training_td3.py",
    "tests/test_torchrl.py",
    "tests/benchmarl",
    "tests/test_theorems.py",
    "tests/test_policy.py",
)
ALONE = {
    "torch": """
import torch
net = torch.nn.Linear(3, 2)
torch.compile(net, backend="eager", fullgraph=True)(torch.zeros(4, 3)).sum().backward()
assert net.weight.grad is not None
""",
    "vmas": """
import vmas
env = vmas.make_env("balance", num_envs=2, device="cpu", seed=0)
env.reset()
observations, rewards, *_ = env.step([torch.zeros(2, 2) for _ in env.agents])
assert rewards[0].shape == (2,)
""",
    "torchrl": """
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
net = torch.nn.Sequential(torch.nn.Linear(3, 4), NormalParamExtractor())
actor = ProbabilisticActor(TensorDictModule(net, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"],
                           distribution_class=TanhNormal, return_log_prob=True)
loss = ClipPPOLoss(actor, ValueOperator(torch.nn.Linear(3, 1)))
batch = actor(TensorDict({"observation": torch.randn(5, 3)}, [5]))
batch["next"] = TensorDict({"observation": torch.randn(5, 3), "reward": torch.zeros(5, 1),
                            "done": torch.zeros(5, 1, dtype=torch.bool),
                            "terminated": torch.zeros(5, 1, dtype=torch.bool)}, [5])
loss.make_value_estimator()
loss(batch.detach())["loss_objective"].backward()
""",
    "benchmarl": """
from benchmarl.algorithms import IppoConfig
from benchmarl.environments import VmasTask
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
config = ExperimentConfig.get_from_yaml()
config.loggers, config.render, config.evaluation, config.create_json = [], False, False, False
config.max_n_iters, config.on_policy_n_envs_per_worker = 1, 2
config.on_policy_collected_frames_per_batch, config.on_policy_minibatch_size = 200, 100
config.on_policy_n_minibatch_iters, config.save_folder = 1, "."
Experiment(task=VmasTask.BALANCE.get_from_yaml(), algorithm_config=IppoConfig.get_from_yaml(),
           model_config=MlpConfig.get_from_yaml(), critic_model_config=MlpConfig.get_from_yaml(), seed=0,
           config=config).run()
""",
}  # fmt: skip
"""The least that each must do without dico, in the order in which they stand on each other."""


def main() -> int:
    """Install, ask twice, and say whose it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default="torch", help="another torch than the newest, such as one without CUDA")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "newest", help="where the environment goes")
    options = parser.parse_args()
    python = str(options.keep.resolve() / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(options.keep)], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    packages = [options.torch if name == "torch" else name for name in JUDGES]
    if subprocess.run([*install, "--upgrade", *packages, *OTHERS]).returncode:
        return verdict(3, "theirs: the newest versions do not install together")
    subprocess.run([*install, "--no-deps", "--editable", str(ROOT)], check=True)
    shown = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {JUDGES}), sep=', ')"
    subprocess.run([python, "-c", shown], check=True)
    scratch = options.keep / "scratch"
    scratch.mkdir(exist_ok=True)
    for name, code in ALONE.items():
        if subprocess.run([python, "-c", f"import torch\n{code}"], cwd=scratch, env=alone()).returncode:
            return verdict(3, f"theirs: {name} fails by itself, without dico, among these versions")
    say("each works by itself, without dico")
    words = ["-m", "pytest", "-q", "--numprocesses", "2", "--dist", "worksteal", "-W", "default", *TESTS]
    checked = subprocess.run([python, *words], cwd=ROOT, env=alone()).returncode
    words += ["-m", "unchecked and not slow", "--unchecked"]
    unchecked = subprocess.run([python, *words], cwd=ROOT, env=alone()).returncode
    if checked or unchecked:
        return verdict(4, "ours: the packages work by themselves, and our tests beside them do not")
    return verdict(0, "all is well with the newest versions")


def alone() -> dict[str, str]:
    """The surroundings, without another checkout, and one thread for each process."""
    return {**os.environ, "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}


def verdict(status: int, line: str) -> int:
    """The last line, and the exit status."""
    say(line)
    return status


def say(line: str) -> None:
    """As it happens."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
