"""`Monitor`: the clock, the budgets, the stopping rule, the trace and the callback of one run.

Every solver reports to it, from inside its line search (`check`) and at each iteration
(`iteration`); it ends the run by raising `Stop`, so that a budget holds also where a foreign solver
does not look at it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from genorth.errors import StepTooLong
from genorth.linalg.arrays import Array, kept, norm
from genorth.problem.problem import Counts, Problem
from genorth.solve.clock import Clock
from genorth.solve.options import Options
from genorth.solve.result import Progress, Status, Trace


class Stop(Exception):
    """Raised inside a solver to end the run with a status."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status.value)
        self.status, self.detail = status, detail


_FAILURES = 3  # of line searches in a row, after which the run ends
_FREE = 0.5  # seconds of measuring that max_time does not count
_FALLEN = 1e15  # a cost below minus this, times what it was at the start, falls without bound


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
        self._tol, self._rtol = float(options.tol), float(options.rtol)
        if self._rtol:
            problem.first_size = None  # asked for
        self.trace = Trace(points=[] if options.keep_points else None)
        self._watchers = [w for w in (options.progress, options.callback) if w is not None]
        self._iterations, self._evaluations, self._time = (
            math.inf if budget is None else budget
            for budget in (options.max_iterations, options.max_evaluations, options.max_time)
        )
        self._before = problem.counts
        self._budget = min(self._evaluations, self._time) < math.inf
        #: Iterations done; line 0 of the trace is the start.
        self.nit = 0
        self._paused = self._measured = self._cost_paused = 0.0
        #: The noise of the cost, where a search that failed has found it.
        self.noise, self._failures = 0.0, 0
        self._begin = time.perf_counter()
        Clock.hear(self)

    @property
    def tol(self) -> float:
        """On the stopping measure; rtol counts once a gradient is known."""
        if self._rtol and (size := self.problem.first_size) is not None:
            self._tol = max(self._tol, self._rtol * size) if size < math.inf else self._tol
            self._rtol = 0.0
        return self._tol

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without the pauses."""
        return max(time.perf_counter() - self._begin - self._paused, 0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The clock stands still, also that of a comparison: for measuring."""
        begin, cost = Clock.begin(), self.problem._seconds
        try:
            yield
        finally:
            seconds = max(time.perf_counter() - begin[0], 0.0)
            self._paused += seconds
            self._measured += seconds
            self._cost_paused += self.problem._seconds - cost
            Clock.measured(begin)

    @property
    def counts(self) -> Counts:
        """The counts of this run."""
        return self.problem.counts - self._before

    @property
    def evaluations(self) -> int:
        """`counts.evaluations`, without a record: it is asked for in every iteration."""
        problem, before = self.problem, self._before
        calls = max(problem._nfev - before.nfev, problem._njev - before.njev)
        return calls + problem._nhev - before.nhev

    @property
    def seconds_in_cost(self) -> float:
        """Seconds inside the user's callables, without the pauses."""
        return self.counts.seconds - self._cost_paused

    def check(self) -> None:
        """To be called before every evaluation.

        Raises:
            Stop: If the budget of evaluations or of time is used up.
        """
        if self._budget:
            if self.evaluations >= self._evaluations:
                raise Stop(Status.EVALUATION_LIMIT)
            if self.elapsed + max(self._measured - _FREE, 0.0) >= self._time:
                raise Stop(Status.TIME_LIMIT)

    def evaluate(self, X: Array, first: bool = False) -> tuple[float, Array]:
        """f(X) and the Euclidean gradient, behind the budgets.

        Args:
            X: The point.
            first: Whether it is the start.

        Returns:
            Both.

        Raises:
            Stop: If a budget is used up, or one of them is not finite.
            StepTooLong: Where f is infinite, but for the start.
        """
        self.check()
        value, G = self.problem.evaluate(X)
        return check_value(value, first), _finite_array(G)

    def searched(self, found: bool) -> None:
        """A line search has ended, with a good step or without.

        Args:
            found: Whether it found one, without many trials.

        Raises:
            Stop: After three failures more than successes, which rounding seldom makes and wrong
                derivatives always do.
        """
        self._failures = max(self._failures - 1, 0) if found else self._failures + 1
        if self.stuck:
            raise Stop(Status.STALLED)

    @property
    def stuck(self) -> bool:
        """Whether three line searches more have failed than succeeded since."""
        return self._failures >= _FAILURES

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
        trace.append(self.elapsed, cost, gradient_norm, feasibility, self.evaluations)
        self.nit = len(trace.time) - 1
        if trace.points is not None:
            trace.points.append(kept(X))
        if self._watchers:
            self._call(X)
        if gradient_norm <= self.tol:
            raise Stop(Status.CONVERGED)
        if not math.isfinite(gradient_norm):
            raise Stop(Status.NOT_FINITE)
        if cost < -_FALLEN and cost < -_FALLEN * max(abs(trace.cost[0]), trace.gradient_norm[0]):
            raise Stop(Status.UNBOUNDED)
        if self.nit >= self._iterations:
            raise Stop(Status.ITERATION_LIMIT)
        self.check()

    def _call(self, X: Array) -> None:
        trace = self.trace
        # not paused(): a comparison counts the callback as work
        begin, cost = time.perf_counter(), self.problem._seconds
        try:
            progress = Progress(
                kept(X),
                trace.cost[-1],
                self.nit,
                self.counts.nfev,
                trace.gradient_norm[-1],
                trace.feasibility[-1],
                trace.time[-1],
                self.tol,
            )
            for watcher in self._watchers:
                if isinstance(said := watcher(progress), bool | np.bool_) and said:
                    raise StopIteration
        except StopIteration:
            raise Stop(Status.CALLBACK) from None
        finally:
            self._paused += max(time.perf_counter() - begin, 0.0)
            self._cost_paused += self.problem._seconds - cost

    def close(self) -> None:
        """The run is over: what shows its progress may rest."""
        if self.options.progress is not None:
            self.options.progress.close()


class Guard:
    """The problem behind the budgets of a run: `Stop` where one is used up, or at NaN.

    Args:
        monitor: The monitor of the run.
        max_costs: The largest number of costs, a budget that only some solvers have.
    """

    def __init__(self, monitor: Monitor, max_costs: float = math.inf) -> None:
        self._monitor, self._problem, self._first = monitor, monitor.problem, True
        self._last_cost = monitor.problem.counts.nfev + max_costs

    def _check_costs(self) -> None:
        if self._problem._nfev >= self._last_cost:
            raise Stop(Status.EVALUATION_LIMIT, "The limit is max_cost_evaluations.")

    def evaluate_cost(self, X: Array) -> float:
        """f(X)."""
        self._monitor.check()
        self._check_costs()
        first, self._first = self._first, False
        return check_value(self._problem.evaluate_cost(X), first)

    def evaluate_gradient(self, X: Array) -> Array:
        """The Euclidean gradient G at X."""
        self._monitor.check()
        return _finite_array(self._problem.evaluate_gradient(X))

    def evaluate(self, X: Array) -> tuple[float, Array]:
        """f(X) and G."""
        self._check_costs()
        first, self._first = self._first, False
        return self._monitor.evaluate(X, first)

    def hessian(self, X: Array, Z: Array) -> Array:
        """The Euclidean Hessian at X applied to Z."""
        self._monitor.check()
        return _finite_array(self._problem.euclidean_hessian(X, Z))


def check_value(value: float, first: bool = False) -> float:
    """The cost of a trial: +infinity says that it is outside the domain of f.

    Args:
        value: The cost.
        first: Whether it is that of the start.

    Returns:
        The cost.

    Raises:
        StepTooLong: At +infinity, but for the start: the step is shortened.
        Stop: At NaN or -infinity.
    """
    if math.isfinite(value):
        return value
    if value == math.inf and not first:
        raise StepTooLong("the cost is infinite there: outside the domain of f")
    raise Stop(Status.NOT_FINITE)


def _finite_array(G: Array) -> Array:
    if not math.isfinite(norm(G)):  # it may overflow, where the entries are of no use either
        raise Stop(Status.NOT_FINITE)
    return G
