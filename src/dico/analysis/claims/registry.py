"""The list of claims, and judging runs by them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np

from dico._files import plain
from dico.analysis.claims.sweep import MissingError, Sweep, alike, sweeps
from dico.analysis.claims.verdict import Verdict, unknown
from dico.runs import Run, RunError

Judge = Callable[[Sweep], Verdict]
SHORTEST = 8
"""Points that curves must have for anything to be said."""


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and what decides it."""

    name: str
    says: str
    """In the paper's sense, in a sentence."""
    label: str
    """Where the paper says it."""
    experiment: str | None
    """Whose runs decide it; any that desires some diversity, if None."""
    judge: Judge


@dataclass(frozen=True)
class Judged(Verdict):
    """A verdict with the claim and the runs that it is of."""

    claim: str = ""
    says: str = ""
    label: str = ""
    source: str = ""
    experiment: str = ""
    seeds: int = 0
    """Fewest members of a level that did not diverge."""
    frames: int = 0

    @property
    def effect_text(self) -> str:
        """As tables show it; empty if there is none."""
        return _short(self.effect)

    @property
    def interval_text(self) -> str:
        """As tables show it; empty if there is none."""
        return f"{_short(self.low)} to {_short(self.high)}" if isfinite(self.low) else ""

    @property
    def of(self) -> str:
        """What the effect is of, and what else there is to say."""
        return "; ".join(part for part in (self.measure, self.why) if part)

    def to_json(self) -> dict[str, Any]:
        """As ``dico claims --json`` writes it: ``claim``, ``verdict``, ``effect``, ``low``, ``high`` and the rest."""
        first = ("claim", "verdict", "effect", "low", "high")
        return plain({name: getattr(self, name) for name in first} | asdict(self))


CLAIMS: list[Claim] = []
"""In the paper's order."""


def _short(value: float) -> str:
    return f"{value:.3g}" if isfinite(value) else ""


def claim(name: str, says: str, label: str, experiment: str | None) -> Callable[[Judge], Judge]:
    """Put a function of a sweep on the list."""

    def enlist(judge: Judge) -> Judge:
        full = name if experiment is None else f"{experiment}: {name}"
        CLAIMS.append(Claim(full, says, label, experiment, judge))
        return judge

    return enlist


def judge(runs: Sequence[Run]) -> list[Judged]:
    """Every claim that is about the experiments of these runs, for each experiment by itself.

    Runs of one experiment that are not of the same length are judged apart. What one of them cannot tell, for want of
    levels, is then not listed for it where another tells it.
    """
    judged = [(sweep, _judge(sweep, each)) for sweep in sweeps(runs) for each in _about(sweep)]
    told = [(sweep, verdict.claim) for sweep, verdict in judged if isfinite(verdict.effect)]
    return [
        verdict
        for sweep, verdict in judged
        if isfinite(verdict.effect)
        or not any(verdict.claim == name and alike(sweep.runs[0], other.runs[0]) for other, name in told)
    ]


def _about(sweep: Sweep) -> list[Claim]:
    return [each for each in CLAIMS if each.experiment in (None, sweep.experiment)]


def _judge(sweep: Sweep, claim: Claim) -> Judged:
    try:
        verdict = claim.judge(sweep) if len(sweep.frames) >= SHORTEST else unknown("the training is too short")
    except (MissingError, RunError) as error:
        verdict = unknown(str(error))
    return Judged(
        **vars(verdict), claim=claim.name, says=claim.says, label=claim.label,
        source=sweep.source, experiment=sweep.experiment, frames=int(sweep.frames[-1]),
        seeds=min(int(np.isfinite(sweep.final("reward", level)).sum()) for level in sweep.levels),
    )  # fmt: skip
