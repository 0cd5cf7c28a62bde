"""`OnSpace`: a run on the whole space F, where a loop minimises a penalty h."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from genorth.errors import OutsideDomainError, StepTooLong
from genorth.geometry.product import FreePlace
from genorth.geometry.retractions import Line, Ray
from genorth.linalg.arrays import Array, norm
from genorth.penalty.base import Penalty, Point
from genorth.solve.ending import BEST, outcome
from genorth.solve.monitor import Monitor, Stop, check_value
from genorth.solve.result import Status
from genorth.solve.run import Iterate, Preconditioner, Run

_NEAR = 1e-3  # of a step: a trial that is nearer to M need not be led there


class Flat(FreePlace):
    """A place of F, with what a function on F knows there.

    Args:
        of: The penalty, or a run of another function on F.
        point: What it knows at X.
    """

    def __init__(self, of: Any, point: Any) -> None:
        super().__init__(of.manifold, point.X)
        self.point = point


class OnSpace(Run):
    """One run of a loop on F: h is minimised from X.

    h may be unbounded below far from M. A trial that is farther from M than the penalty admits is
    outside the domain, and f is not called.

    Args:
        h: The penalty.
        monitor: The monitor of the run.
        X: The start.
        preconditioner: That of f on M, or None.
    """

    outside = 0.1  # h falls there, so that a trial tells as much as one that is too high

    def __init__(
        self,
        h: Penalty[Any],
        monitor: Monitor,
        X: Array,
        preconditioner: Preconditioner | None = None,
    ) -> None:
        super().__init__(monitor, preconditioner)
        #: Where the round begins.
        self.first = X
        self.h = h
        self.dimension = math.prod(h.manifold.shape) * (2 if h.manifold.dtype.kind == "c" else 1)
        self.curvature = h.scale if self.preconditioner is None else 0.0
        #: The last iterate, the one with the least h, and whether a trial was too far from M since.
        self.last: Flat | None = None
        self._best: tuple[float, Flat] | None = None
        self.turned_back = False

    def start(self) -> Iterate:
        """The first iterate, in the trace; it may be anywhere."""
        first = self.evaluate(Flat(self.h, self.h.point(self.first)))
        self.accept(first)
        return first

    def ray(self, place: Any, Z: Array) -> Ray:
        """The straight line."""
        return Line(place, Z)

    def arrive(self, ray: Ray, X: Array) -> Flat:  # noqa: ARG002
        """The place of X, if it is near enough to M."""
        point = self.h.point(X)
        if not self.h.admits(point):
            self.turned_back = True
            raise OutsideDomainError("the trial is farther from M than the penalty admits")
        return Flat(self.h, point)

    def evaluate(self, place: Flat, ray: Ray | None = None, t: float = 0.0) -> Iterate:
        """h and its gradient; a value that is not finite ends the run."""
        self.monitor.check()
        return self.known(place, ray, t)

    def known(self, place: Flat, ray: Ray | None = None, t: float = 0.0) -> Iterate:
        """As `evaluate`, where f is known already: no budget is asked for."""
        point = self.h.complete(place.point)
        value = check_value(float(self.h.value_at(point)), first=self.last is None)
        iterate = Iterate(self, place, value, point.gradient, ray, t)
        if not math.isfinite(iterate.decrease):
            raise Stop(Status.NOT_FINITE)
        return iterate

    def accept(self, point: Iterate) -> None:
        """The next iterate: to the trace, and to the rule for beta."""
        assert isinstance(point.place, Flat)
        if self._best is None or point.value < self._best[0]:
            self._best = point.value, point.place
        gradient_norm = math.sqrt(point.decrease)
        self.last, self.turned_back, known = point.place, False, point.place.point
        self.monitor.iteration(
            point.X, float(known.cost), gradient_norm, math.sqrt(known.violation)
        )
        self.h.watch(known, gradient_norm)

    def model(self, point: Iterate) -> tuple[Array, Callable[[Array], Array]]:
        """That of the penalty."""
        assert isinstance(point.place, Flat)
        gradient, hessian = self.h.model(point.place.point)

        def product(Z: Array) -> Array:
            self.monitor.check()
            return hessian(Z)

        return gradient, product

    def step(self, point: Iterate, Z: Array) -> Iterate:
        """X + Z, led towards M by Y where the model is along M.

        X + Z leaves M by the square of |Z|, so that h grows by its fourth power, of which no model
        knows. Above the threshold h is smaller at Y.
        """
        if not self.h.along:
            return super().step(point, Z)
        point.settle()
        line = Line(point.place, Z)
        try:
            place = self.arrive(line, line.point(1.0))
        except OutsideDomainError as error:
            raise StepTooLong from error
        if place.point.penalty > (_NEAR * float(norm(Z))) ** 2:
            place = Flat(self.h, self.h.point(place.point.Y))
        return self.evaluate(place, line, 1.0)

    def where(self, point: Iterate) -> Array:
        """Y(X), where f is evaluated."""
        assert isinstance(point.place, Flat)
        return point.place.point.Y

    def inverse(self, point: Iterate) -> Callable[[Array], Array] | None:
        """P M^-1 P + (I - P)/beta, P the projection at Y(X): normal to M the curvature is beta."""
        inverse = super().inverse(point)
        if inverse is None:
            return None
        Y = self.where(point)
        project = self.h.manifold.anywhere(Y).project

        def applied(V: Array) -> Array:
            tangent = project(V)
            return project(inverse(tangent)) + self.h.over_beta(V - tangent)

        return applied

    def minimised(self, loop: Callable[[OnSpace], None]) -> tuple[Status, Point]:
        """Run the loop; how it ended, and where."""
        status = outcome(loop, self).status
        if status is Status.STALLED and self.turned_back and not self.monitor.stuck:
            status = Status.DIVERGED  # the line search failed at the limit
        if self._best is None or self.last is None:
            return status, self.h.point(self.first)
        return status, (self._best[1] if status in BEST else self.last).point
