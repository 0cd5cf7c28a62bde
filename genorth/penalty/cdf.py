"""`ConstraintDissolving`: h(X) = f(A(X)) + beta/2 |C(X)|^2, its gradient and Hessian product (F11).

Value and gradient together cost one phi, one f-and-gradient and five n x p x p products; the
Hessian product reuses what the same X has already cost. Far from M the value may overflow: it is
then infinite, f is not called, and nothing raises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genorth.errors import refuse
from genorth.linalg.arrays import Array, all_finite, ct, eye_like, inner, is_lazy, namespace
from genorth.linalg.cache import ContentCache
from genorth.linalg.inputs import check_size
from genorth.problem.problem import Problem


def check_beta(beta: Any) -> float:
    """beta as a positive, finite float; anything else is refused."""
    try:
        value = float(beta)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(beta, bool | str | bytes) or not 0 < value < math.inf:
        refuse("beta", "beta > 0, finite", repr(beta))
    return value


def _transposed(T: Array) -> Array:
    """T^T, laid out by rows: on the right a transposed view is slow where rows are short."""
    return ct(T).copy() if type(T) is np.ndarray else ct(T)


class Point:
    """What is known at one X: phi(X), C(X), W^T, Y = A(X) = X W, |C|^2; later f, G, M, grad h."""

    cost: Any = None
    G: Any = None
    M: Any = None
    gradient: Any = None

    def __init__(self, X: Array, P: Array, C: Array, Wt: Array, Y: Array, violation: Any) -> None:
        self.X, self.P, self.C, self.Wt, self.Y, self.violation = X, P, C, Wt, Y, violation


class ConstraintDissolving:
    """h(X) = f(A(X)) + beta/2 |C(X)|^2 on all of F.

    Its stationary points near M are those of f on M if beta > beta*; `exactness_threshold` gives
    beta*. Results at the last points are shared: do not write into an array that was returned.

    Args:
        problem: The problem.
        beta: Penalty parameter.
        keep: At how many (NumPy) points results are kept; trust regions want two, the iterate and
            the trial.

    Raises:
        ValueError: If beta is not positive and finite.
    """

    def __init__(self, problem: Problem, beta: float, keep: int = 1) -> None:
        if not isinstance(problem, Problem):
            refuse("problem", "a genorth.Problem", f"a {type(problem).__name__}")
        check_size(keep, keep, "keep")
        self.problem, self.manifold = problem, problem.manifold
        self.beta = check_beta(beta)
        self._shape, self._dtype = self.manifold.shape, self.manifold.dtype
        self._eye = np.eye(self._shape[-1])
        self._recent = ContentCache(keep)

    def __repr__(self) -> str:
        return f"ConstraintDissolving({self.problem!r}, beta={self.beta:g})"

    def value(self, X: Array) -> Any:
        """h(X): one phi, one f, two products."""
        return self.value_at(self._with_cost(X))

    def gradient(self, X: Array) -> Array:
        """grad h(X) = G W^T + P M, M = Phi(beta C - 1/2 R^T), R = X^T G."""
        return self._with_gradient(X).gradient

    def value_and_gradient(self, X: Array) -> tuple[Any, Array]:
        """h(X) and grad h(X)."""
        point = self._with_gradient(X)
        return self.value_at(point), point.gradient

    def cost(self, X: Array) -> Any:
        """f(A(X)), the part of h that is not penalty."""
        return self._with_cost(X).cost

    def feasibility(self, X: Array) -> Any:
        """|C(X)|, without a product where X is the last point."""
        return self.at(X).violation ** 0.5

    def hessian_product(self, X: Array, Z: Array) -> Array:
        """The derivative of grad h in the direction Z: one phi, one Hessian product, nine products.

        With T = P^T Z: dS = Phi(T), dW = -1/2 dS^T, dY = Z W + X dW, dG = hess f(Y)[dY],
        dR = Z^T G + X^T dG, and

            dG W^T + G dW^T + phi(Z) M + P Phi(beta dS - 1/2 dR^T).

        Args:
            X: A point of F.
            Z: A direction.

        Returns:
            An array of the shape of X.
        """
        self.manifold._check(Z=Z)
        point, Phi = self._with_gradient(X), self.manifold.symmetrize
        X, P, G = point.X, point.P, point.G
        if G is None:
            return point.gradient * Z  # overflow: NaN, as the gradient
        dS = Phi(ct(P) @ Z)
        dWt = -0.5 * dS
        dY = Z @ _transposed(point.Wt)
        dY += X @ _transposed(dWt)
        dG = self.problem.euclidean_hessian(point.Y, dY)
        dR = ct(Z) @ G + ct(X) @ dG
        result = dG @ point.Wt
        result += G @ dWt
        result += self.manifold.phi(Z) @ point.M
        result += P @ Phi(self.beta * dS - 0.5 * ct(dR))
        return result

    # ------------------------------------------------------------------ one point, step by step

    def value_at(self, point: Point) -> Any:
        """h, from what is known."""
        return point.cost + 0.5 * self.beta * point.violation

    def at(self, X: Array) -> Point:
        """What is known at X, found by its entries: who has several questions asks once."""
        if type(X) is not np.ndarray or X.dtype is not self._dtype or X.shape != self._shape:
            self.manifold._check(X=X)
        return self._recent.get(X, self._dissolved)

    def _dissolved(self, X: Array) -> Point:
        """P, C, W and Y = A(X)."""
        if type(X) is not np.ndarray:
            return self._products(X)
        with np.errstate(over="ignore", invalid="ignore"):
            point = self._products(X)
        # inf - inf inside a product is NaN with some BLAS kernels: overflow all the same
        point.violation = violation = float(point.violation)
        if violation != violation and all_finite(X):
            point.violation = math.inf
        return point

    def _products(self, X: Array) -> Point:
        P = self.manifold.phi(X)
        C = ct(X) @ P
        eye = self._eye if type(C) is np.ndarray else eye_like(C)
        C = C - eye
        Wt = eye - 0.5 * C
        return Point(X, P, C, Wt, X @ _transposed(Wt), inner(C, C))

    def _overflowed(self, point: Point) -> bool:
        """|C|^2 is of degree four in X, A(X) of degree three: finite if the former is."""
        violation = point.violation
        return (type(violation) is float or not is_lazy(violation)) and not math.isfinite(violation)

    def _with_cost(self, X: Array) -> Point:
        point = self.at(X)
        if point.cost is None:
            if self._overflowed(point):
                point.cost = math.inf
            elif self.problem.has_cost:
                point.cost = self.problem.evaluate_cost(point.Y)
            else:
                point.cost, point.G = self.problem.evaluate(point.Y)
        return point

    def _with_gradient(self, X: Array) -> Point:
        return self.complete(self.at(X))

    def complete(self, point: Point) -> Point:
        """The point with value and gradient."""
        if point.gradient is None:
            if self._overflowed(point):
                point.cost, point.gradient = (
                    math.inf,
                    namespace(point.X).full_like(point.X, math.nan),
                )
                return point
            if point.cost is None:
                point.cost, point.G = self.problem.evaluate(point.Y)
            elif point.G is None:
                point.G = self.problem.evaluate_gradient(point.Y)
            if type(point.G) is np.ndarray:
                # a gradient that is not finite passes through
                with np.errstate(over="ignore", invalid="ignore"):
                    self._assemble(point)
            else:
                self._assemble(point)
        return point

    def _assemble(self, point: Point) -> None:
        """M and grad h from G."""
        R = ct(point.X) @ point.G
        R *= -0.5
        T = self.beta * point.C
        T += ct(R)
        point.M = self.manifold.symmetrize(T)
        gradient = point.G @ point.Wt
        gradient += point.P @ point.M
        point.gradient = gradient
