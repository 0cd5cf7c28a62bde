"""Algorithm 1: h is minimised by an unconstrained solver, then the point is restored to M.

With beta="auto" the penalty parameter is estimated at the start and checked at the end; where it
was too small it is raised, and the run goes on from the restored point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from genorth.errors import NotRestorableError, refuse
from genorth.penalty.beta import AWAY, initial_beta, raised_beta
from genorth.penalty.cdf import ConstraintDissolving
from genorth.penalty.dissolving import check_beta
from genorth.penalty.objective import Objective
from genorth.penalty.threshold import multiplier_threshold
from genorth.problem.problem import Problem
from genorth.solve.ending import End, end_at, result
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import PENALTY

_Matrix = np.ndarray[Any, Any]
_Solver = Callable[[Objective, np.ndarray[Any, Any]], None]
_MARGIN = 1.5  # times the threshold, where a beta proved to be below it
_PATIENCE = 4  # times that |C| may reach its limit before beta is raised
_ROUNDS = 12  # of a solver within one run: after a stall, after restoring, with a larger beta
#: Ends of a round after which another one may help.
_ANOTHER = (Status.CONVERGED, Status.STALLED, Status.DIVERGED, Status.NOT_STATIONARY)


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


class _Run:
    """One run of Algorithm 1: rounds of the solver, each from where the last one ended."""

    end: End
    status: Status

    def __init__(self, monitor: Monitor, solver: _Solver, keep: int, beta: float | str) -> None:
        self.problem, self.manifold = monitor.problem, monitor.problem.manifold
        self.monitor, self.solver, self.keep = monitor, solver, keep
        self.auto = isinstance(beta, str)
        self.beta = math.nan if isinstance(beta, str) else check_beta(beta)
        self.raised = self.lost = 0
        self.threshold = math.nan
        blocks, p = math.prod(self.manifold.shape[:-2]), self.manifold.shape[-1]
        self.limit = max(1.0, 0.5 * math.sqrt(blocks * p))

    def solve(self, start: _Matrix) -> None:
        """Rounds until one ends well, a budget ends the run, or another round would not help."""
        X = start
        if self.auto:
            self.beta = self._estimate(start)
        for _ in range(_ROUNDS):
            nit = self.monitor.nit
            self.status, last = self._round(X)
            self.end = end_at(self.monitor, last, start)
            with self.monitor.paused():
                self.threshold = self._threshold()
            if self.status not in _ANOTHER or not self._again(self.monitor.nit > nit):
                break
            X = self.end.x

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
        """The solver on h from X, until it ends; where it stalls in rounding, again from there."""
        h = ConstraintDissolving(self.problem, self.beta, keep=self.keep)
        limit = max(self.limit, 2 * float(h.feasibility(X)))
        objective = Objective(h, self.monitor, limit, watched=self.auto)
        v, status, progress = objective.vector(X), Status.STALLED, True
        try:
            while progress:  # values are differences to the point where a solver starts
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
        return status, X if objective.last is None else objective.matrix(objective.last)

    def _threshold(self) -> float:
        """beta* at x; the last one where the gradient is not finite."""
        if math.isnan(self.end.gradient_norm):
            return self.threshold
        return multiplier_threshold(self.manifold, self.manifold.theta(self.end.x, self.end.G))

    def _again(self, progress: bool) -> bool:
        """Whether another round helps: with another beta, or from the restored point."""
        end = self.end
        stationary = end.restored and end.gradient_norm <= self.monitor.tol
        exact = self.beta >= self.threshold * (1 - 1e-6)
        if stationary and exact:
            self.status = Status.CONVERGED
            return False
        lost = self.status is Status.DIVERGED or not end.restored or end.before > AWAY
        if self.auto and (lost or not exact):
            beta = self._next_beta()
            self.raised += beta > self.beta
            self.beta = beta
            return True
        return progress and end.restored and self.status is not Status.STALLED and not stationary

    def _next_beta(self) -> float:
        """The estimate at the restored point, raised once that has not helped for long.

        The first steps from a long X are lost at every beta; to raise it at once would leave it too
        large for good.
        """
        if self.status is Status.DIVERGED and self.end.restored:
            self.lost += 1
            beta = initial_beta(self.problem, self.end.x)
            return raised_beta(beta, max(self.lost - _PATIENCE, 0))
        return max(raised_beta(self.beta, 1), _MARGIN * self.threshold)

    def result(self) -> Result:
        """The Result of the run; it says so where beta is below the threshold at x."""
        known = not math.isnan(self.threshold)
        below = (
            f"beta = {self.beta:.3g} is below the exactness threshold {self.threshold:.3g} at x: "
            "h has no minimum there; use a larger beta or 'auto'."
        )
        return result(
            self.monitor,
            self.status,
            self.end,
            family=PENALTY,
            method="penalty",
            detail=below if known and self.beta < self.threshold else "",
            beta=self.beta,
            beta_raised=self.raised,
            threshold=self.threshold if known else None,
        )
