"""Summaries of runs that nobody trained, with numbers as one wishes."""

import json
from dataclasses import asdict

import numpy as np

from dico.experiments import preset
from dico.members import level_text, varying
from dico.runs import load
from dico.tasks import make

POINTS = 80


def made_up(path, task, rewards, *, snd=None, box=None, behaviours=None, points=POINTS, **changes):
    """A run whose desired diversities have these final rewards, a number for each seed, or whole curves.

    Measured SND is the desired one (1 if free), or what ``snd`` says of a level, with a row for each seed if it has
    rows; and so is, under analytical control,
    that over the box, or what ``box`` says.
    """
    seeds = len(next(iter(rewards.values())))
    settings = preset("paper", task, snd=tuple(rewards), seeds=seeds, **changes)
    curves = {"reward": [], "snd": []}
    for member in settings.members:
        desired = 1.0 if member.constraint == "free" else float(member.constraint)
        measured = (snd or {}).get(level_text(member, varying(settings.members)), desired)
        curves["reward"].append(_line(rewards[member.constraint][member.seed - settings.first_seed], points))
        own = measured[member.seed - settings.first_seed] if np.ndim(measured) == 2 else measured
        curves["snd"].append(np.broadcast_to(own, points).tolist())
        if settings.control == "analytical":
            over_box = (box or {}).get(member.constraint, desired)
            curves.setdefault("snd_box", []).append(np.broadcast_to(over_box, points).tolist())
    told = {
        name: [values[member.constraint][member.seed - settings.first_seed] for member in settings.members]
        for name, values in (behaviours or {}).items()
    }
    groups = [
        {"name": group.name, "n_agents": len(group.agents), "obs_dim": group.obs_dim, "low": [-1, -1], "high": [1, 1],
         "kind": "shared_std"}
        for group in make(task).groups[:1]
    ]  # fmt: skip
    kept = {
        "summary": 2, "about": {}, "config": asdict(settings), "groups": groups, "session": {},
        "members": [asdict(member) for member in settings.members], "diverged": [], "behaviours": told,
        "frames": [settings.frames_per_batch * (k + 1) for k in range(points)], "curves": {groups[0]["name"]: curves},
    }  # fmt: skip
    path.write_text(json.dumps(kept))
    return load(path)


def _line(value, points):
    """From 0 to the value over the first half, and there from then on; a curve is taken as it is."""
    if np.ndim(value):
        return list(value)
    return (value * np.minimum(1.0, np.arange(1, points + 1) / (points / 2))).tolist()
