"""`KKT`: how well a point keeps the conditions of Karush, Kuhn and Tucker on M; `Cone`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from genorth.errors import StepTooLong
from genorth.geometry.bases import realvec
from genorth.linalg.arrays import Array, all_finite, norm, number

if TYPE_CHECKING:
    from genorth.problem.problem import Problem

_ACTIVE = 1e-6  # distance of c from a bound that is active
_WEAK = 1e-6  # a multiplier that is zero, relative to the largest
_DEPENDENT = 1e-8  # of the gradients of constraints, relative


@attrs.frozen(eq=False)
class KKT:
    """The conditions of a minimum of f on M under lower <= c(X) <= upper.

        P_X(G + J^T y) = 0

    y_i is positive only at an upper bound, and negative only at a lower one.

    Attributes:
        cost: f(X).
        multipliers: The vector y.
        stationarity: The norm of P_X(G + J^T y).
        violation: The largest distance of an entry of c from its bounds.
        complementarity: The largest entry of y whose bound is not active, or its distance from it
            where that is smaller.
        worst: The constraint, and its entry, that is violated most; of bounds that of X, by rows.
    """

    cost: float
    multipliers: Array = attrs.field(repr=False)
    stationarity: float
    violation: float
    complementarity: float
    worst: str = attrs.field(repr=False)
    #: Rounds of the augmented Lagrangian.
    rounds: int = 0

    @classmethod
    def at(cls, problem: Problem, X: Array, y: np.ndarray[Any, Any]) -> KKT:
        """Measure a point of M with the multipliers of a solver; all else is computed anew."""
        assert problem.constraints is not None
        constraint = problem.constraints.uncounted()
        f, G = problem.cost_and_gradient(X)
        c = constraint.value(X)
        gap = np.abs(c - constraint.nearest(c))
        slack = np.where(y > 0, constraint.upper - c, c - constraint.lower)
        free = np.where(y == 0, 0.0, np.minimum(np.abs(y), np.abs(slack)))
        i = int(np.argmax(gap)) if gap.size else 0
        L = G + constraint.pull(X, y)
        return cls(
            f,
            y,
            tangent_norm(problem.manifold.gradient(X, L) if all_finite(L) else L, L),
            float(np.max(gap, initial=0.0)),
            float(np.max(free, initial=0.0)),
            constraint.entry(i),
        )

    @classmethod
    def estimate(cls, problem: Problem, X: Array) -> KKT:
        """The same, with the multipliers that make the stationarity least: for every solver.

        They are zero where no bound is active, and have the sign of the bound that is.
        """
        from scipy.optimize import lsq_linear

        assert problem.constraints is not None
        constraint = problem.constraints.uncounted()
        c, place = constraint.value(X), problem.manifold.at(X)
        low, high = _active(constraint, c)
        active, y = np.flatnonzero(high | low), np.zeros_like(c)
        if active.size:
            g = realvec(place.project(problem.euclidean_gradient(X)))
            ends = np.where(low, -np.inf, 0.0)[active], np.where(high, np.inf, 0.0)[active]
            normals = _normals(place, constraint, X, active)
            if np.isfinite(g).all() and np.isfinite(normals).all():  # phi(X) has full rank
                y[active] = lsq_linear(normals, -g, ends).x
        return cls.at(problem, X, y)

    def holds(self, tol: float, constraint_tol: float) -> bool:
        """Whether X is a success: stationary, feasible and complementary."""
        return self.feasible(constraint_tol) and self.stationarity <= 2 * tol

    def feasible(self, constraint_tol: float) -> bool:
        """Whether violation and complementarity are within the tolerance."""
        return max(self.violation, self.complementarity) <= constraint_tol

    def __str__(self) -> str:
        return (
            f"The constraints are violated by at most {self.violation:.2g}, complementarity is "
            f"{self.complementarity:.2g}"
        )


class Cone:
    """The critical cone of a point that fulfils the conditions, and the Lagrangian on it.

        Z in T_X M with J_i Z = 0 where y_i is not 0, or c_i is an equation

    Where a bound is active and its multiplier is zero, Z may only lead inside (`allows`).

    Args:
        problem: The problem, with constraints.
        X: The point.
        y: Its multipliers.
    """

    def __init__(self, problem: Problem, X: Array, y: np.ndarray[Any, Any]) -> None:
        constraint: Any = problem.constraints
        self.problem, self.constraint, self.X, self.y = problem, constraint, X, y
        low, high = _active(constraint, constraint.value(X))
        strong = np.abs(y) > _WEAK * max(1.0, float(np.max(np.abs(y), initial=0.0)))
        strong |= constraint.lower == constraint.upper
        self._below, self._above = high & ~strong, low & ~strong
        rows = _normals(problem.manifold.at(X), constraint, X, np.flatnonzero(strong))
        U, sizes, _ = np.linalg.svd(rows, full_matrices=False)
        self._basis = U[:, sizes > _DEPENDENT * max(sizes, default=0.0)]
        self.rank = self._basis.shape[1]

    def project(self, Z: Array) -> Array:
        """The part of a tangent vector along which no such constraint changes."""
        v = realvec(Z)
        v = v - self._basis @ (self._basis.T @ v)
        return v.view(Z.dtype).reshape(Z.shape)

    def allows(self, Z: Array) -> bool:
        """Whether Z leads out of no bound that is active with a multiplier of zero."""
        JZ = self.constraint.push(self.X, Z)
        slack = _DEPENDENT * number(norm(Z))
        return bool(np.all(JZ[self._below] <= slack) and np.all(JZ[self._above] >= -slack))

    def newton(self, accuracy: float, most: int) -> Array:
        """The Z of the cone with P Hess L[Z] = -P grad L, L = f + y^T c and P the projection.

        By conjugate gradients, to a relative accuracy or in so many steps.

        Raises:
            StepTooLong: If the curvature along one of their directions is not positive.
        """
        problem, X, place = self.problem, self.X, self.problem.manifold.at(self.X)
        G = problem.euclidean_gradient(X) + self.constraint.pull(X, self.y)

        def product(v: Any) -> Any:
            Z = np.ascontiguousarray(v).view(X.dtype).reshape(X.shape)
            H = problem.euclidean_hessian(X, Z) + self.constraint.second(X, Z, self.y)
            along = realvec(self.project(problem.manifold.hessian(X, G, H, Z)))
            if not float(along @ v) > 0:
                raise StepTooLong("no minimum of f + y^T c on the cone is near")
            return along

        g = realvec(self.project(place.project(G)))
        operator = LinearOperator((g.size, g.size), product, dtype=float)
        z = cg(operator, -g, rtol=accuracy, maxiter=most)[0]
        return self.project(z.view(X.dtype).reshape(X.shape))

    def lagrangian(self) -> Problem:
        """f + y^T c with these multipliers, whose Hessian on the cone decides."""
        from genorth.problem.problem import Problem

        problem, constraint, y = self.problem, self.constraint, self.y

        def value_and_gradient(X: Array) -> tuple[float, Array]:
            f, G = problem.evaluate(X)
            return f + float(y @ constraint.value(X)), G + constraint.pull(X, y)

        def hessian(X: Array, Z: Array) -> Array:
            return problem.euclidean_hessian(X, Z) + constraint.second(X, Z, y)

        exact = hessian if problem.has_hessian else None
        return Problem(problem.manifold, None, None, exact, value_and_gradient, name=problem.name)


def tangent_norm(tangent: Array, G: Array) -> float:
    """|P_X G|; or |G|, which bounds it, where phi(X) has no full rank and P_X G is NaN."""
    size = number(norm(tangent))
    return size if math.isfinite(size) else number(norm(G))


def _active(constraint: Any, c: Any) -> tuple[Any, Any]:
    """Which entries of c are at their lower, and which at their upper bound."""
    near = max(_ACTIVE, constraint.violation(c)) * (1 + np.abs(c))
    return c <= constraint.lower + near, c >= constraint.upper - near


def _normals(place: Any, constraint: Any, X: Array, which: Any) -> np.ndarray[Any, Any]:
    """The gradients of some entries of c, projected onto the tangent space, as columns."""
    columns = np.zeros((realvec(X).size, len(which)))
    for k, e in enumerate(np.eye(constraint.lower.size)[which]):
        columns[:, k] = realvec(place.project(constraint.pull(X, e)))
    return columns
