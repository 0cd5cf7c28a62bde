"""The line search: Wolfe's strong conditions along any curve, a straight line or a retraction.

With f(t) the cost at c(t) and s(t) its derivative, a step t is accepted if

    f(t) - f(0) <= sufficient t s(0)    and    |s(t)| <= curvature |s(0)|.

Where f(t) and f(0) differ by no more than rounding, f(t) - f(0) is replaced by t (s(0) + s(t))/2,
which is exact to third order. The first condition then reads s(t) <= (2 sufficient - 1) s(0), the
approximate Wolfe condition [hager2005new], and the search works down to gradients of the size of
rounding.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import attrs

from genorth.errors import StepTooLong
from genorth.solve.descent import NoStep

_DOUBLE = 2.0**-52
# units of roundoff: costs that differ by less, relative, are compared through the slopes
_NOISE = 1e3
_TRIALS = 40
_EDGE = 0.05  # of the bracket: no trial is nearer to an end

_T = TypeVar("_T")


@attrs.frozen
class Conditions:
    """The constants of the two conditions.

    Args:
        sufficient: Share of the decrease along the tangent that a step must make.
        curvature: Share of the slope at 0 that may be left at its end.
    """

    sufficient: float = 1e-4
    curvature: float = 0.9


class _End(NamedTuple):
    """One end of the bracket: t, f(t) and s(t), NaN where they are not known."""

    t: float
    value: float = math.nan
    slope: float = math.nan


_NOWHERE = _End(math.inf)


def strong_wolfe(
    curve: Callable[[float], tuple[float, float, _T]],
    value: float,
    slope: float,
    step: float = 1.0,
    conditions: Conditions | None = None,
    unit: float = _DOUBLE,
) -> tuple[_T, float]:
    """Search for a step that keeps both conditions.

    A trial outside the domain, or with a cost that is not finite, is too long. Where the slopes
    contradict the costs, the last trial that keeps the first condition is taken.

    Args:
        curve: t -> f(t), s(t), and what is to be returned for that t; it may raise
            `StepTooLong`.
        value: f(0).
        slope: s(0) < 0.
        step: The first trial.
        conditions: The constants.
        unit: The unit roundoff of the costs.

    Returns:
        What `curve` gave at the step, and the step.

    Raises:
        NoStep: If no trial decreases the cost.
    """
    chosen = Conditions() if conditions is None else conditions
    low = previous = _End(0.0, value, slope)
    high, t = _NOWHERE, step
    best: tuple[_T, float] | None = None
    for _ in range(_TRIALS):
        try:
            f, s, trial = curve(t)
        except StepTooLong:
            f = math.inf
        if not math.isfinite(f):
            high = _End(t)
        else:
            change = difference(value, f, t * slope, t * s, unit)
            enough = change <= chosen.sufficient * t * slope
            if enough:
                best = trial, t
                if abs(s) <= -chosen.curvature * slope:
                    return best
            if enough and s < 0:
                low, previous = _End(t, f, s), low
            else:
                high = _End(t, f, s)
        t = _between(low, high, unit) if math.isfinite(high.t) else _beyond(previous, low)
        if not low.t < t < high.t:
            break
    if best is None:
        raise NoStep
    return best


def in_noise(value: float, other: float, unit: float = _DOUBLE) -> bool:
    """Whether two costs differ by no more than rounding."""
    return abs(value - other) <= _NOISE * unit * max(abs(value), abs(other))


def noise_unit(noise: float, value: float, unit: float) -> float:
    """The unit with which `in_noise` holds for costs that differ by this noise, or by rounding."""
    return max(unit, noise / (_NOISE * max(abs(value), sys.float_info.min)))


def parabola_slope(value: float, slope: float, t: float, other: float) -> float:
    """The slope at t of the parabola with this value and slope at 0 and the value `other` at t.

    s(t) = 2 (f(t) - f(0)) / t - s(0)
    """
    return 2 * (other - value) / t - slope


def difference(
    value: float, other: float, before: float, after: float, unit: float = _DOUBLE
) -> float:
    """other - value; where it is rounding, from the slopes of the step at its two ends.

    Args:
        value: The cost at the beginning of the step.
        other: The cost at its end.
        before: The derivative along the step at its beginning.
        after: The derivative along the step at its end.
        unit: The unit roundoff of the costs.

    Returns:
        The difference, or (before + after)/2.
    """
    return (before + after) / 2 if in_noise(value, other, unit) else other - value


def _between(low: _End, high: _End, unit: float) -> float:
    """The zero of the secant of the slopes; where that is at an end, the minimiser of the cubic.

    Or the middle, where there is neither; always away from the ends.
    """
    width, share = high.t - low.t, 0.5
    if high.slope > 0:
        share = -low.slope / (high.slope - low.slope)
    inside = high.slope > 0 and _EDGE <= share <= 1 - _EDGE
    if not inside and not in_noise(low.value, high.value, unit):
        theta = 3 * (low.value - high.value) / (width or math.nan) + low.slope + high.slope
        root = math.sqrt(max(theta * theta - low.slope * high.slope, 0.0))
        share = 1 - (high.slope + root - theta) / ((high.slope - low.slope + 2 * root) or math.nan)
    return low.t + (min(max(share, _EDGE), 1 - _EDGE) if math.isfinite(share) else 0.5) * width


def _beyond(previous: _End, low: _End) -> float:
    """The zero of the secant of the slopes, extrapolated; two to ten times the last step."""
    rise = low.slope - previous.slope
    ahead = -low.slope * (low.t - previous.t) / rise if rise > 0 else math.inf
    return low.t + min(max(ahead, low.t), 9 * low.t)
