"""Algorithm 1: h is minimised by an unconstrained solver, then the point is restored to M.

With beta="auto" the penalty parameter is estimated at the start and checked at the end; where it was too small it is
raised, and the run goes on from the restored point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import attrs
import numpy as np

from genorth.errors import NotRestorableError, refuse
from genorth.linalg.arrays import norm
from genorth.penalty.beta import AWAY, initial_beta, raised_beta
from genorth.penalty.cdf import ConstraintDissolving
from genorth.penalty.dissolving import check_beta
from genorth.penalty.objective import Objective
from genorth.penalty.threshold import multiplier_threshold
from genorth.problem.problem import Problem
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status

_Matrix = np.ndarray[Any, Any]
_Solver = Callable[[Objective, np.ndarray[Any, Any]], None]
_MARGIN = 1.5  # times the threshold, where a beta proved to be below it
_PATIENCE = 4  # times that |C| may reach its limit before beta is raised
_ROUNDS = 12  # of a solver within one run: after a stall, after restoring, with a larger beta


def minimize_penalty(
    problem: Problem,
    x0: Any = None,
    *,
    unconstrained: str = "lbfgs",
    beta: float | str = "auto",
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by the constraint dissolving penalty h (Algorithm 1).

    Args:
        problem: The problem.
        x0: Start, any point of F. Default: a random point of M.
        unconstrained: What minimises h: a name of `genorth.penalty.methods.METHODS`.
        beta: Penalty parameter, or "auto".
        **common: The arguments of every solver, see `Options`; tol is on |grad h|, the Frobenius
            norm.
    Returns:
        The result; `x` is on M.
    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    # Loads scipy.optimize: here, where it is needed, and before the clock starts.
    from genorth.penalty.methods import METHODS

    solver, keep = METHODS[unconstrained]
    require(problem, f"cdf-{unconstrained}", second_order=unconstrained == "tr")
    if isinstance(beta, str) and beta != "auto":
        refuse("beta", "beta > 0, or 'auto'", repr(beta))
    options = Options(**common)
    start = problem.start(x0, options.rng)
    run = _Run(Monitor(problem, options), solver, keep, beta)
    run.solve(start)
    return run.result()


@attrs.define(eq=False)
class _Outcome:
    """Where one round of the solver ended, and what x, restored from there, is like."""

    status: Status
    x: _Matrix
    fun: float
    gradient_norm: float
    feasibility: float
    feasible: bool
    feasibility_before: float
    restored: bool


class _Run:
    """One run of Algorithm 1: rounds of the solver, each from where the last one ended."""

    def __init__(self, monitor: Monitor, solver: _Solver, keep: int, beta: float | str) -> None:
        self.problem, self.manifold = monitor.problem, monitor.problem.manifold
        self.monitor, self.solver, self.keep = monitor, solver, keep
        self.auto = isinstance(beta, str)
        self.beta = math.nan if isinstance(beta, str) else check_beta(beta)
        self.feasibility_tol, self.raised, self.lost = monitor.options.feasibility_tol, 0, 0
        self.threshold = math.nan
        self.time = 0.0
        self.outcome: _Outcome
        blocks, p = math.prod(self.manifold.shape[:-2]), self.manifold.shape[-1]
        self.limit = max(1.0, 0.5 * math.sqrt(blocks * p))

    def solve(self, start: _Matrix) -> None:
        """Rounds until one ends well, a budget ends the run, or another round would not help."""
        X = start
        if self.auto:
            self.beta = self._estimate(start)
        for _ in range(_ROUNDS):
            nit = self.monitor.nit
            status, last = self._round(X)
            self.outcome = self._restored(status, last, start)
            if status in (Status.CONVERGED, Status.STALLED, Status.DIVERGED, Status.NOT_STATIONARY):
                again = self._again(self.monitor.nit > nit)
            else:
                again = False
            if not again:
                break
            X = self.outcome.x
        self.time = self.monitor.elapsed

    def _estimate(self, start: _Matrix) -> float:
        try:
            x = np.asarray(self.manifold.restore(start))
        except NotRestorableError:
            x = self.manifold.random_point(0)  # the scale of f on M, if not near the start
        try:
            self.monitor.check()
            return initial_beta(self.problem, x)
        except Stop:
            return 1.0

    def _round(self, X: _Matrix) -> tuple[Status, _Matrix]:
        h = ConstraintDissolving(self.problem, self.beta, keep=self.keep)
        limit = max(self.limit, 2 * float(h.feasibility(X)))
        objective = Objective(h, self.monitor, limit, watched=self.auto)
        v = objective.vector(X)
        status = Status.STALLED
        try:
            progress = True
            # one that stalls in rounding is started again: values are then differences to that
            # point
            while progress:
                objective.begin(v)
                nit = self.monitor.nit
                self.solver(objective, v)
                if objective.turned_back:
                    raise Stop(Status.DIVERGED)  # the line search failed at the limit
                progress = self.monitor.nit > nit
                assert objective.last is not None
                v = objective.last
        except Stop as stop:
            status = stop.status
        last = X if objective.last is None else objective.matrix(objective.last)
        return status, last

    def _restored(self, status: Status, last: _Matrix, start: _Matrix) -> _Outcome:
        """X on M from the last iterate; from the start, where the last one is too far away."""
        manifold = self.manifold
        before, restored = float(manifold.feasibility(last)), True
        try:
            x = np.asarray(manifold.restore(last, self.feasibility_tol))
        except NotRestorableError:
            restored = False
            try:
                x = np.asarray(manifold.restore(start, self.feasibility_tol))
            except NotRestorableError:
                x = start
        with self.monitor.paused():
            return self._measured(status, x, before, restored)

    def _measured(self, status: Status, x: _Matrix, before: float, restored: bool) -> _Outcome:
        manifold = self.manifold
        fun, G = self.problem.cost_and_gradient(x)
        finite = bool(np.all(np.isfinite(G)))
        gradient_norm = math.nan
        if finite:
            Theta = np.asarray(manifold.theta(x, G))
            gradient_norm = float(norm(manifold.project(x, G)))
            self.threshold = multiplier_threshold(manifold, Theta)
        feasibility = float(manifold.feasibility(x))
        feasible = feasibility <= self.feasibility_tol * float(manifold.scale(x))
        return _Outcome(status, x, fun, gradient_norm, feasibility, feasible, before, restored)

    def _again(self, progress: bool) -> bool:
        """Whether another round helps: with another beta, or from the restored point."""
        end = self.outcome
        stationary = end.restored and end.gradient_norm <= self.monitor.tol
        exact = self.beta >= self.threshold * (1 - 1e-6)
        if stationary and exact:
            end.status = Status.CONVERGED
            return False
        lost = end.status is Status.DIVERGED or not end.restored or end.feasibility_before > AWAY
        if self.auto and (lost or not exact):
            self._change_beta(self._next_beta())
            return True
        return progress and end.restored and end.status is not Status.STALLED and not stationary

    def _next_beta(self) -> float:
        """Where |C| reached its limit.

        The estimate at the restored point, raised once that has not helped for long.

        The first steps from a long X are lost at every beta; to raise it at once would leave it too
        large for good.
        """
        end = self.outcome
        if end.status is Status.DIVERGED and end.restored:
            self.lost += 1
            return raised_beta(initial_beta(self.problem, end.x), max(self.lost - _PATIENCE, 0))
        return max(raised_beta(self.beta, 1), _MARGIN * self.threshold)

    def _change_beta(self, beta: float) -> None:
        self.raised += beta > self.beta
        self.beta = beta

    def result(self) -> Result:
        """The Result of the run."""
        end, monitor, counts = self.outcome, self.monitor, self.monitor.counts
        status = self._status()
        return Result(
            x=end.x,
            fun=end.fun,
            gradient_norm=end.gradient_norm,
            feasibility=end.feasibility,
            success=status is Status.CONVERGED,
            status=status,
            message=self._message(status),
            method="penalty",
            nit=monitor.nit,
            nfev=counts.nfev,
            njev=counts.njev,
            nhev=counts.nhev,
            time=self.time,
            trace=monitor.trace,
            seconds={"cost": counts.seconds},
            stopping_measure=monitor.trace.gradient_norm[-1] if len(monitor.trace) else math.nan,
            beta=self.beta,
            beta_raised=self.raised,
            threshold=None if math.isnan(self.threshold) else self.threshold,
            feasibility_before=end.feasibility_before,
        )

    def _status(self) -> Status:
        end = self.outcome
        if not end.restored:
            return Status.NOT_FINITE if end.status is Status.NOT_FINITE else Status.DIVERGED
        if end.status is not Status.CONVERGED:
            return end.status
        if not end.gradient_norm <= 2 * self.monitor.tol:
            return Status.NOT_STATIONARY
        return Status.CONVERGED if end.feasible else Status.NOT_FEASIBLE

    def _message(self, status: Status) -> str:
        message = status.value
        if not math.isnan(self.threshold) and self.beta < self.threshold:
            message += (
                f" beta = {self.beta:.3g} is below the exactness threshold {self.threshold:.3g} at x: "
                "h has no minimum there; use a larger beta or 'auto'."
            )
        return message
