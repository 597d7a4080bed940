"""Ten thousand members in 500 pieces: what planning, watching, joining and looking at them takes, without training.

python benchmarks/scale.py                    about three minutes on two cores
python benchmarks/scale.py --levels 20 --seeds 50 --block 10 --iterations 20 --folder /tmp/scale
"""

import argparse
import json
import random
import resource
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from dico._files import crc32
from dico.commands._progress import level_table
from dico.commands._scale import plan_table
from dico.experiments import preset
from dico.members import Member
from dico.runs import load
from dico.scale.backends import Ended
from dico.scale.driver import Drive
from dico.scale.following import Following, Place
from dico.scale.joining import join
from dico.scale.pieces import Outcome, Piece, Pieces
from dico.scale.planner import Room, cut
from dico.scale.start import planned
from dico.scale.worker import counted, describe_members
from dico.training.checkpoint import save
from dico.training.config import Config
from dico.training.options import SessionOptions
from dico.training.population import Population
from dico.viz.report import write_report

OPTIONS = SessionOptions(device="cpu")
RUNNING = 32
"""Pieces that grow between two looks, as on so many workers."""


@contextmanager
def measured(what: str) -> Iterator[None]:
    """Print how long it took, and the most memory that the process has had so far."""
    start = time.perf_counter()
    yield
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"| {what} | {seconds:.2f} s | {peak:.2f} GB |", flush=True)


class Replayed:
    """A backend whose workers are recordings: a piece is finished as soon as it is looked at."""

    resume_words = ""

    def __init__(self, at_once: int):
        self.room, self.ended = Room("replayed", at_once), []

    def submit(self, jobs) -> None:
        self.ended += jobs

    def wait(self, seconds: float) -> list[Ended]:  # noqa: ARG002
        ready, self.ended = self.ended[:RUNNING], self.ended[RUNNING:]
        for job in ready:
            job.pieces.note(job.piece, Outcome("finished"))
        return [Ended(job.piece) for job in ready]

    def hold(self, begun) -> None: ...

    def close(self) -> None: ...


def record(config: Config, folder: Path, members: list[Member]) -> None:
    """A piece that was trained, made up; its members are all seeds of a range, of some levels."""
    folder.mkdir()
    levels, seeds = dict.fromkeys(member.constraint for member in members), {member.seed for member in members}
    population = Population(replace(config, snd=tuple(levels), seeds=len(seeds), first_seed=min(seeds)))
    assert len(population.members) == len(members)
    population.members, population.iteration = counted(members), config.iterations
    for name, value in population.tensors().items():
        if name.endswith(("has_estimate", "snd_hat")):
            value.fill_(1)
    with (folder / "metrics.jsonl").open("w") as file:
        for iteration in range(1, config.iterations + 1):
            file.writelines(json.dumps(row) + "\n" for row in rows_of(population, iteration))
    size = (folder / "metrics.jsonl").stat().st_size
    save(population, folder, None, size, crc32(folder / "metrics.jsonl", size))


def rows_of(population: Population, iteration: int) -> Iterator[dict[str, object]]:
    for member in population.members:
        desired = 1.0 if member.constraint == "free" else float(member.constraint)
        reward = (1 - (desired - 0.5) ** 2) * iteration / population.config.iterations + random.gauss(0, 0.05)
        snd = desired + random.gauss(0, 0.01)
        numbers = dict.fromkeys(("snd", "snd_train", "snd_acted", "snd_hat"), snd)
        yield {
            "member": member.index, "constraint": member.constraint, "seed": member.seed, "iteration": iteration,
            "frames": iteration * population.config.frames_per_batch, "reward": reward, **numbers,
            "scale": 1.0 + random.gauss(0, 0.1), "action_bound_violation": 0.0, "action_bound_violation_all": 0.0,
            "distances": [snd], "seconds": 0.5,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, usual in {"levels": 100, "seeds": 100, "block": 20, "iterations": 50}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--folder", type=Path, default=Path("runs/scale-benchmark"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    random.seed(0)
    levels = (*(f"{k / given.levels:g}" for k in range(given.levels - 1)), "free")
    config = preset("quick", snd=levels, seeds=given.seeds, envs=10, frames_per_batch=100, hidden=(32,))
    config = replace(config, frames=100 * given.iterations)
    shutil.rmtree(given.folder, ignore_errors=True)
    print(f"{len(config.members):,} members, {given.iterations} iterations\n")
    print("| what | time | most memory |\n|---|---|---|")
    with measured("plan"):
        parts = cut(config, 2, given.block)
        named = [Piece(f"{k:03d}", part) for k, part in enumerate(parts)]
        table = plan_table(planned(config, named, Replayed(2)))
    with measured("write run folder and plan"):
        given.folder.mkdir(parents=True)
        describe_members(config, config.members, given.folder, OPTIONS)
        pieces = Pieces(given.folder.absolute())
        pieces.write(named)
    with measured(f"(make up {len(named)} recordings)"):
        everyone = config.members
        for piece in named:
            record(config, pieces.folder(piece), [everyone[k] for k in piece.members])
    following = Following(config, pieces, 1, Place("replayed", "replayed"))
    with measured(f"look at progress, all {len(named)} pieces new"):
        following.sizes.clear()
        following.look()
    with measured(f"look at progress, {RUNNING} pieces new"):
        for piece in named[:RUNNING]:
            following.sizes.pop(pieces.folder(piece) / "metrics.jsonl")
        following.look()
    with measured("drive all pieces to their end"):
        Drive(config, OPTIONS, pieces, Replayed(2), print).run(threading.Event(), lambda: None)
    shown = level_table([row for rows in following.rows.values() for row in rows])
    with measured("join"):
        join(config, OPTIONS, pieces)
    with measured("open, and read all numbers"):
        run = load(given.folder).read()
    with measured("write the page"):
        page = write_report(run)
    sizes = {path.name: path.stat().st_size / 1e6 for path in given.folder.glob("*.*") if path.is_file()}
    print(f"\n{', '.join(f'{name} {size:.1f} MB' for name, size in sizes.items())}; page {page}")
    console = Console(width=110)
    console.print(table)
    console.print(shown)


if __name__ == "__main__":
    main()
