"""`KKT`: how well a point keeps the conditions of Karush, Kuhn and Tucker on M."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from genorth.geometry.bases import realvec
from genorth.linalg.arrays import Array, norm, number

if TYPE_CHECKING:
    from genorth.problem.problem import Problem

_ACTIVE = 1e-6  # distance of c from a bound that is active


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
        worst: The name of the constraint, and the entry of c that is violated most.
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
        constraint = problem.constraints
        assert constraint is not None
        f, G = problem.cost_and_gradient(X)
        c = constraint.value(X)
        gap = np.abs(c - constraint.nearest(c))
        slack = np.where(y > 0, constraint.upper - c, c - constraint.lower)
        free = np.where(y == 0, 0.0, np.minimum(np.abs(y), np.abs(slack)))
        i = int(np.argmax(gap)) if gap.size else 0
        return cls(
            f,
            y,
            number(norm(problem.manifold.gradient(X, G + constraint.pull(X, y)))),
            float(np.max(gap, initial=0.0)),
            float(np.max(free, initial=0.0)),
            f"entry {i} of {constraint.name}",
        )

    @classmethod
    def estimate(cls, problem: Problem, X: Array) -> KKT:
        """The same, with the multipliers that make the stationarity least: for every solver.

        They are zero where no bound is active, and have the sign of the bound that is.
        """
        from scipy.optimize import lsq_linear

        constraint: Any = problem.constraints
        c, place = constraint.value(X), problem.manifold.at(X)
        near = 10 * max(_ACTIVE, constraint.violation(c)) * (1 + np.abs(c))
        high, low = c >= constraint.upper - near, c <= constraint.lower + near
        active, y = np.flatnonzero(high | low), np.zeros_like(c)
        if active.size:
            unit = np.eye(c.size)[active]
            rows = [realvec(place.project(constraint.pull(X, e))) for e in unit]
            g = realvec(place.project(problem.euclidean_gradient(X)))
            ends = np.where(low, -np.inf, 0.0)[active], np.where(high, np.inf, 0.0)[active]
            y[active] = lsq_linear(np.stack(rows, axis=1), -g, ends).x
        return cls.at(problem, X, y)

    def holds(self, tol: float, constraint_tol: float) -> bool:
        """Whether X is a success: stationary, feasible and complementary."""
        feasible = max(self.violation, self.complementarity) <= constraint_tol
        return feasible and self.stationarity <= 2 * tol

    def __str__(self) -> str:
        return (
            f"The constraints are violated by at most {self.violation:.2g}, complementarity is "
            f"{self.complementarity:.2g}"
        )
