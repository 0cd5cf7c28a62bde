"""`ConstraintDissolving`: the penalty of the paper, h(X) = f(A(X)) + beta/2 |C(X)|^2 (F11)."""

from __future__ import annotations

from typing import Any, final

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, ct, eye_like, inner
from genorth.linalg.compiled import compiled
from genorth.penalty.dissolving import Dissolving, Point
from genorth.problem import Problem


def _transposed(T: Array) -> Array:
    """T^T, laid out by rows: as a right factor, a transposed view is slow where rows are short."""
    return ct(T).copy() if type(T) is np.ndarray else ct(T)


@attrs.define(eq=False, kw_only=True)
class _Point(Point):
    """P = phi(X) and W^T, with A(X) = X W; M of the gradient."""

    P: Array
    Wt: Array
    M: Any = None


@final
class ConstraintDissolving(Dissolving[_Point]):
    """The constraint dissolving function.

        h(X) = f(A(X)) + beta/2 |C(X)|^2, A(X) = 3/2 X - 1/2 X phi(X)^T X

    Its stationary points near M are those of f on M if beta > beta*, see `exactness_threshold`.
    Value and gradient together cost one phi, f and its gradient, and five n x p x p products:

        grad h = G W^T + P M, M = Phi(beta C - 1/2 R^T), R = X^T G

    Args:
        problem: f on a manifold, with its gradient.
        beta: Penalty parameter, beta > 0.
        keep: Number of points whose results are kept; a trust region uses two.

    Raises:
        ValueError: If `beta` is not positive and finite.
    """

    def __init__(self, problem: Problem, beta: float, keep: int = 1) -> None:
        super().__init__(problem, beta, keep)
        self._eye = np.eye(self._shape[-1])

    def _dissolved(self, X: Array) -> _Point:
        eye = self._eye if type(X) is np.ndarray else None
        Y, C, square, P, Wt = _oblique_point(self.manifold, X, eye)
        return _Point(X=X, Y=Y, C=C, violation=square, penalty=square, P=P, Wt=Wt)

    def _assemble(self, point: _Point) -> None:
        point.gradient, point.M = _oblique_gradient(
            self.manifold, point.X, point.P, point.C, point.Wt, point.G, self.beta
        )

    def _derivative(self, point: _Point, Z: Array) -> Array:
        """One phi, one Hessian product of f, nine products.

        With T = P^T Z: dS = Phi(T), dW = -1/2 dS^T, dY = Z W + X dW, dG = hess f(Y)[dY],
        dR = Z^T G + X^T dG, and dG W^T + G dW^T + phi(Z) M + P Phi(beta dS - 1/2 dR^T).
        """
        X, P, G, Phi = point.X, point.P, point.G, self.manifold.symmetrize
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


@compiled
def _oblique_point(manifold: GenOrthManifold, X: Array, eye: Array | None) -> tuple[Array, ...]:
    """A(X), C(X), |C(X)|^2, phi(X) and W^T."""
    P = manifold.phi(X)
    C = ct(X) @ P
    eye = eye_like(C) if eye is None else eye
    C = C - eye
    Wt = eye - 0.5 * C
    # |C|^2 is of degree four in X and A(X) of degree three: where it is finite, so is A(X)
    return X @ _transposed(Wt), C, inner(C, C), P, Wt


@compiled
def _oblique_gradient(
    manifold: GenOrthManifold, X: Array, P: Array, C: Array, Wt: Array, G: Array, beta: float
) -> tuple[Array, Array]:
    """The gradient of h, and M."""
    R = ct(X) @ G
    R *= -0.5
    T = beta * C
    T += ct(R)
    M = manifold.symmetrize(T)
    gradient = G @ Wt
    gradient += P @ M
    return gradient, M
