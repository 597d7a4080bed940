"""Tag: diversity finds strategies that free agents miss (sec:tag, app:tag).

Each member's green agent learned against its own reds, so rewards in training are against different opponents. Cross-
play is every member's reds against every member's green, which was frozen.
"""

from itertools import combinations

import numpy as np

from dico.analysis.claims.registry import claim
from dico.analysis.claims.sweep import Sweep
from dico.analysis.claims.verdict import Verdict, above, between, every, greater, unknown
from dico.analysis.members import FREE
from dico.analysis.statistics import Interval, difference

PLAIN = ("0", "0.3", FREE)
"""Levels of which the paper says that they are alike."""
DIVERSE = "0.6"
ALIKE = 0.25
"""Relative difference of rewards that are alike."""
DOUBLED = 1.5
"""Ratio above which a reward is about doubled."""


@claim("alike", "0, 0.3 and free get about the same reward.", "sec:tag", "tag")
def alike(sweep: Sweep) -> Verdict:
    """Differences of each two of them, relative to the mean of the three."""
    rewards = {level: sweep.final("reward", level) for level in PLAIN}
    mean = float(np.mean([sweep.mean_final("reward", level) for level in PLAIN]))
    return every([
        between(
            difference(rewards[a] / mean, rewards[b] / mean), -ALIKE, ALIKE, "relative difference", f"{a} and {b}",
        )
        for a, b in combinations(PLAIN, 2)
    ])  # fmt: skip


@claim("0.6 doubles", "0.6 about doubles the reward of the others, in training.", "sec:tag", "tag")
def doubles(sweep: Sweep) -> Verdict:
    """Ratio of final rewards."""
    return _ratio([sweep.final("reward", level) for level in (DIVERSE, *PLAIN)], "ratio of rewards")


@claim("0.6 doubles in cross-play", "0.6 about doubles the reward, against all green agents.", "sec:tag", "tag")
def doubles_in_cross_play(sweep: Sweep) -> Verdict:
    """Ratio of the mean rewards against every member's green agent."""
    return _ratio(
        [sweep.behaviour("cross_play", level) for level in (DIVERSE, *PLAIN)], "ratio of rewards in cross-play"
    )


@claim("apart", "At 0.6 red agents are further apart.", "app:tag", "tag")
def apart(sweep: Sweep) -> Verdict:
    """Mean distance of the red agents, more than at 0 and than free."""
    return _more(sweep, "red_distance", "distance of the red agents")


@claim("sides", "At 0.6 red agents come from different sides.", "app:tag", "tag")
def sides(sweep: Sweep) -> Verdict:
    """Mean angle between the red agents as the green one sees them, more than at 0 and than free."""
    return _more(sweep, "red_angle", "angle between the red agents, degrees")


def _more(sweep: Sweep, behaviour: str, measure: str) -> Verdict:
    mine = sweep.behaviour(behaviour, DIVERSE)
    return every(
        [greater(mine, sweep.behaviour(behaviour, level), measure, f"0.6 over {level}") for level in ("0", FREE)]
    )


def _ratio(rewards: list[np.ndarray], measure: str) -> Verdict:
    """Of the first to all others together, by logarithms."""
    mine, others = rewards[0], np.concatenate(rewards[1:])
    if not (np.nan_to_num(mine, nan=1.0) > 0).all() or not (np.nan_to_num(others, nan=1.0) > 0).all():
        return unknown("a reward is not above 0, so there is no ratio")
    logs = difference(np.log(mine), np.log(others))
    return above(Interval(*np.exp([logs.effect, logs.low, logs.high]).tolist()), DOUBLED, measure)
