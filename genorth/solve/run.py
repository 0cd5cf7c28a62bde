"""`Run`: what a loop knows of the world, whatever it minimises: the start, steps, the trace.

A loop (`gd`, `cg`, `lbfgs`, `tr`) is a function of a Run. On the places of M it is a Riemannian
solver (`genorth.riemannian`), on those of the whole space F it minimises a penalty
(`genorth.penalty`): there the projection is the identity and a ray is a straight line.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from genorth.errors import OutsideDomainError, StepTooLong, refuse
from genorth.geometry.retractions import Ray
from genorth.linalg.arrays import Array, eps, inner, norm, number
from genorth.linalg.once import once
from genorth.solve.descent import NoStep
from genorth.solve.monitor import Monitor
from genorth.solve.wolfe import Conditions, in_noise, noise_unit, parabola_slope, strong_wolfe

#: preconditioner(X, V): an approximation of the inverse Hessian at X applied to V, symmetric and
#: positive definite; as in pymanopt.
Preconditioner = Callable[[Array, Array], Array]

_SURE = 0.5  # share of the slope that may be left at which a parabola is believed
_ROUNDING = 1e-8  # relative, up to which <V, M^-1 V> may be negative
_MANY = 20  # trials: a search that takes more ends in rounding, if anywhere
_SAMPLES, _SAMPLING = 8, 1e-9  # of the cost, to see its noise: how many, and how far apart
_ROUNDINGS = 100.0  # units of roundoff that searches bear anyway
_FIRST = 0.01  # the first step of a search, relative to |X|, where no curvature is known


class Where(Protocol):
    """What a loop needs of a place: `genorth.Place`, or one of the whole space."""

    X: Array

    def split(self, V: Array) -> tuple[Array, Any]:
        """The tangent part of V, and the coefficients of its normal part."""

    def project(self, D: Array) -> Array:
        """The tangent part of D."""


class Iterate:
    """A point with its cost and gradient.

    Args:
        run: The run.
        place: The place.
        value: The cost.
        G: The Euclidean gradient.
        ray: The curve that led here.
        t: The step along it.
    """

    def __init__(
        self, run: Run, place: Where, value: float, G: Array, ray: Ray | None = None, t: float = 0.0
    ) -> None:
        self.place: Any = place
        self.X, self.value, self.G = place.X, value, G
        self._seconds, self._ray, self._t = run.seconds, ray, t

    @once
    def gradient(self) -> Array:
        """The Riemannian gradient."""
        begin = perf_counter()
        gradient, self._multiplier = self.place.split(self.G)
        self._seconds["gradient"] += perf_counter() - begin
        return gradient

    @property
    def multiplier(self) -> Any:
        """The coefficients of the normal part of G."""
        _ = self.gradient
        return self._multiplier

    @once
    def decrease(self) -> float:
        """|grad f|^2."""
        return number(inner(self.gradient, self.gradient))

    def slope(self, Z: Array) -> float:
        """<grad f, Z>: for tangent Z the derivative of f along Z."""
        return number(inner(self.gradient, Z))

    @property
    def slopes_are_cheap(self) -> bool:
        """Whether `end_slope` costs next to nothing."""
        return self._ray is not None and self._ray.cheap_slopes

    @once
    def velocity(self) -> Array:
        """c'(t) at the end of the step that led here."""
        assert self._ray is not None
        begin = perf_counter()
        V = self._ray.velocity(self._t)
        self._seconds["retraction"] += perf_counter() - begin
        return V

    @once
    def end_slope(self) -> float:
        """The derivative of f along the step at its end: <G, c'(t)>."""
        assert self._ray is not None
        if "velocity" in vars(self):
            return number(inner(self.G, self.velocity))
        begin = perf_counter()
        slope = self._ray.slope(self._t, self.G)
        self._seconds["retraction"] += perf_counter() - begin
        return slope

    def settle(self) -> None:
        """Forget the step that led here: the next one begins, and arrays take memory."""
        self._ray = None
        vars(self).pop("velocity", None)


class Run(ABC):
    """One run of a loop, which ends by `Stop`, or returns where it is stuck.

    Args:
        monitor: The monitor of the run.
        preconditioner: The preconditioner, or None.
    """

    #: The number of real variables: no model needs more Hessian products.
    dimension: int
    #: Factor by which gradient descent shortens a step outside the domain.
    outside: float = 0.5
    #: The largest curvature of the cost that is known; zero where none is.
    curvature: float = 0.0

    def __init__(self, monitor: Monitor, preconditioner: Preconditioner | None = None) -> None:
        if preconditioner is not None and not callable(preconditioner):
            refuse("preconditioner", "a callable, preconditioner(X, V)", repr(preconditioner))
        self.monitor, self.preconditioner = monitor, preconditioner
        #: Seconds from the Euclidean gradient to the Riemannian one ("gradient"), in other
        #: projections, of directions and in Hessian products, and from a tangent vector to the next
        #: point, with the steps of A that take out its rounding ("retraction").
        self.seconds = dict.fromkeys(("gradient", "projection", "retraction"), 0.0)
        #: How often each retraction was used, counted by line searches.
        self.retractions: dict[str, int] = {}

    # ------------------------------------------------------------------ what a family gives

    @abstractmethod
    def start(self) -> Iterate:
        """The first iterate, in the trace."""

    @abstractmethod
    def ray(self, place: Any, Z: Array) -> Ray:
        """The curve along Z."""

    @abstractmethod
    def arrive(self, ray: Ray, X: Array) -> Where:
        """The place of X at the end of a step; `OutsideDomainError` where it is too long."""

    @abstractmethod
    def evaluate(self, place: Any, ray: Ray | None = None, t: float = 0.0) -> Iterate:
        """Cost and gradient at the end of a step; a value that is not finite ends the run."""

    @abstractmethod
    def accept(self, point: Iterate) -> None:
        """The point is the next iterate: to the trace. Raises `Stop` where it is the last one."""

    @abstractmethod
    def model(self, point: Iterate) -> tuple[Array, Callable[[Array], Array]]:
        """The gradient and the Hessian at the point, a map of the tangent space."""

    # ------------------------------------------------------------------ what loops call

    def step(self, point: Iterate, Z: Array) -> Iterate:
        """The end of the step Z of a model, not yet accepted."""
        return self.line(point, Z)(1.0)

    def line(self, point: Iterate, Z: Array, slopes: bool = False) -> Callable[[float], Iterate]:
        """t -> the iterate at the end of the step t Z, not yet accepted.

        With `slopes` the ray keeps what makes its slopes and velocities cheap.
        """
        point.settle()
        ray: Ray | None = None

        def step(t: float) -> Iterate:
            nonlocal ray
            begin = perf_counter()
            try:
                if ray is None:
                    ray = self.ray(point.place, Z).first(t)
                    ray.velocities = slopes
                    self.retractions[ray.kind] = self.retractions.get(ray.kind, 0) + 1
                place = self.arrive(ray, ray.point(t))
            except OutsideDomainError as error:
                raise StepTooLong from error
            self.seconds["retraction"] += perf_counter() - begin
            return self.evaluate(place, ray, t)

        return step

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

        Where slopes are not cheap, the slope at a trial is that of the parabola through f(0), s(0)
        and f(t) if this keeps the second condition by far, else the exact one.

        carries: `carried` is called next, which needs c'(t), and convergence the exact slope.
        """
        step, unit = self.line(point, Z, slopes=True), self.unit(point)
        trials = inside = 0

        def curve(t: float) -> tuple[float, float, Iterate]:
            nonlocal trials, inside
            trials += 1
            trial = step(t)
            inside += 1
            if carries:
                _ = trial.velocity  # the slope is then made from it
            elif not (trial.slopes_are_cheap or in_noise(point.value, trial.value, unit)):
                guess = parabola_slope(point.value, slope, t, trial.value)
                if abs(guess) <= -_SURE * conditions.curvature * slope:
                    return trial.value, guess, trial
            return trial.value, trial.end_slope, trial

        try:
            found = strong_wolfe(curve, point.value, slope, t, conditions, unit)
        except NoStep:
            if self.is_noisy(point, Z):
                return self.search(point, Z, slope, t, conditions, carries)
            self.monitor.searched(inside < trials)  # the edge of a domain says nothing of f
            raise
        self.monitor.searched(inside < _MANY or self.is_noisy(point, Z))
        return found

    def unit(self, point: Iterate) -> float:
        """The unit roundoff of the cost at a point, for `in_noise`; more for a noisy cost."""
        return noise_unit(self.monitor.noise, point.value, eps(point.X))

    def is_noisy(self, point: Iterate, Z: Array) -> bool:
        """Whether the cost turns out to be noisier than was known; asked where a search fails.

        The noise is that of fourth differences along Z, of steps in which a smooth cost has none
        [more2011estimating]. Costs that differ by less than ten times of it are then compared
        through the slopes.
        """
        length, step = number(norm(Z)), self.line(point, Z)
        if not 0 < length < math.inf:
            return False
        t = _SAMPLING * number(norm(point.X)) / length
        try:
            values = [point.value, *(step(k * t).value for k in range(1, _SAMPLES))]
        except StepTooLong:
            return False
        fourth = np.diff(values, 4)
        noise = 10 * math.sqrt(float(fourth @ fourth) / len(fourth) / 70)
        known = max(self.monitor.noise, _ROUNDINGS * eps(point.X) * abs(point.value))
        if not 2 * known < noise < math.inf:
            return False
        self.monitor.noise = noise
        return True

    def carried(self, point: Iterate, size: float) -> tuple[float, float]:
        """The factor s of a direction Z of this size, carried to the point, and <grad f, T(Z)>.

        T(Z) = s c'(t), the differentiated retraction, scaled so that it is not longer than Z: what
        the convergence of conjugate gradients needs [ring2012optimization, sato2015new].
        """
        length = number(norm(point.velocity))
        scale = min(1.0, size / length) if length > 0 else 1.0
        return scale, scale * point.end_slope

    def first_step(self, point: Iterate, Z: Array) -> float:
        """The first trial of a search along Z: by the curvature, or a hundredth of |X|."""
        if self.curvature > 0:
            return 1 / self.curvature
        length = number(norm(Z))
        return _FIRST * number(norm(point.X)) / length if length > 0 else 1.0

    def where(self, point: Iterate) -> Array:
        """The X that the preconditioner is asked for."""
        return point.X

    def inverse(self, point: Iterate) -> Callable[[Array], Array] | None:
        """The preconditioner at the point, not projected; None where there is none."""
        given = self.preconditioner
        if given is None:
            return None
        X = self.where(point)

        def applied(V: Array) -> Array:
            W = given(X, V)
            if tuple(getattr(W, "shape", ())) != tuple(V.shape):
                refuse("preconditioner", f"an array of shape {tuple(V.shape)}", repr(W))
            product = number(inner(V, W))
            if not product >= -_ROUNDING * number(norm(V)) * number(norm(W)):
                need = "a positive definite map, <V, preconditioner(X, V)> > 0"
                refuse("preconditioner", need, product)
            return W

        return applied

    def precondition(self, point: Iterate) -> Callable[[Array], Array] | None:
        """The preconditioner at the point, a map of the tangent space; None where there is none."""
        inverse = self.inverse(point)
        if inverse is None:
            return None

        def preconditioned(V: Array) -> Array:
            W = inverse(V)
            begin = perf_counter()
            D = point.place.project(W)
            self.seconds["projection"] += perf_counter() - begin
            return D

        return preconditioned

    def steepest(self, point: Iterate) -> tuple[Array, float]:
        """The direction d = P M^-1 g of steepest descent for the preconditioner M^-1, and <g, d>.

        d = g where there is none, and where <g, d> is rounding.
        """
        apply = self.precondition(point)
        if apply is not None:
            D = apply(point.gradient)
            fall = point.slope(D)
            if fall > 0:
                return D, fall
        return point.gradient, point.decrease


def largest_step(point: Iterate, size: float) -> float:
    """The step along a Z of this size of the length of X: beyond, steps bend and end outside."""
    return number(norm(point.X)) / size if size > 0 else math.inf
