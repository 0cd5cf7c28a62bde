"""{X : X^T A X = Q} in decimal arithmetic, for neighbourhoods that double precision cannot see.

The radius epsilon_X of the paper falls with a high power of the condition number: at 1e8 it is
about 1e-18, and X is the only array of floats within it. By F13 two matrices give every real
manifold of the theory with F = R^{n x p}, and decimals of 150 digits resolve it. The methods have
the names and meanings of `GenOrthManifold`; a test holds the two together.
"""

from decimal import Decimal
from typing import Any

import numpy as np

import genorth as go
from support.norms import Matrix

DIGITS = 150
#: Families of `genorth.testing` that are {X : X^T A X = Q} with known real A and Q.
_NAMED = (
    "stiefel generalized generalized-sparse hyperbolic symplectic indefinite-diagonal "
    "indefinite-dense bilinear-symmetric bilinear-skew"
)
FAMILIES = tuple(_NAMED.split())
_to_decimals = np.frompyfunc(lambda x: Decimal(float(x)), 1, 1)


def exactly(X: Any) -> Matrix:
    """The floats of X as decimals, without rounding."""
    return np.asarray(_to_decimals(np.asarray(X)), dtype=object)


def floats(X: Matrix) -> Matrix:
    """The nearest floats."""
    return np.asarray(X, dtype=float)


def solve(A: Matrix, B: Matrix) -> Matrix:
    """A^-1 B by elimination with row pivoting."""
    n, T = len(A), np.concatenate([A, B], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(T[k:, k])))
        T[[k, pivot]] = T[[pivot, k]]
        T[k] = T[k] / T[k, k]
        others = np.arange(n) != k
        T[others] = T[others] - T[others, k : k + 1] * T[k]
    return np.asarray(T[:, n:])


class ExactManifold:
    """M = {X : X^T A X = Q} from the operators of a library manifold: phi(X) = A X Q^-1."""

    def __init__(self, manifold: go.GenOrthManifold) -> None:
        n, p = manifold.shape
        assert manifold.form is not None and manifold.companion is not None
        self.shape = manifold.shape
        sign = manifold.companion.sign
        A, Q = exactly(manifold.form.left(np.eye(n))), exactly(manifold.companion.Q.left(np.eye(p)))
        # The floats are symmetric or skew up to rounding only, and |C(Y)|^2 may be far below that.
        self.A, self.Q = (A + sign * A.T) / 2, (Q + sign * Q.T) / 2
        self.eye = exactly(np.eye(p))
        self.Qinv = solve(self.Q, self.eye)

    def phi(self, X: Matrix) -> Matrix:
        """A X Q^-1."""
        return np.asarray(self.A @ X @ self.Qinv)

    def psi(self, T: Matrix) -> Matrix:
        """Q T Q^-1."""
        return np.asarray(self.Q @ T @ self.Qinv)

    def symmetrize(self, T: Matrix) -> Matrix:
        """Phi(T) = T^T + psi(T)."""
        return np.asarray(T.T + self.psi(T))

    def inner(self, U: Matrix, V: Matrix) -> Decimal:
        """<U, V> = tr(U^T V)."""
        return Decimal(np.sum(U * V))

    def norm(self, U: Matrix) -> Decimal:
        """|U|."""
        return self.inner(U, U).sqrt()

    def constraint(self, X: Matrix) -> Matrix:
        """C(X) = X^T phi(X) - I."""
        return np.asarray(X.T @ self.phi(X) - self.eye)

    def constraint_adjoint(self, X: Matrix, T: Matrix) -> Matrix:
        """DC(X)*[T] = phi(X) Phi(T)."""
        return np.asarray(self.phi(X) @ self.symmetrize(T))

    def dissolve(self, X: Matrix) -> Matrix:
        """A(X) = 3/2 X - 1/2 X phi(X)^T X."""
        return np.asarray((3 * X - X @ self.phi(X).T @ X) / 2)

    def dissolve_differential(self, X: Matrix, Z: Matrix) -> Matrix:
        """DA(X)[Z] = 3/2 Z - 1/2 (Z phi(X)^T X + X phi(Z)^T X + X phi(X)^T Z)."""
        P = self.phi(X).T
        return np.asarray((3 * Z - Z @ P @ X - X @ self.phi(Z).T @ X - X @ P @ Z) / 2)

    def dissolve_adjoint(self, X: Matrix, T: Matrix) -> Matrix:
        """DA(X)*[T] = T (3 I - X^T phi(X))/2 - phi(X) Phi(T^T X)/2."""
        P = self.phi(X)
        return np.asarray((T @ (3 * self.eye - X.T @ P) - P @ self.symmetrize(T.T @ X)) / 2)

    def constraint_differential(self, X: Matrix, Z: Matrix) -> Matrix:
        """DC(X)[Z] = X^T phi(Z) + Z^T phi(X)."""
        return np.asarray(X.T @ self.phi(Z) + Z.T @ self.phi(X))

    def dissolve_second_adjoint(self, X: Matrix, Z: Matrix, T: Matrix) -> Matrix:
        """D^2 A(X)*[Z, T] = -(T Phi(phi(Z)^T X) + phi(X) Phi(T^T Z) + phi(Z) Phi(T^T X))/2."""
        P, PZ, Phi = self.phi(X), self.phi(Z), self.symmetrize
        return np.asarray(-(T @ Phi(PZ.T @ X) + P @ Phi(T.T @ Z) + PZ @ Phi(T.T @ X)) / 2)

    def restore(self, X: Matrix) -> Matrix:
        """A until |C(X)| is rounding: from |C| = 1/2 nine steps square it away."""
        for _ in range(12):
            X = self.dissolve(X)
        return X
