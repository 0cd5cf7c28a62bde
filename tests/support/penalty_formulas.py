"""f, h and g for the statements: by the library, and by the printed formula of the Hessian."""

from functools import cached_property
from typing import Any

import attrs
import numpy as np

import genorth as go
from support.norms import Matrix


@attrs.frozen
class Objective:
    """f(X) = <B, X> + w/2 |X|^2, w a real number: |hess f| = |w|."""

    B: Matrix
    w: float

    def cost(self, M: Any, X: Matrix) -> float:
        """f(X)."""
        return M.inner(self.B, X) + self.w * M.inner(X, X) / 2

    def gradient(self, X: Matrix) -> Matrix:
        """Grad f(X) = B + w X."""
        return np.asarray(self.B + self.w * X)


@attrs.frozen(slots=False)
class Penalty:
    """h = f(A(.)) + beta/2 |C|^2."""

    M: Any
    f: Objective
    beta: float

    @cached_property
    def library(self) -> go.ConstraintDissolving:
        """The library's h."""
        M, f = self.M, self.f
        problem = go.Problem(M, lambda X: float(f.cost(M, X)), f.gradient, lambda X, Z: f.w * Z)
        return go.ConstraintDissolving(problem, self.beta)

    def value(self, X: Matrix) -> float:
        """h(X)."""
        return self.library.value(X)

    def gradient(self, X: Matrix) -> Matrix:
        """Grad h(X)."""
        return self.library.gradient(X)

    def hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        """Hess h(X)[Z]."""
        return self.library.hessian_product(X, Z)

    def gradient_of_g(self, X: Matrix) -> Matrix:
        """Grad g(X) = DA(X)*[G], G = grad f(A(X))."""
        return np.asarray(self.M.dissolve_adjoint(X, self.f.gradient(self.M.dissolve(X))))

    def printed_hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        """(eq:nabh), with hess g(X)[Z] = DA(X)*[hess f[DA(X)[Z]]] + D^2 A(X)*[Z, G]."""
        M, P, PZ, Phi = self.M, self.M.phi(X), self.M.phi(Z), self.M.symmetrize
        G = self.f.gradient(M.dissolve(X))
        g = M.dissolve_adjoint(
            X, self.f.w * M.dissolve_differential(X, Z)
        ) + M.dissolve_second_adjoint(X, Z, G)
        penalty = PZ @ Phi(M.constraint(X)) + P @ Phi(Z.mT.conj() @ P) + P @ Phi(X.mT.conj() @ PZ)
        return np.asarray(g + self.beta * penalty)
