"""How near the measured diversity comes to the desired one."""

import numpy as np
from jaxtyping import Float

from dico.analysis.measured import curves
from dico.analysis.members import FREE, bounds_of, controlled_metric, over_box
from dico.runs import Run
from dico.schedules import is_scheduled


def tracking_error(run: Run) -> Float[np.ndarray, "members iterations"]:
    r"""How far the measured diversity is from the desired one, relative to that: :math:`|SND - SND_{des}| / SND_{des}`.

    Of a constraint with bounds it is how far the measured value lies outside, relative to the bound it missed. A
    desired 0 has nothing to be relative to, so there it is the measured value itself. Free desires nothing: NaN. It is
    each member's own desired diversity that counts, whatever level it is of, and of a schedule that of each batch.
    Under analytical control it is the diversity over the box that is desired, and measured.

    Args:
        run: with metrics.

    Returns:
        A row for each member.
    """
    measured = curves(run, "snd_box" if over_box(run) else controlled_metric(run))
    desired = scheduled_values(run)
    error = np.full_like(measured, np.nan)
    for member in run.members:
        k = member.index
        if is_scheduled(member.constraint):
            error[k] = relative_distance(measured[k], desired[k])
        elif member.constraint != FREE:
            error[k] = relative_error(measured[k], member.constraint)
    return error


def scheduled_values(run: Run) -> Float[np.ndarray, "members iterations"]:
    """What each member desired of each batch, if that follows a schedule; NaN of others.

    >>> bool(np.isnan(scheduled_values(run)).all())
    True
    """
    if any("desired" in row for row in run.rows()):
        return curves(run, "desired")
    return np.full_like(curves(run, controlled_metric(run)), np.nan)


def relative_error(measured: Float[np.ndarray, "*shape"], constraint: str) -> Float[np.ndarray, "*shape"]:
    """The error of :func:`tracking_error` for one constraint.

    >>> relative_error(np.array([0.2, 0.3, 0.6]), "0.2..0.5").round(4).tolist()
    [0.0, 0.0, 0.2]
    """
    low, high = bounds_of(constraint)
    return relative_distance(measured, np.clip(measured, low, high))


def relative_distance(
    measured: Float[np.ndarray, "*shape"], desired: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """How far measured values are from desired ones, relative to these; from a desired 0 as it is.

    >>> relative_distance(np.array([0.2, 0.3]), np.array([0.4, 0.0])).tolist()
    [0.5, 0.3]
    """
    return np.abs(measured - desired) / np.where(desired > 0, desired, 1.0)
