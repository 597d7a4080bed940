"""Run folders written by hand, whose every number is known."""

import json
from dataclasses import asdict

from dico.experiments import preset
from dico.runs import FORMAT, Run, load


def write_run(folder, values, *, snd=("0", "0.5", "free"), seeds=2, task="navigation", **settings) -> Run:
    """A run whose metrics are ``values(level, seed, iteration) -> dict``, one call per row; None writes no row."""
    config = preset("quick", task, snd=snd, seeds=seeds, **settings)
    folder.mkdir(parents=True)
    groups = [{"name": "agents", "n_agents": 2, "obs_dim": 4, "low": [-1, -1], "high": [1, 1], "kind": "shared_std"}]
    saved = {"format": FORMAT, "config": asdict(config), "members": config.members, "groups": groups, "session": {}}
    (folder / "config.json").write_text(json.dumps(saved))
    with (folder / "metrics.jsonl").open("w") as lines:
        for iteration in range(1, config.iterations + 1):
            for member, (level, seed) in enumerate(config.members):
                own = values(level, seed, iteration)
                row = {"member": member, "constraint": level, "seed": seed, "iteration": iteration,
                       "frames": iteration * config.frames_per_batch}  # fmt: skip
                if own is not None:
                    lines.write(json.dumps(row | own) + "\n")
    return load(folder)
