"""Student's distribution, from the standard library alone: intervals need it, in analysis and in the closed loop."""

import math
from functools import cache
from itertools import accumulate

STEPS = 10_000
"""Of the numerical integral."""


@cache
def student_quantile(degrees: float, confidence: float = 0.95) -> float:
    r"""How far from 0 Student's distribution reaches with so much confidence: at 95 %, its 97.5 % quantile.

    With :math:`t=\sqrt\nu\tan\theta` its density is proportional to :math:`\cos^{\nu-1}\theta`.

    >>> [round(student_quantile(degrees), 3) for degrees in (1, 3, 30)]
    [12.706, 3.182, 2.042]
    >>> round(student_quantile(4, 0.99), 3)
    4.604
    """
    width = math.pi / 2 / STEPS
    below = list(accumulate(math.cos((k + 0.5) * width) ** (degrees - 1) for k in range(STEPS)))
    wanted = confidence * below[-1]
    k = next(k for k, area in enumerate(below) if area >= wanted)
    before = below[k - 1] if k else 0.0
    return math.sqrt(degrees) * math.tan((k + (wanted - before) / (below[k] - before)) * width)
