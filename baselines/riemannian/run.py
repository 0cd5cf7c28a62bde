"""`Run`: what the Riemannian solvers have in common.

The start, the steps, the books, and the Result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from baselines.geometry.choice import choose
from baselines.geometry.places import Place
from baselines.riemannian.phases import Phases
from genorth.errors import NotRestorableError, OutsideDomainError, StepTooLong, refuse
from genorth.linalg.arrays import Array, eps, inner, norm
from genorth.problem.problem import Problem
from genorth.solve.ending import end_at, result
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import RIEMANNIAN

_LOOK = 16  # iterations between two looks at the drift from M, which costs a product and is slow
# of feasibility_tol: a point that is farther from M is led back by A before anything is evaluated
# there
_DRIFT = 0.05
# steps of A, which square the violation; a point that needs more was not reached by a retraction
_REPAIRS = 3


class Iterate:
    """A point with cost and Euclidean gradient.

    The Riemannian gradient is made when it is asked for.
    """

    def __init__(self, place: Place, value: float, G: Array, phases: Phases) -> None:
        self.place, self.X, self.value, self.G = place, place.X, value, G
        self._phases = phases

    @cached_property
    def _differential(self) -> tuple[Array, Array]:
        with self._phases.gradient:
            return self.place.gradient(self.G)

    @property
    def covector(self) -> Array:
        """W with df(Z) = <w, Z> for tangent Z."""
        return self._differential[0]

    @property
    def gradient(self) -> Array:
        """The gradient in the metric of the geometry."""
        return self._differential[1]

    @cached_property
    def decrease(self) -> float:
        """|w|^2, the square of the length of the gradient in the metric of the geometry."""
        return float(inner(self.covector, self.covector))

    def slope(self, Z: Array) -> float:
        """<w, Z>: for tangent Z the derivative of f along Z, for any Z that along its transport."""
        return float(inner(self.covector, Z))


class Run:
    """One run of a solver, which is a function of the Run.

    It ends by `Stop`, or returns where it is stuck.
    """

    def __init__(
        self,
        problem: Problem,
        x0: Any,
        method: str,
        geometry: str,
        **common: Unpack[Common],
    ) -> None:
        require(problem, method)
        options = Options(**common)
        self.problem, self.manifold = problem, problem.manifold
        self.method, self.feasibility_tol = f"{method}-{geometry}", float(options.feasibility_tol)
        self.place = choose(geometry, problem.manifold)
        self._start = restored_start(problem, x0, options.rng, self.feasibility_tol)
        self.phases = Phases()
        self.monitor = Monitor(problem, options)
        self._drift = max(_DRIFT * self.feasibility_tol, 20 * eps(self._start))
        self._last: Iterate | None = None
        self._best: Iterate | None = None

    # ------------------------------------------------------------------ what solvers call

    def start(self) -> Iterate:
        """The first iterate, in the books."""
        first = self.evaluate(self.place(self._start))
        self.accept(first)
        return first

    def evaluate(self, place: Place) -> Iterate:
        """F and its gradient at a place; a value that is not finite ends the run."""
        self.monitor.check()
        value, G = self.problem.evaluate(place.X)
        if not (math.isfinite(value) and math.isfinite(norm(G))):
            raise Stop(Status.NOT_FINITE)
        return Iterate(place, value, G, self.phases)

    def line(self, point: Iterate, Z: Array) -> Callable[[float], Iterate]:
        """T -> the iterate at the end of the step t Z, not yet accepted."""
        with self.phases.retraction:
            ray = point.place.ray(Z)

        def step(t: float) -> Iterate:
            with self.phases.retraction:
                try:
                    X, trusted = ray(t)
                    place = self.place(X)
                    if not trusted or self.monitor.nit % _LOOK == 0:
                        place = self._repaired(place)
                except OutsideDomainError as error:
                    raise StepTooLong from error
            return self.evaluate(place)

        return step

    def _repaired(self, place: Place) -> Place:
        """The place, or the one on M next to it where rounding, of one long step or of many, has led away from M."""
        for _ in range(_REPAIRS):
            if place.feasibility <= self._drift * place.scale():
                return place
            place = self.place(place.dissolved())
        if place.feasibility <= self._drift * place.scale():
            return place
        raise OutsideDomainError(
            f"|C| = {place.feasibility:.3g} after the step, too long for this retraction"
        )

    def transport(self, point: Iterate, Z: Array) -> Array:
        """Z, carried to the point."""
        with self.phases.transport:
            return point.place.transport(Z)

    def accept(self, point: Iterate) -> None:
        """The point is the next iterate: to the trace. Raises `Stop` where it is the last one."""
        self._last = point
        if self._best is None or point.value < self._best.value:
            self._best = point
        measure = math.sqrt(point.decrease)
        with self.monitor.paused():
            feasibility = point.place.feasibility
        self.monitor.iteration(point.X, point.value, measure, feasibility)

    # ------------------------------------------------------------------ the whole

    def solve(self, solver: Callable[[Run], None]) -> Result:
        """Run the solver to its end."""
        status = Status.STALLED
        try:
            solver(self)
        except Stop as stop:
            status = stop.status
        last = self._best if status is Status.NOT_FINITE else self._last
        X, known = (self._start, None) if last is None else (last.X, (last.value, last.G))
        end = end_at(self.monitor, X, self._start, known)
        seconds = self.phases.seconds()
        return result(
            self.monitor, status, end, family=RIEMANNIAN, method=self.method, seconds=seconds
        )


def restored_start(problem: Problem, x0: Any, rng: Any, tol: float) -> Array:
    """The start on M: x0 restored, or a random point. Refused where x0 is too far from M."""
    X = problem.start(x0, rng)
    manifold = problem.manifold
    try:
        return np.asarray(manifold.restore(X, tol))
    except NotRestorableError:
        refuse(
            "x0",
            "a point near M, where a Riemannian solver starts: |C(x0)|",
            float(manifold.feasibility(X)),
            tol,
            "Repeated A does not lead to M from there. Start from manifold.random_point(rng), or use a penalty method.",
            NotRestorableError,
        )
