"""`Run`: what the Riemannian solvers share: the start, the steps, the trace, and the Result."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Unpack

import attrs

from baselines.geometry import choose
from baselines.geometry.base import CayleyRay, Place, Ray
from baselines.riemannian.phases import Phases
from genorth.errors import NotRestorableError, OutsideDomainError, StepTooLong, refuse
from genorth.geometry.retractions import BEND, RETRACTIONS
from genorth.linalg.arrays import Array, eps, inner, norm, number
from genorth.problem.problem import Problem
from genorth.solve.ending import end_at, result
from genorth.solve.monitor import Guard, Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import RIEMANNIAN
from genorth.solve.wolfe import Conditions, in_noise, parabola_slope, strong_wolfe

#: preconditioner(X, V): an approximation of the inverse Hessian at X applied to V, symmetric and
#: positive definite; as in pymanopt.
Preconditioner = Callable[[Array, Array], Array]

_CHECK = 16  # iterations between two checks of the drift from M, each of which costs a product
# of feasibility_tol: a point farther from M is led back by A before anything is evaluated there
_DRIFT = 0.05
# steps of A, which square the violation; a point that needs more was not reached by a retraction
_REPAIRS = 3
_SURE = 0.5  # share of the slope that may be left at which a parabola is believed


@attrs.frozen(eq=False)
class Step:
    """The step t Z along a ray."""

    ray: Ray
    Z: Array
    t: float


class Iterate:
    """A point with cost and Euclidean gradient; the Riemannian one is made when asked for."""

    def __init__(
        self, place: Place, value: float, G: Array, phases: Phases, step: Step | None = None
    ) -> None:
        self.place, self.X, self.value, self.G = place, place.X, value, G
        self._phases, self._step = phases, step

    @cached_property
    def _differential(self) -> tuple[Array, Array]:
        with self._phases.gradient:
            return self.place.gradient(self.G)

    @property
    def covector(self) -> Array:
        """w with df(Z) = <w, Z> for tangent Z."""
        return self._differential[0]

    @property
    def gradient(self) -> Array:
        """The gradient in the metric of the geometry."""
        return self._differential[1]

    @cached_property
    def decrease(self) -> float:
        """|w|^2, the square of the length of the gradient in the metric of the geometry."""
        return number(inner(self.covector, self.covector))

    def slope(self, Z: Array) -> float:
        """<w, Z>: for tangent Z the derivative of f along Z, for any Z that along its transport."""
        return number(inner(self.covector, Z))

    @cached_property
    def velocity(self) -> Array | None:
        """c'(t) at the end of the step that led here, where its ray knows it."""
        if self._step is None:
            return None
        with self._phases.retraction:
            return self._step.ray.velocity(self._step.t)

    @cached_property
    def end_slope(self) -> float:
        """The derivative of f along the step at its end: <G, c'(t)> (F19).

        Where c'(t) is not known, that along the transported direction, which is another number.
        """
        step = self._step
        assert step is not None
        V = vars(self).get("velocity")
        if V is not None:
            return number(inner(self.G, V))
        with self._phases.retraction:
            slope = step.ray.slope(step.t, self.G)
        return self.slope(step.Z) if slope is None else slope

    def settle(self) -> None:
        """Forget the step that led here: the next one begins, and arrays take memory."""
        self._step = None
        for name in ("velocity", "end_slope"):
            vars(self).pop(name, None)

    def release(self) -> None:
        """Forget G: another iterate was accepted, and of this one the covector is enough."""
        self.G = None


class Run:
    """One run of a solver, which is a function of the Run.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        method: The name of the solver, without its geometry.
        geometry: "fast", "products" or "faithful".
        retraction: A kind of `GenOrthManifold.retract`, or "auto": Cayley while its curve bends
            little to the side, else "normal" (F18). For "auto", "products" takes Cayley, as it
            solves no equation, and "faithful" the retraction of the literature.
        second_order: Whether the solver needs a Hessian product.
        precondition: The `preconditioner` of the solvers that take one, checked here. Under another
            name, so that a solver that takes none refuses it.
        **common: The arguments of every solver, see `genorth.solve.options.Options`.

    Raises:
        ValueError: If the problem lacks a derivative, or an argument is wrong.
        NotRestorableError: If x0 is too far from M.
    """

    def __init__(
        self,
        problem: Problem,
        x0: Any,
        method: str,
        geometry: str,
        *,
        retraction: str = "auto",
        second_order: bool = False,
        precondition: Preconditioner | None = None,
        **common: Unpack[Common],
    ) -> None:
        require(problem, method, second_order)
        if precondition is not None and not callable(precondition):
            refuse("preconditioner", "a callable, preconditioner(X, V)", repr(precondition))
        options = Options(**common)
        self._retraction = _checked(retraction, geometry)
        #: How often each retraction was used, counted by line searches.
        self.retractions: dict[str, int] = {}
        self.problem, self.manifold = problem, problem.manifold
        self.method, self.preconditioner = f"{method}-{geometry}", precondition
        self.place = choose(geometry, problem.manifold)
        self._start = restored_start(problem, x0, options, on_device=geometry != "faithful")
        self.phases = Phases()
        self.monitor = Monitor(problem, options)
        self.guard = Guard(self.monitor)
        self._drift = max(_DRIFT * options.feasibility_tol, 20 * eps(self._start))
        self._last: Iterate | None = None
        # the lowest cost, where and with which G: what a run that meets NaN returns
        self._best: tuple[float, Array, Array] | None = None

    # ------------------------------------------------------------------ what solvers call

    def start(self) -> Iterate:
        """The first iterate, in the trace."""
        first = self.evaluate(self.place(self._start))
        self.accept(first)
        return first

    def evaluate(self, place: Place, step: Step | None = None) -> Iterate:
        """f and its gradient at a place; a value that is not finite ends the run."""
        return Iterate(place, *self.guard.evaluate(place.X), self.phases, step)

    def line(self, point: Iterate, Z: Array, slopes: bool = False) -> Callable[[float], Iterate]:
        """t -> the iterate at the end of the step t Z, not yet accepted.

        With `slopes` the ray keeps what makes its slopes and velocities cheap.
        """
        point.settle()
        ray: Ray | None = None

        def step(t: float) -> Iterate:
            nonlocal ray
            with self.phases.retraction:
                try:
                    if ray is None:
                        ray = self._ray(point.place, Z, t, slopes)
                    X, trusted = ray.point(t)
                    place = self.place(X)
                    if not trusted or self.monitor.nit % _CHECK == 0:
                        place = self._repaired(place)
                except OutsideDomainError as error:
                    raise StepTooLong from error
            return self.evaluate(place, Step(ray, Z, t))

        return step

    def _ray(self, place: Place, Z: Array, t: float, slopes: bool) -> Ray:
        """The ray of a line search whose first trial is t."""
        if self._retraction in ("auto", "cayley"):
            ray = place.ray(Z)
            bends = self._retraction == "auto" and isinstance(ray, CayleyRay)
            if bends and ray.sideways(t, place.transport) > BEND:
                ray = place.manifold_ray(Z, "normal", slopes)
        else:
            ray = place.manifold_ray(Z, self._retraction, slopes)
        self.retractions[ray.kind] = self.retractions.get(ray.kind, 0) + 1
        return ray

    def search(
        self,
        point: Iterate,
        Z: Array,
        slope: float,
        t: float,
        conditions: Conditions,
        carries: bool = False,
    ) -> tuple[Iterate, float]:
        """The iterate at the end of an acceptable step t Z, and t.

        The slope at a trial is that of the parabola through f(0), s(0) and f(t) where this keeps
        the second condition by far, else the exact one.

        carries: `carried` is called next, which needs c'(t), and convergence the exact slope.
        """
        step, unit = self.line(point, Z, slopes=True), eps(point.X)

        def curve(t: float) -> tuple[float, float, Iterate]:
            trial = step(t)
            if carries:
                _ = trial.velocity  # the slope is then made from it
            elif not in_noise(point.value, trial.value, unit):
                guess = parabola_slope(point.value, slope, t, trial.value)
                if abs(guess) <= -_SURE * conditions.curvature * slope:
                    return trial.value, guess, trial
            return trial.value, trial.end_slope, trial

        return strong_wolfe(curve, point.value, slope, t, conditions, unit)

    def _repaired(self, place: Place) -> Place:
        """The place, led back to M where rounding, of one long step or of many, has left it."""
        for repairs in range(_REPAIRS + 1):
            if place.feasibility <= self._drift * place.scale():
                return place
            if repairs < _REPAIRS:
                place = self.place(place.dissolved())
        message = f"|C| = {place.feasibility:.3g} after the step, too long for this retraction"
        raise OutsideDomainError(message)

    def carried(self, point: Iterate, Z: Array) -> tuple[Array, float]:
        """The direction Z of the step that led to the point, carried there, and <w, T(Z)>.

        T(Z) = c'(t), the differentiated retraction, scaled so that it is not longer than Z: what
        the convergence of conjugate gradients needs [ring2012optimization, sato2015new]. Where
        c'(t) is not known, the projection.
        """
        V = point.velocity
        if V is None:
            with self.phases.transport:
                return point.place.transport(Z), point.end_slope
        length = number(norm(V))
        scale = min(1.0, number(norm(Z)) / length) if length > 0 else 1.0
        return scale * V, scale * point.end_slope

    def accept(self, point: Iterate) -> None:
        """The point is the next iterate: to the trace. Raises `Stop` where it is the last one."""
        if self._last is not None and self._last is not point:
            self._last.release()
        self._last = point
        if self._best is None or point.value < self._best[0]:
            self._best = point.value, point.X, point.G
        measure = math.sqrt(point.decrease)
        with self.monitor.paused():
            feasibility = point.place.feasibility
        self.monitor.iteration(point.X, point.value, measure, feasibility)

    # ------------------------------------------------------------------ the whole

    def solve(self, solver: Callable[[Run], None]) -> Result:
        """Run the solver until it is stopped, or returns because it is stuck."""
        status = Status.STALLED
        try:
            solver(self)
        except Stop as stop:
            status = stop.status
        X, known = self._start, None
        if self._last is not None and self._best is not None:
            last = self._last.value, self._last.X, self._last.G
            value, X, G = self._best if status is Status.NOT_FINITE else last
            known = value, G
        end = end_at(self.monitor, X, self._start, known)
        return result(
            self.monitor,
            status,
            end,
            family=RIEMANNIAN,
            method=self.method,
            seconds=self.phases.seconds(),
            retractions=self.retractions,
        )


def _checked(retraction: Any, geometry: str) -> str:
    """The retraction; "cayley" for "auto" in a geometry that solves no equation."""
    known = ("auto", *RETRACTIONS)
    if retraction not in known:
        refuse("retraction", f"one of {', '.join(map(repr, known))}", repr(retraction))
    if geometry == "faithful" and retraction != "auto":
        hint = 'The geometry "faithful" has the retraction of the literature.'
        refuse("retraction", "'auto'", repr(retraction), None, hint)
    return "cayley" if geometry == "products" and retraction == "auto" else str(retraction)


def restored_start(problem: Problem, x0: Any, options: Options, on_device: bool) -> Array:
    """The start on M: x0 restored, or a random point. Refused where x0 is too far from M."""
    X, tol = problem.start(x0, options.rng, on_device), options.feasibility_tol
    manifold = problem.manifold
    try:
        return manifold.restore(X, tol)
    except NotRestorableError:
        need = "a point near M, where a Riemannian solver starts: |C(x0)|"
        hint = (
            "Neither A nor Newton's map leads to M from there. Start from "
            "manifold.random_point(rng), or use a penalty method."
        )
        refuse("x0", need, float(manifold.feasibility(X)), tol, hint, NotRestorableError)
