"""Solvers that know nothing of genorth's records: what they evaluate, and what they return.

`Watched` makes a trace of the evaluations; `as_result` makes a `Result` of a point.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from genorth.errors import refuse
from genorth.linalg.arrays import Array, norm, number
from genorth.linalg.cache import same_entries
from genorth.problem.problem import Counts, Problem
from genorth.solve.clock import Clock
from genorth.solve.result import Result, Status, Trace

_NEED = "x, a SciPy OptimizeResult, a pymanopt result or a genorth.Result"


class Tally:
    """Counts the calls of a problem's functions; a solver may reset the problem's own counts."""

    def __init__(self) -> None:
        self._calls: dict[str, Any] = {"nfev": 0, "njev": 0, "nhev": 0, "seconds": 0.0}

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        return Counts(**self._calls)

    def counting(self, function: Any, *names: str) -> Any:
        """The function, of which each call adds to these counts."""
        if function is None:
            return None

        def counted(*arguments: Any) -> Any:
            begin = time.perf_counter()
            value = function(*arguments)
            self._calls["seconds"] += max(time.perf_counter() - begin, 0.0)
            for name in names:
                self._calls[name] += 1
            return value

        return counted


class Watched(Problem):
    """A problem of which each evaluation is a line of a trace, measured with the clock stopped.

    A line has the last known cost and gradient norm where an evaluation gives only one of them.
    While a monitor of ours keeps the trace, this one rests. `fresh()` of it goes on with the same
    trace and tally.
    """

    clock: Clock
    trace: Trace
    tally: Tally
    _last: Array | None = None

    @classmethod
    def of(cls, problem: Problem) -> Watched:
        """The same problem, fresh."""
        made: Any = problem.fresh()
        made.__class__ = cls
        made.tally = tally = Tally()
        made._cost = tally.counting(made._cost, "nfev")
        made._gradient = tally.counting(made._gradient, "njev")
        made._hessian = tally.counting(made._hessian, "nhev")
        made._fused = tally.counting(made._fused, "nfev", "njev")
        made.trace, made.clock = Trace(), Clock(tally)
        return made

    def evaluate_cost(self, X: Array) -> float:
        """As `Problem.evaluate_cost`."""
        f = super().evaluate_cost(X)
        self._note(X, f, None)
        return f

    def evaluate_gradient(self, X: Array) -> Array:
        """As `Problem.evaluate_gradient`."""
        G = super().evaluate_gradient(X)
        self._note(X, None, G)
        return G

    def evaluate(self, X: Array) -> tuple[float, Array]:
        """As `Problem.evaluate`."""
        f, G = super().evaluate(X)
        self._note(X, f, G)
        return f, G

    def _note(self, X: Array, f: float | None, G: Array | None) -> None:
        if self.clock.kept(None) is not None:
            return
        begin, trace, manifold = Clock.begin(), self.trace, self.manifold
        if self._last is None or not same_entries(self._last, np.asarray(X)):
            self._last = np.array(X)
            known = (trace.cost[-1], trace.gradient_norm[-1]) if len(trace) else (math.nan,) * 2
            away = number(manifold.feasibility(X))
            trace.append(self.clock.elapsed()[0], *known, away, 0)
        trace.evaluations[-1] = self.tally.counts.evaluations
        if f is not None:
            trace.cost[-1] = f
        if G is not None and np.all(np.isfinite(G)):
            trace.gradient_norm[-1] = number(norm(manifold.place(X).project(G)))
        Clock.measured(begin)


def complete_lines(trace: Trace) -> Trace:
    """The lines from the first on whose gradient norm is known; the cost may be NaN."""
    norms = enumerate(trace.gradient_norm)
    first = next((n for n, value in norms if not math.isnan(value)), len(trace))
    return Trace(*(column[first:].tolist() for column in trace.as_arrays().values()))


def as_result(returned: Any, problem: Watched, max_time: float) -> Result:
    """The result of what a solver returned, to be checked at its x.

    Args:
        returned: x, SciPy's OptimizeResult, pymanopt's result, or a `Result`.
        problem: The problem that the solver had.
        max_time: Its limit: past it, the status is TIME_LIMIT.

    Returns:
        The result; its `nit` is the number of evaluations where the solver does not say.

    Raises:
        ValueError: If `returned` is something else, or x has another size.
    """
    if isinstance(returned, Result):
        return returned
    x = getattr(returned, "x", getattr(returned, "point", returned))
    if isinstance(x, list | tuple) or np.asarray(x).dtype.kind not in "fciu":
        refuse("solver", f"a solver that returns {_NEED}", type(returned).__name__)
    shape = problem.manifold.shape
    if np.size(x) != math.prod(shape):
        refuse("solver", f"x of shape {shape}, or as many entries", f"shape {np.shape(x)}")
    seconds, counts = problem.clock.seconds[0], problem.tally.counts
    late = seconds >= max_time
    iterations = getattr(returned, "nit", getattr(returned, "iterations", counts.evaluations))
    return Result(
        x=np.reshape(np.asarray(x), shape) * 1.0,
        fun=math.nan,
        gradient_norm=math.nan,
        feasibility=math.nan,
        success=not late,
        status=Status.TIME_LIMIT if late else Status.CONVERGED,
        message=(Status.TIME_LIMIT if late else Status.CONVERGED).value,
        method="",
        nit=int(iterations),
        nfev=counts.nfev,
        njev=counts.njev,
        nhev=counts.nhev,
        time=seconds,
        trace=problem.trace,
    )
