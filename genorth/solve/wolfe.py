"""A line search for the strong Wolfe conditions, along any curve: a straight line, or a retraction.

f(t) <= f(0) + c1 t f'(0) and |f'(t)| <= c2 |f'(0)|, by bracketing and cubic interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from genorth.errors import StepTooLong
from genorth.solve.descent import NoStep

_TRIALS = 40
_EXPANSION = 4.0


@attrs.frozen
class _Trial:
    t: float
    value: float
    slope: float


def strong_wolfe(
    curve: Callable[[float], tuple[float, float]],
    value: float,
    slope: float,
    step: float = 1.0,
    c1: float = 1e-4,
    c2: float = 0.9,
) -> float:
    """A step t that keeps both conditions.

    curve(t) gives f and its derivative, value and slope are those at 0.

    A trial outside the domain or with a value that is not finite counts as too long. The last call
    of `curve` is always the one at the step returned. Raises `NoStep` where rounding leaves none.
    """
    start = low = _Trial(0.0, value, slope)
    high: _Trial | None = None
    t = step
    for _ in range(_TRIALS):
        trial = _evaluated(curve, t)
        if not trial.value <= value + c1 * t * slope or (
            low is not start and trial.value >= low.value
        ):
            high = trial
        elif abs(trial.slope) <= -c2 * slope:
            return t
        else:
            beyond = trial.slope > 0 if high is None else trial.slope * (high.t - low.t) >= 0
            if beyond:
                high = low
            low = trial
        t = _EXPANSION * low.t if high is None else _between(low, high)
        if high is not None and abs(high.t - low.t) <= 1e-14 * max(high.t, low.t):
            break
    if low.t > 0:
        curve(low.t)  # sufficient decrease at least, where rounding hides the slope
        return low.t
    raise NoStep


def _evaluated(curve: Callable[[float], tuple[float, float]], t: float) -> _Trial:
    try:
        value, slope = curve(t)
    except StepTooLong:
        value, slope = math.inf, math.nan
    return _Trial(t, value if math.isfinite(value) else math.inf, slope)


def _between(low: _Trial, high: _Trial) -> float:
    """The minimiser of the cubic through both ends, kept away from them.

    The middle where there is none.
    """
    width = high.t - low.t
    share = 0.5
    if math.isfinite(high.value) and math.isfinite(high.slope):
        theta = 3 * (low.value - high.value) / width + low.slope + high.slope
        square = theta * theta - low.slope * high.slope
        if square >= 0:
            root = math.copysign(math.sqrt(square), width)
            denominator = high.slope - low.slope + 2 * root
            if denominator != 0:
                share = 1 - (high.slope + root - theta) / denominator
    return (
        low.t + min(max(share, 0.1), 0.9) * width if math.isfinite(share) else low.t + 0.5 * width
    )
