"""What ``dico train`` and ``dico resume`` have in common: who watches, and what is said in the end."""

from collections.abc import Callable, Sequence

from rich.console import Console

from dico.commands._progress import level_table, make_progress
from dico.runs import Run, RunError
from dico.training.loggers import TensorBoard, WandB
from dico.training.observers import Observer
from dico.training.session import Interrupted


def follow(
    start: Callable[[Sequence[Observer]], Run],
    console: Console,
    *,
    tensorboard: bool,
    wandb: bool,
    remark: str = "",
) -> int:
    """Let a training run to its end with its progress shown, then say how it ended; the exit status.

    ``remark`` ends the line in which it is said what is trained.
    """
    observers: list[Observer] = [make_progress(console, remark)]
    if tensorboard:
        observers.append(TensorBoard())
    if wandb:
        observers.append(WandB())
    try:
        run = start(observers)
    except Interrupted as stopped:
        Console(stderr=True).print(stopped, markup=False, highlight=False, soft_wrap=True)
        return 130
    rows = run.rows()
    if not rows:
        raise RunError(f"{run.folder / 'metrics.jsonl'} is missing or empty, though the run is finished")
    who = [{"constraint": member.constraint, "seed": member.seed} for member in run.members]  # a line may lack it
    last = [who[row["member"]] | row for row in rows if row["iteration"] == rows[-1]["iteration"]]
    console.print(level_table(last, "last batch of each member"))
    where = f"results in {run.folder}; dico.load({str(run.folder)!r}) opens them in Python"
    console.print(where, markup=False, highlight=False, soft_wrap=True)
    return 0
