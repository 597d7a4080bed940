r"""What diversity is wanted: the function g from measured to desired diversity (Discussion, inequality constraints)."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dico._checks import Precise, Value, check_diversity, check_number, float64, numbers, to_list
from dico._trust import trust_named
from dico.schedules import NUMBER, Named, Schedule, Seek, digits, is_scheduled, parse_schedule

FORMS = "'0.3', '>=0.3', '<=0.5', '0.2..0.5', '0->1@2e6', 'module:function' or 'free'"


class Constraint(Precise):
    r""":math:`g(x)=\mathrm{clamp}(x, lo, hi)`, with ``lo`` and ``hi`` as buffers of any broadcastable shape.

    Equal, bounded and free members live in one batch because each is only a pair of numbers. They are kept in float64
    so that a float64 policy meets them exactly (a device without float64 needs ``.float()`` first).
    Make one with :func:`equal`, :func:`at_least`, :func:`at_most`, :func:`between`, :func:`free` or
    :func:`scheduled`.

    Args:
        lo: the least diversity, at least 0; a number, or one for each member.
        hi: the greatest; infinity is no bound.

    >>> between(0.2, [0.5, 0.9])(torch.tensor([0.1, 1.0]))
    tensor([0.2000, 0.9000])
    """

    lo: Float[Tensor, "*members"]
    hi: Float[Tensor, "*members"]

    def __init__(self, lo: Value, hi: Value):
        super().__init__()
        check_diversity("lo", lo)
        if not all(x >= 0 for x in numbers("hi", hi)):
            raise ValueError(f"hi must be at least 0, got {to_list(hi)}")
        try:
            bounds = torch.broadcast_tensors(float64(lo), float64(hi))
        except RuntimeError:
            raise ValueError(
                f"lo and hi must hold as many members, got lo={to_list(lo)} and hi={to_list(hi)}"
            ) from None
        both_numbers = isinstance(lo, int | float) and isinstance(hi, int | float)
        if lo > hi if both_numbers else (bounds[0] > bounds[1]).any():  # pyright: ignore[reportOperatorIssue]
            raise ValueError(f"lo must not exceed hi, got lo={to_list(lo)} and hi={to_list(hi)}")
        self.least = max(numbers("lo", lo))
        """The largest lower bound among the members, when made; of schedules at any time."""
        self.schedules: tuple[Timed | None, ...] = (None,) * math.prod(bounds[0].shape)
        """Of each member, how its bounds change with the frames, if they do."""
        self.register_buffer("lo", bounds[0].clone())
        self.register_buffer("hi", bounds[1].clone())

    def at_(self, frames: float) -> "Constraint":
        """Desire what the schedules say after so many frames, from now on; what has none stays.

        Bounds are written in place: compiled passes and captured graphs see them, and nothing waits for the device.

        Args:
            frames: environment steps so far, of each member.

        Returns:
            The constraint itself.

        >>> ramp = parse_constraint("0->1@2e6")
        >>> ramp(torch.tensor(0.7)), ramp.at_(500_000)(torch.tensor(0.7))
        (tensor(0.), tensor(0.2500))
        """
        check_number("frames", frames, 0)
        if any(self.schedules):
            now = [(math.nan, math.nan) if each is None else each(frames) for each in self.schedules]
            bounds = torch.tensor(now, dtype=self.lo.dtype).T.reshape(2, *self.lo.shape)
            for bound, new in zip((self.lo, self.hi), bounds.to(self.lo.device, non_blocking=True), strict=True):
                bound.copy_(torch.where(new.isnan(), bound, new))
        return self

    def start(self) -> Float[Tensor, "*members"]:
        """A diversity that is left as it is: the lower bound, or else the upper one, or else 1.

        A bound of 0 is none: there is nothing to divide by, should it rise later on.
        """
        return torch.where(self.lo > 0, self.lo, torch.where(self.hi.isfinite() & (self.hi > 0), self.hi, 1.0))

    def forward(self, x: Float[Tensor, "*batch"]) -> Float[Tensor, "*broadcast"]:
        """Desired diversity for a measured one; at a bound the bound wins, so ``equal`` has no slope anywhere.

        Args:
            x: the measured diversity.

        Returns:
            The nearest that is within the bounds.
        """
        lo, hi = self.lo.to(x.dtype), self.hi.to(x.dtype)
        return torch.where(x <= lo, lo, torch.where(x >= hi, hi, x))

    def let_inside(self, scale: Float[Tensor, "*batch"], x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        r"""The scale :math:`s` that ``x`` gives, with a gradient under which a bound stays a bound.

        The scale undoes the length of the deviations, and where its gradient is followed in full nothing moves that
        length: outside the bounds an inequality would hold as an equality. So it is dropped where the loss pulls back
        within them, above the upper bound with :math:`\partial L/\partial s>0` and below the lower with
        :math:`\partial L/\partial s<0`: there the deviations shrink or grow until they need no scale. An equality has
        no inside, and its gradient stays as it is.

        Args:
            scale: s.
            x: the measured diversity.

        Returns:
            The same scale.
        """
        if not x.requires_grad:
            return scale
        lo, hi = self.lo.to(x.dtype), self.hi.to(x.dtype)
        bounds = lo < hi
        return let_inward(scale, bounds & (x >= hi), bounds & (x <= lo))

    def texts(self) -> list[str]:
        """One text for each member, as :func:`parse_constraint` reads it.

        >>> stack_constraints([equal(0.3), at_most(0.5), free()]).texts()
        ['0.3', '<=0.5', 'free']
        """
        bounds = zip(self.schedules, self.lo.flatten().tolist(), self.hi.flatten().tolist(), strict=True)
        return [_text(lo, hi) if each is None else str(each) for each, lo, hi in bounds]

    def extra_repr(self) -> str:
        return ", ".join(self.texts())


@dataclass(frozen=True)
class _Function:
    """A schedule that a user wrote."""

    of_frames: "Callable[[float], Constraint | str | float]"

    @property
    def least(self) -> float:
        return self(0)[0]

    def __call__(self, frames: float) -> tuple[float, float]:
        now = as_goal(self.of_frames(frames))
        if not isinstance(now, Constraint) or now.lo.ndim or any(now.schedules):
            raise ValueError(f"a schedule must give a number or a constraint such as at_least(0.3), got {now!r}")
        return now.lo.item(), now.hi.item()

    def __str__(self) -> str:
        return f"{getattr(self.of_frames, '__name__', 'function')}(frames)"


Timed = Schedule | Seek | Named | _Function
"""How bounds change with the frames, as a text tells or as a function."""


Goal = Constraint | Callable[[Tensor], Tensor]
"""A constraint, or any continuous function g from measured to desired diversity."""


def equal(x: Value) -> Constraint:
    """Diversity is exactly ``x``: :math:`g(s)=x`.

    Args:
        x: at least 0; a number, or one for each member.

    Returns:
        The constraint, to hand to a policy.

    References:
        Bettini et al., ICML 2024: eq:scaled_policies.

    >>> equal(0.3)(torch.tensor(2.0))
    tensor(0.3000)
    """
    check_diversity("x", x)
    return Constraint(x, x)


def at_least(x: Value) -> Constraint:
    r"""Diversity is ``x`` or more: :math:`g(s)=\max(s, x)`.

    Args:
        x: at least 0; a number, or one for each member.

    Returns:
        The constraint, to hand to a policy.

    References:
        Bettini et al., ICML 2024: Discussion.

    >>> at_least(0.3)(torch.tensor([0.1, 2.0]))
    tensor([0.3000, 2.0000])
    """
    check_diversity("x", x)
    return Constraint(x, torch.inf)


def at_most(x: Value) -> Constraint:
    r"""Diversity is ``x`` or less: :math:`g(s)=\min(s, x)`.

    Args:
        x: at least 0; a number, or one for each member.

    Returns:
        The constraint, to hand to a policy.

    References:
        Bettini et al., ICML 2024: Discussion.

    >>> at_most(0.3)(torch.tensor([0.1, 2.0]))
    tensor([0.1000, 0.3000])
    """
    check_diversity("x", x)
    return Constraint(0.0, x)


def between(lo: Value, hi: Value) -> Constraint:
    """Diversity is left alone within ``[lo, hi]`` and brought to the nearer end from outside.

    Args:
        lo: the least diversity; a number, or one for each member.
        hi: the greatest.

    Returns:
        The constraint, to hand to a policy.

    References:
        Bettini et al., ICML 2024: Discussion.

    >>> between(0.2, 0.5)(torch.tensor([0.1, 0.3, 2.0]))
    tensor([0.2000, 0.3000, 0.5000])
    """
    check_diversity("hi", hi)
    return Constraint(lo, hi)


def free() -> Constraint:
    """No control: :math:`g(s)=s`, the unscaled policies of eq:unscaled_policies.

    Returns:
        The constraint, to hand to a policy.

    References:
        Bettini et al., ICML 2024: eq:unscaled_policies.

    >>> free()(torch.tensor(2.0))
    tensor(2.)
    """
    return Constraint(0.0, torch.inf)


def scheduled(of_frames: "Schedule | Seek | Named | Callable[[float], Constraint | str | float]") -> Constraint:
    """What is desired changes with the frames: a :class:`~dico.schedules.Schedule`, or any function of frames.

    A function gives the desired diversity, or a constraint for bounds. ``constraint.at_(frames)``, once before each
    batch, moves it on.

    Args:
        of_frames: a schedule, or a function of the frames so far that gives a number, a text or a constraint.

    Returns:
        The constraint, with the values of 0 frames.

    >>> rising = scheduled(lambda frames: at_least(min(frames / 2e6, 1)))
    >>> rising.at_(1e6)(torch.tensor([0.1, 2.0]))
    tensor([0.5000, 2.0000])
    """
    if not callable(of_frames) or isinstance(of_frames, Constraint):
        raise ValueError(f"of_frames must be a function of frames, got {of_frames!r}")
    schedule = of_frames if isinstance(of_frames, Schedule | Seek | Named) else _Function(of_frames)
    return _follow(Constraint(*schedule(0)), [schedule], schedule.least)


def _follow(constraint: Constraint, schedules: Sequence[Timed | None], least: float) -> Constraint:
    constraint.schedules, constraint.least = tuple(schedules), least
    return constraint


def uncontrolled(n_agents: int) -> Constraint:
    """The constraint of a group that none is wished for: free, or for a lone agent 0, as the original's.

    A lone agent's deviation makes it no different from anyone; with a desired 0 its shared network acts alone, whose
    squashed mean stays in the action box.

    >>> uncontrolled(2), uncontrolled(1)
    (Constraint(free), Constraint(0))
    """
    return free() if n_agents > 1 else equal(0.0)


def stack_constraints(constraints: Sequence[Constraint]) -> Constraint:
    """One constraint for a population, a member each.

    Args:
        constraints: one for each member, schedules among them.

    Returns:
        One constraint whose bounds have a leading dimension.

    >>> stack_constraints([equal(0.0), equal(1.0), free()])(torch.full((3,), 0.4))
    tensor([0.0000, 1.0000, 0.4000])
    """
    if not isinstance(constraints, Sequence):
        raise ValueError(f"constraints must be a sequence of constraints, got {constraints!r}")
    if not constraints:
        raise ValueError("constraints must hold at least one constraint, got an empty sequence")
    if any(not isinstance(c, Constraint) or c.lo.ndim for c in constraints):
        raise ValueError(f"constraints must be of one member each, got {list(constraints)}")
    stacked = Constraint(torch.stack([c.lo for c in constraints]), torch.stack([c.hi for c in constraints]))
    return _follow(stacked, [c.schedules[0] for c in constraints], max(c.least for c in constraints))


def parse_constraint(text: str) -> Constraint:
    """Read ``0.3``, ``>=0.3``, ``<=0.5``, ``0.2..0.5``, ``free``, or a schedule such as ``0->1@2e6``.

    That one rises from 0 to 1 over 2e6 frames and stays there. A schedule may pass through more values, along a cosine
    or in steps (:func:`~dico.schedules.parse_schedule`), or be a function of frames, ``module:function``, which is
    imported, and trusted from then on (:func:`dico.tasks.trust`): a text of somebody else's goes to :func:`canonical`.

    Args:
        text: as ``--snd`` takes it.

    Returns:
        The constraint; a text that is none raises an error with all forms.

    >>> parse_constraint("0.2..0.5").texts(), parse_constraint("cos:0->1@2e6").texts()
    (['0.2..0.5'], ['cos:0->1@2e6'])
    """
    if not isinstance(text, str):
        raise ValueError(f"text must be a constraint such as {FORMS}, got {text!r}")
    text = text.strip()
    if is_scheduled(text):
        schedule = parse_schedule(text)
        if isinstance(schedule, Named):
            trust_named(schedule.name)
        return scheduled(schedule)
    text = text.lower()
    if text == "free":
        return free()
    if found := re.fullmatch(rf"(>=|<=)?{NUMBER}", text):
        make = {None: equal, ">=": at_least, "<=": at_most}[found[1]]
        return make(float(found[2]))
    if found := re.fullmatch(rf"{NUMBER}\.\.{NUMBER}", text):
        return between(float(found[1]), float(found[2]))
    raise ValueError(f"text must be a constraint such as {FORMS}, got {text!r}")


def canonical(text: str) -> str:
    """A constraint's text as members have it; an error if it is none. Nothing is imported for it.

    >>> canonical("0.30"), canonical("-0"), canonical("0 -> 1 @ 2000000"), canonical("mine:rising")
    ('0.3', '0', '0->1@2e6', 'mine:rising')
    """
    scheduled_text = isinstance(text, str) and is_scheduled(text)
    return str(parse_schedule(text)) if scheduled_text else parse_constraint(text).texts()[0]


def final_bounds(text: str) -> tuple[float, float]:
    """Least and greatest diversity that a constraint allows; of a schedule, in the end.

    >>> final_bounds("0.3"), final_bounds(">=0.3"), final_bounds("0->1@2e6")
    ((0.3, 0.3), (0.3, inf), (1.0, 1.0))
    """
    if is_scheduled(text):
        return parse_schedule(text).end
    constraint = parse_constraint(text)
    return constraint.lo.item(), constraint.hi.item()


def order(text: str) -> tuple[bool, float, float, float, str]:
    """A key that sorts constraints by diversity: by the value, the only bound or the middle of two; free last.

    A schedule stands after the constraint that it ends with, and before free where nobody knows that.

    >>> sorted(["free", "mine:rising", "0->1@2e6", "1", ">=0.3", "<=0.5", "0"], key=order)
    ['0', '>=0.3', '<=0.5', '1', '0->1@2e6', 'mine:rising', 'free']
    """
    low, high = final_bounds(text)
    ends = [end for end in (low, high) if 0 < end < torch.inf] or [0.0 if high == 0 else torch.inf]
    moves = is_scheduled(text)
    return (low, high) == (0, torch.inf) and not moves, sum(ends) / len(ends), low, high, text if moves else ""


def as_goal(constraint: Goal | str | float) -> Goal:
    """A constraint from a number (equal to it) or a text; a callable g stays as it is.

    >>> as_goal(0.3), as_goal(">=0.3")
    (Constraint(0.3), Constraint(>=0.3))
    """
    if callable(constraint):
        return constraint
    return parse_constraint(constraint) if isinstance(constraint, str) else equal(constraint)


def let_inward(
    scale: Float[Tensor, "*batch"], above: Bool[Tensor, "*batch"], below: Bool[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """The scale itself, through which no gradient pulls back inside the bounds that it is ``above`` or ``below``.

    >>> scale = torch.ones(2, requires_grad=True)
    >>> let_inward(scale, above=torch.tensor([True, False]), below=torch.tensor([False, False])).sum().backward()
    >>> scale.grad
    tensor([0., 1.])
    """
    return _Inward.apply(scale, above, below)  # pyright: ignore[reportReturnType]


class _Inward(torch.autograd.Function):
    """The identity, whose gradient is dropped where it is positive and ``above``, or negative and ``below``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scale: Tensor, above: Tensor, below: Tensor) -> Tensor:  # noqa: ARG004
        return scale.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        above, below = ctx.saved_tensors
        inward = (above & (gradient > 0)) | (below & (gradient < 0))
        return torch.where(inward, 0.0, gradient), None, None


def _text(lo: float, hi: float) -> str:
    lo, hi = lo + 0.0, hi + 0.0  # -0 is 0
    if lo == hi:
        return digits(lo)
    if hi == torch.inf:
        return "free" if lo == 0 else f">={digits(lo)}"
    return f"<={digits(hi)}" if lo == 0 else f"{digits(lo)}..{digits(hi)}"
