"""`Monitor`: the clock, the budgets, the stopping measure, the trace and the callback of one run.

Every solver reports to it, from inside its line search (`check`) and at each iteration
(`iteration`); it ends the run by raising `Stop`, so that a budget holds also where a foreign solver
does not look at it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from genorth.linalg.arrays import Array
from genorth.problem.problem import Counts, Problem
from genorth.solve.options import Options
from genorth.solve.result import Progress, Status, Trace


class Stop(Exception):
    """Raised inside a solver to end the run with a status."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status.value)
        self.status, self.detail = status, detail


class Monitor:
    """Watches one run of a solver on a problem; time and counts are those since it was made.

    The stopping rule: a run ends at the first iterate whose stopping measure (|grad h| of a penalty
    method, else the norm of the Riemannian gradient) is at most tol, or when a budget is used up.

    Args:
        problem: The problem.
        options: Tolerances, budgets and reporting.
    """

    def __init__(self, problem: Problem, options: Options | None = None) -> None:
        self.problem = problem
        self.options = options = Options() if options is None else options
        self.tol = float(options.tol)
        self.trace = Trace(points=[] if options.keep_points else None)
        self._callback = options.callback
        self._iterations, self._evaluations, self._time = (
            math.inf if budget is None else budget
            for budget in (options.max_iterations, options.max_evaluations, options.max_time)
        )
        self._before = problem.counts
        self._paused = self._cost_paused = 0.0
        self._begin = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without the pauses."""
        return time.perf_counter() - self._begin - self._paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The clock stands still: for measuring, and for the callback."""
        begin, cost = time.perf_counter(), self.problem._seconds
        try:
            yield
        finally:
            self._paused += time.perf_counter() - begin
            self._cost_paused += self.problem._seconds - cost

    @property
    def counts(self) -> Counts:
        """The counts of this run."""
        return self.problem.counts - self._before

    @property
    def seconds_in_cost(self) -> float:
        """Seconds inside the user's callables, without the pauses."""
        return self.counts.seconds - self._cost_paused

    @property
    def nit(self) -> int:
        """Iterations done; line 0 of the trace is the start."""
        return max(len(self.trace) - 1, 0)

    def check(self) -> None:
        """To be called before every evaluation.

        Raises:
            Stop: If the budget of evaluations or of time is used up.
        """
        if self._evaluations < math.inf and self.counts.evaluations >= self._evaluations:
            raise Stop(Status.EVALUATION_LIMIT)
        if self.elapsed >= self._time:
            raise Stop(Status.TIME_LIMIT)

    def iteration(self, X: Array, cost: float, gradient_norm: float, feasibility: float) -> None:
        """Record an iterate.

        Args:
            X: The iterate.
            cost: f there, or at A(X) for a penalty method.
            gradient_norm: What is compared with tol.
            feasibility: |C(X)|.

        Raises:
            Stop: If it is the last iterate.
        """
        trace = self.trace
        trace.append(self.elapsed, cost, gradient_norm, feasibility, self.counts.evaluations)
        if trace.points is not None:
            trace.points.append(X.copy())
        if self._callback is not None:
            self._call(X)
        if gradient_norm <= self.tol:
            raise Stop(Status.CONVERGED)
        if not math.isfinite(gradient_norm):
            raise Stop(Status.NOT_FINITE)
        if self.nit >= self._iterations:
            raise Stop(Status.ITERATION_LIMIT)
        self.check()

    def _call(self, X: Array) -> None:
        assert self._callback is not None
        trace = self.trace
        with self.paused():
            progress = Progress(
                X.copy(),
                trace.cost[-1],
                self.nit,
                self.counts.nfev,
                trace.gradient_norm[-1],
                trace.feasibility[-1],
                trace.time[-1],
            )
            try:
                self._callback(progress)
            except StopIteration:
                raise Stop(Status.CALLBACK) from None
