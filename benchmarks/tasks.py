"""Environment steps per second of our tasks against VMAS's, in one run on one thread: `python benchmarks/tasks.py`.

A step is what VMAS's `env.step` does: move, reward, observe. Ours runs eager and compiled (default backend). The
second table is over two episodes, with a horizon of 100 and resets, against TorchRL's `VmasEnv`.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import vmas
from torchrl.envs.libs.vmas import VmasEnv
from vmas.scenarios import sampling

from dico.constraints import free, stack_constraints
from dico.random import Random
from dico.tasks import TASKS, Task, make
from dico.training.config import Config
from dico.training.experience import Decision, Team
from dico.training.ppo import PPO
from dico.training.rollout import Rollout
from dico.training.staging import Stage

HORIZON = 100


class RandomActions(PPO):
    """Acts at random, so that the environments alone are timed."""

    def act(self, obs: torch.Tensor) -> Decision:
        action = self.rng.uniform(*obs.shape[1:-1], 2, low=-1, high=1)
        return Decision(action, {"sample": action, "log_prob": torch.zeros_like(action[..., 0])})


class Sampling(sampling.Scenario):
    """With the paper's observation: the released one needs a sensor that agents without collisions lack."""

    def observation(self, agent: Any) -> torch.Tensor:
        steps = [(dx, dy) for dy in (-0.05, 0, 0.05) for dx in (-0.05, 0, 0.05) if (dx, dy) != (0, 0)]
        device = agent.state.pos.device
        around = [self.sample(agent.state.pos + torch.tensor(delta, device=device)) for delta in steps]
        return torch.cat([agent.state.pos, torch.stack(around, -1)], -1)


def scenario_of(task: Task) -> tuple[Any, dict[str, Any]]:
    goals = {"observe_all_goals": True, "shared_rew": False, "collisions": False}
    cells = {"n_gaussians": 1, "cov": 50.0, "collisions": False, "spawn_same_pos": True}
    scenario, options = {
        "navigation": ("navigation", goals),
        "same-goal": ("navigation", goals | {"agents_with_same_goal": task.n_agents}),
        "dispersion": ("dispersion", {"food_radius": 0.08, "share_reward": True}),
        "sampling": (Sampling(), cells),
        "tag": ("simple_tag", {}),
        "reverse-transport": ("reverse_transport", {}),
    }[task.name]
    team = {"num_adversaries": task.n_agents - 1} if task.name == "tag" else {"n_agents": task.n_agents}
    return scenario, team | options


def judge(task: Task, worlds: int, device: str) -> Any:
    scenario, options = scenario_of(task)
    return vmas.make_env(scenario, num_envs=worlds, device=device, seed=0, **options)


def theirs(task: Task, worlds: int, device: str) -> Callable[[], object]:
    env = judge(task, worlds, device)
    actions = torch.rand(worlds, task.n_agents, 2, device=device) * 2 - 1
    return lambda: env.step(list(actions.unbind(1)))


def ours(task: Task, worlds: int, device: str, *, compiled: bool) -> Callable[[], object]:
    def advance(state, actions):
        state, rewards, done = task.step(state, actions)
        return state, rewards, done, task.observe(state)

    function = torch.compile(advance, fullgraph=True) if compiled else advance
    state = task.reset(worlds, Random(torch.tensor(0), device=device))
    actions = torch.rand(worlds, task.n_agents, 2, device=device) * 2 - 1

    def run():
        nonlocal state
        state, *_ = function(state, actions)

    return run


def episodes_of_torchrl(task: Task, worlds: int, steps: int) -> float:
    """Seconds for so many steps of every world, resets included."""
    scenario, options = scenario_of(task)
    env = VmasEnv(scenario, num_envs=worlds, max_steps=HORIZON, seed=0, **options)
    data = env.reset()
    start = time.perf_counter()
    for _ in range(steps):
        _, data = env.step_and_maybe_reset(env.rand_action(data))
    return time.perf_counter() - start


def episodes_of_ours(task: Task, worlds: int, steps: int) -> float:
    """Seconds for so many steps of every world, resets included, with random actions, eager."""
    config, goal, stage = Config(hidden=(8,)), stack_constraints([free()]), Stage("eager")
    teams = [Team(g.name, len(g.agents), g.obs_dim, task.action_low, task.action_high) for g in task.groups]
    learners = [RandomActions(config, team, goal, [0], 1 + i, stage) for i, team in enumerate(teams)]
    rollout = Rollout(task, worlds, [0], 0, stage)
    start = time.perf_counter()
    rollout.collect(learners, steps, 0)
    return time.perf_counter() - start


def seconds(run: Callable[[], object], least: float = 0.05) -> float:
    """Of one call: enough calls to last ``least`` seconds."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        elapsed = time.perf_counter() - start
        if elapsed >= least:
            return elapsed / calls
        calls *= 2


def with_resets(worlds: list[int]) -> None:
    print("\n| task | worlds | TorchRL's VmasEnv steps/s | ours, eager | ours / TorchRL |")
    print("|---|---|---|---|---|")
    for name in TASKS:
        task = make(name, horizon=HORIZON)
        for n in worlds:
            steps = 2 * HORIZON
            rates = [n * steps / run(task, n, steps) for run in (episodes_of_torchrl, episodes_of_ours)]
            print(f"| {name} | {n} | {rates[0]:,.0f} | {rates[1]:,.0f} | {rates[1] / rates[0]:.1f} |", flush=True)


def main(worlds: list[int], rounds: int, device: str) -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {device}, one thread; steps/s of all worlds together\n")
    print("| task | worlds | VMAS steps/s | ours eager | ours compiled | eager / VMAS | compiled / VMAS |")
    print("|---|---|---|---|---|---|---|")
    for name in TASKS:
        for n in worlds:
            torch.compiler.reset()  # one function is recompiled for so many shapes only
            task = make(name)
            runs = [theirs(task, n, device), *(ours(task, n, device, compiled=each) for each in (False, True))]
            for run in runs:
                for _ in range(3):
                    run()
            # in turns, so that what else the machine does weighs on all alike
            times = zip(*[[seconds(run) for run in runs] for _ in range(rounds)], strict=True)
            vmas_rate, eager, compiled = (n / statistics.median(each) for each in times)
            ratios = f"{eager / vmas_rate:.1f} | {compiled / vmas_rate:.1f}"
            print(f"| {name} | {n} | {vmas_rate:,.0f} | {eager:,.0f} | {compiled:,.0f} | {ratios} |", flush=True)
    if device == "cpu":
        with_resets(worlds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, nargs="+", default=[60, 600])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    main(arguments.worlds, arguments.rounds, arguments.device)
