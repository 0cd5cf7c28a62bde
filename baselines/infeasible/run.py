"""`Run`: what the infeasible methods have in common: the tube, the books, the merit, the Result."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any, TypeAlias, TypeVar, Unpack

import attrs

from genorth.errors import StepTooLong, refuse
from genorth.geometry.place import Place
from genorth.linalg.arrays import Array, inner, norm
from genorth.problem.kkt import KKT, tangent_norm
from genorth.problem.measure import VIOLATION
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep, Settings, descend
from genorth.solve.ending import BEST, end_at, outcome, result
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import INFEASIBLE

#: |C| of every iterate of a landing method is at most this: repeated A leads to M from there (F6).
TUBE = 0.5
_SLACK = 1e-6  # of the tube, for rounding
_HALVINGS = 60  # of a step, down to rounding
_P = TypeVar("_P")  # an `Iterate` of the descent where Barzilai and Borwein choose the steps


def positive(**values: Any) -> None:
    """Refuse a constant that is no positive number."""
    for name, value in values.items():
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not (real and 0 < float(value) < math.inf):
            refuse(name, f"{name} > 0, finite", repr(value))


def or_word(value: Any, word: str) -> Any:
    """1 in place of the word, so that `positive` takes both."""
    return 1.0 if isinstance(value, str) and value == word else value


@attrs.frozen(eq=False)
class Point:
    """A place with f and its Euclidean gradient."""

    at: Place
    f: float
    G: Array

    @property
    def X(self) -> Array:
        """Where it is."""
        return self.at.X


class Run:
    """One run of a method, which is a function of the Run; it ends by `Stop`, or where it is stuck.

    Args:
        problem: The problem.
        x0: The start, with |C(x0)| <= tube. Default: a random point of M.
        method: The name of the method.
        tube: The largest |C| of an iterate; infinite for methods that work anywhere in F.
        on_device: Whether the method takes arrays of JAX and PyTorch as they are.
        nonsmooth: Whether it takes problems with a nonsmooth term.
        **common: The arguments of every solver, see `Options`.
    """

    def __init__(
        self,
        problem: Problem,
        x0: Any,
        method: str,
        tube: float = math.inf,
        on_device: bool = False,
        nonsmooth: bool = False,
        **common: Unpack[Common],
    ) -> None:
        require(problem, method, nonsmooth)
        options = Options(**common)
        self.problem, self.manifold = problem, problem.manifold
        self.method, self.tube = method, tube
        self._start = problem.start(x0, options.rng, on_device)
        violation = self.manifold.anywhere(self._start).feasibility
        if not violation <= tube:
            refuse(
                "x0",
                "a start in the tube around M: |C(x0)| = |x0^T phi(x0) - I|",
                violation,
                tube,
                "Restore it (manifold.restore), or use a penalty method, which starts anywhere.",
            )
        self.monitor = Monitor(problem, options)
        self._last: Point | None = None
        self._best: Point | None = None

    def start(self) -> Point:
        """The first iterate, in the books."""
        first = self.evaluate(self._start)
        self.accept(first)
        return first

    def evaluate(self, X: Array, at: Place | None = None) -> Point:
        """f and its gradient at X, of which phi(X) and X^T phi(X) may be known.

        Raises `StepTooLong` outside of the tube, before f is called; a value that is not
        finite ends the run. Rounding off F would grow from step to step: X is projected.
        """
        if self.manifold.ambient_projector is not None:
            X, at = self.manifold.ambient(X), None
        at = self.manifold.anywhere(X) if at is None else at
        violation = at.feasibility
        if not violation <= self.tube * (1 + _SLACK):
            raise StepTooLong(f"|C| = {violation:.3g} after the step, outside of the tube")
        return Point(at, *self.monitor.evaluate(at.X, self._last is None))

    def accept(self, point: Point, measure: float | None = None) -> None:
        """The point is the next iterate: to the trace. Raises `Stop` where it is the last one.

        The stopping measure is that of the Riemannian solvers, |P_X G|, plus max(1, |G|) |C|: A
        moves X by at most |X| |C|/2, so that the restored point has a small gradient too. It is
        taken while the clock stands.
        """
        self._last = point
        if self._best is None or point.f < self._best.f:
            self._best = point
        with self.monitor.paused():
            violation = point.at.feasibility
            if self.problem.constraints is not None:
                kkt = KKT.estimate(self.problem, point.X)
                missed = 0.0 if kkt.feasible(VIOLATION) else 1 + kkt.violation
                measure = max(kkt.stationarity, missed)
            elif measure is None:
                measure = tangent_norm(point.at.project(point.G), point.G)
            measure += max(1.0, float(norm(point.G))) * violation
        if not math.isfinite(measure):  # f and G are finite: X is too long for C(X)
            raise Stop(Status.DIVERGED)
        self.monitor.iteration(point.X, point.f, measure, violation)

    def solve(self, solver: Callable[[Run], None]) -> Result:
        """Run the method to its end."""
        status = outcome(solver, self).status
        last = self._best if status in BEST else self._last
        X, known = (self._start, None) if last is None else (last.X, (last.f, last.G))
        end = end_at(self.monitor, X, self._start, known)
        return result(self.monitor, status, end, family=INFEASIBLE, method=self.method)


#: Barzilai and Borwein's steps with these settings, or the size of the step from an iterate.
Steps: TypeAlias = Settings | Callable[[_P], float]


def march(
    at: _P, step: Callable[[_P, float], _P], accept: Callable[[_P], None], steps: Steps[_P]
) -> None:
    """Steps until `accept` raises `Stop`, or none is left; one that leaves the tube is halved."""
    with suppress(NoStep):
        if isinstance(steps, Settings):
            descend(at, lambda at: lambda t: step(at, -t), accept, steps)  # type: ignore[type-var]
            return
        while True:
            at = _halved(at, step, steps(at))
            accept(at)


def _halved(at: _P, step: Callable[[_P, float], _P], t: float) -> _P:
    for _ in range(_HALVINGS):
        try:
            return step(at, t)
        except StepTooLong:
            t /= 2
    raise NoStep


def merit(f: float, dual: Array, C: Array, mu: float) -> float:
    """Fletcher's augmented Lagrangian f - <Theta^T, C>/2 + mu/4 |C|^2 [ablin2024infeasible]."""
    return f - float(inner(dual, C)) / 2 + mu / 4 * float(inner(C, C))
