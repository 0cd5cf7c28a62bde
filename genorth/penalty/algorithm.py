"""Algorithm 1: h is minimised by an unconstrained solver, then the point is restored to M.

With beta="auto" the penalty parameter is estimated at the start and checked at the end; where it
was too small it is raised, and the run goes on from the restored point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import attrs
import numpy as np

from genorth.errors import NotRestorableError, refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import norm, stays
from genorth.penalty.base import AWAY, NewBeta, Penalty, Point, check_beta
from genorth.penalty.run import OnSpace
from genorth.problem.problem import Problem
from genorth.solve.ending import End, end_at, result
from genorth.solve.metric import takes_metric
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.run import Preconditioner
from genorth.solve.solver import PENALTY

_Matrix = np.ndarray[Any, Any]
#: What minimises h: a loop of `genorth.solve`, or another package's behind the same signature.
Loop = Callable[[OnSpace], None]
_RAISES = 25  # of beta within one round
_NUDGES = 1e-3, 1e-1, 1.0  # relative size of the perturbation of a start that is of no use
_ROUNDS = 12  # of a solver within one run: after a stall, after restoring, with a larger beta
_ACCURACY = 1e-4  # of the threshold at the end, relative
#: Ends of a round after which another one may help.
_ANOTHER = (Status.CONVERGED, Status.STALLED, Status.DIVERGED, Status.NOT_STATIONARY)


@takes_metric
def minimize_penalty(
    problem: Problem,
    x0: Any = None,
    *,
    penalty: type[Penalty[Any]],
    loop: Loop,
    on_device: bool = True,
    beta: float | str = "auto",
    preconditioner: Preconditioner | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by a dissolving penalty h (Algorithm 1).

    Args:
        problem: The problem.
        x0: Start, any point of F. Default: a random point of M.
        penalty: `ConstraintDissolving` or `OrthogonalDissolving`.
        loop: What minimises h.
        on_device: Whether the loop takes arrays of JAX and PyTorch as they are.
        beta: Penalty parameter, or "auto".
        preconditioner: `preconditioner(Y, V)`, an approximate inverse of the Hessian of f on M at Y
            applied to V. Normal to M, h has its own curvature.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `Options`; tol is on |grad h|, the Frobenius
            norm.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    require(problem, "a penalty method")
    auto = isinstance(beta, str)
    if auto and beta != "auto":
        refuse("beta", "beta > 0, or 'auto'", repr(beta))
    options = Options(**common)
    start = problem.start(x0, options.rng, on_device)
    h = penalty(problem, 1.0 if auto else check_beta(beta))
    h.watched(Monitor(problem, options), auto)
    run = _Algorithm(h, loop, preconditioner)
    run.solve(start)
    return run.result()


class _Algorithm:
    """One run of Algorithm 1: rounds of the loop, each from where the last one ended."""

    end: End
    status: Status

    def __init__(
        self, h: Penalty[Any], loop: Loop, preconditioner: Preconditioner | None = None
    ) -> None:
        self.preconditioner = h.preconditioner = preconditioner
        self.h, self.monitor, self.manifold, self.loop = h, h.monitor, h.manifold, loop
        self.raised, self.threshold, self.replaced = 0, math.nan, ""

    def solve(self, start: _Matrix) -> None:
        """Rounds until one ends well, a budget ends the run, or another round would not help."""
        x, X, self.replaced = _useful(self.manifold, start)
        try:
            if self.h.auto:
                self.h.beta, X = self.h.first(x, X)
        except (Stop, KeyboardInterrupt) as stop:
            self.status = stop.status if isinstance(stop, Stop) else Status.INTERRUPTED
            self.end = end_at(self.monitor, x if self.h.last is None else self.h.last, x)
            return
        for _ in range(_ROUNDS):
            nit = self.monitor.nit
            self.status, last = self._round(X)
            if self.status is Status.NOT_FINITE and X is not x and not len(self.monitor.trace):
                self.replaced = "h is not finite at x0; the run began at the point it restores to."
                self.status, last = self._round(x)
            self.end = self._end(last, x)
            with self.monitor.paused():
                self.threshold = self._threshold()
            another = self.status in _ANOTHER and not self.monitor.stuck
            if not (another and self._again(self.monitor.nit > nit)):
                break
            X = self.end.x

    def _round(self, X: _Matrix) -> tuple[Status, Point]:
        """The loop on h from X, with another beta from where one has proved too small."""
        for _ in range(_RAISES):
            self.h.begin(self.h.point(X))
            try:
                run = OnSpace(self.h, self.monitor, X, self.preconditioner)
                return run.minimised(self.loop)
            except NewBeta as signal:
                X = signal.X
                self._change(signal.beta)
        return Status.DIVERGED, self.h.point(X)

    def _end(self, last: Point, start: _Matrix) -> End:
        """The end of a round at its last iterate.

        Near M it is restored from Y(X), where f is known: the Riemannian gradient there is the
        tangent part of grad h to first order.
        """
        if last.G is None or not last.violation <= AWAY**2:
            return end_at(self.monitor, last.X, start)
        end = end_at(self.monitor, last.Y, start, (float(last.cost), last.G))
        return attrs.evolve(end, before=math.sqrt(last.violation))

    def _threshold(self) -> float:
        """The threshold at x; the last one where the gradient is not finite."""
        if math.isnan(self.end.at.stationarity):
            return self.threshold
        Theta = self.manifold.theta(self.end.x, self.end.at.G)
        return self.h.threshold(self.manifold, self.end.x, Theta, _ACCURACY)

    def _again(self, progress: bool) -> bool:
        """Whether another round helps: with another beta, or from the restored point."""
        end = self.end
        stationary = end.restored and end.at.stationarity <= self.monitor.tol
        exact = not np.any(self.h.beta < self.threshold * (1 - 1e-6))  # nor where it is NaN
        if stationary and exact:
            self.status = Status.CONVERGED
            return False
        lost = self.status is Status.DIVERGED or not end.restored or end.before > AWAY
        if not (self.h.auto and (lost or not exact)):
            return (
                progress and end.restored and self.status is not Status.STALLED and not stationary
            )
        try:
            self.monitor.check()  # the next beta is not free: it may take a gradient
        except Stop as stop:
            self.status = stop.status
            return False
        self._change(self.h.next(self.threshold, self.status, end))
        return True

    def _change(self, beta: float) -> None:
        self.raised += bool(np.any(beta > self.h.beta))
        self.h.beta = beta

    def result(self) -> Result:
        """The Result of the run; it says so where beta is below the threshold at x."""
        known, below = not np.any(np.isnan(self.threshold)), ""
        for beta, threshold in zip(*np.atleast_1d(self.h.beta, self.threshold), strict=False):
            if known and beta < threshold:
                below = (
                    f"beta = {beta:.3g} is below the exactness threshold {threshold:.3g} "
                    "at x: h has no minimum there; use a larger beta or 'auto'."
                )
        return result(
            self.monitor,
            self.status,
            self.end,
            family=PENALTY,
            method="penalty",
            detail=" ".join(filter(None, (below, self.replaced))),
            beta=_figures(self.h.beta),
            beta_raised=self.raised,
            threshold=_figures(self.threshold) if known else None,
        )


def _figures(values: Any) -> Any:
    """A number; on a product one for each factor with a constraint."""
    return tuple(map(float, values)) if np.ndim(values) else float(values)


def _useful(manifold: GenOrthManifold, start: _Matrix) -> tuple[_Matrix, _Matrix, str]:
    """A point of M near the start, a start, and a sentence where that is another one.

    From zeros or equal columns no map leads to M, and h may be stationary there. A small seeded
    perturbation does; a random point of M where even that does not.
    """
    try:
        return manifold.restore(start), start, ""
    except NotRestorableError:
        if stays(start):
            raise  # the way out is to draw points, in NumPy
    noise = manifold.random_ambient(0)
    noise *= max(float(norm(start)), 1.0) / float(norm(noise))
    for nudge in _NUDGES:
        X = start + nudge * noise
        try:
            x = np.asarray(manifold.restore(X))
        except NotRestorableError:
            continue
        return x, x, f"No map leads from x0 to M; x0 was perturbed by {nudge:g} |x0| and restored."
    x = manifold.random_point(0)
    return x, x, "No map leads from x0 to M; the run began at a random point of M."
