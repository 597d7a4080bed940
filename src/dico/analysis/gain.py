"""Which diversity, and does it pay? The answer of a sweep, with what its seeds leave open.

The highest of several means is not the best level, only the likeliest, and its lead is part luck: the more levels, the
more of it. So all that is said of the best level allows for its having been chosen among all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from dico._files import plain
from dico.analysis.measured import behind, final
from dico.analysis.members import FREE, bounds_of, levels, of_level
from dico.analysis.simultaneous import Means, greatest, in_errors
from dico.analysis.statistics import FEWEST, decimals_of
from dico.runs import Run

HOMOGENEOUS = "0"
CONFIDENCE = 0.975
"""On either side: intervals are of 95 %."""
NEXT_TO_NOTHING = 0.05
"""A gain that is surely below this share of what a homogeneous team has is none worth having."""
MORE = 3
"""Decimals beyond what an interval is worth, less than this, to show on which side of zero it ends."""
TOO_FEW = "fewer than three seeds tell no more"
BEHIND = "some members have no numbers of the newest iteration, so levels are not compared yet"
"""Why it is mostly undecided."""
NAMED = 3
"""More levels than these that cannot be told apart are only counted, where there is little room."""

Outcome = Literal["diversity pays", "homogeneous is enough", "not separable", "separable", "undecided"]
"""Some level beats 0; 0 cannot be told from the best, while others can, or diversity is shown to gain next to nothing;
none can be told from the best; without a level 0, some can; or there are too few seeds to say."""


@dataclass(frozen=True)
class Answer:
    """What a sweep says; a number that it cannot say is NaN."""

    outcome: Outcome
    level: str
    """The level with the highest mean."""
    alike: tuple[str, ...]
    """The levels that cannot be told from it, itself included: the best one is among them in 95 of 100 sweeps."""
    low: float
    high: float
    """From the lowest to the highest desired value among them; bounds and free have none."""
    gain: float
    """How much more the best level but 0 has than 0: negative where diversity costs."""
    gain_low: float
    gain_high: float
    """Its 95 % interval, which allows for the choice of the best."""
    p_beats_free: float
    p_beats_homogeneous: float
    """Confidence that the best of the other levels beats free, and 0: 1 less the chance of such a lead where there is
    none."""
    seeds: int
    """Members of the levels that count, at least."""
    why: str = ""
    """Why it is undecided, if it is."""

    def to_json(self) -> dict[str, Any]:
        """By name; a desired value as a number, and what is not known as null."""
        fields = asdict(self) | {"level": as_number(self.level), "alike": [as_number(level) for level in self.alike]}
        return plain(fields)

    @property
    def best(self) -> str | None:
        """The level that is told apart from all others as the best; None where none is."""
        return None if self.outcome == "undecided" or len(self.alike) > 1 else self.level

    @property
    def gain_in_digits(self) -> tuple[str, str, str]:
        """The gain and the ends of its interval as texts, by :func:`in_digits`."""
        return in_digits(self.gain, self.gain_low, self.gain_high)


def answer(samples: Mapping[str, Float[np.ndarray, " _"]], episodes: int | None = None) -> Answer:
    r"""The answer of final values, those of its seeds for each level; NaN is a seed that diverged.

    Of values that are shares of so many ``episodes``, seeds that agree exactly say something too: no less than chance
    among episodes is at work.

    With :math:`d_k` the lead of level k over 0 and :math:`e_k` its standard error, the gain is :math:`\max_k d_k`, and

    .. math:: [\max_k (d_k - c\,e_k),\ \max_k (d_k + c_k e_k)]

    its interval, over the levels that cannot be told from the best: :math:`c` is what chance alone exceeds *anywhere*
    among them in 2.5 % of sweeps, for the lead of the best is partly luck, and :math:`c_k` what it exceeds at level k,
    for the truth is no less than that of any level. Levels of fewer than three seeds are left out.

    >>> found = answer({"0": np.array([1.0, 1.1, 0.9]), "1": np.array([2.0, 2.1, 2.2]), "2": np.array([1.5, 1.4, 1.3])})
    >>> found.outcome, found.level, found.alike, round(found.gain, 2), found.gain_low > 0
    ('diversity pays', '1', ('1',), 1.1, True)
    """
    known = {level: values[np.isfinite(values)] for level, values in samples.items()}
    known = {level: values for level, values in known.items() if len(values)}
    if not known:
        raise ValueError("samples must hold a finite number of some level, got none")
    best = max(known, key=lambda level: known[level].mean())
    counted = {level: values for level, values in known.items() if len(values) >= FEWEST}
    names, means = list(counted), Means.of(list(counted.values()), episodes)
    if why := _why_undecided(best, known, counted, means):
        return _undecided(best, known, why)
    alike = _alike(means, names.index(best))
    gain, low, high = _gain(means, names)
    told = {names[k] for k in alike} - ({HOMOGENEOUS} if low > 0 else set())
    values = [value for level in told if (value := _desired(level)) is not None]
    little = high < NEXT_TO_NOTHING * abs(_mean(counted, HOMOGENEOUS))
    return Answer(
        _outcome(told, counted.keys(), little), best, tuple(level for level in names if level in told),
        min(values, default=np.nan), max(values, default=np.nan), gain, low, high,
        _beats(means, names, FREE), _beats(means, names, HOMOGENEOUS), min(map(len, counted.values())),
    )  # fmt: skip


def answer_of(run: Run, metric: str = "reward") -> Answer | None:
    """The answer of a run by its final values.

    Args:
        run: of several levels.
        metric: what is best where it is greatest.

    Returns:
        None where all members diverged, or there are no levels to choose from.

    >>> answer_of(run).outcome  # two seeds
    'undecided'
    """
    values = final(run, metric)
    samples = {level: values[of_level(run, level)] for level in levels(run)}
    if len(samples) < 2 or not np.isfinite(values).any():
        return None
    found = answer(samples)
    if behind(run).any():
        known = {level: own[np.isfinite(own)] for level, own in samples.items() if np.isfinite(own).any()}
        return _undecided(found.level, known, BEHIND)
    return found


def best_in_words(found: Answer, name: Callable[[str], str] = str) -> str:
    """A few words of which level is best, which is named only if it is told apart from all others.

    ``name`` is how a level is written; of many that cannot be told apart, how many there are is said.

    >>> best_in_words(answer({"0": np.array([1.0, 1.1, 0.9]), "1": np.array([2.0, 2.1, 2.2])}))
    'best: 1'
    >>> worse, alike = np.array([0.0, 0.1, 0.2]), np.array([2.0, 2.1, 2.2])
    >>> best_in_words(answer({"0": worse, "1": alike, "free": alike + 0.01}))
    '1 and free cannot be told apart'
    >>> best_in_words(answer({"1": alike, "free": alike + 0.01})), best_in_words(answer({"1": alike[:2], "2": worse}))
    ('no level can be told from another', 'too few seeds to tell levels apart')
    """
    if found.outcome == "undecided":
        return "too few seeds to tell levels apart" if found.why == TOO_FEW else found.why
    many = len(found.alike) > NAMED and found.outcome != "not separable"
    return f"{len(found.alike)} levels cannot be told apart" if many else _which(found, name)


def sentences(found: Answer, of: str = "reward per step", name: Callable[[str], str] = str) -> list[str]:
    """What it says of a metric, in words; ``name`` is how a level is written.

    >>> sentences(answer({"0": np.array([1.0, 1.1]), "1": np.array([2.0, 2.1])}))
    ['highest mean: 1; fewer than three seeds tell no more']
    """
    if found.outcome == "undecided":
        return [f"highest mean: {name(found.level)}; {found.why}"]
    beside = "; all others are worse" if found.best is not None else ""
    lines = [f"{_which(found, name)}{beside} ({found.seeds} seeds, 95 %)"]
    if np.isfinite(found.gain):
        gain, low, high = found.gain_in_digits
        lines.append(
            f"{found.outcome}: the best diversity has {gain} {of} over a homogeneous team, "
            f"95 % interval {low} to {high}"
        )
    beaten = {FREE: ("free agents", found.p_beats_free), HOMOGENEOUS: ("a homogeneous team", found.p_beats_homogeneous)}
    told = [f"{name} {_percent(p)}" for level, (name, p) in beaten.items() if np.isfinite(p) and level != found.level]
    return [*lines, f"confidence that it beats: {', '.join(told)}"] if told else lines


def _which(found: Answer, name: Callable[[str], str]) -> str:
    if found.best is not None:
        return f"best: {name(found.best)}"
    if found.outcome == "not separable":
        return "no level can be told from another"
    *others, last = map(name, found.alike)
    return f"{', '.join(others)} and {last} cannot be told apart"


def in_digits(effect: float, low: float, high: float) -> tuple[str, str, str]:
    """An effect and its interval in as many digits as the interval is worth: two significant ones of half of it.

    They are more where an end that is not zero would read so, for its sign is what the interval says.

    >>> in_digits(0.00531, 0.000531, 0.01), in_digits(12.3, -40.2, 64.8), in_digits(1.5, 1.5, 1.5)
    (('+0.0053', '0.0005', '0.0100'), ('+12', '-40', '65'), ('+1.5', '1.5', '1.5'))
    >>> in_digits(0.0402, 0.0004, 0.08), in_digits(0.04, -1e-9, 0.08)
    (('+0.0402', '0.0004', '0.0800'), ('+0.040', '-1e-09', '0.080'))
    """
    half = (high - low) / 2
    if not (np.isfinite(half) and half > 0):
        return f"{effect:+z.4g}", f"{low:z.4g}", f"{high:z.4g}"
    worth = decimals_of(half)
    hides = [decimals for decimals in range(worth, worth + MORE) if any(_hidden(end, decimals) for end in (low, high))]
    decimals = worth + len(hides) if len(hides) < MORE else worth
    ends = (f"{end:.1g}" if _hidden(end, decimals) else f"{end:z.{decimals}f}" for end in (low, high))
    return f"{effect:+z.{decimals}f}", next(ends), next(ends)


def _hidden(end: float, decimals: int) -> bool:
    """Whether a number that is not zero reads so."""
    return end != 0 and float(f"{end:.{decimals}f}") == 0


def as_number(level: str) -> float | str:
    """A level's desired value; its text where it has none.

    >>> as_number("0.30"), as_number("free")
    (0.3, 'free')
    """
    value = _desired(level)
    return level if value is None else value


def _percent(share: float) -> str:
    """As much of it as made-up sweeps can tell.

    >>> _percent(0.5), _percent(1.0)
    ('50 %', 'over 99.9 %')
    """
    return "over 99.9 %" if share > 0.999 else f"{100 * share:.3g} %"


def _why_undecided(
    best: str, known: Mapping[str, np.ndarray], counted: Mapping[str, np.ndarray], means: Means
) -> str:  # fmt: skip
    """What is missing for an answer, in words; nothing if there is one."""
    if len(known) < 2:
        return "there is no other level to compare it with"
    if best not in counted or len(counted) < 2:
        return TOO_FEW
    return "" if (means.squared_error > 0).any() else "seeds that do not differ at all tell nothing of chance"


def _undecided(best: str, known: Mapping[str, np.ndarray], why: str) -> Answer:
    nan, seeds = np.nan, min(map(len, known.values()))
    others = [values.mean() for level, values in known.items() if level != HOMOGENEOUS]
    gain = float(max(others) - known[HOMOGENEOUS].mean()) if HOMOGENEOUS in known and others else nan
    return Answer("undecided", best, (best,), nan, nan, gain, nan, nan, nan, nan, seeds, why)


def _alike(means: Means, best: int) -> Int[np.ndarray, " some"]:
    """Levels whose distance from the best is no more than chance has it anywhere."""
    others = np.delete(np.arange(len(means.mean)), best)
    reach = np.quantile(greatest(-means.chance(best), others), CONFIDENCE)
    return np.flatnonzero(-means.over(best) <= reach * means.error(best))


def _gain(means: Means, names: list[str]) -> tuple[float, float, float]:
    """The best of the others over 0, and its interval."""
    if HOMOGENEOUS not in names:
        return np.nan, np.nan, np.nan
    none = names.index(HOMOGENEOUS)
    others = np.delete(np.arange(len(names)), none)
    diverse = Means(means.mean[others], means.squared_error[others], means.degrees[others])
    rivals = others[_alike(diverse, int(diverse.mean.argmax()))] if len(others) > 1 else others
    chance, lead, error = means.chance(none), means.over(none)[rivals], means.error(none)[rivals]
    anywhere = np.quantile(greatest(chance, rivals), CONFIDENCE)
    each = np.quantile(chance[:, rivals], CONFIDENCE, axis=0)
    return float(lead.max()), float((lead - anywhere * error).max()), float((lead + each * error).max())


def _beats(means: Means, names: list[str], rival: str) -> float:
    """How often chance alone has a smaller lead over a level than the best of the others has."""
    if rival not in names:
        return np.nan
    this = names.index(rival)
    others = np.delete(np.arange(len(names)), this)
    lead = in_errors(means.over(this)[others], means.error(this)[others]).max()
    return float((greatest(means.chance(this), others) < lead).mean())


def _outcome(alike: set[str], every: Any, little: bool) -> Outcome:
    """By the levels that cannot be told from the best, and whether the gain is surely little."""
    if alike >= set(every):
        return "homogeneous is enough" if little else "not separable"
    if HOMOGENEOUS not in every:
        return "separable"
    return "homogeneous is enough" if HOMOGENEOUS in alike else "diversity pays"


def _mean(known: Mapping[str, np.ndarray], level: str) -> float:
    return float(known[level].mean()) if level in known else np.nan


def _desired(level: str) -> float | None:
    """What a level asks for, if it is one value."""
    try:
        low, high = bounds_of(level)
    except ValueError:
        return None
    return low if low == high else None
