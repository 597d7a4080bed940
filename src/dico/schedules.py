"""Desired diversities that change with the frames: evenly, along a cosine, in steps, or as a function of yours says."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dico._checks import check_diversity
from dico._named import imported, is_name
from dico._trust import check_of_trusted, check_trusted

SCHEDULES = "'0->1@2e6', 'cos:0->1@2e6', 'step:0->0.5@1e6->1@2e6', '>=0->1@2e6', 'seek:0.4' or 'module:function'"
NUMBER = r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*"
"""Of a constraint's text."""
SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda share: share,
    "cos": lambda share: (1 - math.cos(math.pi * share)) / 2,
    "step": lambda share: 0.0,  # noqa: ARG005
}
"""How much of the way to the next value is gone, by the share of its frames."""
_TEXT = re.compile(rf"(?:(cos|step)\s*:)?\s*(>=|<=)?{NUMBER}((?:->{NUMBER}@{NUMBER})+)")
_LEG = re.compile(rf"->{NUMBER}@{NUMBER}")


@dataclass(frozen=True)
class Schedule:
    r"""Bounds as a function of frames :math:`f`: through the values :math:`v_k` at :math:`f_k`, then constant.

    .. math:: v(f) = v_k + s\Big(\frac{f-f_k}{f_{k+1}-f_k}\Big)\,(v_{k+1}-v_k), \qquad f_k \le f < f_{k+1}, f_0 = 0

    with :math:`s(x)=x`, :math:`s(x)=(1-\cos\pi x)/2` for ``cos`` and :math:`s(x)=0` for ``step``.

    >>> ramp = parse_schedule("0->1@2e6")
    >>> ramp(0), ramp(500_000), ramp(3e6)
    ((0.0, 0.0), (0.25, 0.25), (1.0, 1.0))
    """

    values: tuple[float, ...]
    frames: tuple[float, ...]
    """Where each value is reached: 0 for the first."""
    shape: str = "linear"
    bound: str = ""
    """What the value is: the diversity itself, or a bound (``>=``, ``<=``)."""

    def __post_init__(self):
        check_diversity("the values of a schedule", self.values)
        if self.frames[0] != 0 or not all(a < b < math.inf for a, b in pairwise(self.frames)):
            told = ", ".join(map(digits, self.frames[1:]))
            raise ValueError(f"the frames of a schedule must be above 0, finite and rising, got {told}")

    def __call__(self, frames: float) -> tuple[float, float]:
        """Least and greatest diversity after so many frames."""
        k = bisect_right(self.frames, frames) - 1
        value = self.values[k]
        if k + 1 < len(self.frames):
            share = (frames - self.frames[k]) / (self.frames[k + 1] - self.frames[k])
            value += SHAPES[self.shape](share) * (self.values[k + 1] - value)
        return 0.0 if self.bound == "<=" else value, math.inf if self.bound == ">=" else value

    @property
    def end(self) -> tuple[float, float]:
        """Least and greatest diversity from the last value on."""
        return self(self.frames[-1])

    @property
    def least(self) -> float:
        """The largest lower bound of all times."""
        return 0.0 if self.bound == "<=" else max(self.values)

    def __str__(self) -> str:
        shape = "" if self.shape == "linear" else f"{self.shape}:"
        legs = zip(self.values[1:], self.frames[1:], strict=True)
        return f"{shape}{self.bound}{digits(self.values[0])}" + "".join(f"->{digits(v)}@{_short(f)}" for v, f in legs)


@dataclass(frozen=True)
class Seek:
    """A diversity that begins at a value, and that a trainer then moves to where the reward is greater."""

    start: float

    frames = (0.0,)

    def __post_init__(self):
        check_diversity("the start of seek:", self.start)

    def __call__(self, frames: float) -> tuple[float, float]:
        """The start; later NaN, for what it was moved to stays."""
        value = self.start if frames == 0 else math.nan
        return value, value

    @property
    def end(self) -> tuple[float, float]:
        """The start, for where it ends is not known."""
        return self.start, self.start

    @property
    def least(self) -> float:
        """The start too."""
        return self.start

    def __str__(self) -> str:
        return f"seek:{digits(self.start)}"


@dataclass(frozen=True)
class Named:
    """A function of frames that ``module:function`` names, and that is imported when it is first called."""

    name: str

    frames = (0.0,)
    end = (0.0, math.inf)
    """Anything, for what it ends with is known to the function alone."""

    def __call__(self, frames: float) -> tuple[float, float]:
        """What the function gives after so many frames, which must be a diversity."""
        function = self._function()
        try:
            given = function(frames)
        except (Exception, SystemExit) as error:
            raise ValueError(f"schedule {self.name!r} failed after {frames:,} frames: {error!r}") from error
        value = _as_diversity(f"what schedule {self.name!r} gives after {frames:,} frames", given)
        return value, value

    def check(self, frames: Iterable[float]) -> None:
        """An error unless it gives a diversity at each of these times."""
        for each in frames:
            self(each)

    @property
    def least(self) -> float:
        """What it begins with."""
        return self(0)[0]

    def _function(self) -> Callable[[float], Any]:
        found = imported("schedule", self.name)
        if not callable(found):
            raise ValueError(f"schedule {self.name!r} must be a function of frames, got {found!r}")
        return found

    def __str__(self) -> str:
        return self.name


def _as_diversity(what: str, value: Any) -> float:
    """A number of whatever library as a diversity."""
    with suppress(AttributeError, RuntimeError, TypeError, ValueError):  # not one number of a library: told below
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} must be a number, got {value!r}")
    check_diversity(what, value)
    return float(value)


def check_known_schedules(texts: Iterable[str]) -> None:
    """An error if one of a folder's constraints is a function of a module that nobody has named."""
    for name in (text.strip() for text in texts):
        if is_name(name):
            check_trusted("schedule", name)
            check_of_trusted("schedule", name, imported("schedule", name))


def parse_schedule(text: str) -> Schedule | Seek | Named:
    """Read a value, then each next one with the frames at which it is reached; ``cos:`` or ``step:`` says how.

    ``seek:0.4`` begins at 0.4 and goes where the reward is greater (the population trainer moves it). Of
    ``module:function`` nothing is imported here.

    >>> str(parse_schedule("step: 0 -> .5 @ 1e6 -> 1 @ 2e6")), parse_schedule("seek: .4"), parse_schedule("mine:rising")
    ('step:0->0.5@1e6->1@2e6', Seek(start=0.4), Named(name='mine:rising'))
    """
    if is_name(text.strip()):
        return Named(text.strip())
    text = text.strip().lower()
    if found := re.fullmatch(rf"seek\s*:{NUMBER}", text):
        return Seek(float(found[1]))
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"a schedule must be such as {SCHEDULES}, in a shell in quotes, got {text!r}")
    legs = [(float(value), float(frames)) for value, frames in _LEG.findall(found[4])]
    values, frames = zip((float(found[3]), 0.0), *legs, strict=True)
    return Schedule(values, frames, found[1] or "linear", found[2] or "")


def is_scheduled(text: str) -> bool:
    """Whether a constraint's text is meant as one that changes.

    >>> is_scheduled("0->1@2e6"), is_scheduled("seek:0.4"), is_scheduled("mine:rising"), is_scheduled(">=1")
    (True, True, True, False)
    """
    if is_name(text.strip()):
        return True
    return "->" in text or is_seeking(text) or text.endswith("-")  # a shell takes what follows for a file's name


def is_seeking(text: str) -> bool:
    """Whether a constraint's text is meant as one that goes where the reward is greater.

    >>> is_seeking("seek:0.4"), is_seeking("0->1@2e6")
    (True, False)
    """
    return text.strip().lower().startswith("seek") and not is_name(text.strip())


def digits(x: float) -> str:
    """As many digits as tell the number apart from all others."""
    return repr(x).removesuffix(".0")


def _short(x: float) -> str:
    """The same, with an exponent where that is shorter.

    >>> _short(2e6), _short(60_000.0), _short(1_234_567.0)
    ('2e6', '60000', '1234567')
    """
    short = re.sub(r"e\+?0*", "e", f"{x:g}")
    return short if float(short) == x else digits(x)
