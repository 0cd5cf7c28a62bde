"""`Penalty`: a function h(X) = f(Y(X)) + beta/2 |R(X)|^2 on all of F, with Y(X) = X on M.

A penalty is one class: its maps Y and R with gradient and Hessian product, its exactness threshold,
and its rule for beta. `ConstraintDissolving` (cdf.py) has Y = A(X) and R = C(X),
`OrthogonalDissolving` (odf.py) has Y = X - D(X) and R = D(X), Newton's map. What they share is
here: results are kept for the last points, nothing is evaluated twice, and overflow is infinite.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from copy import copy
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, final

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import Blockwise
from genorth.linalg.arrays import Array, all_finite, inner, is_lazy, namespace, norm, number
from genorth.linalg.cache import ContentCache
from genorth.linalg.inputs import check_size
from genorth.problem import Problem
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor
from genorth.solve.result import Status

#: |C| at a stationary point of a penalty function: of the size of tol on M, else of that of one.
AWAY = 0.1


def check_beta(beta: Any) -> float:
    """Beta as a positive, finite float."""
    try:
        value = float(beta)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(beta, bool | str | bytes) or not 0 < value < math.inf:
        refuse("beta", "beta > 0, finite", repr(beta))
    return value


@attrs.define(eq=False, kw_only=True)
class Point:
    """What is known at one X; each penalty adds what its own gradient needs."""

    X: Array
    #: Where f is evaluated.
    Y: Array
    #: C(X).
    C: Array
    #: |C(X)|^2.
    violation: Any
    #: |R(X)|^2; infinite where Y(X) does not exist or has overflowed.
    penalty: Any
    cost: Any = None
    G: Any = None
    gradient: Any = None
    #: The place of X, where it is made.
    place: Any = None


_P = TypeVar("_P", bound=Point)


class NewBeta(Exception):
    """beta has proved too small, or far too large: the run goes on from X with this one."""

    def __init__(self, beta: float, X: Array) -> None:
        super().__init__(beta)
        self.beta, self.X = beta, X


class Penalty(ABC, Generic[_P]):
    """A penalty function with its gradient and Hessian product, its threshold and rule for beta.

        h(X) = f(Y(X)) + beta/2 |R(X)|^2

    Results at the last `keep` NumPy points are kept. Do not write into an array that was returned.

    Args:
        problem: f on a manifold, with its gradient. Where points have a shape of their own
            (`Sphere`, `Oblique`), h is a function of the blocks.
        beta: Penalty parameter, beta > 0.
        keep: Number of points whose results are kept; a trust region uses two.

    Raises:
        ValueError: If `beta` is not positive and finite, or `problem` is no `Problem`.
    """

    #: What `exactness_threshold` and the layers of PyTorch and Optax call it.
    name: ClassVar[str]
    #: The first part of the names of its methods.
    prefix: ClassVar[str]
    #: What it becomes on a product, see `genorth.penalty.product`.
    joined: ClassVar[Any] = None
    #: The largest curvature of f that `first` met; zero where it is not known.
    scale: float = 0.0
    #: Whether `model` is along M, so that Y has to lead the steps of a trust region back.
    along: ClassVar[bool] = False
    #: The last point of `first`, where it takes steps.
    last: Array | None = None
    #: That of the run, an approximate inverse Hessian of f on M; or None.
    preconditioner: Callable[[Array, Array], Array] | None = None

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """On a product, the penalties of its factors."""
        problem = named.get("problem", arguments[0] if arguments else None)
        if cls is not cls.joined and _is_product(problem):
            return cls.joined(cls, *arguments, **named)
        return object.__new__(cls)

    def __init__(self, problem: Problem, beta: float, keep: int = 1) -> None:
        if not isinstance(problem, Problem):
            refuse("problem", "a genorth.Problem", f"a {type(problem).__name__}")
        check_size(keep, keep, "keep")
        problem.require_smooth("a penalty")
        self.problem = problem = problem.in_blocks
        self.manifold = problem.manifold
        self.beta = beta if _is_product(problem) else check_beta(beta)
        self._shape, self._dtype = self.manifold.shape, self.manifold.dtype
        self._recent = ContentCache(keep)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem!r}, beta={self.beta:g})"

    # ------------------------------------------------------------------ what a penalty gives

    @abstractmethod
    def _dissolved(self, X: Array) -> _P:
        """Y(X), C(X) and |R(X)|^2, without f."""

    @abstractmethod
    def _assemble(self, point: _P) -> None:
        """Set the gradient of h, from G at Y."""

    @abstractmethod
    def _derivative(self, point: _P, Z: Array) -> Generator[Array, Array, Array]:
        """The derivative of grad h at the point in the direction Z.

        It yields dY, the derivative of Y, is sent the Hessian product of f at Y along it, and
        returns the derivative: so the factors of a product share one Hessian product.
        """

    @staticmethod
    @abstractmethod
    def residual(manifold: GenOrthManifold, X: Array) -> Array:
        """R(X), zero on M."""

    @staticmethod
    @abstractmethod
    def corrected(manifold: GenOrthManifold, X: Array, R: Array) -> Array:
        """Y(X), from R(X)."""

    @staticmethod
    @abstractmethod
    def threshold(
        manifold: GenOrthManifold, X: Array, Theta: Array, accuracy: float = 1e-8
    ) -> float:
        """The smallest beta for which h is exact at X on M, Theta = Theta_X(grad f).

        Args:
            manifold: The manifold.
            X: A point of M.
            Theta: Its multiplier, in S1.
            accuracy: How exact it has to be, relative.

        Returns:
            The threshold; zero where every beta > 0 is exact.
        """

    def model(self, point: _P) -> tuple[Array, Callable[[Array], Array]]:
        """The gradient and the Hessian of which a trust region makes its model.

        Those of h; where the model is along M, the tangent part of the gradient and
        P_X (H[Z] - phi(Z) Theta_X(G)), as on M. On the tangent space that is the Hessian of h_n up
        to a multiple of |D|, with a quarter of its products. Newton's map takes care of the normal
        part. Away from M the projection is oblique: where it turns the gradient by so much that a
        step may go uphill, the model is that of h.
        """
        whole = point.gradient, partial(self.derivative, point)
        if not self.along:
            return whole
        place = self.manifold.place(point.X) if point.place is None else point.place
        gradient = place.project(point.gradient)
        if 2 * number(inner(gradient, point.gradient)) < number(inner(gradient, gradient)):
            return whole
        curved, Y = place.curvature(place.split(point.G)[1]), point.Y

        def product(Z: Array) -> Array:
            return curved(self.problem.euclidean_hessian(Y, Z), Z)

        return gradient, product

    # ------------------------------------------------------------------ the rule for beta, in a run

    def watched(self, monitor: Monitor, auto: bool) -> None:
        """A run begins.

        Args:
            monitor: Its monitor.
            auto: Whether beta is chosen; else only runs that leave M are ended.
        """
        self.monitor, self.auto = monitor, auto

    @abstractmethod
    def estimate(self, here: Local) -> float:
        """The beta that f at a point of M asks for."""

    def first(self, x: Array, X: Array) -> tuple[float, Array]:
        """The first beta, and where the solver starts: x is on M, X is the start that was given."""
        self.monitor.check()
        return self.estimate(Local(self.problem, x)), X

    @abstractmethod
    def begin(self, point: _P) -> None:
        """A solver starts here."""

    @abstractmethod
    def admits(self, point: _P) -> bool:
        """Whether a trial is so near to M that f should be called."""

    @abstractmethod
    def watch(self, point: _P, gradient_norm: float) -> None:
        """End the round at this iterate, by `Stop` or `NewBeta`, where it leads away from M."""

    @abstractmethod
    def next(self, threshold: float, status: Status, end: End) -> float:
        """The beta of the next round, after one that ended away from M or below the threshold."""

    # ------------------------------------------------------------------ derived

    @final
    def value(self, X: Array) -> Any:
        """The value h(X).

        Args:
            X: An element of F.

        Returns:
            h(X), infinite where it overflows.
        """
        point = self.at(X)
        if point.cost is None:
            if _overflowed(point):
                point.cost = math.inf
            elif self.problem.has_cost:
                point.cost = self.problem.evaluate_cost(point.Y)
            else:
                point.cost, point.G = self.problem.evaluate(point.Y)
        return self.value_at(point)

    @final
    def gradient(self, X: Array) -> Array:
        """The gradient of h at X.

        Args:
            X: An element of F.

        Returns:
            grad h(X), NaN where h overflows.
        """
        return self.complete(self.at(X)).gradient

    @final
    def value_and_gradient(self, X: Array) -> tuple[Any, Array]:
        """The value and the gradient of h at X, together.

        Args:
            X: An element of F.

        Returns:
            h(X) and grad h(X).
        """
        point = self.complete(self.at(X))
        return self.value_at(point), point.gradient

    @final
    def hessian_product(self, X: Array, Z: Array) -> Array:
        """The derivative of grad h at X in the direction Z; reuses what was computed at X.

        Args:
            X: An element of F.
            Z: An element of F.

        Returns:
            The Hessian of h at X, applied to Z.
        """
        self.manifold._check(Z=Z)
        point = self.complete(self.at(X))
        return point.gradient * Z if point.G is None else self.derivative(point, Z)

    @final
    def derivative(self, point: _P, Z: Array) -> Array:
        """The Hessian of h at a point that is complete, applied to Z."""
        steps = self._derivative(point, Z)
        with np.errstate(over="ignore", invalid="ignore"):  # as for the gradient
            along = next(steps)
        product = self.problem.euclidean_hessian(point.Y, along)
        with np.errstate(over="ignore", invalid="ignore"):
            return sent(steps, product)

    @final
    def cost(self, X: Array) -> Any:
        """The part f(Y(X)) of h.

        Args:
            X: An element of F.

        Returns:
            f(Y(X)).
        """
        self.value(X)
        return self.at(X).cost

    @final
    def feasibility(self, X: Array) -> Any:
        """The violation |C(X)|, for free where X is one of the last points.

        Args:
            X: An element of F.

        Returns:
            |C(X)|.
        """
        return self.at(X).violation ** 0.5

    @final
    def value_at(self, point: _P) -> Any:
        """h, from what is known at a point."""
        if type(point.penalty) is float and math.isinf(point.penalty):
            return math.inf
        return point.cost + 0.5 * self.weighted(point)

    def weighted(self, point: _P) -> Any:
        """The penalty beta |R|^2."""
        return self.beta * point.penalty

    def over_beta(self, V: Array) -> Array:
        """V/beta: normal to M the curvature is beta."""
        return V / self.beta

    @final
    def at(self, X: Array) -> _P:
        """What is known at X; the last points are found by their entries."""
        if type(X) is not np.ndarray or X.dtype is not self._dtype or X.shape != self._shape:
            self.manifold._check(X=X)
        return self._recent.get(X, self.point)

    @final
    def complete(self, point: _P) -> _P:
        """The point with value and gradient."""
        if point.gradient is None:
            if _overflowed(point):
                point.cost = math.inf
                point.gradient = namespace(point.X).full_like(point.X, math.nan)
                return point
            if point.cost is None:
                point.cost, point.G = self.problem.evaluate(point.Y)
            elif point.G is None:
                point.G = self.problem.evaluate_gradient(point.Y)
            with np.errstate(over="ignore", invalid="ignore"):
                self._assemble(point)  # a gradient that is not finite passes through
        return point

    @final
    def point(self, X: Array) -> _P:
        """What is known at X without f; not kept. Off F, h is that of the projection of X."""
        X = self.manifold.ambient(X)
        if is_lazy(X):
            return self._dissolved(X)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            point = self._dissolved(X)
        point.violation, point.penalty = number(point.violation), number(point.penalty)
        # inf - inf inside a product is NaN with some BLAS kernels: overflow all the same
        if math.isnan(point.penalty) and all_finite(X):
            point.penalty = math.inf
        if math.isnan(point.violation) and all_finite(X):
            point.violation = math.inf
        return point


def sent(steps: Generator[Array, Array, Array], value: Array) -> Array:
    """What a generator returns once it is sent its last value."""
    try:
        steps.send(value)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the derivative of a penalty yields once")


def _overflowed(point: Point) -> bool:
    """Whether |R(X)|^2 is not finite. Then f is not called."""
    penalty = point.penalty
    return (type(penalty) is float or not is_lazy(penalty)) and not math.isfinite(penalty)


def _is_product(problem: Any) -> bool:
    return isinstance(problem, Problem) and isinstance(problem.in_blocks.manifold, Blockwise)


class Local:
    """f at x on M: cost, Euclidean and Riemannian gradient, multiplier."""

    def __init__(self, problem: Problem, x: Array) -> None:
        self.problem, self.x = problem, x
        self.cost, self.G = problem.cost_and_gradient(x)  # a run may end at x
        self.finite = all_finite(self.G) and math.isfinite(self.cost)
        if self.finite:
            self.place = problem.manifold.place(x)
            self.gradient, self._coefficients = self.place.split(self.G)
            self.Theta = self.place.theta_of(self._coefficients)

    def parts(self, product: Blockwise) -> list[Local]:
        """The same at each factor of a product; the curvature is that of the whole."""
        curvature = self.curvature()
        split = [product.points.split(V) for V in (self.x, self.G, self.gradient)]
        made = []
        for x, G, gradient, Theta in zip(*split, product.matrices.split(self.Theta), strict=True):
            part = copy(self)
            part.x, part.G, part.gradient, part.Theta = x, G, gradient, Theta
            vars(part)["curvature"] = lambda: curvature
            made.append(part)
        return made

    def curvature(self) -> float:
        """|<d, hess f(x)[d]>| along M, d the normalised gradient; zero where there is none."""
        size = float(norm(self.gradient))
        if not size > 0:
            return 0.0
        d = self.gradient / size
        H = self.problem.euclidean_hessian(self.x, d)
        value = abs(float(inner(d, self.place.lagrangian(self._coefficients, H, d))))
        return value if math.isfinite(value) else 0.0


def usable(beta: float) -> float:
    """beta, or 1 where it says nothing."""
    return beta if 0 < beta < math.inf else 1.0
