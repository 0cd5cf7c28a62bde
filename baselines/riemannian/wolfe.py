"""A line search for Wolfe's conditions along a retraction, for conjugate gradients and quasi-Newton directions.

With the trial point c(t) = R_X(t Z), f(t) its cost, and s(t) = <w(c(t)), Z> the slope along the transported direction
(the same number that enters Dai and Yuan's quotient, and no projection is needed for it), a step is accepted if

    f(t) - f(0) <= sufficient t s(0)    and    |s(t)| <= curvature |s(0)|.

Where f(t) and f(0) differ by no more than rounding, f(t) - f(0) is replaced by t (s(0) + s(t))/2, which is exact to
third order: the first condition then reads s(t) <= (2 sufficient - 1) s(0), the approximate Wolfe condition of Hager
and Zhang [2005], and the search works down to gradients of the size of rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from baselines.riemannian.run import Iterate
from genorth.errors import StepTooLong
from genorth.linalg.arrays import Array
from genorth.solve.descent import NoStep

_NOISE = 1e3 * 2.0**-52  # costs that differ by less, relative, are compared through the slopes
_TRIALS = 40


@attrs.frozen
class Conditions:
    """The constants of the two conditions."""

    sufficient: float = 1e-4
    curvature: float = 0.9


@attrs.frozen(eq=False)
class _End:
    """One end of the bracket: t, and s(t) where it is known."""

    t: float
    slope: float


def search(
    point: Iterate,
    Z: Array,
    slope: float,
    t: float,
    step: Callable[[float], Iterate],
    conditions: Conditions,
) -> tuple[Iterate, float]:
    """An acceptable step along Z, from the first trial t on; slope = s(0) < 0.

    Raises `NoStep` where not even the cost decreases. Where the slopes contradict the costs (they
    belong to the transport and not to the retraction) the longest step that keeps the first
    condition is taken.
    """
    low, high, best = _End(0.0, slope), _End(math.inf, math.nan), None
    for _ in range(_TRIALS):
        try:
            trial = step(t)
        except StepTooLong:
            high = _End(t, math.nan)
            t = low.t + (high.t - low.t) / 2
            continue
        s = trial.slope(Z)
        enough = difference(point, trial, t * slope, t * s) <= conditions.sufficient * t * slope
        if enough and abs(s) <= -conditions.curvature * slope:
            return trial, t
        if enough and s < 0:
            previous, low, best = low, _End(t, s), (trial, t)
            t = _between(low, high) if math.isfinite(high.t) else _beyond(previous, low)
        else:
            if enough:
                best = (trial, t)
            high = _End(t, s)
            t = _between(low, high)
        if not low.t < t < high.t:
            break
    if best is None:
        raise NoStep
    return best


def difference(point: Iterate, trial: Iterate, before: float, after: float) -> float:
    """f(trial) - f(point); from the slopes of the step at its two ends where it is rounding."""
    change = trial.value - point.value
    if abs(change) <= _NOISE * max(abs(trial.value), abs(point.value)):
        return (before + after) / 2
    return change


def _between(low: _End, high: _End) -> float:
    """The zero of the secant of the slopes, or the middle where they have the same sign.

    Away from both ends.
    """
    width = high.t - low.t
    share = -low.slope / (high.slope - low.slope) if high.slope > 0 else 0.5
    return low.t + min(max(share, 0.05), 0.95) * width


def _beyond(previous: _End, low: _End) -> float:
    """The zero of the secant, extrapolated; between twice and ten times the last step."""
    rise = low.slope - previous.slope
    ahead = -low.slope * (low.t - previous.t) / rise if rise > 0 else math.inf
    return low.t + min(max(ahead, low.t), 9 * low.t)
