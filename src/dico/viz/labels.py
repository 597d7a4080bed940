"""What levels, metrics and runs are called, in figures and on the page."""

import re
from collections.abc import Sequence

import numpy as np

from dico._named import is_name, short_name
from dico.analysis import bounds_of, controlled_metric, frames, group_fields
from dico.members import NAMED
from dico.runs import Run, RunError
from dico.schedules import is_scheduled
from dico.tasks import from_folder, is_wrapped


def metric_name(run: Run) -> str:
    """The controlled metric as figures write it: SND, HSE, det root."""
    name = controlled_metric(run)
    return name.upper() if len(name) <= 3 else name.replace("_", " ")


def changed_options(run: Run) -> list[str]:
    """The task's settings that are not its defaults, as name=value; of a VMAS scenario all that were given."""
    name, options = run.config["task"], run.config.get("task_options", ())
    try:
        usual = None if is_wrapped(name) else from_folder(name)
        return [option for option in options if usual is None or from_folder(name, [option]) != usual]
    except ValueError:  # a task that this version does not know
        return list(options)


def field_title(run: Run, field: str) -> str:
    """A field of members as an axis or a legend names it.

    >>> field_title(run, "constraint"), field_title(run, "action_loss_lr")
    ('desired SND', 'action_loss_lr')
    """
    return f"desired {metric_name(run)}" if field == "constraint" else field


def levels_title(run: Run) -> str:
    """What tells the levels of a run apart, as the title of a legend.

    >>> levels_title(run), levels_title(run.group_by("constraint", "tau"))
    ('desired SND', 'desired SND, tau')
    """
    return ", ".join(field_title(run, field) for field in group_fields(run))


def common_desire(runs: Sequence[Run]) -> list[str]:
    """The desired diversity that all members have, where levels do not name it.

    >>> from dataclasses import replace
    >>> common_desire([run]), common_desire([replace(run, members=run.members[2:4], by=("tau",))])
    ([], ['desired SND 0.3'])
    """
    found = {member.constraint for run in runs for member in run.members}
    named = any("constraint" in group_fields(run) for run in runs)
    return [] if named or len(found) > 1 else [f"{field_title(runs[0], 'constraint')} {level_label(found.pop())}"]


def level_label(level: str) -> str:
    """A level as a legend writes it.

    >>> [level_label(level) for level in ("0.3", ">=0.3", "<=0.5", "0.2..0.5", "free", "cos:0->1@2e6")]
    ['0.3', '≥ 0.3', '≤ 0.5', '0.2 to 0.5', 'free', 'cos: 0 → 1 @ 2e6']
    >>> level_label("my_project.schedules:rising")  # without the packages that it is in
    'schedules:rising'
    >>> level_label(">=0.3, tau=0.1")
    '≥ 0.3, tau=0.1'
    """
    return ", ".join(part if NAMED.fullmatch(part) else _constraint_label(part) for part in level.split(", "))


def listed(parts: Sequence[str]) -> str:
    """Things one after the other, as a sentence has them.

    >>> listed(["4 seeds"]), listed(["12,000", "18,000", "234,000"])
    ('4 seeds', '12,000, 18,000 and 234,000')
    """
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def unequal_lengths(runs: Sequence[Run]) -> str:
    """How many frames a member of each run has had; nothing where that is the same of all.

    >>> unequal_lengths([run, run])
    ''
    """
    done = sorted({int(frames(run)[-1]) for run in runs})
    return "" if len(done) == 1 else f"{listed([f'{each:,}' for each in done])} frames a member"


def run_names(runs: Sequence[Run]) -> list[str]:
    """Folder names, of summaries the files' without an ending; with as many parents as tell the runs apart.

    >>> run_names([run])
    ['navigation']
    """
    folders = [run.folder.resolve() for run in runs]
    paths = [path.with_suffix("") if path.is_file() else path for path in folders]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    raise RunError("runs must be given once each, got " + ", ".join(str(run.folder) for run in runs))


def level_in_words(level: str) -> str:
    """A level as a sentence has it, among others: without a comma.

    >>> level_in_words("0.3"), level_in_words("0.3, tau=0.1, lr=0.01")
    ('0.3', '0.3 with tau=0.1 and lr=0.01')
    """
    first, *others = level_label(level).split(", ")
    return f"{first} with {listed(others)}" if others else first


def _constraint_label(constraint: str) -> str:
    if constraint == "free":
        return constraint
    if is_name(constraint):
        return short_name(constraint)
    if is_scheduled(constraint):
        signs = {"->": " → ", "@": " @ ", ":": ": ", ">=": "≥ ", "<=": "≤ "}
        return re.sub("|".join(signs), lambda found: signs[found[0]], constraint)
    low, high = bounds_of(constraint)
    if low == high:
        return f"{low:g}"
    if high == np.inf:
        return f"≥ {low:g}"
    return f"≤ {high:g}" if low == 0 else f"{low:g} to {high:g}"
