"""What fresh episodes came to, level by level: means, how seeds differ, and how episodes do."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from dico._files import plain
from dico._named import short_name
from dico.analysis.statistics import FEWEST
from dico.boxes import COLUMNS
from dico.commands._digits import scatter_text, spread_text
from dico.commands._progress import by_level
from dico.tasks import OUTCOMES

NUMBERS = ("snd", "snd_acted", *COLUMNS, "reward", "return", "steps")
"""What is summarised of each level; a controlled metric other than SND comes first, what the task tells last."""

NARROWEST = 8
"""Letters in a line of a column of numbers, at least; where all columns are so narrow, lines are longer than the
terminal, and the table is to be printed with ``crop=False``: of a number that is cut off, what is left looks whole."""


def spread(rows: Sequence[dict[str, Any]], metric: str = "snd") -> list[dict[str, Any]]:
    """A record for each level and group: of each number the mean over its seeds, and their standard deviation.

    Fewer than three seeds have none: their values are in ``values``, as those of more are.

    ``over_episodes`` is the standard deviation of the return over the episodes of a member, the mean of its seeds'.
    Members that diverged are counted, and left out.

    >>> rows = [{"member": k, "constraint": "1", "seed": k, "snd": 1.0, "reward": k, "return": 10.0 * k, "steps": 10.0,
    ...          "return_std": 2.0} for k in (0, 1, 2)]
    >>> level = spread(rows)[0]
    >>> level["return"]
    {'mean': 10.0, 'over_seeds': 10.0, 'values': [0.0, 10.0, 20.0], 'over_episodes': 2.0}
    """
    found = []
    for level, members in by_level(rows).items():
        for group in dict.fromkeys(row.get("group") for row in members):
            own = [row for row in members if row.get("group") == group]
            well = [row for row in own if not row.get("diverged")]
            record: dict[str, Any] = {"level": level, "seeds": len(well), "diverged": len(own) - len(well)}
            record |= {} if group is None else {"group": group}
            told = [name for name in OUTCOMES if any(name in row for row in own)]
            for name in dict.fromkeys((metric, *(name for name in NUMBERS if name in own[0]), *told)):
                values = [float(row[name]) for row in well]
                record[name] = {
                    "mean": fmean(values) if values else None,
                    "over_seeds": stdev(values) if len(values) >= FEWEST else None,
                    "values": values,
                }
            episodes = [row["return_std"] for row in well]
            record["return"]["over_episodes"] = fmean(episodes) if episodes else None
            found.append(plain(record))
    return found


def spread_table(levels: Sequence[dict[str, Any]], title: str, metric: str = "snd") -> Table:
    """As a table: mean ± standard deviation over seeds, in as many digits as these are worth."""
    caption = "± over seeds, from three on; of fewer each is shown"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left", box=SIMPLE_HEAD,
                  padding=0)  # fmt: skip
    grouped = any("group" in level for level in levels)
    names = {
        metric: f"measured {metric.upper() if len(metric) <= 3 else metric}", "snd_acted": "executed SND",
        **COLUMNS, "reward": "reward per step", "return": "return", **{name: name for name in OUTCOMES},
    }  # fmt: skip
    names = {name: text for name, text in names.items() if any(name in level for level in levels)}
    for column in ("level", *(["group"] if grouped else []), "seeds", *names.values(), "return, over episodes ±"):
        text = column in ("level", "group", "seeds")
        justify, narrowest = ("left", None) if text else ("right", NARROWEST)
        table.add_column(column, justify=justify, min_width=narrowest, overflow="fold", no_wrap=text)
    for level in levels:
        seeds = f"{level['seeds']}" + (f" ({level['diverged']} diverged)" if level["diverged"] else "")
        cells = [_cell(level[name]["values"]) if name in level else "" for name in names]
        over = level["return"]["over_episodes"]
        group = [level.get("group", "")] if grouped else []
        table.add_row(short_name(level["level"]), *group, seeds, *cells, "" if over is None else scatter_text(over))
    return table


def _cell(values: Sequence[float]) -> str:
    return spread_text(values).replace("± ", "±") if values else "diverged"  # a line may end before it, not after
