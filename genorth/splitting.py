"""Augmented Lagrangians: rounds of a smooth solver, and those for a nonsmooth term.

    L(X) = f(X) + r(V) + rho/2 |u - V|^2 - |y|^2/(2 rho),  u = X + y/rho,  V = prox_{r/rho}(u)

is that of f(X) + r(V) under V = X, minimised over V. Its gradient is G + rho (u - V), which is the
next y, a subgradient of r at V. So the inner problem is smooth, on the same manifold, and every
solver can minimise it, penalty methods too. With y = 0 and a growing rho it is the smoothing of r
by Moreau's envelope, for `L1` by Huber's function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

import attrs

from genorth.errors import NotRestorableError, StepTooLong
from genorth.geometry.support import restore_on_support
from genorth.linalg.arrays import Array, inner, norm, number
from genorth.problem.measure import Measure
from genorth.problem.problem import Problem
from genorth.problem.proximal import natural_step
from genorth.solve.options import Options
from genorth.solve.progress import Reporter
from genorth.solve.result import Interrupted, Progress, Result, Status, joined
from genorth.solve.solver import Solver

#: Ends of a round that end the run.
ENDS = (
    Status.ITERATION_LIMIT,
    Status.EVALUATION_LIMIT,
    Status.TIME_LIMIT,
    Status.CALLBACK,
    Status.NOT_FINITE,
    Status.UNBOUNDED,
)
_ADDED = ("nit", "nfev", "time")  # figures of an iterate that go on from round to round
_ROUNDS = 60
_STIFFNESS = 1.0  # rho of the first round, relative to 1/t of the stopping measure
_FIRST = 1e-2  # the tolerance of the first round, relative to |G| at the start
_TIGHTER = 0.2  # of the next one
_FALL = 0.25  # by which |X - V| has to fall, else rho grows
_GROWTH = 4.0
_MORE = 5  # rounds at a stationary point whose zeros do not fit yet


class _Whole(Reporter):
    """Shows the iterates of a round as those of the whole run, to a callback or a reporter."""

    def __init__(self, seen: Any, before: Result | None, tol: float) -> None:
        self._seen, self._before, self._tol = seen, before, tol

    def __call__(self, progress: Progress) -> Any:
        """The next iterate."""
        done = {} if self._before is None else {n: getattr(self._before, n) for n in _ADDED}
        sums = {name: value + getattr(progress, name) for name, value in done.items()}
        return self._seen(attrs.evolve(progress, tol=self._tol, **sums))


class Rounds(ABC):
    """The outer iteration of an augmented Lagrangian.

    Args:
        problem: The problem.
        solver: The solver of the inner problems.
        options: The options of the run, with its budgets.
        given: Further arguments of the solver.
    """

    def __init__(
        self, problem: Problem, solver: Solver, options: Options, given: dict[str, Any]
    ) -> None:
        self.problem, self.solver, self.options, self.given = problem, solver, options, given
        self.before = problem.counts

    def solve(self, x: Array) -> Result:
        """Rounds until the conditions of the problem hold, or a budget ends the run."""
        try:
            return self._solved(x)
        finally:
            if self.options.progress is not None:
                self.options.progress.close()

    @abstractmethod
    def _solved(self, x: Array) -> Result:
        """The rounds."""

    def rest(self, done: Result | None, tol: float) -> dict[str, Any]:
        """The arguments of the next round."""
        options = self.options
        watchers = {"callback": options.callback, "progress": options.progress}
        return {
            **(options.left(done) or {}),
            "feasibility_tol": options.feasibility_tol,
            "keep_points": options.keep_points,
            **{name: seen and _Whole(seen, done, tol) for name, seen in watchers.items()},
        }

    def near(self, x: Array) -> Array:
        """The point of M that x leads to, where sizes are those of the solution; x without one."""
        try:
            return self.problem.manifold.restore(x)
        except NotRestorableError:
            return x

    def ended(self, done: Result, status: Status) -> Status:
        """Why the rounds ended without a success: as the last of them, by a budget, or stuck."""
        return status if status in ENDS else self.options.spent(done) or Status.STALLED


class Envelope:
    """L of a problem with a nonsmooth term; y and rho change from round to round.

    Args:
        problem: The problem.
        y: The multiplier.
        rho: The weight of the square.
    """

    def __init__(self, problem: Problem, y: Array, rho: float) -> None:
        self.problem, self.y, self.rho = problem, y, rho

    def copy(self, X: Array) -> Array:
        """V = prox_{r/rho}(X + y/rho)."""
        return self.problem.term.prox(X + self.y / self.rho, 1 / self.rho)

    def multiplier(self, X: Array) -> Array:
        """Rho (u - V), the next y, a subgradient of r at V."""
        return self.rho * (X - self.copy(X)) + self.y

    def value_and_gradient(self, X: Array) -> tuple[float, Array]:
        """L and its gradient."""
        f, G = self.problem.cost_and_gradient(X)
        V = self.copy(X)
        y = self.rho * (X - V) + self.y
        square = number(inner(y, y)) - number(inner(self.y, self.y))
        return f + self.problem.term(V) + square / (2 * self.rho), G + y

    def hessian(self, X: Array, Z: Array) -> Array:
        """H[Z] + rho (Z - D[Z]), D the derivative of the prox."""
        D = self.problem.term.derivative(X + self.y / self.rho, 1 / self.rho)
        return self.problem.euclidean_hessian(X, Z) + self.rho * (Z - D(Z))

    def smooth(self) -> Problem:
        """The inner problem."""
        problem = self.problem
        return Problem(
            problem.manifold,
            None,
            None,
            self.hessian,  # of f by differences where it is not given: r has kinks
            self.value_and_gradient,
            name=problem.name,
        )


class Split(Rounds):
    """The rounds for a nonsmooth term, until |Z|/t at V, led to M on its support, is small.

    Args:
        multipliers: Whether y is updated; else it stays zero, and rho grows in every round.
        *fields: Those of `Rounds`.
    """

    def __init__(self, multipliers: bool, *fields: Any) -> None:
        super().__init__(*fields)
        self.multipliers = multipliers

    def _solved(self, x: Array) -> Result:
        problem, options = self.problem, self.options
        near = self.near(x)
        _, G = problem.cost_and_gradient(near)
        scale = number(norm(G))
        tol = max(options.tol, options.rtol * scale)
        goal = max(tol / 2, _FIRST * scale)
        rho = _STIFFNESS / natural_step(near, G, problem.term(near))
        envelope = Envelope(problem, 0 * x, rho)
        done: Any = None
        before, more = math.inf, _MORE
        for _ in range(_ROUNDS):
            rest = self.rest(done, tol)
            try:
                result = self.solver(envelope.smooth(), x, tol=goal, **rest, **self.given)
            except Interrupted as stop:
                at = Measure.at(problem, stop.result.x)
                stop.result = self._result(joined(done, stop.result), at, Status.INTERRUPTED)
                raise
            done, x = joined(done, result), result.x
            V = envelope.copy(x)
            at, miss = self._measured(x, V), number(norm(x - V))
            good = at.stationarity <= tol and at.feasible(options.feasibility_tol)
            more -= good and at.X is x
            done_well = good and (at.X is not x or more == 0)
            if done_well or result.status in ENDS or options.left(done) is None:
                break
            if self.multipliers:
                envelope.y = envelope.multiplier(x)
            fallen = miss <= _FALL * before
            if not (fallen and self.multipliers):
                envelope.rho *= _GROWTH
            before, goal = miss, max(tol / 2, _TIGHTER * goal)
        status = Status.CONVERGED if good else self.ended(done, result.status)
        return self._result(done, at, status)

    def _measured(self, x: Array, V: Array) -> Measure:
        """The figures of V led to M on its support, or where that is too small of x."""
        manifold = self.problem.manifold
        with suppress(NotRestorableError, StepTooLong):
            x = restore_on_support(manifold, V, self.options.feasibility_tol)
        return Measure.at(self.problem, x)

    def _result(self, done: Result, at: Measure, status: Status) -> Result:
        counts = self.problem.counts - self.before
        return attrs.evolve(
            done,
            x=at.X,
            stopping_measure=at.stationarity,
            **at.figures,
            **counts.calls,
            success=status is Status.CONVERGED,
            status=status,
            message=status.message(self.solver.family),
        )
