"""Curves and final scores as other libraries read them: marl-eval's files, rliable's arrays.

To them an algorithm is ours with a level, such as ``ippo 0.3``: their names may have no comma. Members that diverged
have no numbers to give and are left out, as everywhere in our analysis.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from dico.analysis.measured import curves, diverged, final, frames
from dico.analysis.members import align, controlled_metric, group_fields, level_of, levels, of_level
from dico.members import FIELDS
from dico.runs import Member, Run

ENVIRONMENT = "dico"
"""What marl-eval calls the library that tasks come from."""


def marl_eval(runs: Run | Sequence[Run], metrics: Sequence[str] = ()) -> dict[str, Any]:
    """What marl-eval (id-marl-eval) reads from a JSON file: environment, task, algorithm, seed, step, metric.

    A metric has one value in each step, that of the collected batch; by default these are the reward and the
    controlled metric. ``absolute_metrics``, which marl-eval means for the best policy, are our final values: the means
    over the last tenth of the training.

    >>> told = marl_eval(run)
    >>> told["dico"]["navigation horizon=10"]["ippo 0.3"]["seed_0"]["step_0"].keys()
    dict_keys(['step_count', 'reward', 'snd'])
    """
    found: dict[str, Any] = {}
    for run in _apart(runs):
        names = list(metrics or dict.fromkeys(("reward", controlled_metric(run))))
        values = {name: curves(run, name) for name in names}
        last = {name: final(run, name) for name in names}
        steps = frames(run).astype(int).tolist()
        algorithms = found.setdefault(_task(run), {})
        for member in _well(run):
            k = member.index
            told: dict[str, Any] = {
                f"step_{i}": {"step_count": count, **{name: [float(values[name][k, i])] for name in names}}
                for i, count in enumerate(steps)
            }
            told["absolute_metrics"] = {name: [float(last[name][k])] for name in names}
            algorithms.setdefault(_algorithm(run, level_of(run, member)), {})[f"seed_{member.seed}"] = told
    return {ENVIRONMENT: found}


def rliable_scores(runs: Run | Sequence[Run], metric: str = "reward") -> dict[str, Float[np.ndarray, "seeds tasks"]]:
    """Final scores of each algorithm, as rliable's metrics and intervals take them; runs of a task add to its seeds.

    >>> rliable_scores(run)["ippo 0.3"].shape
    (2, 1)
    """
    return {name: np.stack(of_tasks, 1) for name, of_tasks in _by_algorithm(runs, metric, final).items()}


def rliable_curves(
    runs: Run | Sequence[Run], metric: str = "reward"
) -> dict[str, Float[np.ndarray, "seeds tasks iterations"]]:
    """The same over the training, as rliable's sample-efficiency curves take them.

    >>> rliable_curves(run)["ippo 0.3"].shape
    (2, 1, 2)
    """
    shortest = min(len(frames(run)) for run in _apart(runs))
    of_all = _by_algorithm(runs, metric, lambda run, name: curves(run, name)[:, :shortest])
    return {name: np.stack(of_tasks, 1) for name, of_tasks in of_all.items()}


def _by_algorithm(
    runs: Run | Sequence[Run], metric: str, read: Callable[[Run, str], np.ndarray]
) -> dict[str, list[np.ndarray]]:
    """Of each algorithm that was run on all tasks, an array of each task, all with as many seeds."""
    found: dict[str, dict[str, list[np.ndarray]]] = {}
    several = _apart(runs)
    for run in several:
        values, well = read(run, metric), ~diverged(run)
        for level in levels(run):
            of_tasks = found.setdefault(_algorithm(run, level), {})
            of_tasks.setdefault(_task(run), []).append(values[of_level(run, level) & well])
    tasks = list(dict.fromkeys(map(_task, several)))
    whole = {
        name: [np.concatenate(of_tasks[task]) for task in tasks]
        for name, of_tasks in found.items()
        if len(of_tasks) == len(tasks)
    }
    if len(whole) < len(found):
        warnings.warn(f"not all tasks have {', '.join(sorted(found.keys() - whole.keys()))}: left out", stacklevel=3)
    fewest = {name: min(len(part) for part in parts) for name, parts in whole.items()}
    return {name: [part[: fewest[name]] for part in parts] for name, parts in whole.items() if fewest[name]}


def _apart(runs: Run | Sequence[Run]) -> list[Run]:
    """The runs, grouped alike; an error if two members would go by the same task, algorithm and seed."""
    several = align([runs] if isinstance(runs, Run) else list(runs))
    seen: dict[tuple[str, str, int], tuple[Run, Member]] = {}
    for run in several:
        for member in run.members:
            key = _task(run), _algorithm(run, level_of(run, member)), member.seed
            if key in seen:
                raise ValueError(_taken(key, *seen[key], run, member))
            seen[key] = run, member
    return several


def _taken(key: tuple[str, str, int], other: Run, before: Member, run: Run, member: Member) -> str:
    """What is said of two members that would go by one name: what tells them apart, if members have it."""
    task, algorithm, seed = key
    both = f"{run.folder} has two members" if other is run else f"{other.folder} and {run.folder} have a member each"
    by = group_fields(run)
    known = [name for name in FIELDS if None not in (getattr(before, name), getattr(member, name))]
    apart = [name for name in known if name in by or getattr(before, name) != getattr(member, name)]
    fields = ", ".join(map(repr, apart))
    cure = (
        f"group runs by what sets them apart, as run.group_by({fields}), or export them apart"
        if set(apart) - {*by}
        else "no setting of a member sets them apart, so export them apart, or leave one out"
    )
    return f"{both} of {algorithm} with seed {seed} in {task}: one would take the other's place; {cure}"


def _well(run: Run) -> Iterator[Member]:
    gone = diverged(run)
    if gone.any():
        warnings.warn(f"{int(gone.sum())} members of {run.folder} diverged and are left out", stacklevel=3)
    return (member for member in run.members if not gone[member.index])


def _task(run: Run) -> str:
    return " ".join((run.config["task"], *run.config["task_options"]))


def _algorithm(run: Run, level: str) -> str:
    """A name without commas."""
    return f"{run.config['algorithm']} {level.replace(', ', ' ')}"
