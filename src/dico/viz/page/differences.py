"""Runs against each other, as JSON for the page's table."""

from collections.abc import Sequence
from typing import Any

from dico import analysis
from dico._files import plain
from dico.runs import Run
from dico.viz.labels import level_label, metric_name, unequal_lengths
from dico.viz.page.words import group_suffix

SHARES = ("success", "coverage")
"""What is told in per cent."""


def table_of_differences(runs: Sequence[Run]) -> dict[str, Any]:
    """A row for every two runs at every level that both have; what is compared; and what the table says of itself."""
    found, names = analysis.differences(runs), analysis.compared(runs)
    titles = {"reward": "reward per step", analysis.controlled_metric(runs[0]): f"measured {metric_name(runs[0])}"}
    return {
        "about": _about(found, runs),
        "quantities": [
            {"title": titles.get(name, name) + group_suffix(runs), "percent": name in SHARES} for name in names
        ],
        "rows": [
            {
                "level": each.level,
                "first": each.first,
                "second": each.second,
                "seeds": each.seeds,
                "values": [
                    [plain(value) for value in (one.effect, one.low, one.high)]
                    for one in (each.values[name] for name in names)
                ],
                "verdicts": [each.verdict(name) for name in names],
            }
            for each in found
        ],
    }


def _about(found: Sequence[analysis.Difference], runs: Sequence[Run]) -> str:
    if not found:
        return "The runs have no level in common, so there is nothing to subtract; the curves show them together."
    shared = {each.level for each in found}
    alone = [level for level in analysis.levels(*runs) if level not in shared]
    left = f" Levels of one run only are not in it: {', '.join(map(level_label, alone))}." if alone else ""
    lengths = unequal_lengths(runs)
    ends = f" The runs have {lengths}: each is taken at its own end." if lengths else ""
    return (
        "At each level that two runs share: means over the last tenth of the iterations, one run's minus the other's, "
        "with Welch's interval. The intervals of a column hold all at once with 95 % confidence (Bonferroni), so that "
        f"any row may be picked from them.{left}{ends}"
    )
