"""The one ending of a run: X is restored to M, measured with the clock stopped, and checked.

Every solver, of whatever family, makes its `Result` here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs

from genorth.errors import NotRestorableError
from genorth.geometry.support import restore_on_support
from genorth.linalg.arrays import Array, eps, norm, number
from genorth.problem.measure import ON_MANIFOLD, SINGLE, Measure, allowed, distance
from genorth.problem.problem import Problem
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.result import Interrupted, Result, Status

#: Ends after which the best iterate is returned, not the last one.
BEST = (Status.NOT_FINITE, Status.DIVERGED, Status.INTERRUPTED)
#: Ends that say more than that x could not be restored.
_ANYWHERE = (*BEST, Status.UNBOUNDED)
_ROUNDING = 10.0  # units of roundoff by which a point may be off F before it is projected


@attrs.frozen(eq=False)
class End:
    """The point that a run returns, with its figures, computed anew there."""

    at: Measure
    #: |C(X)| before X was restored, and whether it could be.
    before: float
    restored: bool

    @property
    def x(self) -> Array:
        """The point."""
        return self.at.X


def outcome(loop: Callable[..., object], *arguments: Any) -> Stop:
    """Run a loop until something ends it.

    Args:
        loop: What iterates.
        *arguments: Its arguments.

    Returns:
        How it ended: by a budget or the stopping rule, by Ctrl-C, or stuck, where it returned.
    """
    try:
        loop(*arguments)
    except Stop as stop:
        return stop
    except KeyboardInterrupt:
        return Stop(Status.INTERRUPTED)
    return Stop(Status.STALLED)


def end_at(
    monitor: Monitor, X: Array, start: Array, known: tuple[float, Array] | None = None
) -> End:
    """Restore X to M and measure it.

    Restoring is on the clock, measuring is not.

    Args:
        monitor: The monitor of the run.
        X: The last iterate.
        start: Where the run began: it is restored instead where X is too far from M.
        known: f and its Euclidean gradient, where they were evaluated at X itself.

    Returns:
        x on M (or next to it, where neither can be restored) with its figures.
    """
    manifold = monitor.problem.manifold
    if distance(manifold, X) > _ROUNDING * eps(X) * number(norm(X)):
        X = manifold.ambient(X)
    with monitor.paused():
        before, scale = number(manifold.feasibility(X)), number(manifold.scale(X))
        relative = allowed(X, scale, monitor.options.feasibility_tol)
    x, restored = X, True
    if not before <= relative * scale:
        try:
            x = _restored(monitor.problem, X, relative)
        except NotRestorableError:
            if not before <= ON_MANIFOLD:  # else the tolerance is below what rounding allows
                x, restored = _near_start(monitor, start), False
    with monitor.paused():
        at = Measure.at(monitor.problem, x, known if x is X else None)
    return End(at, before, restored)


def _restored(problem: Problem, X: Array, tol: float) -> Array:
    """X restored to M; where a nonsmooth term made zeros in it, with these if that can be."""
    if problem.term is not None:
        with suppress(NotRestorableError):
            return restore_on_support(problem.manifold, X, tol)
    return problem.manifold.restore(X, tol)


def _near_start(monitor: Monitor, start: Array) -> Array:
    try:
        return monitor.problem.manifold.restore(start, monitor.options.feasibility_tol)
    except NotRestorableError:
        return start


def result(
    monitor: Monitor,
    status: Status,
    end: End,
    *,
    family: str,
    method: str,
    detail: str = "",
    seconds: dict[str, float] | None = None,
    **fields: Any,
) -> Result:
    """The Result of a run that ended with `status` at `end`.

    A success needs x on M and a Riemannian gradient norm of at most 2 tol at x.

    Args:
        monitor: The monitor of the run.
        status: What the solver says; a success that fails the check gets another one.
        end: The point, measured.
        family: The family of the solver, for the advice in the message.
        method: The name of the solver.
        detail: What the message says besides.
        seconds: Seconds by phase, besides those inside the user's callables.
        **fields: Fields of the Result that only some solvers have.

    Returns:
        The Result.

    Raises:
        Interrupted: With the Result, if Ctrl-C ended the run.
    """
    status, counts, trace = _checked(status, end, monitor), monitor.counts, monitor.trace
    monitor.close()
    made = Result(
        x=end.x,
        feasibility_before=end.before,
        kkt=end.at.kkt,
        success=status is Status.CONVERGED,
        status=status,
        message=" ".join(
            filter(None, (status.message(family), detail, _hint(status, end, monitor)))
        ),
        method=method,
        nit=monitor.nit,
        **counts.calls,
        time=monitor.elapsed,
        trace=trace,
        seconds={"cost": monitor.seconds_in_cost, **(seconds or {})},
        stopping_measure=trace.gradient_norm[-1] if len(trace) else math.nan,
        **end.at.figures,
        **fields,
    )
    if status is Status.INTERRUPTED:
        raise Interrupted(made)
    return made


def _hint(status: Status, end: End, monitor: Monitor) -> str:
    """What to do where derivatives do not fit, or single precision cannot reach tol."""
    hints = []
    if status is not Status.CONVERGED and monitor.noise > 0:
        allows = "x is as good as it allows" if status is Status.STALLED else "it may limit x"
        hints.append(
            f"The cost has noise of about {monitor.noise / 10:.1g}, and {allows}, with a gradient "
            f"norm of {end.at.stationarity:.2g}."
        )
    elif status is Status.STALLED and monitor.stuck:
        hints.append(
            "Several line searches in a row failed, as they do where the derivatives do not fit "
            "the cost: call genorth.check_gradient(problem)."
        )
    unit = eps(end.x)
    reach = unit * number(norm(end.at.G))
    if status is not Status.CONVERGED and unit > SINGLE and monitor.tol < reach:
        hints.append(
            f"In single precision a gradient norm below about {reach:.1g} is rounding, "
            f"and tol = {monitor.tol:.1g}: raise tol, or pass x0 in double precision."
        )
    return " ".join(hints)


def _checked(status: Status, end: End, monitor: Monitor) -> Status:
    """The status that x bears out."""
    if not end.restored:
        return status if status in _ANYWHERE else Status.DIVERGED
    if status is not Status.CONVERGED:
        return status
    fails = end.at.fails(monitor.tol, monitor.options.feasibility_tol)
    if fails:
        return Status[fails]
    inside = monitor.problem.manifold.to_component(end.x) is end.x
    return status if inside else Status.OTHER_COMPONENT
