"""The trainer on a CUDA device, in one command: python benchmarks/gpu.py [--json FILE]

Seconds for each iteration at the paper's settings, against the original's as measured before on one H200 (IPPO
navigation 17.7 s for 60,000 frames, MADDPG dispersion 33.5 s for 6,000 frames), and environment steps at 16,800 worlds.
"""

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch

from dico.experiments import preset
from dico.random import Random
from dico.tasks import TASKS, make
from dico.train.population import Population
from dico.train.staging import Stage

ORIGINAL = {"ippo": 17.7, "maddpg": 33.5}
ROWS = [
    # task, members, precision, action loss, other settings
    ("navigation", 1, "tf32", "merged", {}),
    ("navigation", 1, "tf32", "separate", {}),
    ("navigation", 28, "tf32", "merged", {}),
    ("navigation", 28, "bf16", "merged", {}),
    ("navigation", 28, "tf32", "separate", {}),
    ("dispersion", 1, "tf32", "merged", {}),
    ("dispersion", 1, "tf32", "separate", {}),
    ("dispersion", 12, "tf32", "merged", {}),
    ("dispersion", 12, "tf32", "separate", {}),
]


def iteration(task: str, members: int, precision: str, action_loss: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Time the second and third iteration; the first compiles and captures."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.compiler.reset()
    config = preset("paper", task, snd=("0.5",), seeds=members, action_loss=action_loss, **settings)
    population = Population(config, Stage("graphs", "cuda", precision))
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        population.iterate()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    seconds = min(times[1:])
    original = members * ORIGINAL[config.algorithm]
    return {
        "task": task, "algorithm": config.algorithm, "members": members, "precision": precision,
        "action loss": action_loss, "seconds": round(seconds, 3), "original": original,
        "times faster": round(original / seconds), "first iteration": round(times[0], 1),
        "peak GB": round(torch.cuda.max_memory_allocated() / 1e9, 1),
    }  # fmt: skip


def no_synchronisation() -> None:
    """Fails if anything inside collecting or learning waits for the device."""
    for task in ("navigation", "dispersion"):
        config = preset("quick", task, seeds=1, snd=("0.5",))
        population = Population(config, Stage("graphs", "cuda"))
        population.iterate()
        torch.cuda.set_sync_debug_mode("error")
        batches = population.rollout.collect(population.learners, config.steps, 0)
        population.learners[0].learn(batches[0])
        torch.cuda.set_sync_debug_mode("default")


def environment_step(name: str, worlds: int = 16_800, steps: int = 200) -> dict[str, Any]:
    """Milliseconds for a compiled step with observation, replayed as a CUDA graph."""
    task = make(name)
    state = task.reset(worlds, Random([0], device="cuda"))
    actions = torch.rand(1, worlds, task.n_agents, 2, device="cuda") * 2 - 1
    stage = Stage("graphs", "cuda")

    def advance(state: Any, actions: Any) -> Any:
        return task.observe(task.step(state, actions)[0])

    fused = stage.function(advance)
    replayed = stage.procedure(lambda: fused(state, actions), list)
    replayed()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        replayed()
    torch.cuda.synchronize()
    return {"task": name, "worlds": worlds, "ms per step": round(1e3 * (time.perf_counter() - start) / steps, 4)}


def learning() -> list[dict[str, Any]]:
    """Navigation, quick preset: last rewards and SND of each member at every stage."""
    rows = []
    for stage, device in (("eager", "cpu"), ("eager", "cuda"), ("graphs", "cuda")):
        torch.compiler.reset()
        population = Population(preset("quick", frames=120_000), Stage(stage, device))
        start = time.perf_counter()
        last: list[dict[str, Any]] = []
        while not population.finished:
            last = population.iterate()
        seconds = round(time.perf_counter() - start, 1)
        for row in last:
            wanted = {name: row[name] for name in ("constraint", "seed", "reward", "snd")}
            rows.append({"stage": stage, "device": device, **wanted, "seconds": seconds})
    return rows


def table(rows: list[dict[str, Any]]) -> None:
    print("\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print(
            "| " + " | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()) + " |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch._dynamo.config.recompile_limit = 64  # one function, many sizes
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "python": platform.python_version()}
    print(about)
    no_synchronisation()
    print("nothing waits for the device inside an iteration")
    results: dict[str, Any] = {"about": about, "iterations": [], "steps": []}
    for row in ROWS:
        results["iterations"].append(iteration(*row))
        print(results["iterations"][-1], flush=True)
    results["steps"] = [environment_step(name) for name in TASKS]
    results["learning"] = learning()
    for name in ("iterations", "steps", "learning"):
        table(results[name])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
