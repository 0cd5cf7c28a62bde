"""f, h and g for the statements: by the library, or in decimals by the printed formulas."""

from functools import cached_property
from typing import Any

import attrs
import numpy as np

import genorth as go
from support.decimal_manifold import ExactManifold
from support.norms import Matrix

Number = Any  # float or Decimal


@attrs.frozen
class Objective:
    """f(X) = <B, X> + w/2 |X|^2, w a real number: |hess f| = |w|."""

    B: Matrix
    w: Number

    def cost(self, M: Any, X: Matrix) -> Number:
        """f(X)."""
        return M.inner(self.B, X) + self.w * M.inner(X, X) / 2

    def gradient(self, X: Matrix) -> Matrix:
        """Grad f(X) = B + w X."""
        return np.asarray(self.B + self.w * X)


@attrs.frozen(slots=False)
class Penalty:
    """h = f(A(.)) + beta/2 |C|^2, by the library or in decimals as printed."""

    M: Any
    f: Objective
    beta: Number

    @cached_property
    def library(self) -> go.ConstraintDissolving | None:
        """The library's h, where M is the library's."""
        M, f = self.M, self.f
        if isinstance(M, ExactManifold):
            return None
        problem = go.Problem(M, lambda X: float(f.cost(M, X)), f.gradient, lambda X, Z: f.w * Z)
        return go.ConstraintDissolving(problem, self.beta)

    def value(self, X: Matrix) -> Number:
        """h(X)."""
        return self.library.value(X) if self.library is not None else self.printed_value(X)

    def gradient(self, X: Matrix) -> Matrix:
        """Grad h(X)."""
        return (
            np.asarray(self.library.gradient(X))
            if self.library is not None
            else self.printed_gradient(X)
        )

    def hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        """Hess h(X)[Z]."""
        if self.library is not None:
            return np.asarray(self.library.hessian_product(X, Z))
        return self.printed_hessian(X, Z)

    def gradient_of_g(self, X: Matrix) -> Matrix:
        """Grad g(X) = DA(X)*[G], G = grad f(A(X))."""
        return np.asarray(self.M.dissolve_adjoint(X, self.f.gradient(self.M.dissolve(X))))

    def printed_value(self, X: Matrix) -> Number:
        """(GOCDF): f(A(X)) + beta/2 |X^T phi(X) - I|^2."""
        C = self.M.constraint(X)
        return self.f.cost(self.M, self.M.dissolve(X)) + self.beta * self.M.inner(C, C) / 2

    def printed_gradient(self, X: Matrix) -> Matrix:
        """(eq:eh): G (3 I - S)/2 - phi(X) Phi(G^T X)/2 + beta phi(X) Phi(S - I), S = X^T phi(X)."""
        M, P, Phi = self.M, self.M.phi(X), self.M.symmetrize
        G, C = self.f.gradient(M.dissolve(X)), M.constraint(X)
        return np.asarray(
            (2 * G - G @ C) / 2 - P @ Phi(G.mT.conj() @ X) / 2 + self.beta * (P @ Phi(C))
        )

    def printed_hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        """(eq:nabh), with hess g(X)[Z] = DA(X)*[hess f[DA(X)[Z]]] + D^2 A(X)*[Z, G]."""
        M, P, PZ, Phi = self.M, self.M.phi(X), self.M.phi(Z), self.M.symmetrize
        G = self.f.gradient(M.dissolve(X))
        g = M.dissolve_adjoint(
            X, self.f.w * M.dissolve_differential(X, Z)
        ) + M.dissolve_second_adjoint(X, Z, G)
        penalty = PZ @ Phi(M.constraint(X)) + P @ Phi(Z.mT.conj() @ P) + P @ Phi(X.mT.conj() @ PZ)
        return np.asarray(g + self.beta * penalty)
