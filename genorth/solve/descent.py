"""`gd`: Barzilai-Borwein descent [barzilai1988two], nonmonotone search [zhang2004nonmonotone].

`descend` is the loop itself, which infeasible methods use too, with the constants of OptM
[wen2013feasible].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs

from genorth.errors import StepTooLong
from genorth.linalg.arrays import Array, eps, inners, number
from genorth.linalg.compiled import Owner, compiled

if TYPE_CHECKING:
    from genorth.solve import run as runs


class Iterate(Protocol):
    """A point of the descent."""

    @property
    def X(self) -> Array:
        """Where it is."""

    @property
    def value(self) -> float:
        """The cost."""

    @property
    def gradient(self) -> Array:
        """The gradient, or another direction d of the step -t d."""

    @property
    def decrease(self) -> float:
        """<grad f, d>: |d|^2 where d is the gradient."""


#: d and <grad f, d> where the step is -t d and d is not the gradient.
Direction = tuple[Array, float]
_P = TypeVar("_P", bound=Iterate)


@attrs.frozen
class Settings:
    """The constants of the line search (those of OptM).

    Args:
        first_step: The first t.
        sufficient: Share of the decrease along the gradient that a step must make.
        backtracking: Factor by which a rejected step is shortened.
        outside: Factor by which a step outside the domain is shortened.
        trials: From this one on a rise is accepted too, up to what the slope accounts for.
        averaging: Weight of the past in the average of the costs; 0 makes the search monotone.
        shortest: The smallest t.
        longest: The largest t.
        blind: Whether any rise is accepted from the last trial on.
    """

    first_step: float = 1e-3
    sufficient: float = 1e-4
    backtracking: float = 0.1
    outside: float = 0.5
    trials: int = 5
    averaging: float = 0.85
    shortest: float = 1e-20
    longest: float = 1e20
    blind: bool = False


_HALVINGS = 60  # from the longest step that makes sense down to rounding
_RISE = 2.0  # times t |grad f|^2: more is not the slope, however wrong its sign may be
_NOISE = 16.0  # units of roundoff: smaller differences of values, relative, are rounding


class NoStep(Exception):
    """No step along the negative gradient leads to an acceptable value."""


def gd(run: runs.Run, settings: Settings | None = None) -> None:
    """Gradient descent on the places of a run.

    With a preconditioner M^-1 the step is -t d, d = P_X M^-1 g, and t is that of the variables in
    which M is the identity: <S,MS>/|<S,Y>|, with M S = -t g at the last point, or
    |<S,Y>|/<Y,M^-1 Y>, where M^-1 Y is the difference of the d.

    Args:
        run: The run.
        settings: The constants. Default: those of OptM, with the first step of the run.
    """
    own = None if run.preconditioner is None else lru_cache(maxsize=2)(run.steepest)

    def direction(point: runs.Iterate) -> Array:
        return point.gradient if own is None else own(point)[0]

    def chosen(first: runs.Iterate) -> Settings:
        step = run.first_step(first, direction(first))
        return Settings(first_step=step, outside=run.outside)

    def line(point: runs.Iterate) -> Callable[[float], runs.Iterate]:
        return run.line(point, direction(point))

    told = run.monitor.searched
    with suppress(NoStep):  # the first iterate is in no variable here: it would be kept to the end
        descend(run.start(), line, run.accept, settings or chosen, own, told)


def descend(
    point: _P,
    line: Callable[[_P], Callable[[float], _P]],
    accept: Callable[[_P], None],
    settings: Settings | Callable[[_P], Settings],
    steepest: Callable[[_P], Direction] | None = None,
    searched: Callable[[bool], None] | None = None,
) -> None:
    """Iterate until `accept` raises.

    A trial is accepted if its value is at most the average minus sufficient * t * decrease; from
    the last trial on, if it is at most the average plus 2 t * decrease.

    Args:
        point: The start.
        line: `line(point)(-t)` is the point at -t times the gradient; where it raises
            `StepTooLong` the step is halved.
        accept: Is told of every new point; it ends the descent by an exception.
        settings: The constants, or a function of the start that returns them.
        steepest: The direction d of a point and <grad f, d>, where d is not `point.gradient`.
        searched: Is told of every search, whether its step decreases the cost by enough; it may end
            the descent too.

    Raises:
        NoStep: If no step leads to an acceptable value.
    """
    if not isinstance(settings, Settings):
        settings = settings(point)
    t, average, weight, count = settings.first_step, point.value, 1.0, 0
    while True:
        fall = point.decrease if steepest is None else steepest(point)[1]
        trial, t, enough = _search(line(point), average, t, settings, fall, eps(point.X))
        count += 1
        accept(trial)
        if searched is not None:
            searched(enough)
        if steepest is None:
            products = _long if count % 2 == 0 else _short
            over, under = products(_OWNER, trial.X, point.X, trial.gradient, point.gradient)
        else:
            over, under = _preconditioned(trial, point, t, count, steepest)
        t = _barzilai_borwein(over, under, settings)
        point = trial
        average, weight = averaged(average, weight, point.value, settings.averaging)


def averaged(average: Any, weight: float, value: Any, share: float) -> tuple[Any, float]:
    """The average with the next value, and its weight: the past counts by its share of it."""
    past = share * weight
    return (past * average + value) / (past + 1), past + 1


def _search(
    step: Callable[[float], _P],
    average: float,
    t: float,
    settings: Settings,
    fall: float,
    unit: float,
) -> tuple[_P, float, bool]:
    """The end of a step, the step, and whether it decreases the cost by enough."""
    slack = _NOISE * unit * abs(average)
    for trial in range(1, _HALVINGS):
        try:
            candidate = step(-t)
        except StepTooLong:
            t *= settings.outside
            continue
        enough = candidate.value <= average - settings.sufficient * t * fall + slack
        late = trial >= settings.trials and math.isfinite(candidate.value)
        if enough or (late and (settings.blind or candidate.value <= average + _RISE * t * fall)):
            return candidate, t, enough
        t *= settings.backtracking
    raise NoStep


def _barzilai_borwein(over: Array, under: Array, settings: Settings) -> float:
    """<S,S>/|<S,Y>| at even iterations, |<S,Y>|/<Y,Y> at odd ones, kept within the bounds."""
    t = abs(number(over) / number(under)) if abs(under) > 0 else settings.longest
    return max(min(t, settings.longest), settings.shortest)


def _preconditioned(
    point: _P, before: _P, t: float, count: int, steepest: Callable[[_P], Direction]
) -> tuple[Array, Array]:
    """<S,MS> and <S,Y>, or <S,Y> and <Y,M^-1 Y>."""
    S, Y = point.X - before.X, point.gradient - before.gradient
    if count % 2 == 0:
        over, under = inners((S, t * before.gradient), (S, Y))
    else:
        over, under = inners((S, Y), (Y, steepest(point)[0] - steepest(before)[0]))
    return over, under


_OWNER = Owner()


@compiled
def _long(owner: Owner, X: Array, X0: Array, G: Array, G0: Array) -> tuple[Array, Array]:  # noqa: ARG001
    """<S,S> and <S,Y>."""
    S = X - X0
    over, under = inners((S, S), (S, G - G0))
    return over, under


@compiled
def _short(owner: Owner, X: Array, X0: Array, G: Array, G0: Array) -> tuple[Array, Array]:  # noqa: ARG001
    """<S,Y> and <Y,Y>."""
    Y = G - G0
    over, under = inners((X - X0, Y), (Y, Y))
    return over, under
