"""The trainer on a CUDA device, in one command: python benchmarks/gpu.py [SECTION ...] [--prepare] [--json FILE]

sections (all, if none is named):
  waiting     fails if anything inside collecting or learning waits for the device
  compiling   seconds that compiling and capturing take, on an empty cache, and again on the cache that this left
  iterations  seconds for an iteration at the paper's settings, the device's limits, and where the time goes
  steps       environment steps at 16,800 worlds
  agents      how cost grows with the team
  sampled     the same, with two agents compared at each observation, and with 128 frames of a minibatch
  members     how cost grows with the population
  learning    navigation, quick preset: the same seeds on the CPU and at every stage on the device
  blocks      a population that does not fit into the memory it is allowed
  benchmarl   BenchMARL with model=dico and the original's separate action loss, one run (needs dico-marl[benchmarl])
"""

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from gpu_cases import Case, clocked, compile_seconds, device_rates, measured

from dico.experiments import PAPER, preset
from dico.random import Random
from dico.tasks import TASKS, make
from dico.training.blocks import make_population
from dico.training.machine import machine
from dico.training.population import Population
from dico.training.staging import Stage

FIGURES = {task: len(preset("paper", task).members) for task in PAPER if task != "same-goal"}
"""How many members a figure of the paper has; a goal for all is to the compiler like a goal for each."""
ITERATIONS = [
    Case("navigation", 1),
    Case("navigation", 1, action_loss="separate"),
    Case("navigation", 28),
    Case("navigation", 28, "bf16"),
    Case("navigation", 28, action_loss="separate"),
    Case("dispersion", 1),
    Case("dispersion", 1, action_loss="separate"),
    Case("dispersion", 12),
    Case("dispersion", 12, action_loss="separate"),
]
FEWER_PASSES = {"epochs": 2}
"""Growth is told by single updates; a whole iteration of the largest would take minutes."""
AGENTS = [Case("navigation", 1, agents=n, settings=FEWER_PASSES) for n in (2, 4, 8, 16, 32)]
CASES = {
    "compiling": [
        *[Case(task, members, action_loss="separate") for task, members in FIGURES.items()],
        Case("navigation", FIGURES["navigation"], action_loss="separate", settings={"algorithm": "masac"}),
    ],
    "iterations": ITERATIONS,
    "agents": AGENTS,
    "sampled": [
        replace(case, settings=FEWER_PASSES | sampling)
        for sampling in ({"estimate_agents": 2}, {"estimate_frames": 128})
        for case in AGENTS[2:]
    ],
    "members": [Case("navigation", members, settings=FEWER_PASSES) for members in (1, 4, 16, 64, 128)],
}
AT_ONCE = 11
"""Processes that compile at the same time: as many as `sampled` and `members` have cases, for 16 cores."""


def waiting() -> list[dict[str, Any]]:
    """One iteration of each kind of algorithm in which PyTorch refuses to synchronise."""
    rows = []
    for task, algorithm in (("navigation", "ippo"), ("dispersion", "maddpg"), ("navigation", "isac")):
        config = preset("quick", task, algorithm=algorithm, seeds=1, snd=("0.5",))
        population = Population(config, Stage("graphs", "cuda"))
        population.iterate()
        torch.cuda.set_sync_debug_mode("error")
        batches = population.rollout.collect(population.learners, config.steps, 0)
        population.learners[0].learn(batches[0])
        torch.cuda.set_sync_debug_mode("default")
        rows.append({"task": task, "algorithm": algorithm, "waits for the device": "never"})
    return rows


def compiling() -> Iterator[dict[str, Any]]:
    """Each case twice, the second time with what the first has left in the compilers' caches."""
    for index in range(len(CASES["compiling"])):
        with TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            for found in ("nothing", "everything"):
                yield alone("compiling", index, cache) | {"found in the cache": found}


def alone(section: str, index: int, cache: str | None = None) -> dict[str, Any]:
    """A case in a process of its own, which no other case has left memory or compiled functions to."""
    command = [sys.executable, __file__, "--case", section, str(index)]
    places = {f"{compiler}_CACHE_DIR": f"{cache}/{compiler}" for compiler in ("TORCHINDUCTOR", "TRITON")}
    environment = os.environ | (places if cache else {})
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if answer.returncode:
        return {"case": str(CASES[section][index]), "error": f"status {answer.returncode}: {answer.stderr[-300:]}"}
    return json.loads(answer.stdout.splitlines()[-1])


def prepare(sections: list[str]) -> None:
    """Every case once, several at a time: what is measured so is of no use, but the compiler's cache is filled."""
    cases = [(section, index) for section in sections for index in range(len(CASES[section]))]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for row in pool.map(lambda case: alone(*case), cases):
            print(row.get("error", "compiled"), flush=True)


def steps(worlds: int = 16_800, repeats: int = 200) -> list[dict[str, Any]]:
    """Milliseconds for a compiled step with observation, replayed as a CUDA graph."""

    def step(name: str) -> dict[str, Any]:
        task, stage = make(name), Stage("graphs", "cuda")
        state = task.reset(worlds, Random([0], device="cuda"))
        actions = torch.rand(1, worlds, task.n_agents, 2, device="cuda") * 2 - 1
        fused = stage.function(lambda state, actions: task.observe(task.step(state, actions)[0]))
        replayed = stage.procedure(lambda: fused(state, actions), list)
        replayed()
        seconds = clocked(lambda: [replayed() for _ in range(repeats)])[0]
        return {"task": name, "worlds": worlds, "ms a step": 1e3 * seconds / repeats}

    return [step(name) for name in TASKS]


def learning(frames: int = 120_000) -> list[dict[str, Any]]:
    """Reward and SND of each member in every iteration."""
    rows = []
    for stage, device in (("eager", "cpu"), ("eager", "cuda"), ("compiled", "cuda"), ("graphs", "cuda")):
        torch.compiler.reset()
        population = Population(preset("quick", frames=frames), Stage(stage, device))
        while not population.finished:
            for row in population.iterate():
                wanted = {name: row[name] for name in ("constraint", "seed", "frames", "reward", "snd")}
                rows.append({"stage": f"{device} {stage}", **wanted})
    return rows


def blocks(allowed_gb: float = 6.0) -> list[dict[str, Any]]:
    """28 members of navigation in less memory than holds them all, and in enough."""
    levels = ("0", "0.1", "0.3", "0.5", "0.7", "1", "free")
    config = preset("paper", "navigation", snd=levels, seeds=4, action_loss="merged", epochs=5)
    total = torch.cuda.get_device_properties(0).total_memory
    rows = []
    for allowed in (allowed_gb * 1e9, total):
        torch.compiler.reset()
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.set_per_process_memory_fraction(min(1.0, allowed / total))
        population = make_population(config, Stage("graphs", "cuda"))
        population.iterate()
        size = population.at_once
        row = {"allowed GB": allowed / 1e9, "members at once": size, "s (5 passes)": clocked(population.iterate)[0]}
        rows.append(row | {"reserved GB": torch.cuda.max_memory_reserved() / 1e9})
        del population
    return rows


def benchmarl() -> list[dict[str, Any]]:
    """Seconds for one iteration of one run, the second; the first warms up."""
    from in_benchmarl import iteration_seconds

    rows = []
    for task in ("navigation", "dispersion"):
        config = preset("paper", task, snd=("0.5",), seeds=1)
        collect, learn = iteration_seconds(config, "cuda", iterations=2)[-1]
        rows.append(
            {"task": task, "algorithm": config.algorithm, "collect s": collect, "learn s": learn, "s": collect + learn}
        )
    return rows


def in_turn(section: str) -> Callable[[], Iterator[dict[str, Any]]]:
    """A section's cases, one after the other."""
    return lambda: (alone(section, index) for index in range(len(CASES[section])))


SECTIONS: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
    "waiting": waiting,
    "compiling": compiling,
    "iterations": in_turn("iterations"),
    "steps": steps,
    "agents": in_turn("agents"),
    "sampled": in_turn("sampled"),
    "members": in_turn("members"),
    "blocks": blocks,
    "learning": learning,
    "benchmarl": benchmarl,
}


def table(rows: list[dict[str, Any]]) -> None:
    rows = [row for row in rows if "error" not in row]
    if not rows:
        return
    print("\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="what to measure; everything if none is named")
    parser.add_argument(
        "--json", type=Path, help="where to write the results, row by row; those of other sections are kept"
    )
    parser.add_argument(
        "--prepare", action="store_true", help="fill the compiler's cache first, several cases at a time"
    )
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"there is no section {name!r}; there are {', '.join(SECTIONS)}")
    if not torch.cuda.is_available():
        parser.error("there is no CUDA device here")
    torch._dynamo.config.recompile_limit = 64  # one function, many sizes
    if options.case:
        section, index = options.case
        measure = compile_seconds if section == "compiling" else measured
        print(json.dumps(measure(CASES[section][int(index)])))
        return
    rate, copying = device_rates()
    about = machine(torch.device("cuda")) | {
        "python": platform.python_version(),
        "TF32 TFLOP/s": rate / 1e12,
        "copy TB/s": copying / 1e12,
    }
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    results["about"] = results.get("about", {}) | about
    print(about, flush=True)
    sections = options.sections or list(SECTIONS)
    if options.prepare:
        prepare([name for name in sections if name in CASES and name != "compiling"])
    for name in sections:
        results[name] = []
        for row in SECTIONS[name]():
            results[name].append(row)
            print(row, flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))
        table(results[name])
    if any("error" in row for name in sections for row in results[name]):
        sys.exit(1)


if __name__ == "__main__":
    main()
