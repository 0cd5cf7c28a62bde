"""`Monitor`: the clock, the budgets, the stopping measure, the trace and the callback of one run.

Every solver reports to it, from inside its line search (`check`) and at each iteration
(`iteration`); it ends the run by raising `Stop`, so that a budget holds also where a foreign solver
does not look at it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from genorth.errors import refuse
from genorth.linalg.arrays import Array
from genorth.problem.problem import Problem
from genorth.solve.clock import Clock, moment
from genorth.solve.result import Progress, Status, Trace


class Stop(Exception):
    """Raised inside a solver to end the run with a status."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status.value)
        self.status, self.detail = status, detail


class Monitor:
    """Watches one run of a solver on a problem; time and counts are those since it was made."""

    def __init__(
        self,
        problem: Problem,
        *,
        tol: float = 1e-6,
        max_iterations: int | None = None,
        max_evaluations: int | None = None,
        max_time: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        keep_points: bool = False,
    ) -> None:
        if isinstance(tol, bool) or not isinstance(tol, int | float) or not 0 <= tol < math.inf:
            refuse("tol", "tol >= 0, finite", repr(tol))
        for name, budget in (
            ("max_iterations", max_iterations),
            ("max_evaluations", max_evaluations),
            ("max_time", max_time),
        ):
            if budget is not None and not (isinstance(budget, int | float) and budget > 0):
                refuse(name, f"{name} > 0, or None for no limit", repr(budget))
        if callback is not None and not callable(callback):
            refuse("callback", "a callable", repr(callback))
        self.problem, self.tol = problem, float(tol)
        self.trace = Trace(points=[] if keep_points else None)
        self._callback = callback
        self._iterations = math.inf if max_iterations is None else max_iterations
        self._evaluations = math.inf if max_evaluations is None else max_evaluations
        self._time = math.inf if max_time is None else float(max_time)
        self._before = problem.counts
        self._paused = 0.0
        self._begin = time.perf_counter()
        Clock.hear(self)

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without the pauses."""
        return max(time.perf_counter() - self._begin - self._paused, 0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The clock stands still, also that of a comparison: for measuring."""
        begin = moment()
        try:
            yield
        finally:
            self._paused += max(time.perf_counter() - begin[0], 0.0)
            Clock.measured(begin)

    @property
    def counts(self) -> Any:
        """The counts of this run."""
        return self.problem.counts - self._before

    @property
    def evaluations(self) -> int:
        """Evaluations of this run: a cost with its gradient is one, a Hessian product is one."""
        problem, before = self.problem, self._before
        return (
            max(problem._nfev - before.nfev, problem._njev - before.njev)
            + problem._nhev
            - before.nhev
        )

    @property
    def nit(self) -> int:
        """Iterations done; line 0 of the trace is the start."""
        return max(len(self.trace) - 1, 0)

    def check(self) -> None:
        """Raise `Stop` where the budget of evaluations or of time is used up.

        Before every evaluation.
        """
        if self.evaluations >= self._evaluations:
            raise Stop(Status.EVALUATION_LIMIT)
        if self.elapsed >= self._time:
            raise Stop(Status.TIME_LIMIT)

    def iteration(self, X: Array, cost: float, gradient_norm: float, feasibility: float) -> None:
        """Record an iterate; raise `Stop` where it is the last one."""
        trace = self.trace
        trace.append(self.elapsed, cost, gradient_norm, feasibility, self.evaluations)
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
        begin = time.perf_counter()  # not paused(): a comparison counts the callback as work
        try:
            gradient_norm, feasibility = trace.gradient_norm[-1], trace.feasibility[-1]
            progress = Progress(
                X.copy(),
                trace.cost[-1],
                self.nit,
                self.counts.nfev,
                gradient_norm,
                feasibility,
                trace.time[-1],
            )
            self._callback(progress)
        except StopIteration:
            raise Stop(Status.CALLBACK) from None
        finally:
            self._paused += max(time.perf_counter() - begin, 0.0)
